"""Size of chunks and rounds of gleaning: how many entity references are found (GraphRAG appendix A.2, Figure 3).

The same documents are cut into chunks of each size, and each chunk is read and looked at again so many times. A
reference is one name in one chunk. Nothing of the graph is described or reported on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conspectus import __version__
from conspectus.errors import UsageError
from conspectus.evaluation.ablations.found import Ablation, Row
from conspectus.evaluation.charts import Panel, Series
from conspectus.evaluation.comparing.conditions import digest, spoken
from conspectus.evaluation.comparing.usage_meter import MeteredSender, Tally
from conspectus.evaluation.jsonl_table import JsonlTable
from conspectus.indexing.chunk import chunk
from conspectus.indexing.estimate import Estimate, Estimator
from conspectus.indexing.extract import Extracted, extract
from conspectus.indexing.merge import merge
from conspectus.indexing.pipeline import Progress
from conspectus.indexing.resolve import resolve
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.session import Session
from conspectus.rows import Document
from conspectus.settings import Settings
from conspectus.storage import locks
from conspectus.text.language import corpus_language
from conspectus.text.words import name_key

SIZES = (600, 1200, 2400)
ROUNDS = 3
"""Of gleaning, at the most."""
FILE = "chunks.jsonl"


@dataclass(frozen=True)
class Cell:
    """What was found with chunks of `tokens` and so many rounds; `made_with` is a digest of all else."""

    tokens: int
    rounds: int
    made_with: str
    chunks: int = 0
    references: int = 0
    """Names of each chunk, each once."""
    entities: int = 0
    """Different names, joined as an index joins them."""
    relationships: int = 0
    calls: int = 0
    """Those of a run from nothing, whose replies were kept among them."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    errors: dict[str, int] = field(default_factory=dict[str, int])
    """Chunks of which a call failed, by why."""

    @property
    def key(self) -> tuple[int, int]:
        return self.tokens, self.rounds

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


@dataclass(frozen=True)
class Chunks:
    """The ablation, laid out: settings of each cell, by tokens and rounds."""

    documents: Sequence[Document]
    settings: Settings
    model: str
    folder: Path
    varied: dict[tuple[int, int], Settings]
    kept: JsonlTable[Cell]
    unread: int = 0
    """Documents that could not be read."""

    @property
    def cells(self) -> int:
        return len(self.varied)

    @property
    def left(self) -> int:
        return len(self._open)

    @property
    def _open(self) -> list[tuple[int, int]]:
        return [key for key in self.varied if not self._stands(key)]

    def _stands(self, key: tuple[int, int]) -> bool:
        cell = self.kept.get(key)
        return cell is not None and not cell.failed and cell.made_with == self._made_with(key)

    def _made_with(self, key: tuple[int, int]) -> str:
        settings = self.varied[key]
        said = settings.model_dump(mode="json", include={"chunk", "extract", "resolve", "language"})
        texts = [document.id for document in self.documents]
        return digest([__version__, texts, said, self.model, *spoken(self.model, settings)])

    async def estimates(self, session: Session) -> dict[str, Estimate]:
        """Return what each size will ask: its most rounds, which the fewer are a part of."""
        deepest = {size: (size, rounds) for size, rounds in sorted(self._open)}
        language = corpus_language(self.documents, self.settings.language)
        found: dict[str, Estimate] = {}
        for size, key in deepest.items():
            settings = self.varied[key]
            chunks = chunk(self.documents, settings.chunk)
            estimator = Estimator(session.model, session.sender, settings)
            found[f"{size:,} tokens"] = await estimator.extraction(chunks, language)
        return found

    async def run(self, session: Session | None, model: Model | None, progress: Progress) -> None:
        """Fill the cells; the replies to fewer rounds serve for more."""
        fitted = None if session or model else ExtractiveModel.fit(self.documents, self.settings.extract.entity_types)
        with locks.writing(self.folder, "ablation"):
            for key in self._open:
                tally = Tally()
                performer = model or fitted or _metered(session, tally, self.varied[key])
                self.kept.add(await self._cell(key, performer, tally, progress))

    async def _cell(self, key: tuple[int, int], model: Model, tally: Tally, progress: Progress) -> Cell:
        settings, documents = self.varied[key], self.documents
        chunks = chunk(documents, settings.chunk)
        tick = progress.stage("extract", len(chunks))
        language = corpus_language(documents, settings.language)
        found = await extract(chunks, model, settings.extract, language, tick)
        joined = merge(chunks, found.graphs, resolve(chunks, found.graphs, documents, settings.resolve))
        return Cell(
            *key,
            self._made_with(key),
            chunks=len(chunks),
            references=references(found),
            entities=len(joined.entities),
            relationships=len(joined.relationships),
            calls=tally.calls,
            prompt_tokens=tally.prompt_tokens,
            completion_tokens=tally.completion_tokens,
            errors=dict(Counter(failure.error.partition("): ")[2] or failure.error for failure in found.failures)),
        )

    def told(self) -> Ablation:
        """Return the cells that there are as a table, and a chart in the manner of Figure 3."""
        cells = [cell for key in self.varied if (cell := self.kept.get(key)) is not None]
        rounds = sorted({rounds for _, rounds in self.varied})
        sizes = list(dict.fromkeys(size for size, _ in self.varied))
        errors: Counter[str] = Counter()
        for cell in cells:
            errors.update(cell.errors)
        notices = [_OVERLAP.format(self.settings.chunk.overlap)]
        if self.model == "extractive":
            notices.append("Without a language model gleaning does nothing: sizes of chunks only.")
        if len(sizes) > 1 and len({cell.chunks for cell in cells}) == 1:
            notices.append("All documents fit into a chunk of any of these sizes, so that size changes nothing.")
        if self.unread:
            notices.append(f"{self.unread:,} documents could not be read and are left out.")
        return Ablation(
            "chunks",
            "Entity references by size of chunks and rounds of gleaning (GraphRAG Figure 3)",
            tuple(map(_row, cells)),
            (_by_rounds(cells, sizes, rounds) if len(rounds) > 1 else _by_size(cells),),
            {"documents": len(self.documents), "model": self.model},
            tuple(notices),
            dict(errors),
        )


def _metered(session: Session | None, tally: Tally, settings: Settings) -> Model:
    """Return a session's model, which books what a cell takes and notes where all others do."""
    assert session is not None
    model = ChatModel(MeteredSender(session.sender, tally), settings)
    model.notices = session.model.notices
    return model


def lay_out(
    documents: Sequence[Document],
    sizes: Iterable[int],
    rounds: int,
    settings: Settings,
    model: str,
    folder: Path,
    unread: int = 0,
) -> Chunks:
    """Lay out the cells; without a language model there is nothing to glean, and one for each size.

    Raises UsageError where a size is not above the overlap.
    """
    if model == "extractive":
        rounds = 0
    varied = {(size, n): with_cut(settings, size, n) for size in dict.fromkeys(sizes) for n in range(rounds + 1)}
    return Chunks(
        documents, settings, model, folder, varied, JsonlTable(folder / FILE, Cell, lambda cell: cell.key), unread
    )


def with_cut(settings: Settings, tokens: int, rounds: int) -> Settings:
    """Return settings with another size of chunks and so many rounds of gleaning."""
    if tokens <= settings.chunk.overlap:
        raise UsageError(f"chunks of {tokens} tokens are no larger than their overlap ({settings.chunk.overlap})")
    cut = settings.chunk.model_copy(update={"tokens": tokens})
    looked = settings.extract.model_copy(update={"max_gleanings": rounds})
    return settings.model_copy(update={"chunk": cut, "extract": looked})


def references(found: Extracted) -> int:
    """Return how many names the chunks hold, each name once a chunk."""
    return sum(len({name_key(entity.name) for entity in graph.entities}) for graph in found.graphs)


_OVERLAP = (
    "Chunks overlap by {} tokens whatever their size: what lies in an overlap is found twice, more so in small ones."
)


def _row(cell: Cell) -> Row:
    asked = {"calls": cell.calls, "prompt_tokens": cell.prompt_tokens, "completion_tokens": cell.completion_tokens}
    return {
        "chunk_tokens": cell.tokens,
        "rounds": cell.rounds,
        "chunks": cell.chunks,
        "references": cell.references,
        "references_per_chunk": round(cell.references / max(1, cell.chunks), 1),
        "entities": cell.entities,
        "relationships": cell.relationships,
        **(asked if cell.calls else {}),
        "failed": cell.failed,
    }


def _by_rounds(cells: Sequence[Cell], sizes: Sequence[int], rounds: Sequence[int]) -> Panel:
    found = {cell.key: cell.references for cell in cells}
    series = (Series(f"{size:,} tokens", tuple(found.get((size, n)) for n in rounds)) for size in sizes)
    return Panel("Entity references", tuple(map(str, rounds)), "rounds of gleaning", tuple(series))


def _by_size(cells: Sequence[Cell]) -> Panel:
    values = tuple(cell.references for cell in cells)
    sizes = tuple(f"{cell.tokens:,}" for cell in cells)
    return Panel("Entity references", sizes, "tokens of a chunk", (Series("references", values),), "bars")
