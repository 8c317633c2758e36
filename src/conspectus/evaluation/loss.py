"""What each stage of an index holds of a chunk: what was extracted, the descriptions, the reports of each level."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from conspectus import tokens
from conspectus.errors import CallFailed, ConspectusError, NotSupported, UsageError
from conspectus.evaluation import run
from conspectus.evaluation.answers import MeteredSender, Tally
from conspectus.evaluation.claims import STEPS, claims_of
from conspectus.evaluation.comparison import found_by
from conspectus.evaluation.conditions import Condition, answering, check, conditions_of, settings_for
from conspectus.evaluation.grounding import Sentence, plain
from conspectus.evaluation.jsonl_table import each
from conspectus.evaluation.statistics import Interval, pooled, rounded
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.extract import extract
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick, succeeded
from conspectus.models.extractive.facts import all_terms, key_terms
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.models.extractive.statements import split
from conspectus.models.llm.session import Session
from conspectus.references import strip
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer, Chunk, Claim, Entity, Relationship, Report
from conspectus.runtime import DEFAULT_FOLDER, Given, folder_of, resolved
from conspectus.settings import Settings
from conspectus.tasks import Entails, Extraction, FoundClaim
from conspectus.text.language import ENGLISH, corpus_language, language_of
from conspectus.text.words import fold

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
    from conspectus.models.llm.model import ChatModel
    from conspectus.models.llm.session import open_session

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


LOSS_FILE = "loss.json"
READ = 1500
"""Tokens of a stage's texts that are held against a fact at the most, those that have most of its words first."""
NAMES = 3
"""Names that a question is about at the most."""
TRIED = 10
"""Chunks that an estimate tries."""
EXAMPLES = 3
"""Facts lost at a stage that are shown."""
ABOUT = {"en": "What does this text say?", "zh": "这段文字说了什么？"}
ASKS = {"en": "What is known about {}?", "zh": "关于{}，已知些什么？"}
Asking = Callable[[str, str], Awaitable[Answer]]
"""Answers a question by the condition of a name."""


def answer_by(condition: str) -> str:
    """Return the name of the stage that is the answer of a condition."""
    return f"answer by {condition}"


@dataclass(frozen=True)
class Fact:
    """A fact that a chunk states, and whether each stage still has it; what was not asked of is not in `survives`."""

    text: str
    chunk: int
    """Its number."""
    document: str
    survives: Mapping[str, bool]

    @property
    def lost_at(self) -> str:
        """The first stage that does not have it, empty where all do."""
        return next((stage for stage, there in self.survives.items() if not there), "")


@dataclass(frozen=True)
class StageLoss:
    """One stage: the share of facts, 0 to 1, that it still has, with its 95 % interval over resampled chunks."""

    stage: str
    facts: int
    survive: Interval
    first_lost: int
    """Facts that all stages before have and this one has not."""


@dataclass(frozen=True)
class Loss:
    """All of it for one index."""

    found_by: str
    chunks: int
    facts: tuple[Fact, ...]
    stages: tuple[StageLoss, ...]
    failures: tuple[str, ...] = ()
    """What could not be done, a line for each chunk."""
    notices: tuple[str, ...] = ()

    def lost(self, stage: str, most: int = EXAMPLES) -> list[Fact]:
        """Return some of the facts that were first lost at a stage, from all over the corpus."""
        found = [fact for fact in self.facts if fact.lost_at == stage]
        return [found[len(found) * (2 * i + 1) // (2 * most)] for i in range(most)] if len(found) > most else found

    def as_json(self) -> dict[str, Any]:
        """Return the figures and all facts as they go into JSON."""
        told = asdict(self)
        for row, stage in zip(told["stages"], self.stages, strict=True):
            row["survive"] = rounded(stage.survive)
        return told


def sampled(index: Index, count: int, seed: int = 0) -> list[Chunk]:
    """Return chunks drawn by a seed, in their order, of those that hold whole sentences.

    Raises UsageError where there are none.
    """
    if "sentences.document" not in index.arrays:
        raise UsageError("this index holds no sentences to take facts from")
    passages = SentenceStore.of_index(index)
    numbers = list(range(len(index.chunks)))
    random.Random(seed).shuffle(numbers)
    drawn: list[Chunk] = []
    for number in numbers:
        if len(drawn) == count:
            break
        if passages.within(index.chunks[number]):
            drawn.append(index.chunks[number])
    if not drawn:
        raise UsageError("this index holds no sentences to take facts from")
    return sorted(drawn, key=lambda chunk: chunk.number)


def sentences_of(chunk: Chunk, passages: SentenceStore) -> list[Sentence]:
    """Return the sentences that lie wholly in a chunk, with who says them."""
    return [Sentence(passages.quoted(sentence)) for sentence in passages.within(chunk)]


async def measure(
    index: Index,
    chunks: Sequence[Chunk],
    model: Model,
    by: str,
    ask: Asking,
    conditions: Sequence[str] = ("local",),
    tick: Tick = no_tick,
) -> Loss:
    """Take the facts of chunks, and check which stages of an index still have them, and answers by some conditions.

    Chunks of which a call failed are left out and told. Raises Unusable where nothing more can be asked of the model.
    """
    passages = SentenceStore.of_index(index)
    stages = await stages_of(index, chunks)
    found: dict[int, list[Fact]] = {}
    failures: dict[int, str] = {}

    async def work(chunk: Chunk) -> None:
        try:
            found[chunk.number] = await _facts(index, chunk, passages, stages, model, ask, conditions)
        except CallFailed as error:
            failures[chunk.number] = f"chunk {chunk.number}: {error}"

    await each(chunks, work, tick)
    facts = tuple(fact for number in sorted(found) for fact in found[number])
    names = (*stages.texts, *map(answer_by, conditions))
    rows = tuple(_stage(name, [found[number] for number in sorted(found)]) for name in names)
    told = tuple(failures[number] for number in sorted(failures))
    return Loss(by, len(chunks), facts, rows, told, stages.notices)


def _stage(name: str, groups: Sequence[Sequence[Fact]]) -> StageLoss:
    asked = [[fact for fact in group if name in fact.survives] for group in groups]
    kept = [sum(fact.survives[name] for fact in group) for group in asked]
    lost = sum(fact.lost_at == name for group in groups for fact in group)
    return StageLoss(name, sum(map(len, asked)), pooled(kept, [len(group) for group in asked]), lost)


async def _facts(
    index: Index,
    chunk: Chunk,
    passages: SentenceStore,
    stages: Stages,
    model: Model,
    ask: Asking,
    conditions: Sequence[str],
) -> list[Fact]:
    sentences = sentences_of(chunk, passages)
    language = language_of(sentence.text for sentence in sentences)
    claims = await claims_of(ABOUT.get(language, ABOUT[ENGLISH]), sentences, model)
    names = asked_about(claims, stages.entities.get(chunk.id, ()), len(index.chunks))
    about = [claim for claim in claims if _names_one(claim, names)]
    texts: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        stage: (of_chunk[chunk.id], claims) for stage, of_chunk in stages.texts.items() if chunk.id in of_chunk
    }
    for condition in conditions if names else ():
        answer = await ask(question_about(names, language), condition)
        texts[answer_by(condition)] = ([plain(answer.text, {one.marker for one in answer.citations})], about)
    survives: dict[str, dict[str, bool]] = {claim: {} for claim in claims}
    for stage, (told, of) in texts.items():
        for claim in of:
            survives[claim][stage] = await follows(claim, told, model, language)
    document = index.document_of[chunk.document_id].title
    return [Fact(claim, chunk.number, document, survives[claim]) for claim in claims]


def question_about(names: Sequence[str], language: str) -> str:
    """Return the question that is asked about names."""
    if language == "zh":
        return ASKS["zh"].format("、".join(names))
    *first, last = names
    return ASKS["en"].format(f"{', '.join(first)} and {last}" if first else last)


def asked_about(claims: Sequence[str], entities: Sequence[Entity], chunks: int) -> tuple[str, ...]:
    """Return the names that the facts of a chunk are most about: those in many of them and in few chunks besides."""
    worth = {
        entity.name: sum(_names_one(claim, (entity.name,)) for claim in claims)
        * log(1 + chunks / max(1, entity.frequency))
        for entity in entities
    }
    best = sorted((name for name in worth if worth[name]), key=lambda name: (-worth[name], name))
    return tuple(best[:NAMES])


def _names_one(claim: str, names: Sequence[str]) -> bool:
    words = f" {fold(claim)} "
    return any(fold(name) in words for name in names)


async def follows(fact: str, texts: Sequence[str], model: Model, language: str = "en") -> bool:
    """Tell whether a fact follows from texts; raise CallFailed where that could not be found out.

    A model reads those that have most of its words; by rules, one statement of them must have it.
    """
    near = list(nearest(fact, texts))
    if not near:
        return False
    pieces = ["\n\n".join(near)] if model.generative else [line for text in near for line in split(text)]
    replies = await model.perform_all([Entails(piece, fact, language=language) for piece in pieces])
    if failed := next((reply for reply in replies if isinstance(reply, CallFailed)), None):
        raise failed
    return any(succeeded(replies))


def nearest(fact: str, texts: Sequence[str], limit: int = READ) -> Iterator[str]:
    """Yield texts that have a key term of a fact, the fullest first: one at least, and more as far as they fit."""
    wanted = key_terms(fact)
    used = 0
    for share, place in sorted((-len(wanted & all_terms(text)), place) for place, text in enumerate(texts)):
        size = tokens.count(texts[place])
        if not share or (used and used + size > limit):
            return
        used += size
        yield texts[place]


# The API


def measure_loss(
    index: Index | str | Path = DEFAULT_FOLDER,
    chunks: int = 50,
    conditions: Sequence[str] = ("local",),
    *,
    seed: int = 0,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> run.Result[Loss]:
    """Trace the facts of sampled chunks through an index: extraction, descriptions, reports, answers by `conditions`.

    Replies of a language model are cached with the index, so that the same call goes on from them. Raises UsageError
    where the index has no text or cannot answer by a condition.
    """
    opened, chosen = run.opened(index), resolved(settings)
    drawn = sampled(opened, chunks, seed)
    generative = model.generative if model else chosen.model != "extractive"
    asking = _conditions(conditions, opened, chosen, generative=generative)
    by = model.name if model else found_by(chosen, *STEPS, "Entails")

    async def work(given: Model | None, _: Session | None) -> Loss:
        performer = given or ExtractiveModel.of_index(opened)
        ask = _asking(asking, opened, performer)
        tick = run.tick_of(progress, "loss", len(drawn))
        return await measure(opened, drawn, performer, by, ask, list(asking), tick)

    async def cost(session: Session) -> Estimate:
        return await _cost(opened, drawn, asking, session, chosen)

    return run.perform(chosen, folder_of(index, opened), model, cost, work, lock="")


def preview_loss(
    index: Index | str | Path = DEFAULT_FOLDER,
    chunks: int = 50,
    conditions: Sequence[str] = ("local",),
    *,
    seed: int = 0,
    settings: Given = None,
) -> run.Preview:
    """Return what `measure_loss` would ask; no model is asked."""
    opened, chosen = run.opened(index), resolved(settings)
    drawn = sampled(opened, chunks, seed)
    asking = _conditions(conditions, opened, chosen, generative=chosen.model != "extractive")
    cost = run.preview(chosen, folder_of(index, opened), lambda session: _cost(opened, drawn, asking, session, chosen))
    return run.Preview(len(drawn), len(drawn), cost)


Asked = Mapping[str, tuple[Condition, Settings]]
"""Conditions with their settings, by name."""


async def _cost(index: Index, drawn: Sequence[Chunk], asking: Asked, session: Session, settings: Settings) -> Estimate:
    """Estimate by the extractive model's claims of a few chunks, each checked against what every stage has of it."""
    sentence_store = SentenceStore.of_index(index)
    stages = await stages_of(index, drawn)

    async def work(chunk: Chunk, model: Model) -> None:
        await _facts(index, chunk, sentence_store, stages, model, _asking(asking, index, model), list(asking))

    return await run.estimate(drawn, work, session, settings, ExtractiveModel.of_index(index), TRIED)


def _conditions(names: Sequence[str], index: Index, settings: Settings, *, generative: bool) -> Asked:
    """Return conditions and their settings by name; raise UsageError where an index cannot be asked by one."""
    found: dict[str, tuple[Condition, Settings]] = {}
    for condition in conditions_of(names) if names else ():
        chosen = settings_for(condition, settings, index)
        check(condition, index, chosen, generative=generative)
        found[condition.name] = (condition, chosen)
    return found


def _asking(conditions: Asked, index: Index, model: Model) -> Asking:
    async def ask(question: str, name: str) -> Answer:
        condition, settings = conditions[name]
        performer = WithAnswerOptions(model, question, settings.answer, index.languages) if model.generative else model
        return await answering(question, condition, index)(question, index, performer, settings)

    return ask
