"""Conversations with an index: each question is read in the light of those before it.

A language model rewrites a question so that it stands alone; without one, rules put names in the place of pronouns and
add what a short question leaves out. A conversation can be saved in a file, a line of JSON for each
exchange, and continued later.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.api.asking import Asked, Level, Method, aask, model_of, viewed
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.local import entities_in
from conspectus.rows import Answer, Entity
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Options,
    check_names,
    check_question,
    known_by,
    run_sync,
    session_for,
    with_options,
)
from conspectus.tasks import Exchange, StandaloneQuestion
from conspectus.text.language import language_of
from conspectus.text.question import read_question
from conspectus.text.words import CJK, SMALL, name_key

if TYPE_CHECKING:
    from typing_extensions import Unpack

REMEMBERED = 4
"""Exchanges that a question is read in the light of."""
LONGEST = 1500
"""Characters of an earlier answer that are read."""
_MARKERS = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: the question as it was put and as it was resolved, and the text of its answer."""

    question: str
    resolved: str
    answer: str
    method: str


class Conversation:
    """Asks an index question after question.

    `file` keeps the conversation; what it holds already is gone on with. Raises UsageError where it is none of ours,
    and what `open_index` raises.
    """

    @with_options
    def __init__(
        self,
        index: Asked = DEFAULT_FOLDER,
        *,
        method: Method = "auto",
        level: Level = None,
        where: str | Sequence[str] = (),
        file: str | Path | None = None,
        **options: Unpack[Options],
    ) -> None:
        check_names(options)
        self._view = viewed(index, where)
        self._settings, self._model = known_by(options, self._view.built)
        self._method = method
        self._level: Level = level
        self._file = Path(file) if file is not None else None
        self.turns: list[Turn] = _read(self._file) if self._file and self._file.exists() else []

    def __repr__(self) -> str:
        """Return on one line what it is asked of, and how far it has come."""
        return f"<Conversation with {self._view.index!r}: {len(self.turns)} exchanges>"

    def ask(self, question: str, *, tell: Callable[[str], None] | None = None) -> Answer:
        """Answer a question; `question` of the answer is what was asked in the end, `why` says how it came to that."""
        return run_sync(self.aask(question, tell=tell))

    async def aask(self, question: str, *, tell: Callable[[str], None] | None = None) -> Answer:
        """Do what `ask` does, inside a running event loop."""
        check_question(question)
        began = time.perf_counter()
        index = self._view.index
        chosen = self._settings.settings
        remembered = self._settings.remembers_model
        async with session_for(chosen, index.folder, self._model, remembered=remembered) as session:
            model = self._model or (session.model if session else model_of(index))
            standalone, why = await self._standalone(question, model)
            answer = await aask(
                standalone,
                self._view,
                method=self._method,
                level=self._level,
                settings=self._settings,
                model=model,
                tell=tell,
            )
            usage = session.total if session else answer.usage
        reason = "; ".join(part for part in (why, answer.why) if part)
        answer = replace(answer, why=reason, usage=usage, seconds=time.perf_counter() - began)
        self._keep(Turn(question, answer.question, answer.text, answer.method))
        return answer

    def forget(self) -> None:
        """Begin anew; a file that keeps the conversation is emptied."""
        self.turns = []
        if self._file is not None and self._file.exists():
            self._file.write_text("", encoding="utf-8")

    async def _standalone(self, question: str, model: Model) -> tuple[str, str]:
        """Return a question that stands alone, and how it came to that, "" where it stays as it is."""

        earlier = tuple(
            Exchange(turn.resolved, _MARKERS.sub("", turn.answer)[:LONGEST]) for turn in self.turns[-REMEMBERED:]
        )
        if not earlier:
            return question, ""
        if model.generative:
            task = StandaloneQuestion(question, earlier, language=language_of([question]))
            standalone, why = await model.perform(task), ""
        else:
            made = rewrite_question(question, earlier, self._view.index)
            standalone, why = made.question, made.why
        if not standalone.strip() or standalone.strip() == question.strip():
            return question, why
        return standalone, f"taken as “{standalone}”" + (f" ({why})" if why else "")

    def _keep(self, turn: Turn) -> None:
        self.turns.append(turn)
        if self._file is None:
            return
        row = {"question": turn.question, "resolved": turn.resolved, "answer": turn.answer, "method": turn.method}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _read(file: Path) -> list[Turn]:
    """Return the exchanges that a file keeps."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the conversation {file} cannot be read: {error}") from None
    turn: list[Turn] = []
    for number, line in enumerate(lines, 1):
        try:
            row: dict[str, Any] = json.loads(line)
            turn.append(Turn(*(str(row[key]) for key in ("question", "resolved", "answer", "method"))))
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{file}, line {number}, is no exchange of a conversation; name another file") from None
    return turn


_PERSON = ("person", "people", "human", "人", "人物")
_PLACE = ("location", "place", "city", "country", "geo", "地点", "地名", "城市")
_BODY = ("organization", "organisation", "company", "group", "institution", "机构", "组织", "公司")
_WORK = ("work", "book", "film", "product", "object", "作品")
_DATE = ("date", "time", "日期", "时间")
_ANY: tuple[str, ...] = ()

_PRONOUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("he him his she her hers himself herself 他 她".split(), _PERSON),
    **dict.fromkeys("there here 那里 那儿 这里 当地".split(), _PLACE),
    **dict.fromkeys("it its itself they them their theirs themselves 它 其 他们 她们 它们".split(), _ANY),
}
"""The types that each may stand for; of any type is what is no person and no date, if there is such a thing."""
_NOUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("man woman person 人".split(), _PERSON),
    **dict.fromkeys("town city village place country island 城市 地方 国家".split(), _PLACE),
    **dict.fromkeys(
        "company firm organisation organization association council school 公司 机构 学校 组织".split(), _BODY
    ),
    **dict.fromkeys("book film work song report 书 电影 作品 歌".split(), _WORK),
}
_POSSESSIVE = frozenset("his her its their hers theirs".split())
_PLURAL = frozenset("they them their 他们 她们 它们".split())

_WORDS = re.compile(
    rf"\b(?P<word>{'|'.join(w for w in _PRONOUNS if w.isascii())})\b|\b(?:this|that|these|those) (?P<noun>"
    rf"{'|'.join(n for n in _NOUNS if n.isascii())})\b",
    re.IGNORECASE,
)
_WORDS_ZH = re.compile(
    r"(?P<word>他们|她们|它们|那里|那儿|这里|当地|[他她它]|(?<![极尤与])其(?!中|他|实|它|余))|"
    rf"(?:[这那][家个座本部首位种所条]|该)(?P<noun>{'|'.join(n for n in _NOUNS if not n.isascii())})"
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
_ABOUT = re.compile(r"^(?:(?:what|how) about|and|or)? ?(?P<rest>[^?？]{1,60}?)(?:呢)?[?？.。]?$", re.IGNORECASE)
_ELLIPTIC = re.compile(r"^(?:what|how) about\b|呢[?？]?$", re.IGNORECASE)
_ALONE = re.compile(
    r"^(why|how|how so|when|where|who|since when|为什么|为何|何时|在哪里?|怎么)(?: not)?[?？]?$", re.IGNORECASE
)
_AUXILIARY = re.compile(r"^(?:did|does|do|is|are|was|were|has|have|had|will|would|can|could)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b|(?:1[0-9]|20)\d\d年")


OPENINGS = 6
"""Words of a Chinese question that its subject is looked for in."""


@dataclass(frozen=True)
class RewrittenQuestion:
    """A question as it can be understood alone, and what was put in place of what."""

    question: str
    why: str = ""


def rewrite_question(question: str, exchanges: Sequence[Exchange], index: Index) -> RewrittenQuestion:
    """Return a question that stands alone, by the exchanges before it, the latest last."""
    if not exchanges:
        return RewrittenQuestion(question)
    last = exchanges[-1]
    bare = _LEAD.sub("", question.strip())
    if _ALONE.match(bare):
        return _again(bare, last.question)
    if bare != question.strip() or _ELLIPTIC.search(bare):
        instead = _instead(bare, last.question, index)
        if instead:
            return instead
    return _resolved(bare[:1].upper() + bare[1:], last, index)


def _again(standalone: str, before: str) -> RewrittenQuestion:
    """Return the last question asked for something else: `Why?`."""
    rest = before.rstrip(" ?？.。")
    word = standalone.rstrip(" ?？")
    if CJK.search(before):
        return RewrittenQuestion(f"{rest}，{word}？", "it goes on with the last question")
    joint = " " if _AUXILIARY.match(rest) else ": "
    return RewrittenQuestion(f"{word}{joint}{rest[:1].lower()}{rest[1:]}?", "it goes on with the last question")


def _instead(bare: str, before: str, index: Index) -> RewrittenQuestion | None:
    """Return the last question with something else in the place of what it was about: `And in 2021?`."""
    match = _ABOUT.match(bare)
    if match is None or _asks(bare):
        return None
    rest = re.sub(r"^(?:what|how) about ", "", match["rest"], flags=re.IGNORECASE).strip()
    named, old = entities_in(rest, index), entities_in(before, index)
    alike = [e for e in old if named and e.type.lower() == named[0].type.lower()]
    if alike and (written := _written(alike[0], before)):
        return RewrittenQuestion(before.replace(written, named[0].name, 1), f"the last question, of {named[0].name}")
    if old and named:  # of another kind: a new subject
        return None
    if (year := _YEAR.search(rest)) and (earlier := _YEAR.search(before)):
        return RewrittenQuestion(before.replace(earlier[0], year[0], 1), f"the last question, of {year[0]}")
    end = "？" if CJK.search(before) else "?"
    joint = "，" if CJK.search(before) else " " if rest.split()[0].lower() in _PREPOSITIONS else ", as to "
    return RewrittenQuestion(f"{before.rstrip(' ?？.。')}{joint}{rest}{end}", "it goes on with the last question")


_PREPOSITIONS = frozenset("in on at by for with after before during since until from to under over of".split())
_QUESTION = re.compile(
    r"\b(?:who|whom|whose|which|when|where|why|what (?!about\b)|how (?!about\b))"
    r"|^(?:did|does|do|is|are|was|were|has|have|can|will)\b|谁|什么|哪|何|多少|几|吗|怎",
    re.IGNORECASE,
)


def _asks(text: str) -> bool:
    """Tell whether a text is a question of its own."""
    return bool(_QUESTION.search(text))


def _resolved(question: str, last: Exchange, index: Index) -> RewrittenQuestion:
    """Return a question with the names that its pronouns mean."""
    pattern = _WORDS_ZH if CJK.search(question) else _WORDS
    skipped = [m.span() for m in _EXPLETIVE.finditer(question)]
    put: dict[str, str] = {}
    missing: list[str] = []

    def name(match: re.Match[str]) -> str:
        word = match[0]
        if any(start <= match.start() < end for start, end in skipped):
            return word
        types = _PRONOUNS[match["word"].lower()] if match["word"] else _NOUNS[match["noun"].lower()]
        if any(_fits(e, types) for e in entities_in(question[: match.start()], index)):
            return word  # it means what this question names itself
        meant = _meant(types, word.lower() in _PLURAL, last, index)
        if not meant:
            missing.append(word)
            return word
        put[word] = meant
        return f"in {meant}" if word.lower() in ("there", "here") else f"{meant}{_ending(match, question)}"

    turn = pattern.sub(name, question)
    reasons = [f"“{word}” means {meant}" for word, meant in put.items()]
    reasons += [f"nothing was found that “{word}” may mean" for word in dict.fromkeys(missing)]
    return RewrittenQuestion(turn, "; ".join(reasons))


def _ending(match: re.Match[str], question: str) -> str:
    """Return the ending that a name takes in the place of a possessive."""
    word, after = match[0].lower(), question[match.end() :]
    if word == "其":
        return "的"
    if word not in _POSSESSIVE or (
        word == "her" and not re.match(r" (?!(?:in|on|at|by|to|from|and|or|after)\b)\w", after)
    ):
        return ""
    return "'s"


def _meant(types: tuple[str, ...], plural: bool, last: Exchange, index: Index) -> str:
    """Return what a word may mean: what the last question names, else what its answer names most."""
    named = entities_in(last.question, index)
    asked_where = read_question(last.question).wants == "place"  # then the place is in the answer
    bodies = _fitting(named, _BODY) if types == _PLACE and not asked_where else []
    of_question = _fitting(named, types) or bodies
    if plural and len(of_question) > 1 and len({e.type for e in of_question}) == 1:
        joint = "和" if CJK.search(last.question) else " and "
        return joint.join(e.name for e in sorted(of_question, key=partial(_place, text=last.question))[:3])
    if of_question:
        return of_question[0].name
    of_answer = _fitting(entities_in(_spoken(last.answer), index), types)
    counts = {e.number: name_key(last.answer).count(name_key(e.name)) for e in of_answer}
    best = sorted(of_answer, key=lambda e: (-counts[e.number], _place(e, last.answer)))
    return best[0].name if best else _unknown(last.question, index)


def _unknown(question: str, index: Index) -> str:
    """Return what a question is about that the graph does not know: the last name in it, as it is written."""
    if quoted := re.findall(r"《[^》]+》", question):
        return quoted[-1]
    if CJK.search(question):
        return _opening(question, index)
    capital = rf"[^\W\d_{SMALL}]"
    pattern = rf"(?<!^)(?<![.?!] )\b{capital}[\w'’.-]*(?: (?:(?:of|the|de|van) )?{capital}[\w'’.-]*)*"
    names = [name for name in re.findall(pattern, question) if name[0].isupper()]
    return names[-1].removesuffix("'s").removesuffix("’s") if names else ""


def _opening(question: str, index: Index) -> str:
    """Return the first words of a Chinese question that its corpus writes together more than once, the most of them."""
    import rjieba

    words = rjieba.cut(question)[:OPENINGS]
    for n in range(len(words), 0, -1):
        opening = "".join(words[:n])
        if len(opening) > 1 and sum(d.text.count(opening) for d in index.documents) > 1:
            return opening
    return ""


def _fitting(matches: Sequence[Entity], types: tuple[str, ...]) -> list[Entity]:
    """Return the entities of some types; of no types, what is no person and no date, else the persons."""
    if types:
        return [e for e in matches if _fits(e, types)]
    things = [e for e in matches if not _fits(e, (*_PERSON, *_DATE))]
    return sorted(things, key=lambda e: e.type == "concept") or [e for e in matches if not _fits(e, _DATE)]


def _fits(entity: Entity, types: tuple[str, ...]) -> bool:
    return entity.type.lower() in types if types else entity.type.lower() not in (*_PERSON, *_DATE)


def _spoken(answer: str) -> str:
    """Return an answer without headings, marks of citations, and who says its quotations."""
    lines = [line for line in answer.splitlines() if not line.startswith(("#", "*"))]
    return re.sub(r"(?m)^- [^:\"]{2,40}: (?=\")|\[\d+\]", "", "\n".join(lines))


def _written(entity: Entity, text: str) -> str:
    """Return how an entity is written in a text, "" where it is not found there."""
    for form in sorted((entity.name, *entity.aliases), key=len, reverse=True):
        if matches := re.search(re.escape(form), text, re.IGNORECASE):
            return matches[0]
    return ""


def _place(entity: Entity, text: str) -> int:
    written = _written(entity, text)
    return text.find(written) if written else len(text)
