"""Conversations with an index: each question is read in the light of those before it.

A language model rewrites a question so that it stands alone; without one, rules put names in the place of pronouns. A
conversation can be saved in a file, a line of JSON for each exchange, and continued later.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.api.asking import AskOptions, IndexLike, Request, answer_question, opened_for
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.base import extractive
from conspectus.retrieval.local import entities_in
from conspectus.rows import Answer, Entity, counted
from conspectus.runtime import DEFAULT_FOLDER, check_question, public, run_sync
from conspectus.tasks import Exchange, StandaloneQuestion
from conspectus.text.language import language_of
from conspectus.text.question import read_question
from conspectus.text.words import CJK, SMALL, name_key

if TYPE_CHECKING:
    from typing_extensions import Unpack

REMEMBERED = 4
"""Exchanges that a question is read in the light of: what is older is rarely meant, and costs tokens."""
LONGEST = 1500
"""Characters of an earlier answer that are read: some 350 tokens, its first paragraphs."""
_MARKERS = re.compile(r"\s*\[\d+\]")
_ASIDE = re.compile(r"(?m)^- [^:\"]{2,40}: (?=\")|\[\d+\]")
"""The speakers of quotations, and the marks of citations."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: the question as it was put and as it was resolved, and the text of its answer."""

    question: str
    resolved: str
    answer: str
    method: str


class Conversation:
    """Asks an index question after question.

    `file` stores the conversation; one that it holds already is continued. Raises UsageError where it holds something
    else or cannot be saved, and what `open_index` raises.
    """

    @public
    def __init__(
        self,
        index: IndexLike = DEFAULT_FOLDER,
        *,
        file: str | Path | None = None,
        **options: Unpack[AskOptions],
    ) -> None:
        self._view, self._run = opened_for(index, options)
        self._options = options
        self._file = Path(file) if file is not None else None
        if self._file:  # before a question is asked
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(
                    f"the conversation {file} cannot be saved: {error.strerror or error}"
                ) from None
        self.turns: list[Turn] = _read(self._file) if self._file and self._file.exists() else []

    def __repr__(self) -> str:
        """Return on one line what it is asked of, and how far it has come."""
        return f"<Conversation with {self._view.index!r}: {counted(len(self.turns), 'exchange')}>"

    @public
    def ask(self, question: str, *, on_text: Callable[[str], None] | None = None) -> Answer:
        """Answer a question; `question` of the answer is what was asked in the end, `why` says how it came to that."""
        return run_sync(self.aask(question, on_text=on_text))

    @public
    async def aask(self, question: str, *, on_text: Callable[[str], None] | None = None) -> Answer:
        """Do what `ask` does, inside a running event loop."""
        began = time.perf_counter()
        check_question(question)
        index = self._view.index
        async with self._run.session(index.folder) as session:
            model = self._run.model or (session.model if session else extractive(index))
            standalone, why = await self._standalone(question, model)
            check_question(standalone)
            run = replace(self._run, model=model)
            answer = await answer_question(
                Request.on(standalone, self._view, run, self._options, began), on_text
            )
            usage = session.total if session else answer.usage
        answer = replace(answer, why="; ".join(part for part in (why, answer.why) if part), usage=usage)
        self._store(Turn(question, answer.question, answer.text, answer.method))
        return answer

    def forget(self) -> None:
        """Begin anew; a file that stores the conversation is emptied."""
        self.turns = []
        if self._file is not None and self._file.exists():
            self._file.write_text("", encoding="utf-8")

    async def _standalone(self, question: str, model: Model) -> tuple[str, str]:
        """Return a question that stands alone, and how it came to that, "" where it stays as it is."""
        turns = self.turns[-REMEMBERED:]
        earlier = tuple(Exchange(turn.resolved, _MARKERS.sub("", turn.answer)[:LONGEST]) for turn in turns)
        if not earlier:
            return question, ""
        if model.generative:
            task = StandaloneQuestion(question, earlier, language=language_of([question]))
            standalone, why = await model.perform(task), ""
        else:
            rewritten = rewrite_question(question, earlier, self._view.index)
            standalone, why = rewritten.question, rewritten.why
        if not standalone.strip() or standalone.strip() == question.strip():
            return question, why
        return standalone, f"taken as “{standalone}”" + (f" ({why})" if why else "")

    def _store(self, turn: Turn) -> None:
        self.turns.append(turn)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(turn), ensure_ascii=False) + "\n")


def _read(file: Path) -> list[Turn]:
    """Return the exchanges that a file stores."""
    turns: list[Turn] = []
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            turns.append(Turn(**json.loads(line)))
    except OSError as error:
        raise UsageError(f"the conversation {file} cannot be read: {error}") from None
    except (ValueError, TypeError):
        raise UsageError(
            f"{file}, line {len(turns) + 1}, is no exchange of a conversation; name another file"
        ) from None
    return turns


# Rewriting by rules

_PERSON = ("person", "people", "human", "人", "人物")
_LOCATION = ("location", "place", "city", "country", "geo", "地点", "地名", "城市")
_BODY = ("organization", "organisation", "company", "group", "institution", "机构", "组织", "公司")
_WORK = ("work", "book", "film", "product", "object", "作品")
_DATE = ("date", "time", "日期", "时间")

_PRONOUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("he him his himself she her hers herself 他 她".split(), _PERSON),
    **dict.fromkeys("there here 那里 那儿 这里 当地".split(), _LOCATION),
    **dict.fromkeys("it its itself they them their theirs themselves 它 其 他们 她们 它们".split(), ()),
}
"""The types that each may stand for; of any type is what is no person and no date, if there is such a thing."""
_NOUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("man woman person 人".split(), _PERSON),
    **dict.fromkeys("town city village place country island 城市 地方 国家".split(), _LOCATION),
    **dict.fromkeys("company firm organisation organization association council school".split(), _BODY),
    **dict.fromkeys("公司 机构 学校 组织".split(), _BODY),
    **dict.fromkeys("book film work song report 书 电影 作品 歌".split(), _WORK),
}
_POSSESSIVE = frozenset("his her its their hers theirs".split())
_PLURAL = frozenset("they them their 他们 她们 它们".split())


def _either(words: Sequence[str]) -> str:
    return "|".join(words)


_WORDS = re.compile(
    rf"\b(?P<word>{_either([w for w in _PRONOUNS if w.isascii()])})\b"
    rf"|\b(?:this|that|these|those) (?P<noun>{_either([n for n in _NOUNS if n.isascii()])})\b",
    re.IGNORECASE,
)
_WORDS_ZH = re.compile(
    r"(?P<word>他们|她们|它们|那里|那儿|这里|当地|[他她它]|(?<![极尤与])其(?!中|他|实|它|余))|"
    rf"(?:[这那][家个座本部首位种所条]|该)(?P<noun>{_either([n for n in _NOUNS if not n.isascii()])})"
)
_EXPLETIVE = re.compile(
    r"\b(?:is|was) it (?=true|possible|likely|clear|known|said|that)\b|\bit (?=is said|seems|rain|snow)"
    r"|\b(?:is|are|was|were) there\b|\bthere (?:is|are|was|were)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^(?:(?:and|but|so|then|also|ok(?:ay)?|well|now)\b[ ,]*)+"
    r"|^(?:那么?(?![里儿个家座本部位首所种条])|然后|还有|另外)[，, ]?",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"^(?:what|how) about |呢(?=[?？]?$)", re.IGNORECASE)
_ALONE = re.compile(
    r"^(?:why|how|when|where|who|since when|为什么|为何|何时|在哪里?|怎么)[?？]?$", re.IGNORECASE
)
_QUESTION = re.compile(
    r"\b(?:who|whom|whose|which|when|where|why|what (?!about\b)|how (?!about\b))"
    r"|^(?:did|does|do|is|are|was|were|has|have|can|will)\b|谁|什么|哪|何|多少|几|吗|怎",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RewrittenQuestion:
    """A question as it can be understood alone, and what was put in place of what."""

    question: str
    why: str = ""


def rewrite_question(question: str, exchanges: Sequence[Exchange], index: Index) -> RewrittenQuestion:
    """Return a question that stands alone, by the exchanges before it, the latest last."""
    last = next((exchange for exchange in reversed(exchanges) if _asks(exchange.question, index)), None)
    if last is None:
        return RewrittenQuestion(question)
    bare = _LEAD.sub("", question.strip())
    fragment = (bare != question.strip() or _ABOUT.search(bare)) and not _QUESTION.search(bare)
    if (fragment or _ALONE.match(bare)) and (continued := _continued(bare, last.question, index)):
        return continued
    return _resolved(bare[:1].upper() + bare[1:], last, index)


def _asks(text: str, index: Index) -> bool:
    """Tell whether a message asks for anything, or names something: thanks do not."""
    read = read_question(text, *index.languages)
    return (
        read.asks_fact
        or read.asks_description
        or read.about_whole
        or bool(read.names or entities_in(text, index))
    )


def _continued(bare: str, before: str, index: Index) -> RewrittenQuestion | None:
    """Return the last question with another name (`And Ada?`) or with `Why?` after it; None for a new subject."""
    rest = _ABOUT.sub("", bare)
    named, old = entities_in(rest, index), entities_in(before, index)
    alike = [e for e in old if named and e.type.lower() == named[0].type.lower()]
    if alike and (mention := _mention(alike[0], before)):
        question = f"{before[: mention.start()]}{named[0].name}{before[mention.end() :]}"
        return RewrittenQuestion(question, f"the last question, of {named[0].name}")
    if old and named:
        return None
    space = "" if CJK.search(before) else " "
    if before.rstrip().endswith((".", "!", "?", "。", "！", "？", "؟")):
        rest = rest[:1].upper() + rest[1:]
    return RewrittenQuestion(f"{before}{space}{rest}", "it goes on with the last question")


def _resolved(question: str, last: Exchange, index: Index) -> RewrittenQuestion:
    """Return a question with the names that its pronouns mean."""
    pattern = _WORDS_ZH if CJK.search(question) else _WORDS
    expletives = [m.span() for m in _EXPLETIVE.finditer(question)]
    meanings: dict[str, str] = {}
    missing: dict[str, None] = {}

    def name(match: re.Match[str]) -> str:
        word = match[0]
        if any(start <= match.start() < end for start, end in expletives):
            return word
        types = _PRONOUNS[match["word"].lower()] if match["word"] else _NOUNS[match["noun"].lower()]
        if _fitting(entities_in(question[: match.start()], index), types, strict=True):
            return word  # it means what this question names itself
        meant = _meant(types, word.lower() in _PLURAL, last, index)
        if not meant:
            missing[word] = None
            return word
        meanings[word] = meant
        return f"in {meant}" if word.lower() in ("there", "here") else f"{meant}{_ending(match, question)}"

    rewritten = pattern.sub(name, question)
    reasons = [f"“{word}” means {meant}" for word, meant in meanings.items()]
    reasons += [f"nothing was found that “{word}” may mean" for word in missing]
    return RewrittenQuestion(rewritten, "; ".join(reasons))


def _ending(match: re.Match[str], question: str) -> str:
    """Return the ending that a name takes in the place of a possessive."""
    word, after = match[0].lower(), question[match.end() :]
    if word == "其":
        return "的"
    object_ = word == "her" and not re.match(r" (?!(?:in|on|at|by|to|from|and|or|after)\b)\w", after)
    return "'s" if word in _POSSESSIVE and not object_ else ""


def _meant(types: tuple[str, ...], plural: bool, last: Exchange, index: Index) -> str:
    """Return what a word may mean: what the last question names, else what its answer names most."""
    named = entities_in(last.question, index)
    asked_where = read_question(last.question).wants == "place"  # then the place is in the answer
    bodies = _fitting(named, _BODY) if types == _LOCATION and not asked_where else []
    of_question = _fitting(named, types) or bodies
    if plural and len(of_question) > 1 and len({e.type for e in of_question}) == 1:
        joint = "和" if CJK.search(last.question) else " and "
        ordered = sorted(of_question, key=lambda e: _position(e, last.question))
        return joint.join(e.name for e in ordered[:3])
    if of_question:
        return of_question[0].name
    lines = [line for line in last.answer.splitlines() if not line.startswith(("#", "*"))]
    prose = _ASIDE.sub("", "\n".join(lines))
    of_answer = _fitting(entities_in(prose, index), types)
    counts = {e.number: name_key(last.answer).count(name_key(e.name)) for e in of_answer}
    best = sorted(of_answer, key=lambda e: (-counts[e.number], _position(e, last.answer)))
    return best[0].name if best else _last_name(last.question)


def _last_name(question: str) -> str:
    """Return the last name in a question that the graph does not know, as it is written."""
    if quoted := re.findall(r"《[^》]+》", question):
        return quoted[-1]
    capital = rf"[^\W\d_{SMALL}]"
    pattern = rf"(?<!^)(?<![.?!] )\b{capital}[\w'’.-]*(?: (?:(?:of|the|de|van) )?{capital}[\w'’.-]*)*"
    names = [name for name in re.findall(pattern, question) if name[0].isupper()]
    return names[-1].removesuffix("'s").removesuffix("’s") if names else ""


def _fitting(matches: Sequence[Entity], types: tuple[str, ...], *, strict: bool = False) -> list[Entity]:
    """Return the entities of some types; of no types, neither persons nor dates, else (not `strict`) the persons."""
    if types:
        return [e for e in matches if e.type.lower() in types]
    things = [e for e in matches if e.type.lower() not in (*_PERSON, *_DATE)]
    persons = [] if strict else [e for e in matches if e.type.lower() not in _DATE]
    return sorted(things, key=lambda e: e.type == "concept") or persons


def _mention(entity: Entity, text: str) -> re.Match[str] | None:
    """Return the first mention of an entity in a text, by the longest of its names that occurs."""
    names = sorted((entity.name, *entity.aliases), key=len, reverse=True)
    return next((m for name in names if (m := re.search(re.escape(name), text, re.IGNORECASE))), None)


def _position(entity: Entity, text: str) -> int:
    mention = _mention(entity, text)
    return mention.start() if mention else len(text)
