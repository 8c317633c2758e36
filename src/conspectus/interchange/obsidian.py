"""Export an index as an Obsidian vault: one note per entity, report and document, connected by links."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conspectus import Index
from conspectus.errors import UsageError
from conspectus.retrieval.citations import cite
from conspectus.rows import Citation, Entity, Report

MAX_NAME_CHARS = 100
"""Characters of a file name: with number and suffix it stays below the 255 bytes that file systems allow."""
MAX_RELATIONSHIPS = 60
"""Relationships listed in a note, the strongest: more are no longer read."""
QUOTE_CHARS = 240
"""Characters shown of a cited source: two or three sentences."""
_UNSAFE = re.compile(r'[\\/:*?"<>|#^\[\]%\x00-\x1f\x7f]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def file_names(titles: Iterable[str]) -> list[str]:
    """Return a file name per title: valid on every system, and unique regardless of case and Unicode form.

    Characters that links or file systems do not allow become spaces; a name that is in use gets a number.
    """
    used: set[str] = set()
    names: list[str] = []
    for title in titles:
        base = " ".join(_UNSAFE.sub(" ", unicodedata.normalize("NFC", title)).split())[:MAX_NAME_CHARS]
        base = base.encode()[:200].decode(errors="ignore").strip(". ") or "untitled"
        if _RESERVED.fullmatch(base):
            base = f"{base} -"
        name, count = base, 1
        while unicodedata.normalize("NFKC", name).casefold() in used:
            count += 1
            name = f"{base} ({count})"
        used.add(unicodedata.normalize("NFKC", name).casefold())
        names.append(name)
    return names


def write_vault(index: Index, folder: Path) -> None:
    """Write the notes into a folder, which must be new, empty or a vault written before.

    Notes of the vault that the index no longer has are removed. Raises UsageError if the folder contains other files.
    """
    marker = folder / ".conspectus-vault"
    if folder.is_dir() and any(folder.iterdir()) and not marker.is_file():
        raise UsageError(f"{folder} is not empty and no vault of an index; name another folder")
    notes = _Notes(index).texts()
    before = set(json.loads(marker.read_text("utf-8"))) if marker.is_file() else set[str]()
    for part in ("entities", "reports", "documents"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name in before - set(notes):
        if re.fullmatch(r"(?:(?:entities|reports|documents)/)?[^/\\]+\.md", name):
            (folder / name).unlink(missing_ok=True)
    for name, text in notes.items():
        (folder / name).write_text(text.rstrip() + "\n", "utf-8", newline="\n")
    marker.write_text(json.dumps(sorted(notes), ensure_ascii=False), "utf-8")


class _Notes:
    """The notes of an index, and the names by which they link to each other."""

    def __init__(self, index: Index) -> None:
        self._index = index
        titles = (
            *(entity.name for entity in index.entities),
            *(report.title for report in index.reports),
            *(document.title for document in index.documents),
        )
        names = file_names(["Start", *titles])[1:]
        self._entities, names = names[: len(index.entities)], names[len(index.entities) :]
        self._reports, self._documents = names[: len(index.reports)], names[len(index.reports) :]

    def texts(self) -> dict[str, str]:
        """Return the text of each note by its path in the vault."""
        index = self._index
        return {
            "Start.md": self._start(),
            **{f"entities/{self._entities[e.number]}.md": self._entity(e) for e in index.entities},
            **{f"reports/{self._reports[r.number]}.md": self._report(r) for r in index.reports},
            **{f"documents/{self._documents[d.number]}.md": d.text for d in index.documents},
        }

    def _start(self) -> str:
        index = self._index
        roots = sorted((r for r in index.reports if r.level == 0), key=lambda r: (-r.rating, r.number))
        counts = f"{len(index.entities):,} things, {len(index.reports):,} reports."
        return "\n".join(["# Start", "", counts, "", *(f"- {self._to_report(r)} ({r.size:,})" for r in roots)])

    def _entity(self, entity: Entity) -> str:
        index = self._index
        edges = sorted(
            (index.relationships[r] for r in index.edges_of(entity.number)), key=lambda r: (-r.weight, r.number)
        )
        related: list[str] = []
        for edge in edges[:MAX_RELATIONSHIPS]:
            other = edge.target if edge.source == entity.name else edge.source
            link = _link(self._entities[index.entity_of_name[other]], other)
            related.append(f"- {link} ({edge.weight:g}): {_line(edge.description)}")
        reports = [r for c in index.communities_of(entity.number) if (r := index.report_of_community.get(c))]
        documents = [(index.document_of[span.document_id], span) for span in entity.spans[:5]]
        quotations = [
            f"- {_link(self._documents[document.number])}: “{_line(document.text[span.start : span.end])}”"
            for document, span in documents
        ]
        tags = ["entity", re.sub(r"[^\w/-]+", "-", entity.type) or "thing"]
        head = _head(aliases=[entity.name, *entity.aliases], tags=tags, degree=entity.degree)
        sections = {"Reports": self._listed(reports), "Relationships": related, "Told in": quotations}
        return _note([head, f"# {_line(entity.name)}", _paragraphs(entity.description)], sections)

    def _report(self, report: Report) -> str:
        index = self._index
        community = index.communities[report.community]
        parent = index.report_of_community.get(report.parent)
        children = [child for c in report.children if (child := index.report_of_community.get(c))]
        findings = [f"## {_line(f.summary)}\n\n{_paragraphs(f.explanation)}" for f in report.findings]
        text, citations, _ = cite("\n\n".join([_paragraphs(report.summary), *findings]), index)
        tags = ["report", f"level-{report.level}"]
        head = _head(aliases=[report.title], tags=tags, rating=report.rating, level=report.level)
        part_of = f"Part of {self._to_report(parent)}." if parent else ""
        members = sorted(community.entity_numbers, key=lambda n: (-index.entities[n].degree, n))
        sections = {
            "Parts": self._listed(children),
            "Things": [f"- {_link(self._entities[n], index.entities[n].name)}" for n in members],
            "Sources": [f"{c.marker}. {_source(c)}" for c in citations],
        }
        return _note([head, f"# {_line(report.title)}", part_of, text], sections)

    def _to_report(self, report: Report) -> str:
        return _link(self._reports[report.number], report.title)

    def _listed(self, reports: Iterable[Report]) -> list[str]:
        return [f"- {self._to_report(report)}" for report in reports]


def _note(parts: Sequence[str], sections: Mapping[str, Sequence[str]]) -> str:
    lists = [f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items() if lines]
    return "\n\n".join(filter(None, (*parts, *lists)))


def _link(name: str, shown: str = "") -> str:
    shown = _line(shown).replace("|", "-").replace("]", ")").replace("[", "(")
    return f"[[{name}|{shown}]]" if shown and shown != name else f"[[{name}]]"


def _head(**properties: object) -> str:
    """Return front matter; JSON is valid YAML for every value."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in properties.items()]
    return "\n".join(["---", *lines, "---"])


def _paragraphs(text: str) -> str:
    """Return a text whose lines are paragraphs, so that none becomes a heading or a list by accident."""
    return "\n\n".join(stripped for part in text.splitlines() if (stripped := part.strip()))


def _line(text: str) -> str:
    return " ".join(text.split())


def _source(citation: Citation) -> str:
    head = f"{citation.kind}: {_line(citation.title)}"
    if not citation.sources:
        return head
    first = citation.sources[0]
    text = _line(first.text)
    shown = text if len(text) <= QUOTE_CHARS else text[: QUOTE_CHARS - 1].rstrip() + "…"
    return f"{head}. {_line(first.document)}, characters {first.start}-{first.end}: “{shown}”"
