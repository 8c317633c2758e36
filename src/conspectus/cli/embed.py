"""`conspectus embed`: vectors for an index that stands."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.help import COST
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    ConfigFile,
    EmbedderName,
    IndexBudget,
    IndexBudgetTokens,
    IndexFolder,
    LogFile,
    Quiet,
    SetKeys,
    TraceFile,
    Yes,
    agree_to,
    model_flags,
    overrides,
    settings_of,
)

if TYPE_CHECKING:
    from conspectus.settings import Settings


def embed(
    embedder: EmbedderName = None,
    folder: IndexFolder = FOLDER,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    index_budget: IndexBudget = None,
    index_budget_tokens: IndexBudgetTokens = None,
    yes: Yes = False,
    trace: TraceFile = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", rich_help_panel=COST, help="Show the estimated cost, and embed nothing.")
    ] = False,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Compute embeddings of the chunks and sentences of an index.

    The methods vector, hybrid, walk and hippo use them. Without --embedder, uses the embedding model of the index, or
    local. Only new texts are embedded. --embedder none removes the embeddings.

    Example: conspectus embed --embedder local
    Example: conspectus embed --embedder openai/text-embedding-3-small --dry-run
    """
    from conspectus.cli.progress import Bars
    from conspectus.index_status import status_of

    flags = model_flags(None, base_url, None, budget, budget_tokens, trace, index_budget, index_budget_tokens)
    settings = settings_of(overrides(set_, flags), config)
    if dry_run:
        _estimate(folder, embedder or "", settings, json)
        return
    _agree(folder, embedder or "", settings, yes=yes)
    with Bars(quiet=quiet or json) as bars:
        index = api.embed(folder, embedder or "", settings=settings, progress=bars)
    figures, used = status_of(index), index.usage.get("Embed")
    vectors = figures.vectors
    if json:
        show.as_json({"index": str(folder), "snapshot": index.snapshot, "vectors": vectors, "usage": used})
        return
    show.out(show.vectors(vectors))
    show.out(f"Snapshot: {index.snapshot}")
    if used:
        show.spent(used, show.out, cost=show.dollars(None if figures.cost is None else used.cost))


def _agree(folder: Path, embedder: str, settings: Settings, *, yes: bool) -> None:
    """Ask whether to go on, if an estimate says that it costs more than a little."""
    from conspectus.indexing.estimate import Estimate
    from conspectus.models.embedders import is_served
    from conspectus.models.llm import budget

    base_url = settings.llm.embedder_base_url or settings.llm.base_url
    if is_served(embedder) and budget.is_free(embedder, settings.prices, base_url):
        return
    if task := api.estimate_embedding(folder, embedder, settings=settings):
        agree_to(Estimate((task,)), settings, yes=yes)


def _estimate(folder: Path, embedder: str, settings: Settings, json: bool) -> None:
    from conspectus.indexing.estimate import Estimate

    task = api.estimate_embedding(folder, embedder, settings=settings)
    if json:
        show.as_json({"estimate": asdict(Estimate((task,))) if task else None})
    elif task:
        show.table(show.costs(Estimate((task,))))
    else:
        show.out("It asks no server, and costs nothing.")
