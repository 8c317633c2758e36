"""Evidence: the rows that a model is given to write from, rendered in one place and numbered locally.

Rows are numbered 1, 2, 3 within their table of the evidence, never by their numbers in the index: otherwise
one added file would change nearly every prompt, and with it void nearly every kept reply. `to_index` maps the
local numbers that a model wrote back to the index's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from conspectus.references import Reference, strip, translate
from conspectus.rows import Chunk, Claim, Entity, Relationship, Report

Row = Entity | Relationship | Claim | Report | Chunk

HEADINGS = {
    "reports": "id,report",
    "entities": "id,entity,description",
    "relationships": "id,source,target,description",
    "claims": "id,subject,type,status,description",
    "sources": "id,text",
}


@dataclass(frozen=True)
class Context:
    """Rows of any of five tables, in the order in which they are shown."""

    reports: tuple[Report, ...] = ()
    entities: tuple[Entity, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    claims: tuple[Claim, ...] = ()
    sources: tuple[Chunk, ...] = ()

    def tables(self) -> Iterator[tuple[str, Sequence[Row]]]:
        """Yield the name and rows of each table that has any."""
        for f in fields(self):
            if rows := getattr(self, f.name):
                yield f.name, rows

    @cached_property
    def text(self) -> str:
        """The evidence as it is shown to a language model."""
        return "\n".join(
            f"-----{name.capitalize()}-----\n{HEADINGS[name]}\n"
            + "".join(map(render, rows, range(1, len(rows) + 1)))
            for name, rows in self.tables()
        )

    def to_index(self, reference: Reference) -> Reference | None:
        """Return the reference to the same row in the index's numbers; None where no such row is here."""
        rows: Sequence[Row] = getattr(self, reference.table.lower())
        return (
            Reference(reference.table, rows[reference.number - 1].number)
            if 0 < reference.number <= len(rows)
            else None
        )

    def globalize(self, text: str) -> tuple[str, int]:
        """Return a text with its references in the index's numbers, and how many led nowhere and were
        removed.
        """
        return translate(text, self.to_index)


def render(row: Row, number: int) -> str:
    """Return one row as one line (a report or a chunk as a block), opened by its local number."""
    match row:
        case Entity():
            cells: Iterable[str] = (row.name, row.description)
        case Relationship():
            cells = (row.source, row.target, row.description)
        case Claim():
            cells = (row.subject, row.type, row.status, row.description)
        case Report():  # the references in it are in the index's numbers, and not to rows that are shown
            return f"{number},\n{strip(row.text).strip()}\n\n"
        case Chunk():
            return f"{number},\n{row.text.strip()}\n\n"
    return f"{number},{','.join(map(_cell, cells))}\n"


def _cell(value: str) -> str:
    value = " ".join(value.split())
    return '"' + value.replace('"', '""') + '"' if "," in value or '"' in value else value
