"""What each stage of an index holds of a chunk: what was extracted, the descriptions, the reports of each level."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from conspectus.errors import ConspectusError, NotSupported
from conspectus.evaluation.comparing.usage_meter import MeteredSender, Tally
from conspectus.index import Index
from conspectus.indexing.extract import extract
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.session import open_session
from conspectus.references import strip
from conspectus.rows import Chunk, Claim, Entity, Relationship, Report
from conspectus.settings import Settings
from conspectus.tasks import Extraction, FoundClaim
from conspectus.text.language import corpus_language

if TYPE_CHECKING:
    from conspectus.models.llm.wire import Completion, Request

T = TypeVar("T", Entity, Relationship, Claim)
EXTRACTION, DESCRIPTION = "extraction", "descriptions"


def reports_of(level: int) -> str:
    """Return the name of the stage that is the reports in the view of a level."""
    return f"reports C{level}"


@dataclass(frozen=True)
class Stages:
    """Texts by stage, in the order in which an index is made, and by the id of the chunk that they come from.

    A chunk that a stage does not know is not in it: of that, nothing is said.
    """

    texts: Mapping[str, Mapping[str, tuple[str, ...]]]
    notices: tuple[str, ...] = ()
    entities: Mapping[str, tuple[Entity, ...]] = field(default_factory=dict[str, tuple[Entity, ...]])
    """The entities of each chunk."""


class KeptOnly(MeteredSender):
    """A sender that serves replies which are kept, and never asks."""

    async def send(self, request: Request) -> Completion:
        if not self.has(request):
            raise NotSupported("its reply is not kept")
        return await super().send(request)


async def stages_of(index: Index, chunks: Sequence[Chunk]) -> Stages:
    """Return what each stage of an index holds of some of its chunks; no model is asked."""
    wanted = {chunk.id for chunk in chunks}
    entities = _by_chunk(index.entities, wanted)
    relationships, claims = _by_chunk(index.relationships, wanted), _by_chunk(index.claims, wanted)
    extracted, notices = await _extracted(index, chunks)
    texts: dict[str, Mapping[str, tuple[str, ...]]] = {EXTRACTION: extracted} if extracted else {}
    texts[DESCRIPTION] = {
        chunk.id: tuple(map(_described, (*entities[chunk.id], *relationships[chunk.id], *claims[chunk.id])))
        for chunk in chunks
    }
    for level in reversed(index.levels):
        texts[reports_of(level)] = _reports(index, level, chunks, entities)
    held = {chunk.id: tuple(entities[chunk.id]) for chunk in chunks}
    return Stages(texts, tuple(notices), held)


def _by_chunk(rows: Iterable[T], wanted: set[str]) -> defaultdict[str, list[T]]:
    found: defaultdict[str, list[T]] = defaultdict(list)
    for row in rows:
        for chunk in wanted.intersection(row.chunk_ids):
            found[chunk].append(row)
    return found


def _described(row: Entity | Relationship | Claim) -> str:
    match row:
        case Entity():
            head = row.name
        case Relationship():
            head = f"{row.source} - {row.target}"
        case Claim():
            head = " - ".join(part for part in (row.subject, row.object) if part and part != "NONE")
    return f"{head}\n{strip(row.description)}"


def _reports(
    index: Index, level: int, chunks: Sequence[Chunk], entities: Mapping[str, Sequence[Entity]]
) -> dict[str, tuple[str, ...]]:
    """Return the reports of a level's view whose communities hold an entity of the chunk."""
    view = {community.number for community in index.communities_at(level)}
    found: dict[str, tuple[str, ...]] = {}
    for chunk in chunks:
        holders = sorted({c for entity in entities[chunk.id] for c in index.communities_of(entity.number) if c in view})
        reports = (index.report_of_community.get(number) for number in holders)
        found[chunk.id] = tuple(part for report in reports if report is not None for part in _parts(report))
    return found


def _parts(report: Report) -> Iterable[str]:
    yield f"{report.title}\n{strip(report.summary)}"
    for finding in report.findings:
        yield f"{finding.summary}\n{strip(finding.explanation)}"


# Extraction, which an index does not store: it is done again, by the same rules or from the replies that are kept


async def _extracted(index: Index, chunks: Sequence[Chunk]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    unknown = "What was extracted from the chunks is not known:"
    settings = _settings_of(index)
    if settings is None:
        return {}, [f"{unknown} the index was made elsewhere."]
    if settings.model == "extractive":
        return await _again(index, chunks, ExtractiveModel(SentenceStore.of_index(index)), settings), []
    try:
        async with open_session(settings, index.folder, to_ask=False) as session:
            model = ChatModel(KeptOnly(session.sender, Tally()), settings)
            texts = await _again(index, chunks, model, settings)
    except ConspectusError as error:  # its prompts, its cache
        return {}, [f"{unknown} {error}"]
    lacking = len(chunks) - len(texts)
    told = f"{unknown} of {lacking} of {len(chunks)} the replies are not kept."
    return texts, [told] if lacking else []


async def _again(index: Index, chunks: Sequence[Chunk], model: Model, settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return what is extracted from each chunk that a model can still read."""
    language = corpus_language(index.documents, settings.language)
    found: dict[str, tuple[str, ...]] = {}
    for chunk in chunks:
        extracted = await extract([chunk], model, settings.extract, language)
        if not extracted.failures:
            found[chunk.id] = tuple(dict.fromkeys(_told(extracted.graphs[0], extracted.claims[0])))
    return found


def _settings_of(index: Index) -> Settings | None:
    """Return the settings that an index was built with; None where it was not built here."""
    if not index.settings or "imported" in index.settings:
        return None
    said = {name: values for name, values in index.settings.items() if name != "vectors"}  # which tell what made them
    try:
        settings = Settings.model_validate(said)
    except ValidationError:  # of another version
        return None
    return settings.model_copy(update={"llm": settings.llm.model_copy(update={"trace": ""})})


def _told(graph: Extraction, claims: Sequence[FoundClaim]) -> Iterable[str]:
    for entity in graph.entities:
        yield f"{entity.name}\n{entity.description}"
    for pair in graph.relationships:
        yield f"{pair.source} - {pair.target}\n{pair.description}"
    for claim in claims:
        yield f"{claim.subject}\n{claim.description}"
