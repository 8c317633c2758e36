"""Ablations: vary one thing, keep all else, and measure what it changes (GraphRAG appendices A.2, C, and beyond).

`vary_…` lays an ablation out and asks nothing; `preview_ablation` says what it would take, `ablate` does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from conspectus.api.building import open_index
from conspectus.errors import UsageError
from conspectus.evaluation.ablations.chunks import ROUNDS, SIZES, lay_out
from conspectus.evaluation.ablations.found import write
from conspectus.evaluation.ablations.levels import lay_out_levels
from conspectus.evaluation.ablations.windows import WINDOWS, lay_out_windows
from conspectus.evaluation.comparing.question_files import read_list
from conspectus.evaluation.judging.pairing import drawn
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate, check_budget
from conspectus.indexing.pipeline import Silent
from conspectus.models.base import Model
from conspectus.models.llm.cache import FILE_NAME
from conspectus.models.llm.session import open_session
from conspectus.rows import Document, Usage
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, read_sources, resolved, run_sync, session_for

if TYPE_CHECKING:
    from conspectus.evaluation.ablations.found import Ablation, Experiment
    from conspectus.evaluation.jsonl_table import Question
    from conspectus.indexing.pipeline import Progress

    Asked = str | Path | Sequence[Question]
ABLATION = "ablation"
"""The folder of ablations where none is named."""
SEED = 0
"""Of the documents that are drawn."""
NONE = Usage()


@dataclass(frozen=True)
class AblationPreview:
    """What `ablate` would do: pieces of work in all, those that are left, and what these would ask, by what varies."""

    cells: int
    left: int
    estimates: Mapping[str, Estimate]
    """Empty where no language model is asked."""


@dataclass(frozen=True)
class Ablated:
    """What an ablation found, the files that were written, and what this run took of a language model."""

    found: Ablation
    folder: Path
    files: tuple[str, ...]
    usage: Usage = NONE
    notices: tuple[str, ...] = ()
    """What the model's replies lacked, a line each."""


def vary_chunks(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = ABLATION,
    *,
    index: Index | str | Path | None = None,
    documents: Iterable[Any] | None = None,
    sizes: Sequence[int] = (),
    rounds: int | None = None,
    sample: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> Experiment:
    """Vary the size of chunks (600, 1200 and 2400 tokens) and the rounds of gleaning (0 to 3), as Figure 3 of GraphRAG.

    The documents are those of sources, of memory, or of an index; `sample` draws so many of them by a seed. Raises
    UsageError where there are none, or a size is not above the overlap.
    """
    chosen = resolved(settings)
    read, unread = _documents(sources, index, documents, chosen)
    name = model.name if model else chosen.model
    return lay_out(
        _drawn(read, sample),
        sizes or SIZES,
        ROUNDS if rounds is None else rounds,
        chosen,
        name,
        path_of(folder),
        unread,
    )


def vary_window(
    questions: Asked,
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = ABLATION,
    *,
    conditions: Sequence[str] = (),
    windows: Sequence[int] = (),
    sample: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> Experiment:
    """Vary the window that answers are made in (8k, 16k, 32k and 64k tokens), as appendix C of GraphRAG.

    `conditions` are those of comparisons; without names the deepest of the paper's levels, TS and local.
    """
    return lay_out_windows(
        path_of(folder), _questions(questions), _opened(index), resolved(settings), model,
        conditions=conditions, windows=windows or WINDOWS, sample=sample,
    )  # fmt: skip


def vary_levels(
    questions: Asked,
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = ABLATION,
    *,
    sample: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> Experiment:
    """Vary the level that is answered from, by type of question."""
    return lay_out_levels(
        path_of(folder), _questions(questions), _opened(index), resolved(settings), model, sample=sample
    )


def vary_communities(
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = ABLATION,
    *,
    seeds: int | None = None,
    settings: Given = None,
) -> Experiment:
    """Vary how the graph of an index is divided: by Leiden and by Louvain, with so many seeds each (10)."""
    from conspectus.evaluation.ablations.communities import SEEDS, lay_out

    return lay_out(_opened(index), resolved(settings), path_of(folder), seeds or SEEDS)


def vary_reports(
    index: Index | str | Path = DEFAULT_FOLDER,
    folder: str | Path = ABLATION,
    *,
    questions: Asked | None = None,
    level: int | None = None,
    sample: int | None = None,
    checked: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> Experiment:
    """Vary who writes the reports of a graph: the extractive model, and the language model that the settings name.

    Without one it is who wrote those of the index. `questions`, or a `sample` of them, are answered from both, at a
    level; the sentences of so many reports as `checked` (50) are held against what they cite. Raises UsageError where
    there are not two writers.
    """
    from conspectus.evaluation.ablations.reports import CHECKED, lay_out

    asked = _questions(questions) if questions is not None else ()
    chosen = CHECKED if checked is None else checked
    return lay_out(
        _opened(index), resolved(settings), path_of(folder), model,
        questions=drawn(asked)[:sample] if sample else asked, level=level, checked=chosen,
    )  # fmt: skip


def preview_ablation(experiment: Experiment) -> AblationPreview:
    """Return what `ablate` would do and ask, and ask nothing."""
    settings = experiment.settings
    kept = experiment.folder if (experiment.folder / FILE_NAME).exists() else None

    async def work() -> dict[str, Estimate]:
        if settings.model == "extractive":
            return {}
        async with open_session(settings, kept, to_ask=False) as session:
            return await experiment.estimates(session)

    left = experiment.left
    found = run_sync(work()) if left else {}
    return AblationPreview(experiment.cells, left, {name: one for name, one in found.items() if one.calls.high})


def ablate(experiment: Experiment, *, model: Model | None = None, progress: Progress | None = None) -> Ablated:
    """Do what is left of an ablation, and write what all of it found as JSON, CSV, SVG and PNG.

    What is found is kept: the same call goes on from there, and tries again what failed. A budget is checked before
    the first call.
    """
    folder = experiment.folder

    async def work() -> tuple[Usage, tuple[str, ...]]:
        async with session_for(experiment.settings, folder, model) as session:
            if session and session.sender.ledger.limited and experiment.left:
                found = (await experiment.estimates(session)).values()
                check_budget(Estimate(tuple(task for one in found for task in one.tasks)), session.sender.ledger)
            await experiment.run(session, model, progress or Silent())
            return (session.total, session.notices) if session else (NONE, ())

    usage, notices = run_sync(work())
    found = experiment.told()
    return Ablated(found, folder, write(found, folder), usage, notices)


def _opened(index: Index | str | Path) -> Index:
    return index if isinstance(index, Index) else open_index(index)


def _questions(source: Asked) -> list[Question]:
    return read_list(Path(source)) if isinstance(source, str | Path) else list(source)


def _documents(
    sources: str | Path | Sequence[str | Path],
    index: Index | str | Path | None,
    documents: Iterable[Any] | None,
    settings: Any,
) -> tuple[list[Document], int]:
    """Return documents, and how many could not be read."""
    if index is not None:
        if sources or documents is not None:
            raise UsageError("name sources or an index, and not both")
        return list(_opened(index).documents), 0
    found, failures, *_ = read_sources(sources, documents, settings)
    return list(found), len(failures)


def _drawn(documents: Sequence[Document], sample: int | None) -> list[Document]:
    """Return so many documents drawn by a seed, in their order; all where none is named."""
    if sample is None or sample >= len(documents):
        return list(documents)
    return sorted(Random(SEED).sample(list(documents), sample), key=lambda document: document.number)
