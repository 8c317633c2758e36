"""Conversations with an index: each question is understood in the context of those before it.

Query rewriting makes a question understandable alone: by a language model or, without one, by rules that replace
pronouns with names. A conversation can be saved in a file, a line of JSON for each exchange, and continued later.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.api.asking import AskOptions, IndexLike, Request, answer_question, opened_for
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model, writes
from conspectus.retrieval.base import extractive
from conspectus.retrieval.local import entities_in
from conspectus.rows import Answer, Entity, counted
from conspectus.runtime import DEFAULT_FOLDER, check_question, public, synchronous
from conspectus.tasks import Exchange, StandaloneQuestion
from conspectus.text.language import ENGLISH, language_of, read_word_sets
from conspectus.text.question import question_pattern, read_question
from conspectus.text.words import CJK, name_key

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.api.asking import QuestionContext
    from conspectus.models.llm.model import Session

REMEMBERED = 4
"""Number of exchanges that are considered for a question: older ones are rarely meant, and cost tokens."""
LONGEST = 1500
"""Maximum characters of an earlier answer that are read: its first paragraphs, some 350 tokens."""
_MARKERS = re.compile(r"\s*(?<!\\)\[\d+\]")
_ASIDE = re.compile(r"(?m)^- [^:\"]{2,40}: (?=\")|(?<!\\)\[\d+\]")
"""The speakers of quotations, and the citation markers."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: the original and the rewritten question, the text of the answer, and its method."""

    question: str
    resolved: str
    answer: str
    method: str


class Conversation:
    """A conversation with an index.

    `earlier` are previous questions and answers, e.g. stored by another program. `file` stores the conversation; if the
    file already contains one, it is continued. Raises UsageError if the file contains something else or cannot be
    saved, and what `open_index` raises.
    """

    @public
    def __init__(
        self,
        index: IndexLike = DEFAULT_FOLDER,
        *,
        file: str | Path | None = None,
        earlier: Iterable[tuple[str, str]] = (),
        **options: Unpack[AskOptions],
    ) -> None:
        self._view, self._run = opened_for(index, options)
        self._options = options
        self._file = Path(file) if file is not None else None
        if self._file:  # before a question is asked
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"conversation {file} cannot be saved: {error.strerror or error}") from None
        self.turns = [Turn(question, question, answer, "") for question, answer in earlier]
        self.turns += _read(self._file) if self._file and self._file.exists() else []

    def __repr__(self) -> str:
        """Return the index and the number of exchanges on one line."""
        return f"<Conversation with {self._view.index!r}: {counted(len(self.turns), 'exchange')}>"

    @public
    async def aask(
        self,
        question: str,
        *,
        on_text: Callable[[str], None] | None = None,
        on_method: Callable[[str, str], None] | None = None,
    ) -> Answer:
        """Answer a question; the answer's `question` is the rewritten question, its `why` explains the rewriting.

        `aask` is the asynchronous form of `ask`; `on_text` and `on_method` are as in `conspectus.aask`.
        """
        async with self._request(question) as (request, why, session):

            def tell(method: str, reason: str) -> None:
                if on_method:
                    on_method(method, _joined(why, reason))

            answer = await answer_question(request, on_text, tell)
            usage = session.total if session else answer.usage
        answer = replace(answer, why=_joined(why, answer.why), usage=usage)
        turn = Turn(question, answer.question, answer.text, answer.method)
        self.turns.append(turn)
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(turn), ensure_ascii=False) + "\n")
        return answer

    ask = synchronous(aask)

    @public
    async def acontext(self, question: str) -> QuestionContext:
        """Gather the context that `ask` would answer from, as `conspectus.context` does, without adding an exchange."""
        async with self._request(question) as (request, why, _):
            seen = await request.context()
            return replace(seen, why=_joined(why, seen.why))

    context = synchronous(acontext)

    def forget(self) -> None:
        """Remove all exchanges; a file that stores the conversation is emptied."""
        self.turns = []
        if self._file is not None and self._file.exists():
            self._file.write_text("", encoding="utf-8")

    @asynccontextmanager
    async def _request(self, question: str) -> AsyncGenerator[tuple[Request, str, Session | None]]:
        """Open the model; yield the request for the rewritten question, how it was rewritten, and the session."""
        began = time.perf_counter()
        check_question(question, self._run.settings.answer.context_tokens)
        index = self._view.index
        async with self._run.session(index.folder) as session:
            model = extractive(index)
            model = self._run.model or (session.model_with(model) if session else model)
            standalone, why = await self._standalone(question, model)
            run = replace(self._run, model=model)
            yield Request.on(standalone, self._view, run, self._options, began), why, session

    async def _standalone(self, question: str, model: Model) -> tuple[str, str]:
        """Return the rewritten question, and how it was rewritten, "" if it stays as it is."""
        turns = self.turns[-REMEMBERED:]
        earlier = tuple(Exchange(turn.resolved, _MARKERS.sub("", turn.answer)[:LONGEST]) for turn in turns)
        if not earlier:
            return question, ""
        if writes(model, StandaloneQuestion):
            task = StandaloneQuestion(question, earlier, language=language_of([question]))
            standalone, why = await model.perform(task), ""
        else:
            standalone, why = rewrite_question(question, earlier, self._view.index)
        if not standalone.strip() or standalone.strip() == question.strip():
            return question, why
        return standalone, f"taken as “{standalone}”" + (f" ({why})" if why else "")


def _joined(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))


def _read(file: Path) -> list[Turn]:
    turns: list[Turn] = []
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            turns.append(Turn(**json.loads(line)))
    except OSError as error:
        raise UsageError(f"the conversation {file} cannot be read: {error}") from None
    except (ValueError, TypeError):
        raise UsageError(
            f"{file}, line {len(turns) + 1}, is not a turn of a conversation; name another file"
        ) from None
    return turns


# Rewriting by rules

_PERSON = ("person", "people", "human", "人", "人物")
_DATE = ("date", "time", "日期", "时间")

_LISTS = read_word_sets("words")
_OF_PERSONS, _OF_THINGS = _LISTS["pronouns_of_persons"], _LISTS["pronouns_of_things"]
_PRONOUN = question_pattern(ENGLISH, "pronoun")
_PRONOUN_ZH = question_pattern("zh", "pronoun", re.NOFLAG)
_EXPLETIVE = question_pattern(ENGLISH, "expletive")
_LEAD = question_pattern(ENGLISH, "goes_on")
"""Beginnings of a question that continues the last one."""
_ALONE = question_pattern(ENGLISH, "stands_alone")
_QUESTION = question_pattern(ENGLISH, "asks_anything")


def rewrite_question(question: str, exchanges: Sequence[Exchange], index: Index) -> tuple[str, str]:
    """Return a question rewritten by the exchanges before it, the latest last, and how it was rewritten.

    Pronouns and `And Ada?` refer to the last question that asked or named anything; other questions stay as they are.
    """
    last = next((exchange for exchange in reversed(exchanges) if _asks(exchange.question, index)), None)
    if last is None:
        return question, ""
    bare = _LEAD.sub("", question.strip())
    if _ALONE.match(bare) or (bare != question.strip() and not _QUESTION.search(bare)):
        return _continued(question, bare, last.question, index)
    return _resolved(bare[:1].upper() + bare[1:], last, index)


def _asks(text: str, index: Index) -> bool:
    """Return whether a message asks for anything or names something, unlike thanks."""
    read = read_question(text, *index.languages)
    asks = read.asks_fact or read.asks_description or read.about_whole
    return asks or bool(read.names or entities_in(text, index))


def _continued(question: str, bare: str, before: str, index: Index) -> tuple[str, str]:
    """Return the last question with another name (`And Ada?`) or followed by `Why?`; a new subject stays as it is."""
    named, old = entities_in(bare, index), entities_in(before, index)
    for entity in old:
        if named and entity.type.lower() == named[0].type.lower():
            position, length = _mention(entity, before)
            name = named[0].name
            return f"{before[:position]}{name}{before[position + length :]}", f"the last question, of {name}"
    if old and named:
        return question, ""
    space = "" if CJK.search(before) else " "
    if before.rstrip().endswith((".", "!", "?", "。", "！", "？", "؟")):
        bare = bare[:1].upper() + bare[1:]
    return f"{before}{space}{bare}", "it continues the last question"


def _resolved(question: str, last: Exchange, index: Index) -> tuple[str, str]:
    """Return a question with its pronouns replaced by the names that they mean."""
    expletives = [match.span() for match in _EXPLETIVE.finditer(question)]
    reasons: dict[str, None] = {}

    def name(match: re.Match[str]) -> str:
        word = match[0]
        if any(start <= match.start() < end for start, end in expletives):
            return word
        if any(_fits(entity, word) for entity in entities_in(question[: match.start()], index)):
            return word  # it refers to a name in this question
        meant = _meant(word, last, index)
        reasons[f"“{word}” means {meant}" if meant else f"nothing found that “{word}” may refer to"] = None
        return f"{meant}{_ending(match, question)}" if meant else word

    pattern = _PRONOUN_ZH if CJK.search(question) else _PRONOUN
    rewritten = pattern.sub(name, question)
    return rewritten, "; ".join(reasons)


def _ending(match: re.Match[str], question: str) -> str:
    """Return the ending that a name takes when it replaces a possessive pronoun."""
    word, after = match[0].lower(), question[match.end() :]
    if word == "其":
        return "的"
    is_object = word == "her" and not re.match(r" (?!(?:in|on|at|by|to|from|and|or|after)\b)\w", after)
    return "'s" if word in _LISTS["possessive_pronouns"] and not is_object else ""


def _meant(word: str, last: Exchange, index: Index) -> str:
    """Return the name that a pronoun may mean: from the last question, else the commonest in its answer; else ""."""
    for text in (last.question, _ASIDE.sub("", last.answer)):
        fitting = [entity for entity in entities_in(text, index) if _fits(entity, word)]
        if fitting:
            key = name_key(text)
            counts = {entity.name: key.count(name_key(entity.name)) for entity in fitting}
            order = [(e.type == "concept", -counts[e.name], _mention(e, text)[0], e.name) for e in fitting]
            return min(order)[-1]
    return ""


def _fits(entity: Entity, pronoun: str) -> bool:
    is_person = entity.type.lower() in _PERSON
    if pronoun.lower() in _OF_PERSONS:
        return is_person
    return entity.type.lower() not in _DATE and not (is_person and pronoun.lower() in _OF_THINGS)


def _mention(entity: Entity, text: str) -> tuple[int, int]:
    """Return the position and length of the first mention of an entity in a text, by its longest name that occurs."""
    for name in sorted((entity.name, *entity.aliases), key=len, reverse=True):
        if match := re.search(re.escape(name), text, re.IGNORECASE):
            return match.start(), len(match[0])
    return len(text), 0
