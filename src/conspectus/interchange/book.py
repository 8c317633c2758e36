"""The reports as a book in Markdown: a table of contents, then a chapter for each, linked up and down."""

from __future__ import annotations

from collections.abc import Iterator

from conspectus.index import Index
from conspectus.interchange.prose import line, prose, sources
from conspectus.readers.found import GENERATED_MARKDOWN
from conspectus.rows import Report


def book(index: Index, title: str, level: int | None = None) -> Iterator[str]:
    """Yield the paragraphs of the book, down to a level, every report after the one it is part of."""
    reports = list(_ordered(index, level))
    yield GENERATED_MARKDOWN
    yield f"# {line(title)}"
    facts = ("Reports", len(reports)), ("documents", len(index.documents)), ("things", len(index.entities))
    yield "; ".join(f"{what}: {count:,}" for what, count in facts) + "."
    yield "## Contents"
    yield "\n".join(f"{'  ' * depth}- [{_escaped(r.title)}](#{anchor(r)})" for r, depth in reports)
    shown = {report.number for report, _ in reports}
    for report, depth in reports:
        yield from _chapter(report, depth, index, shown)


def anchor(report: Report) -> str:
    """Return the name of a report's place in the book."""
    return f"report-{report.number}"


def _ordered(index: Index, level: int | None) -> Iterator[tuple[Report, int]]:
    """Yield reports and how deep they lie, roots by rating; a community without a report passes its parts
    on."""

    def below(numbers: list[int], depth: int) -> Iterator[tuple[Report, int]]:
        reported = index.report_of_community
        numbers = sorted(numbers, key=lambda n: (-reported[n].rating if n in reported else 0.0, n))
        for number in numbers:
            report = reported.get(number)
            if report is not None:
                yield report, depth
            community = index.communities[number]
            if level is None or community.level < level:
                yield from below(list(community.children), depth + (report is not None))

    yield from below([c.number for c in index.communities if c.parent < 0], 0)


def _chapter(report: Report, depth: int, index: Index, shown: set[int]) -> Iterator[str]:
    yield f'<a id="{anchor(report)}"></a>\n\n{"#" * min(4, 2 + depth)} {line(report.title)}'
    near = [f"*Level {report.level}, {report.size:,} things, rated {report.rating:g} of 10.*"]
    above = index.report_of_community.get(report.parent)
    near.append(f"Part of {_link(above)}." if above else "[Contents](#contents).")
    parts = [p for c in report.children if (p := index.report_of_community.get(c)) and p.number in shown]
    if parts:
        near.append(f"Its parts: {'; '.join(map(_link, parts))}.")
    yield " ".join(near)
    text, citations = prose(report, index, min(6, 3 + depth))
    yield text
    if citations:
        yield "**Sources**"
        yield "\n".join(sources(citations))


def _link(report: Report) -> str:
    return f"[{_escaped(report.title)}](#{anchor(report)})"


def _escaped(text: str) -> str:
    return line(text).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
