"""Reports as texts: which entities of their community they name, and which sentences stand on what they cite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conspectus.errors import CallFailed
from conspectus.evaluation.checking.loss import follows
from conspectus.evaluation.checking.sentences import sentences_of
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.references import Reference, rewrite, strip
from conspectus.rows import Chunk, Claim, Community, Entity, Relationship, Report
from conspectus.text.language import language_of
from conspectus.text.words import name_key

Row = Report | Chunk | Entity | Relationship | Claim


@dataclass(frozen=True)
class Support:
    """Sentences of a report's findings: all, those that cite something, and those that follow from what they cite."""

    sentences: int
    cited: int
    supported: int
    error: str = ""


def named(report: Report, community: Community, entities: Sequence[Entity]) -> int:
    """Return how many entities of a community its report names."""
    text = f" {name_key(strip(report.text))} "
    return sum(f" {name_key(entities[number].name)} " in text for number in community.entity_numbers)


async def support(report: Report, reports: Sequence[Report], index: Index, model: Model) -> Support:
    """Check a report's findings, sentence by sentence, against the rows that each cites, as its writer was shown them.

    A sentence is followed from the names and descriptions of these rows, of other reports from their whole text.
    """
    sentences = cited = supported = 0
    try:
        for finding in report.findings:
            text, texts = _marked(finding.explanation, reports, index)
            for sentence in sentences_of(text, texts):
                if sentence.heading:
                    continue
                sentences += 1
                cited += bool(sentence.markers)
                behind = [texts[marker] for marker in sentence.markers]
                if behind and await follows(sentence.text, behind, model, language_of([sentence.text])):
                    supported += 1
    except CallFailed as error:
        return Support(0, 0, 0, str(error) or type(error).__name__)
    return Support(sentences, cited, supported)


def _marked(text: str, reports: Sequence[Report], index: Index) -> tuple[str, Mapping[int, str]]:
    """Return a text with `[1]` for each row that it cites, and the texts of these rows."""
    numbers: dict[Reference, int] = {}
    texts: dict[int, str] = {}

    def block(references: list[Reference]) -> str:
        written: list[str] = []
        for reference in references:
            if (told := _text_of(reference, reports, index)) is not None:
                number = numbers.setdefault(reference, len(numbers) + 1)
                texts[number] = told
                written.append(f"[{number}]")
        return "".join(written)

    return rewrite(text, block), texts


def _text_of(reference: Reference, reports: Sequence[Report], index: Index) -> str | None:
    tables: dict[str, Sequence[Row]] = {
        "Reports": reports,
        "Sources": index.chunks,
        "Entities": index.entities,
        "Relationships": index.relationships,
        "Claims": index.claims,
    }
    rows = tables[reference.table]
    if not 0 <= reference.number < len(rows):
        return None
    return "\n".join(part for part in _parts(rows[reference.number]) if part)


def _parts(row: Row) -> Iterator[str]:
    match row:
        case Report() | Chunk():
            yield strip(row.text)
        case Entity():
            yield row.name
            yield strip(row.description)
        case Relationship():
            yield f"{row.source} - {row.target}"
            yield strip(row.description)
        case Claim():
            yield f"{row.subject} - {row.object}"
            yield strip(row.description)
