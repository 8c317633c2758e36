"""`conspectus status`, `report`, `entity`, `path`, `rollback` and `check`: inspecting and maintaining an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import conspectus
from conspectus import api
from conspectus.cli import options, show
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, argument, option
from conspectus.errors import IndexMissing, UsageError
from conspectus.lazy import lazy_module
from conspectus.rows import OMITTED_KINDS
from conspectus.settings import GlobalSettings

if TYPE_CHECKING:
    from conspectus import Index
    from conspectus.api import Branch, Spending, Status
    from conspectus.interchange import graphrag
    from conspectus.rows import Report
else:
    graphrag = lazy_module("conspectus.interchange.graphrag")


# Status

History = Annotated[bool, option("List the snapshots that conspectus rollback can return to.", "--history")]


def status(
    folder: IndexFolder = FOLDER,
    history: History = False,
    json: AsJson = False,
    config: options.ConfigFile = None,
) -> None:
    """Show an index: sizes, reports, failures, model usage.

    Example: conspectus status
    Example: conspectus status --history
    """
    if history:
        _print_history(folder, json)
        return
    spent = api.spending(folder, options.Given(config=config).settings() if config else None)
    rows = [asdict(row) for row in spent]
    try:
        figures = conspectus.status_of(api.open_index(folder))
    except IndexMissing:
        if not spent:
            raise
        by = [f" of {settings['model']}" for settings in api.settings_in(folder)][:1]
        show.note(
            f"There is no index in {folder} yet, but cached replies{''.join(by)} that its build can continue from."
        )
        if json:
            show.as_json({"spent": rows})
        else:
            _print_spent(spent)
        return
    if json:
        show.as_json(asdict(figures) | {"index": str(folder), "spent": rows})
        return
    show.out(f"{folder}, snapshot {figures.snapshot}")
    _print_counts(figures)
    _print_levels(figures)
    show.out(show.vectors(figures.vectors))
    show.out(
        f"Made by {_by(figures.models)}" if figures.models else "Imported: what made it is not recorded."
    )
    used = figures.usage
    if used.calls or used.cached_calls:
        show.out(f"Models: {show.usage_line(used, show.money(figures.cost))}")
    elif figures.models:
        show.out("No language model was asked.")
    _print_spent(spent)
    show.failures(figures.failures, show.out)


def _print_counts(figures: Status) -> None:
    """Print the contents of an index, and what was left out of it."""
    nouns = ["document", "chunk", "token", "entity", "relationship", "triple", "claim"]
    counts = {noun: getattr(figures, show.plural(noun)) for noun in nouns}
    show.out(", ".join(show.counted(n, noun) for noun, n in counts.items() if n or noun != "triple"))
    if figures.folders:
        show.out(f"Sources: {', '.join(figures.folders)}")
    if figures.left_out:
        omitted = [f"{n:,} {OMITTED_KINDS[kind]}" for kind, n in figures.left_out.items()]
        show.out(f"Left out: {', '.join(omitted)}")
    for reason, count in figures.skipped.items():
        show.out(f"Skipped {show.counted(count, 'file')}: {reason}")
    if figures.languages.keys() - {"en"}:
        languages = [f"{code} {n:,}" for code, n in figures.languages.items()]
        show.out(f"Languages of the documents: {', '.join(languages)}")
    show.out()


def _print_levels(figures: Status) -> None:
    """Print the levels of the hierarchy, as in GraphRAG Table 2."""
    if not figures.chunks:
        return
    table = [["", "Units", "  of this level", "Tokens"]]
    table += [
        [f"level {r.level}", f"{r.communities:,}", f"{r.own:,}", f"{r.tokens:,}"] for r in figures.levels
    ]
    table.append(["texts", f"{figures.chunks:,}", "", f"{figures.tokens:,}"])
    if all(row.share <= 1 for row in figures.levels):  # reports on very short texts are longer than the texts
        shares = ["% of the texts", *(f"{100 * row.share:.1f}" for row in figures.levels), "100"]
        table = [[*row, share] for row, share in zip(table, shares, strict=True)]
    show.table(zip(*table, strict=True))
    show.note("Units: what a global answer reads, reports of a level (0 is the root) or chunks of texts.")
    show.out()


def _print_spent(spent: Sequence[Spending]) -> None:
    if not spent:
        return
    show.out("Spent in all runs so far:")
    table = [["Task", "Model", "Calls", "Tokens asked", "Tokens written", "Cost (USD)"]]
    for row in spent:
        counts = (row.calls, row.prompt_tokens, row.completion_tokens)
        table.append([api.task_label(row.task), row.model, *(f"{n:,}" for n in counts), _usd(row.cost)])
    sums = [
        sum(getattr(row, name) for row in spent) for name in ("calls", "prompt_tokens", "completion_tokens")
    ]
    costs = [row.cost for row in spent if row.cost is not None]
    cost = sum(costs) if len(costs) == len(spent) else None
    show.table([*table, ["All", "", *(f"{n:,}" for n in sums), _usd(cost)]], texts=2)


def _usd(cost: float | None) -> str:
    """Return a cost as shown in a column of US dollars."""
    return show.money(cost).removeprefix("$").removeprefix("cost ")


def _by(models: Mapping[str, Sequence[str]]) -> str:
    """Return a text on which models performed which tasks."""
    return "; ".join(f"{name} ({', '.join(map(api.task_label, tasks))})" for name, tasks in models.items())


def _print_history(folder: Path, json: bool) -> None:
    """Print the snapshots, the newest first."""
    snapshots = api.history(folder)
    if json:
        show.as_json({"index": str(folder), "snapshots": [asdict(snapshot) for snapshot in snapshots]})
        return
    table = [["", *"Snapshot Created Documents Entities Reports Failures Tokens".split(), "Cost (USD)"]]
    for s in snapshots:
        counts = (s.documents, s.entities, s.reports, s.failures, s.usage.tokens)
        created = s.created.replace("T", " ").replace("+00:00", "")
        current = "*" if s.current else ""
        table.append([current, s.snapshot, created, *(f"{count:,}" for count in counts), _usd(s.cost)])
    show.table(table, texts=3)
    for s in snapshots:
        show.out(f"{s.snapshot}: {f'made by {_by(s.models)}' if s.models else 'imported'}")
    if len(snapshots) > 1:
        show.note("* is the current one; conspectus rollback SNAPSHOT returns to another.")


# Reports

_ID = "Report to show: its number (12), its community (c12), or at least 6 characters of its id."
_DEPTH = "Show the tree down to this level (default: the level that questions are answered from)."


def report(
    name: Annotated[str | None, argument("ID", _ID)] = None,
    level: Annotated[int | None, option(_DEPTH, metavar="N", min=0)] = None,
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
) -> None:
    """Show the tree of community reports, or one report.

    A report is Markdown, shown with its sources and the reports above and below it.

    Example: conspectus report
    Example: conspectus report 12
    """
    opened = api.open_index(folder)
    if name is None:
        _print_tree(opened, level, json)
    elif level is not None:
        raise UsageError("--level sets the depth of the tree of reports; it cannot be used with an ID")
    else:
        _print_report(name, opened, json)


def _print_tree(index: Index, level: int | None, json: bool) -> None:
    if level is not None and level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {level}")
    deepest = api.level_of(index, GlobalSettings()) if level is None and index.reports and not json else level
    tree = conspectus.report_tree(index, deepest)
    if json:
        show.as_json({"reports": [_nested(branch) for branch in tree]})
        return
    for branch in tree:
        for line in _drawn(branch):
            show.out(line)
    full = [report for report in index.reports if not report.brief]
    below = sum(report.level > deepest for report in full) if deepest is not None else 0
    if below:
        show.note(f"\n{show.counted(below, 'more report')} below: --level {len(index.levels) - 1} shows all.")
    if brief := len(index.reports) - len(full):
        show.note(f"{show.counted(brief, 'brief report')} of small communities not in the tree.")
    show.note("conspectus report NUMBER shows one." if index.reports else "This index has no reports.")


def _nested(branch: Branch) -> dict[str, Any]:
    fields = _fields(branch.report, "id number community level parent title rating size n_tokens")
    return fields | {"children": [_nested(child) for child in branch.below]}


def _fields(report: Report, names: str = "id number community level title") -> dict[str, Any]:
    return {name: getattr(report, name) for name in names.split()}


def _drawn(branch: Branch, first: str = "", rest: str = "") -> Iterator[str]:
    yield first + _line(branch.report)
    for child in branch.below:
        last = child is branch.below[-1]
        yield from _drawn(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def _line(report: Report) -> str:
    entities = show.counted(report.size, "entity")
    return f"{report.number}  {show.line(report.title)}  (rated {report.rating:g}, {entities})"


def _print_report(name: str, index: Index, json: bool) -> None:
    view = conspectus.report_view(name, index)
    report = view.report
    text, citations, removed = api.cite(report.text, index)
    if json:
        neighbours = {
            "above": _fields(view.above) if view.above else None,
            "below": [_fields(r) for r in view.below],
        }
        cited = {"text": text, "citations": [asdict(c) for c in citations], "removed_references": removed}
        show.as_json(asdict(report) | cited | neighbours)
        return
    show.markdown(text)
    where = f"Level {report.level}, community {report.community}, {show.counted(report.size, 'entity')}."
    show.out(f"\n{where} Rated {report.rating:g} of 10.\n{report.rating_explanation}".rstrip())
    show.out(f"\nPart of: {_line(view.above) if view.above else 'nothing, it is at the root'}")
    show.out("Parts:" if view.below else "Parts: none with a report of its own")
    for part in view.below:
        show.out(f"  {_line(part)}")
    show.citations(citations, api.language_of([text], index.languages), text)


# Entities


def entity(
    name: Annotated[str, argument("NAME", "Name or alias of the entity, in any case.")],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
) -> None:
    """Show an entity: description, relationships, documents.

    Example: conspectus entity "Dorothea Quill"
    """
    view = conspectus.entity_view(name, api.open_index(folder))
    if json:
        show.as_json(view)
        return
    for line in view.lines(bold=show.bold):
        show.out(line)


def path(
    source: Annotated[str, argument("A", "Name or alias of the entity to start from.")],
    target: Annotated[str, argument("B", "Name or alias of the entity to reach.")],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
) -> None:
    """Show how two entities are connected.

    Finds the shortest path by weight, with sentences that support each step.

    Example: conspectus path "Dorothea Quill" "Maeve Tully"
    """
    route = conspectus.path_between(source, target, api.open_index(folder))
    if json:
        show.as_json(asdict(route) | {"connected": bool(route.steps)})
        return
    for line in route.lines(bold=show.bold):
        show.out(line)


# Snapshots and files

_SNAPSHOT = "First characters of the snapshot's id (default: the snapshot before the current one)."
_OUTPUT = "Output folder of Microsoft GraphRAG to check instead of the index."


def rollback(
    snapshot: Annotated[str, argument("SNAPSHOT", _SNAPSHOT)] = "",
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
) -> None:
    """Return to an earlier snapshot of an index.

    The current snapshot stays available, so that you can return to it, too; conspectus status --history lists all.
    Cached model responses stay as well, so that indexing either set of documents again costs nothing.

    Example: conspectus rollback
    Example: conspectus rollback 3f2a9c
    """
    before = api.open_index(folder).snapshot
    index = api.rollback(folder, snapshot)
    documents = show.counted(len(index.documents), "document")
    if json:
        show.as_json({"index": str(folder), "snapshot": index.snapshot, "was": before})
    elif index.snapshot == before:
        show.out(f"Snapshot {before} is already the current one ({documents}).")
    else:
        show.out(f"Snapshot {index.snapshot} is current again ({documents}).")
        show.note(f"conspectus rollback {before} undoes this.")


def check(
    target: Annotated[Path | None, argument("DIR", _OUTPUT)] = None,
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
) -> None:
    """Check that an index is complete and its tables valid.

    Compares every file with its hash in the manifest, and every column with the schema of Microsoft GraphRAG 3.x.

    Example: conspectus check
    """
    if target is None:
        api.read(folder, verify=True)
    mismatches = graphrag.check_schema(target or folder)
    if json:
        show.as_json({"mismatches": [mismatch._asdict() for mismatch in mismatches]})
    elif not mismatches:
        whole = "every file matches its manifest; " if target is None else ""
        show.out(f"{whole}{len(graphrag.SCHEMA)} tables match the schema of GraphRAG 3.x")
    else:
        heading = f"{show.counted(len(mismatches), 'column')} differ:"
        show.listed(heading, [str(mismatch) for mismatch in mismatches], show.out)
    raise typer.Exit(1 if mismatches else 0)
