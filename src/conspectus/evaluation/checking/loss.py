"""Where facts are lost on the way from the text to the answer: of those of sampled chunks, which each stage still has.

A fact survives a stage where it follows from what that stage holds of the chunk that states it: the rows that name the
chunk, the reports whose communities hold an entity of it, the answer to a question about it. Stages are checked apart:
what one lost, a later one may have from another chunk.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

from conspectus import tokens
from conspectus.errors import CallFailed, UsageError
from conspectus.evaluation.at_once import each
from conspectus.evaluation.checking.claiming import claims_of
from conspectus.evaluation.checking.grounding import plain
from conspectus.evaluation.checking.sentences import Sentence
from conspectus.evaluation.checking.stages import Stages, stages_of
from conspectus.evaluation.statistics import Interval, pooled, rounded
from conspectus.index import Index
from conspectus.models.base import Model, Tick, no_tick, succeeded
from conspectus.models.extractive.facts import all_terms, key_terms
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.models.extractive.statements import split
from conspectus.rows import Answer, Chunk, Entity
from conspectus.tasks import Entails
from conspectus.text.language import ENGLISH, language_of
from conspectus.text.words import fold

READ = 1500
"""Tokens of a stage's texts that are held against a fact at the most, those that have most of its words first."""
NAMES = 3
"""Names that a question is about at the most."""
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
