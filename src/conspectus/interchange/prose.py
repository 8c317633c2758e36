"""Reports as Markdown for people: references become numbered citations, each with the words that it leads
to."""

from __future__ import annotations

from collections.abc import Sequence

from conspectus.index import Index
from conspectus.retrieval.citations import cite
from conspectus.rows import Citation, Report

QUOTED = 240
"""Characters of a source that are shown."""


def prose(report: Report, index: Index, heading: int) -> tuple[str, tuple[Citation, ...]]:
    """Return a report without its title, its findings under headings of a depth, and its citations."""
    findings = [f"{'#' * heading} {line(f.summary)}\n\n{paragraphs(f.explanation)}" for f in report.findings]
    text, citations, _ = cite("\n\n".join([paragraphs(report.summary), *findings]), index)
    return text, citations


def paragraphs(text: str) -> str:
    """Return a text in which every line is a paragraph, and none opens a heading or a list by accident."""
    return "\n\n".join(stripped for part in text.splitlines() if (stripped := part.strip()))


def line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def sources(citations: Sequence[Citation]) -> list[str]:
    """Return a line for each citation: its number, what it is, and the first place that it leads to."""
    return [f"{c.marker}. {_source(c)}" for c in citations]


def _source(citation: Citation) -> str:
    head = f"{citation.kind}: {line(citation.title)}"
    if not citation.sources:
        return head
    first = citation.sources[0]
    said = line(first.text)
    shown = said if len(said) <= QUOTED else said[: QUOTED - 1].rstrip() + "…"
    return f"{head}. {line(first.document)}, characters {first.start}-{first.end}: “{shown}”"
