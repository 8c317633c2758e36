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
"""Relationships listed in a note, the strongest."""
QUOTE_CHARS = 240
"""Characters shown of a cited source."""
_UNSAFE = re.compile(r'[\\/:*?"<>|#^\[\]%\x00-\x1f\x7f]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def file_names(titles: Iterable[str]) -> list[str]:
    """Return a file name per title: valid on every system, and unique regardless of case and Unicode form.

    Characters that links or file systems do not allow become spaces; a name that is in use gets a number.
    """
    taken: set[str] = set()
    names: list[str] = []
    for title in titles:
        base = " ".join(_UNSAFE.sub(" ", unicodedata.normalize("NFC", title)).split())
        base = _cut(base).strip(". ") or "untitled"
        if _RESERVED.fullmatch(base):
            base = f"{base} -"
        name, count = base, 1
        while _folded(name) in taken:
            count += 1
            name = f"{base} ({count})"
        taken.add(_folded(name))
        names.append(name)
    return names


def _cut(text: str) -> str:
    text = text[:MAX_NAME_CHARS]
    while len(text.encode()) > 200:
        text = text[:-1]
    return text


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def write_vault(index: Index, folder: Path) -> int:
    """Write the notes into a folder, which must be new, empty or a vault written before; return their number.

    Notes of the vault that the index no longer has are removed. Raises UsageError if the folder contains other files.
    """
    marker = folder / ".conspectus-vault"
    if folder.is_dir() and any(folder.iterdir()) and not marker.is_file():
        raise UsageError(f"{folder} is not empty and no vault of an index; name another folder")
    titles = [
        *(e.name for e in index.entities),
        *(r.title for r in index.reports),
        *(d.title for d in index.documents),
    ]
    names = file_names(["Start", *titles])[1:]
    entities, rest = names[: len(index.entities)], names[len(index.entities) :]
    reports, documents = rest[: len(index.reports)], rest[len(index.reports) :]
    notes = {"Start.md": _start(index, reports)}
    for entity in index.entities:
        notes[f"entities/{entities[entity.number]}.md"] = _entity(entity, index, entities, reports, documents)
    for report in index.reports:
        notes[f"reports/{reports[report.number]}.md"] = _report(report, index, entities, reports)
    for document in index.documents:
        notes[f"documents/{documents[document.number]}.md"] = document.text
    _write(folder, marker, notes)
    return len(notes)


def _write(folder: Path, marker: Path, notes: Mapping[str, str]) -> None:
    before = set(json.loads(marker.read_text("utf-8"))) if marker.is_file() else set[str]()
    for part in ("entities", "reports", "documents"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name in before - set(notes):
        if re.fullmatch(r"(?:(?:entities|reports|documents)/)?[^/\\]+\.md", name):
            (folder / name).unlink(missing_ok=True)
    for name, text in notes.items():
        (folder / name).write_text(text.rstrip() + "\n", "utf-8", newline="\n")
    marker.write_text(json.dumps(sorted(notes), ensure_ascii=False), "utf-8")


def _link(name: str, shown: str = "") -> str:
    shown = line(shown).replace("|", "-").replace("]", ")").replace("[", "(")
    return f"[[{name}|{shown}]]" if shown and shown != name else f"[[{name}]]"


def _head(**properties: object) -> str:
    """Return front matter; JSON is valid YAML for every value."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in properties.items()]
    return "\n".join(["---", *lines, "---"])


def _start(index: Index, reports: list[str]) -> str:
    roots = sorted((r for r in index.reports if r.level == 0), key=lambda r: (-r.rating, r.number))
    listed = [f"- {_link(reports[r.number], r.title)} ({r.size:,})" for r in roots]
    return "\n".join(["# Start", "", f"{len(index.entities):,} things, {len(index.reports):,} reports.", "", *listed])


def _entity(entity: Entity, index: Index, entities: list[str], reports: list[str], documents: list[str]) -> str:
    number = index.entity_of_name
    edges = sorted((index.relationships[r] for r in index.edges_of(entity.number)), key=lambda r: (-r.weight, r.number))
    related: list[str] = []
    for r in edges[:MAX_RELATIONSHIPS]:
        other = r.target if r.source == entity.name else r.source
        related.append(f"- {_link(entities[number[other]], other)} ({r.weight:g}): {line(r.description)}")
    own_reports = [r for c in index.communities_of(entity.number) if (r := index.report_of_community.get(c))]
    quotations = [
        f"- {_link(documents[index.document_of[span.document_id].number])}: "
        f"“{line(index.document_of[span.document_id].text[span.start : span.end])}”"
        for span in entity.spans[:5]
    ]
    names = {
        "aliases": [entity.name, *entity.aliases],
        "tags": ["entity", re.sub(r"[^\w/-]+", "-", entity.type) or "thing"],
    }
    parts = [_head(**names, degree=entity.degree), f"# {line(entity.name)}", paragraphs(entity.description)]
    for title, lines in (
        ("Reports", [f"- {_link(reports[r.number], r.title)}" for r in own_reports]),
        ("Relationships", related),
        ("Told in", quotations),
    ):
        if lines:
            parts += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(filter(None, parts))


def _report(report: Report, index: Index, entities: list[str], reports: list[str]) -> str:
    community = index.communities[report.community]
    parent = index.report_of_community.get(report.parent)
    children = [p for c in report.children if (p := index.report_of_community.get(c))]
    text, citations = prose(report, index, 2)
    facts = {"aliases": [report.title], "tags": ["report", f"level-{report.level}"], "rating": report.rating}
    parts = [_head(**facts, level=report.level), f"# {line(report.title)}"]
    if parent:
        parts.append(f"Part of {_link(reports[parent.number], parent.title)}.")
    parts.append(text)
    members = sorted(community.entity_numbers, key=lambda n: (-index.entities[n].degree, n))
    for title, lines in (
        ("Parts", [f"- {_link(reports[p.number], p.title)}" for p in children]),
        ("Things", [f"- {_link(entities[n], index.entities[n].name)}" for n in members]),
        ("Sources", sources(citations)),
    ):
        if lines:
            parts += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(parts)


def prose(report: Report, index: Index, heading: int) -> tuple[str, tuple[Citation, ...]]:
    """Return the summary and findings of a report, findings below headings of a depth, and the citations."""
    findings = [f"{'#' * heading} {line(f.summary)}\n\n{paragraphs(f.explanation)}" for f in report.findings]
    text, citations, _ = cite("\n\n".join([paragraphs(report.summary), *findings]), index)
    return text, citations


def paragraphs(text: str) -> str:
    """Return a text whose lines are paragraphs, so that none becomes a heading or a list by accident."""
    return "\n\n".join(stripped for part in text.splitlines() if (stripped := part.strip()))


def line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def sources(citations: Sequence[Citation]) -> list[str]:
    """Return a line per citation: number, kind and title, and the first source that it leads to."""
    return [f"{c.marker}. {_source(c)}" for c in citations]


def _source(citation: Citation) -> str:
    head = f"{citation.kind}: {line(citation.title)}"
    if not citation.sources:
        return head
    first = citation.sources[0]
    text = line(first.text)
    shown = text if len(text) <= QUOTE_CHARS else text[: QUOTE_CHARS - 1].rstrip() + "…"
    return f"{head}. {line(first.document)}, characters {first.start}-{first.end}: “{shown}”"
