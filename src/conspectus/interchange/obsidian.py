"""Export an index as an Obsidian vault: one note per entity, report and document, connected by links."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conspectus import Index
from conspectus.content import excerpt
from conspectus.errors import UsageError
from conspectus.retrieval.base import cite
from conspectus.rows import Citation, Document, Entity, Report, snippet

MAX_NAME_CHARS = 100
"""Maximum characters of a file name: with number and suffix it stays below the 255 bytes that file systems allow."""
MAX_RELATIONSHIPS = 60
"""Maximum relationships listed in a note, the strongest ones: nobody reads more."""
QUOTE_CHARS = 240
"""Maximum characters shown of a cited source: two or three sentences."""
_UNSAFE = re.compile(r'[\\/:*?"<>|#^\[\]%\x00-\x1f\x7f]+')
_LOADED = re.compile(r"<(?=[a-zA-Z!/?])|!(?=\[)")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_NOTE = re.compile(r"(?:(?:entities|reports|documents)/)?[^/\\]+\.md")


def file_names(titles: Iterable[str]) -> list[str]:
    """Return a file name per title: valid on every system, and unique regardless of case and Unicode form.

    Characters that links or file systems do not allow become spaces, a colon a dash. A name in use gets a number.
    """
    used: set[str] = set()
    names: list[str] = []
    for title in titles:
        allowed = _UNSAFE.sub(" ", unicodedata.normalize("NFC", title).replace(": ", " - "))
        base = " ".join(allowed.split())[:MAX_NAME_CHARS]
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
        raise UsageError(f"{folder} is not empty and not a vault of an index; name another folder")
    notes = _Notes(index).texts()
    before = set(json.loads(marker.read_text("utf-8"))) if marker.is_file() else set[str]()
    for name in before - set(notes):
        if _NOTE.fullmatch(name):
            (folder / name).unlink(missing_ok=True)
    for name, text in notes.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.rstrip() + "\n", "utf-8", newline="\n")
    marker.write_text(json.dumps(sorted(notes), ensure_ascii=False), "utf-8")


class _Notes:
    """The notes of an index, and the names by which they link to each other."""

    def __init__(self, index: Index) -> None:
        self._index = index
        rows = [*index.entities, *index.reports, *index.documents]
        titles = [row.name if isinstance(row, Entity) else row.title for row in rows]
        self._name = dict(zip((row.id for row in rows), file_names(["Start", *titles])[1:], strict=True))

    def texts(self) -> dict[str, str]:
        """Return the text of each note by its path in the vault."""
        index, name = self._index, self._name
        roots = sorted((r for r in index.reports if r.level == 0), key=lambda r: (-r.rating, r.number))
        counts = f"{len(index.entities):,} entities, {len(index.reports):,} reports."
        start = ["# Start", "", counts, "", *(f"- {self._link(r)} ({r.size:,})" for r in roots)]
        return {
            "Start.md": "\n".join(start),
            **{f"entities/{name[e.id]}.md": self._entity(e) for e in index.entities},
            **{f"reports/{name[r.id]}.md": self._report(r) for r in index.reports},
            **{f"documents/{name[d.id]}.md": _inert(d.text) for d in index.documents},
        }

    def _entity(self, entity: Entity) -> str:
        index = self._index
        edges = [index.relationships[r] for r in index.edges_of(entity.number)]
        related: list[str] = []
        for edge in sorted(edges, key=lambda r: (-r.weight, r.number))[:MAX_RELATIONSHIPS]:
            other = edge.target if edge.source == entity.name else edge.source
            link = self._link(index.entities[index.entity_of_name[other]])
            related.append(f"- {link} ({edge.weight:g}): {_line(edge.description)}")
        report_of = index.report_of_community
        reports = [report_of[c] for c in index.communities_of(entity.number) if c in report_of]
        quotations: list[str] = []
        for span in entity.spans[:5]:
            document = index.document_of[span.document_id]
            text = _line(excerpt(document, span.start, span.end))
            quotations.append(f"- {self._link(document)}: “{text}”")
        tags = ["entity", re.sub(r"[^\w/-]+", "-", entity.type) or "thing"]
        head = _head(aliases=[entity.name, *entity.aliases], tags=tags, degree=entity.degree)
        sections = {"Reports": self._listed(reports), "Relationships": related, "Mentioned in": quotations}
        return _note([head, f"# {_line(entity.name)}", _paragraphs(entity.description)], sections)

    def _report(self, report: Report) -> str:
        index = self._index
        parent = index.report_of_community.get(report.parent)
        children = [child for c in report.children if (child := index.report_of_community.get(c))]
        findings = [f"## {_line(f.summary)}\n\n{_paragraphs(f.explanation)}" for f in report.findings]
        text, citations, _ = cite("\n\n".join([_paragraphs(report.summary), *findings]), index)
        tags = ["report", f"level-{report.level}"]
        head = _head(aliases=[report.title], tags=tags, rating=report.rating, level=report.level)
        part_of = f"Part of {self._link(parent)}." if parent else ""
        members = [index.entities[n] for n in index.communities[report.community].entity_numbers]
        members.sort(key=lambda e: (-e.degree, e.number))
        sections = {
            "Parts": self._listed(children),
            "Entities": self._listed(members),
            "Sources": [f"{c.marker}. {_source(c)}" for c in citations],
        }
        return _note([head, f"# {_line(report.title)}", part_of, text], sections)

    def _link(self, row: Entity | Report | Document) -> str:
        """Return a link to the note of a row; a link to a document shows the name of its note."""
        name = self._name[row.id]
        shown = name
        if not isinstance(row, Document):
            shown = _line(row.name if isinstance(row, Entity) else row.title)
        shown = shown.replace("|", "-").replace("]", ")").replace("[", "(")
        return f"[[{name}]]" if shown in ("", name) else f"[[{name}|{shown}]]"

    def _listed(self, rows: Iterable[Entity | Report]) -> list[str]:
        return [f"- {self._link(row)}" for row in rows]


def _note(parts: Sequence[str], sections: Mapping[str, Sequence[str]]) -> str:
    lists = [f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items() if lines]
    return "\n\n".join(filter(None, (*parts, *lists)))


def _head(**properties: object) -> str:
    """Return front matter; JSON is valid YAML for every value."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in properties.items()]
    return "\n".join(["---", *lines, "---"])


def _paragraphs(text: str) -> str:
    """Return a text with each line as a paragraph of its own, without indentation."""
    return "\n\n".join(stripped for part in _inert(text).splitlines() if (stripped := part.strip()))


def _line(text: str) -> str:
    return _inert(" ".join(text.split()))


def _inert(text: str) -> str:
    """Return a text with HTML and images escaped, since a note would load them from elsewhere."""
    return _LOADED.sub(lambda match: "&lt;" if match[0] == "<" else "\\" + match[0], text)


def _source(citation: Citation) -> str:
    head = f"{citation.kind}: {_line(citation.title)}"
    for source in citation.sources[:1]:
        characters = f"{_line(source.document)}, characters {source.start}-{source.end}"
        head += f". {characters}: “{snippet(_line(source.text), QUOTE_CHARS)}”"
    return head
