"""Conversations with an index: each question is read in the light of those before it.

A language model rewrites a question so that it stands alone; without one, rules put names in the place of pronouns and
add what a short question leaves out (`query.following`). A conversation can be kept in a file, a line of JSON for each
exchange, and gone on with later.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.api.asking import Asked, Level, Method, aask, model_of, viewed
from conspectus.errors import UsageError
from conspectus.models.base import Model
from conspectus.rows import Answer
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

if TYPE_CHECKING:
    from typing_extensions import Unpack

REMEMBERED = 4
"""Exchanges that a question is read in the light of."""
LONGEST = 1500
"""Characters of an earlier answer that are read."""
_MARKERS = re.compile(r"\s*\[\d+\]")


@dataclass(frozen=True, slots=True)
class Said:
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
        self.said: list[Said] = _read(self._file) if self._file and self._file.exists() else []

    def __repr__(self) -> str:
        """Return on one line what it is asked of, and how far it has come."""
        return f"<Conversation with {self._view.index!r}: {len(self.said)} exchanges>"

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
            asked, why = await self._standalone(question, model)
            answer = await aask(
                asked,
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
        self._keep(Said(question, answer.question, answer.text, answer.method))
        return answer

    def forget(self) -> None:
        """Begin anew; a file that keeps the conversation is emptied."""
        self.said = []
        if self._file is not None and self._file.exists():
            self._file.write_text("", encoding="utf-8")

    async def _standalone(self, question: str, model: Model) -> tuple[str, str]:
        """Return a question that stands alone, and how it came to that, "" where it stays as it is."""
        from conspectus.retrieval.query_rewriting import rewrite_question

        earlier = tuple(
            Exchange(said.resolved, _MARKERS.sub("", said.answer)[:LONGEST]) for said in self.said[-REMEMBERED:]
        )
        if not earlier:
            return question, ""
        if model.generative:
            task = StandaloneQuestion(question, earlier, language=language_of([question]))
            asked, why = await model.perform(task), ""
        else:
            made = rewrite_question(question, earlier, self._view.index)
            asked, why = made.question, made.why
        if not asked.strip() or asked.strip() == question.strip():
            return question, why
        return asked, f"taken as “{asked}”" + (f" ({why})" if why else "")

    def _keep(self, said: Said) -> None:
        self.said.append(said)
        if self._file is None:
            return
        row = {"question": said.question, "resolved": said.resolved, "answer": said.answer, "method": said.method}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _read(file: Path) -> list[Said]:
    """Return the exchanges that a file keeps."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the conversation {file} cannot be read: {error}") from None
    said: list[Said] = []
    for number, line in enumerate(lines, 1):
        try:
            row: dict[str, Any] = json.loads(line)
            said.append(Said(*(str(row[key]) for key in ("question", "resolved", "answer", "method"))))
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{file}, line {number}, is no exchange of a conversation; name another file") from None
    return said
