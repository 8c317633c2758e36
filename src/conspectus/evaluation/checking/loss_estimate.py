"""What following facts through an index will cost, told before it is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conspectus.evaluation.checking.checking_estimate import VERDICT, claiming
from conspectus.evaluation.checking.loss import ABOUT, READ, asked_about, question_about, sentences_of
from conspectus.evaluation.checking.sentences import Sentence
from conspectus.evaluation.checking.stages import Stages
from conspectus.evaluation.comparing.answers import plan
from conspectus.evaluation.comparing.answers_estimate import estimate_answers
from conspectus.evaluation.comparing.conditions import Condition
from conspectus.evaluation.jsonl_table import Question
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate, Estimator, Range
from conspectus.models.base import Model
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.session import Session
from conspectus.rows import Chunk
from conspectus.settings import Settings
from conspectus.tasks import Entails
from conspectus.text.language import ENGLISH, language_of

FACTS = Range(0.3, 2.0)
"""Facts of a sentence."""
LEAST_READ, ASKED_OF = 50, 0.3
"""Tokens that a fact is held against at the least, and the share of facts that any text of a stage speaks to."""


async def estimate_loss(
    index: Index,
    chunks: Sequence[Chunk],
    stages: Stages,
    conditions: Sequence[Condition],
    session: Session,
    stand_in: Model,
    settings: Settings,
) -> Estimate:
    """Estimate the facts of chunks, the checks of each stage, and the answers to a question about each chunk.

    The first is known to the token of what is asked; the checks are a wide range, by the number of facts.
    """
    passages = SentenceStore.of_index(index)
    texts = {chunk.id: sentences_of(chunk, passages) for chunk in chunks}
    of_chunks = [(ABOUT.get(language_of(one.text for one in some), ABOUT[ENGLISH]), some) for some in texts.values()]
    first = claiming(of_chunks, session, settings)
    estimator = Estimator(session.model, session.sender, settings)
    sentences = sum(map(len, texts.values()))
    checked = len(stages.texts) + len(conditions)
    calls = Range(sentences * FACTS.low * ASKED_OF * checked, sentences * FACTS.high * checked)
    bare = prompt_tokens(session.model.request(Entails("", "")))
    read = Range(bare + LEAST_READ, bare + READ)
    rows = [*first.tasks, estimator.row("Entails", calls, calls.times(read), calls.times(VERDICT))]
    questions = list(_questions(index, chunks, stages, texts))
    works = plan(questions, conditions, index, settings, settings.model, generative=True) if questions else []
    for answered in (await estimate_answers(works, index, session.model, stand_in, estimator)).values():
        rows += answered.tasks
    return Estimate(tuple(rows))


def _questions(
    index: Index, chunks: Sequence[Chunk], stages: Stages, texts: Mapping[str, Sequence[Sentence]]
) -> list[Question]:
    """Return the questions that would be asked about chunks, were their sentences their facts."""
    found: list[Question] = []
    for chunk in chunks:
        said = [sentence.text for sentence in texts[chunk.id]]
        if names := asked_about(said, stages.entities.get(chunk.id, ()), len(index.chunks)):
            found.append(Question(str(chunk.number), question_about(names, language_of(said))))
    return found
