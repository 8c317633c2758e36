"""The sentences of an answer, as they are checked one by one, each with the references that stand for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conspectus.evaluation.jsonl_table import ConditionAnswer
from conspectus.messages import LANGUAGES, wording
from conspectus.models.extractive.statements import speaker_of
from conspectus.text.sentences import sentences

_MARKERS = re.compile(r"[ \t]*((?:\[\d+\])+)")
_HEADING = re.compile(r"#{1,6}\s+|\*\*[^*]+\*\*:?$|__[^_]+__:?$")
_BULLET = re.compile(r"(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_RULE = re.compile(r"\|?\s*:?-+[-:|\s]*$")
"""What stands below the head of a table."""
_HASHES = re.compile(r"#+\s*")
_OURS = frozenset(
    text for words in map(wording, LANGUAGES) for text in (words.assembled, words.assembled_with_reports, words.nothing)
)
"""What the program says, and no answer."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or a heading of an answer, without Markdown; `markers` are those of the references given for it."""

    text: str
    markers: tuple[int, ...] = ()
    heading: bool = False

    @property
    def shown(self) -> str:
        """The text as context shows it: a heading is told from a sentence."""
        return f"# {self.text}" if self.heading else self.text


def sentences_of(text: str, cited: Collection[int] = ()) -> list[Sentence]:
    """Return the sentences and headings of an answer in Markdown.

    A reference (`[1]`, of a marker in `cited`) stands for the sentence that it ends or stands in, and for those before
    it in its paragraph, back to the reference before: so `query.citations` has it too. What a speaker is quoted with
    on a line of its own is one sentence.
    """
    lines = [line.strip() for line in text.splitlines()]
    following = [*lines, ""][1:]
    return [s for line, after in zip(lines, following, strict=True) for s in _of_line(line, after, cited)]


def sentences_in(answer: ConditionAnswer) -> list[Sentence]:
    """Return the sentences and headings of an answer, see `sentences_of`."""
    return sentences_of(answer.text, {one.marker for one in answer.cited})


def _of_line(line: str, after: str, cited: Collection[int]) -> Iterator[Sentence]:
    if not any(c.isalpha() for c in line):
        return
    bare, runs = _without_markers(line, cited)
    heading = bool(_HEADING.match(bare)) or (line.startswith("|") and bool(_RULE.match(after)))
    if line.startswith("|"):
        bare, runs = ", ".join(cell.strip() for cell in bare.strip("|").split("|")), [(len(bare), m) for _, m in runs]
    for start, end, markers in _marked(bare, runs, heading):
        said = _EMPHASIS.sub("", _HASHES.sub("", bare[start:end]) if heading else bare[start:end]).strip()
        if any(c.isalpha() for c in said) and said not in _OURS:
            yield Sentence(said, markers, heading)


def _without_markers(line: str, cited: Collection[int]) -> tuple[str, list[tuple[int, tuple[int, ...]]]]:
    """Return a line without its bullet and references, and where these stood."""
    line = line[_bullet(line) :]
    bare, end = "", 0
    runs: list[tuple[int, tuple[int, ...]]] = []
    for run in _MARKERS.finditer(line):
        if numbers := tuple(n for n in map(int, re.findall(r"\d+", run[1])) if n in cited):
            bare += line[end : run.start()]
            runs.append((len(bare), numbers))
            end = run.end()
    return bare + line[end:], runs


def _bullet(line: str) -> int:
    match = _BULLET.match(line)
    return match.end() if match else 0


def _marked(
    line: str, runs: Sequence[tuple[int, tuple[int, ...]]], whole: bool
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield the spans of the sentences of a line, each with its markers or else those that come next."""
    spans = [(0, len(line))] if whole or speaker_of(line) else list(sentences(line))
    markers: list[tuple[int, ...]] = [()] * len(spans)
    for at, numbers in runs:
        place = max((i for i, (start, _) in enumerate(spans) if start < at), default=0)
        markers[place] += numbers
    following: tuple[int, ...] = ()
    for i in reversed(range(len(spans))):
        following = markers[i] = tuple(dict.fromkeys(markers[i])) or following
    for (start, end), numbers in zip(spans, markers, strict=True):
        yield start, end, numbers
