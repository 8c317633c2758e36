"""The factual claims of answers (GraphRAG §4.2), by the steps of Claimify: selection, disambiguation, decomposition.

Of the sentences of an answer those are selected that state something verifiable; each is made clear alone, or left out
where its context does not settle what it says; what is left is taken apart into simple claims, and each counts once.
Without a language model a sentence is a claim as it stands, see `models.extractive.facts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conspectus.errors import CallFailed
from conspectus.evaluation.at_once import each
from conspectus.evaluation.checking.clusters import distinct
from conspectus.evaluation.checking.sentences import Sentence, sentences_in
from conspectus.evaluation.comparing.asked_answers import AskedAnswer, made_with
from conspectus.evaluation.jsonl_table import AnswerClaims, JsonlTable
from conspectus.models.base import Model, Tick, no_tick
from conspectus.tasks import ClearSentences, FactualClaims, SelectFactual
from conspectus.text.language import language_of


def pending(asked: Iterable[AskedAnswer], kept: JsonlTable[AnswerClaims], by: str) -> list[AskedAnswer]:
    """Return the answers whose claims are not kept, failed, or were found in another text or by another."""

    def stands(one: AskedAnswer) -> bool:
        row = kept.get((one.answer.condition, one.answer.question))
        return row is not None and not row.error and row.made_with == _made_with(one, by)

    return [one for one in asked if not stands(one)]


def _made_with(one: AskedAnswer, by: str) -> str:
    return made_with(by, one.question, one.answer.text)


async def find_claims(
    left: Sequence[AskedAnswer], model: Model, kept: JsonlTable[AnswerClaims], by: str, tick: Tick = no_tick
) -> None:
    """Find the claims of answers and keep them; what failed is kept with its error.

    Raises Unusable, when what is under way has ended, where nothing more can be asked of the model.
    """

    async def work(one: AskedAnswer) -> None:
        claims: tuple[str, ...] = ()
        error = ""
        try:
            claims = await claims_of(one.question, sentences_in(one.answer), model)
        except CallFailed as failure:
            error = str(failure) or type(failure).__name__
        kept.add(AnswerClaims(one.answer.condition, one.answer.question, claims, _made_with(one, by), error))

    await each(left, work, tick)


async def claims_of(question: str, sentences: Sequence[Sentence], model: Model) -> tuple[str, ...]:
    """Return the claims that sentences make in answer to a question, each once, in their order.

    Headings are context and make no claims. Numbers of a reply that lead to no sentence are passed over.
    """
    if not any(not sentence.heading for sentence in sentences):
        return ()
    selection = selecting(question, sentences)
    language = selection.language
    factual = await model.perform(selection)
    chosen = tuple(n for n in sorted(set(factual)) if 0 < n <= len(sentences) and not sentences[n - 1].heading)
    if not chosen:
        return ()
    clear = await model.perform(ClearSentences(question, selection.sentences, chosen, language=language))
    texts = tuple(one.text for one in clear if one.number in chosen)
    if not texts:
        return ()
    claims = await model.perform(FactualClaims(question, texts, language=language))
    return distinct(one.text for one in claims if 0 < one.number <= len(texts))


def selecting(question: str, sentences: Sequence[Sentence]) -> SelectFactual:
    """Return the task of the first step."""
    shown = tuple(sentence.shown for sentence in sentences)
    return SelectFactual(question, shown, language=language_of(shown))
