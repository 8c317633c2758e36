"""Where facts get lost: facts of sampled chunks are looked for in each stage of an index, and in answers about them.

The stages are what was extracted from a chunk, the descriptions of its elements, and the reports of each level on the
communities of its entities. Extraction is not stored: it is done again, by the same rules or from cached replies.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus import Index, aask, tokens
from conspectus.errors import CallFailed, ConspectusError, NotSupported, UsageError
from conspectus.evaluation.answers import MeteredSender, Tally
from conspectus.evaluation.claims import CLAIMS_BY_RULES, STEPS, claims_of
from conspectus.evaluation.comparison import write_json
from conspectus.evaluation.conditions import check, conditions_of, settings_for
from conspectus.evaluation.grounding import GROUNDED_BY_RULES, Sentence, plain
from conspectus.evaluation.run import Step, StepFunction, model_names
from conspectus.evaluation.statistics import Figures, Interval, pooled
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.extract import extract
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.models.extractive.statements import all_terms, key_terms, split
from conspectus.models.llm.model import ChatModel, Session, open_session
from conspectus.references import strip
from conspectus.rows import Chunk, Claim, Entity, Relationship
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, Options, opened, run_of
from conspectus.settings import Settings
from conspectus.tasks import Entails
from conspectus.text.language import ENGLISH, corpus_language, language_of
from conspectus.text.words import fold

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.models.llm.wire import Completion, Request

LOSS_FILE = "loss.json"
READ = 1500
"""Tokens of a stage's texts that a fact is compared with at most, those with most of its words first: a few reports."""
NAMES = 3
"""Names that a question is about at most, so that its answer can say something of each."""
EXAMPLES = 3
"""Facts lost at a stage that are shown."""
ABOUT = {"en": "What does this text say?", "zh": "这段文字说了什么？"}
QUESTIONS = {"en": "What is known about {}?", "zh": "关于{}，已知些什么？"}
Element = Entity | Relationship | Claim
Elements = Mapping[str, Sequence[Element]]
"""The elements of each chunk, by its id."""
Texts = Mapping[str, Sequence[str]]
"""The texts of a stage by the id of their chunk; without a chunk of which a stage does not know what it had."""


class LossOptions(Options, total=False):
    """What is traced.

    chunks: the number of chunks that facts are taken from, 50 if left out; `seed` draws them.
    conditions: the conditions that are asked about the facts of a chunk, `local` if left out; empty for none.
    out: a folder that gets all facts as `loss.json`, for `eval report`.
    progress: is told what is done.
    """

    chunks: int
    out: Path | None
    conditions: Sequence[str]
    seed: int
    progress: Progress | None


@dataclass(frozen=True)
class Fact:
    """A fact that a chunk (its number) states, and whether each stage that could have it still has it."""

    text: str
    chunk: int
    document: str
    survives: Mapping[str, bool]

    @property
    def lost_at(self) -> str:
        """The first stage that does not have it, empty where all do."""
        return next((stage for stage, survives in self.survives.items() if not survives), "")


@dataclass(frozen=True)
class StageLoss:
    """One stage: the share of facts, 0 to 1, that it still has, with its 95 % interval over resampled chunks."""

    stage: str
    facts: int
    survive: Interval
    first_lost: int
    """Facts that all stages before have and this one does not."""


@dataclass(frozen=True)
class Loss(Figures):
    """The facts of an index and how many each stage has; `failures` has a line for each chunk with a failed call."""

    checked_by: str
    chunks: int
    facts: tuple[Fact, ...]
    stages: tuple[StageLoss, ...]
    failures: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def lost(self, stage: str) -> list[Fact]:
        """Return some of the facts that were first lost at a stage, from all over the corpus."""
        facts = [fact for fact in self.facts if fact.lost_at == stage]
        return facts[:: max(1, len(facts) // EXAMPLES)][:EXAMPLES]


# The stages of an index


async def stages_of(
    index: Index, chunks: Sequence[Chunk], elements: Elements
) -> tuple[dict[str, Texts], list[str]]:
    """Return the texts of each stage, in the order in which an index is made, and what is not known."""
    extraction, notices = await _extraction(index, chunks)
    stages: dict[str, Texts] = {"extraction": extraction} if extraction else {}
    stages["descriptions"] = {chunk.id: [*map(_described, elements[chunk.id])] for chunk in chunks}
    for level in reversed(index.levels):
        view = {community.number for community in index.communities_at(level)}
        stages[f"reports C{level}"] = {chunk.id: [*_reports(index, elements[chunk.id], view)] for chunk in chunks}
    return stages, notices


def elements_of(index: Index, chunks: Sequence[Chunk]) -> Elements:
    """Return the entities, relationships and claims of each of some chunks."""
    elements: defaultdict[str, list[Element]] = defaultdict(list)
    wanted = {chunk.id for chunk in chunks}
    for row in (*index.entities, *index.relationships, *index.claims):
        for chunk_id in wanted.intersection(row.chunk_ids):
            elements[chunk_id].append(row)
    return elements


def _described(row: Element) -> str:
    match row:
        case Entity():
            head = row.name
        case Relationship():
            head = f"{row.source} - {row.target}"
        case Claim():
            head = " - ".join(part for part in (row.subject, row.object) if part and part != "NONE")
    return f"{head}\n{strip(row.description)}"


def _reports(index: Index, elements: Sequence[Element], view: set[int]) -> Iterator[str]:
    """Yield the parts of the reports on the communities of a view that the entities among elements belong to."""
    entities = [row.number for row in elements if isinstance(row, Entity)]
    communities = {number for entity in entities for number in index.communities_of(entity)}
    for number in sorted(view & communities):
        if report := index.report_of_community.get(number):
            yield f"{report.title}\n{strip(report.summary)}"
            for finding in report.findings:
                yield f"{finding.summary}\n{strip(finding.explanation)}"


class _CacheOnly(MeteredSender):
    """A sender that serves cached replies and asks nothing."""

    async def send(self, request: Request) -> Completion:
        if self.peek(request) is None:
            raise NotSupported("its reply is not cached")
        return await super().send(request)


async def _extraction(index: Index, chunks: Sequence[Chunk]) -> tuple[Texts, list[str]]:
    """Return what is extracted from each chunk by the index's rules or cached replies, and what is not known of it."""
    unknown = "What was extracted from the chunks is not known:"
    if not index.settings or "imported" in index.settings:
        return {}, [f"{unknown} the index was made elsewhere."]
    texts: dict[str, list[str]] = {}
    try:
        values = {key: table for key, table in index.settings.items() if key != "vectors"}  # says who made them
        settings = Settings.model_validate({**values, "llm": {**values.get("llm", {}), "trace": ""}})
        async with open_session(settings, index.folder, to_ask=False) as session:
            model = ChatModel(_CacheOnly(session.sender, Tally()), settings)
            if settings.model == "extractive":
                model = ExtractiveModel(SentenceStore.of_index(index))
            language = corpus_language(index.documents, settings.language)
            for chunk in chunks:
                extracted = await extract([chunk], model, settings.extract, language)
                if not extracted.failures:
                    graph, claims = extracted.graphs[0], extracted.claims[0]
                    texts[chunk.id] = [
                        *(f"{entity.name}\n{entity.description}" for entity in graph.entities),
                        *(f"{row.source} - {row.target}\n{row.description}" for row in graph.relationships),
                        *(f"{claim.subject}\n{claim.description}" for claim in claims),
                    ]
    except (ConspectusError, ValueError) as error:  # of its prompts or its cache; settings of another version
        return {}, [f"{unknown} {error}"]
    if missing := len(chunks) - len(texts):
        return texts, [f"{unknown} of {missing} of {len(chunks)} the replies are not cached."]
    return texts, []


# What becomes of facts


def sampled(index: Index, count: int, seed: int = 0) -> list[Chunk]:
    """Return chunks drawn by a seed, in their order, of those that hold whole sentences; UsageError for none."""
    store = SentenceStore.of_index(index) if "sentences.document" in index.arrays else None
    chunks = list(index.chunks)
    random.Random(seed).shuffle(chunks)
    drawn = list(islice((chunk for chunk in chunks if store and store.within(chunk)), count))
    if not drawn:
        raise UsageError("this index holds no sentences to take facts from")
    return sorted(drawn, key=lambda chunk: chunk.number)


class LossStep(Step[Chunk, Loss]):
    """The chunks of an index that facts are taken from, and the conditions that are asked about them."""

    stage = "loss"
    rules = (CLAIMS_BY_RULES, GROUNDED_BY_RULES)
    lock = ""
    sampled = 10  # each takes up to some hundreds of prompts

    def __init__(self, index: Index, options: LossOptions) -> None:
        """Raise UsageError where the index has no text or cannot answer by a condition."""
        super().__init__(index.folder, run_of(options, [index.settings]), options.get("progress"))
        self.index, self.out = index, options.get("out")
        self.pieces = self.remaining = sampled(index, options.get("chunks", 50), options.get("seed", 0))
        self.elements = elements_of(index, self.pieces)
        self.stages: dict[str, Texts] = {}
        self.unknown: list[str] = []
        self.facts: dict[int, list[Fact]] = {chunk.number: [] for chunk in self.pieces}
        self.failures: dict[int, str] = {}
        conditions = options.get("conditions", ("local",))
        self.conditions = conditions_of(conditions) if conditions else []
        for condition in self.conditions:
            settings = settings_for(condition, self.settings, index)
            check(condition, index, settings, generative=self.generative)

    def extractive(self) -> Model:
        return ExtractiveModel.of_index(self.index)

    async def begin(self, session: Session | None, model: Model) -> None:
        self.stages, self.unknown = await stages_of(self.index, self.pieces, self.elements)

    async def cost(self, session: Session) -> Estimate:
        """Estimate by the extractive model's claims of a few chunks, each checked against all stages."""
        await self.begin(session, self.extractive())
        return await super().cost(session)

    async def work(self, piece: Chunk, model: Model) -> list[Fact]:
        """Return the facts of a chunk and which stages have them; raise CallFailed."""
        store = SentenceStore.of_index(self.index)
        sentences = [Sentence(store.quoted(sentence)) for sentence in store.within(piece)]
        language = language_of(sentence.text for sentence in sentences)
        claims = await claims_of(ABOUT.get(language, ABOUT[ENGLISH]), sentences, model)
        survives: dict[str, dict[str, bool]] = {claim: {} for claim in claims}
        for stage, texts in self.stages.items():
            for claim in claims if piece.id in texts else ():
                survives[claim][stage] = await follows(claim, texts[piece.id], model, language)
        names = main_names(claims, self.elements[piece.id], len(self.index.chunks))
        question = QUESTIONS.get(language, QUESTIONS[ENGLISH]).format(", ".join(names))
        for condition in self.conditions if names else ():
            settings = settings_for(condition, self.settings, self.index)
            answer = await aask(question, self.index, method=condition.method, settings=settings, model=model)
            text = plain(answer.text, {citation.marker for citation in answer.citations})
            for claim in (claim for claim in claims if any(_names(claim, name) for name in names)):
                survives[claim][f"answer by {condition.name}"] = await follows(claim, [text], model, language)
        document = self.index.document_of[piece.document_id].title
        return [Fact(claim, piece.number, document, survives[claim]) for claim in claims]

    def save(self, piece: Chunk, result: list[Fact] | None, error: str) -> None:
        self.facts[piece.number] = result or []
        if error:
            self.failures[piece.number] = f"chunk {piece.number}: {error}"

    def value(self) -> Loss:
        names = (*self.stages, *(f"answer by {condition.name}" for condition in self.conditions))
        groups = list(self.facts.values())
        loss = Loss(
            self.model.name if self.model else model_names(self.settings, *STEPS, "Entails"),
            len(self.pieces),
            tuple(fact for group in groups for fact in group),
            tuple(_stage(name, groups) for name in names),
            tuple(self.failures[number] for number in sorted(self.failures)),
            tuple(self.unknown),
        )
        self.notices += self.unknown
        if self.out:
            write_json(self.out / LOSS_FILE, loss.as_json())
        return loss


def _stage(name: str, groups: Sequence[Sequence[Fact]]) -> StageLoss:
    survives = [[fact.survives[name] for fact in group if name in fact.survives] for group in groups]
    lost = sum(fact.lost_at == name for group in groups for fact in group)
    counts = [len(group) for group in survives]
    return StageLoss(name, sum(counts), pooled([sum(group) for group in survives], counts), lost)


def main_names(claims: Sequence[str], elements: Sequence[Element], chunks: int) -> list[str]:
    """Return the names that the facts of a chunk are most about: those in many of them and in few of all chunks."""
    scores: dict[str, float] = {}
    for row in elements:
        if isinstance(row, Entity):
            rarity = log(1 + chunks / max(1, row.frequency))
            scores[row.name] = rarity * sum(_names(claim, row.name) for claim in claims)
    best = sorted(scores, key=lambda name: (-scores[name], name))
    return [name for name in best[:NAMES] if scores[name]]


def _names(claim: str, name: str) -> bool:
    return fold(name) in f" {fold(claim)} "


async def follows(fact: str, texts: Sequence[str], model: Model, language: str = "en") -> bool:
    """Return whether a fact follows from texts; raise CallFailed where that could not be found out.

    A language model reads those that have most of its words; by rules, one statement of them must have it.
    """
    near = list(nearest(fact, texts))
    pieces = [line for text in near for line in split(text)]
    if model.generative and near:
        pieces = ["\n\n".join(near)]
    replies = await model.perform_all([Entails(piece, fact, language=language) for piece in pieces])
    if failed := next((reply for reply in replies if isinstance(reply, CallFailed)), None):
        raise failed
    return any(reply is True for reply in replies)


def nearest(fact: str, texts: Sequence[str], limit: int = READ) -> Iterator[str]:
    """Yield texts that have a key term of a fact, the fullest first: one at least, and more as far as they fit."""
    wanted = key_terms(fact)
    used = 0
    ranked = sorted((-len(wanted & all_terms(text)), number) for number, text in enumerate(texts))
    for shared, number in ranked:
        size = tokens.count(texts[number])
        if not shared or (used and used + size > limit):
            return
        used += size
        yield texts[number]


@StepFunction
def measure_loss(index: AnyIndex = DEFAULT_FOLDER, **options: Unpack[LossOptions]) -> LossStep:
    """Trace the facts of sampled chunks through an index: extraction, descriptions, reports, answers by conditions.

    Replies of a language model are cached with the index, so that the same call continues from them. Where no model is
    named it is the one that the index was built with. Raises UsageError where the index has no text or cannot answer by
    a condition.
    """
    return LossStep(opened(index), options)
