"""What checking answers will cost, told before it is spent: replies that are kept are taken off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from conspectus import tokens
from conspectus.evaluation.checking.claiming import selecting
from conspectus.evaluation.checking.grounding import entailments
from conspectus.evaluation.checking.sentences import Sentence, sentences_in
from conspectus.evaluation.comparing.asked_answers import AskedAnswer
from conspectus.indexing.estimate import NONE, Estimate, Estimator, Range, TaskEstimate
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.session import Session
from conspectus.settings import Settings
from conspectus.tasks import ClearSentences, Entails, FactualClaims

CHOSEN = Range(0.3, 1.0)
"""Sentences that are selected, of all."""
CLEARED = Range(0.8, 1.5)
"""Tokens of a sentence that was made clear, for each token of it."""
TAKEN_APART = Range(1.0, 2.5)
"""Tokens of its claims, for each token of it then."""
SIGNS, NUMBER = Range(10, 14), Range(2, 3)
"""Tokens of JSON around a sentence or claim, and of a number in a list."""
VERDICT = Range(1, 3)
"""Tokens of a yes or no."""
Figures = tuple[Range, Range, Range]
"""Calls, tokens of their prompts, and of their replies."""


def estimate_claims(left: Sequence[AskedAnswer], session: Session, settings: Settings) -> Estimate:
    """Estimate the three steps on answers."""
    return claiming(((one.question, sentences_in(one.answer)) for one in left), session, settings)


def claiming(texts: Iterable[tuple[str, Sequence[Sentence]]], session: Session, settings: Settings) -> Estimate:
    """Estimate the three steps on texts, each with its question: the first is known to the token of what is asked.

    Where the reply to the first step is kept, those to the others may be too.
    """
    ask, sender = session.model.request, session.sender
    bare = [_known(prompt_tokens(ask(task))) for task in (ClearSentences("", (), ()), FactualClaims("", ()))]
    figures: dict[str, list[Figures]] = {"SelectFactual": [], "ClearSentences": [], "FactualClaims": []}
    for question, sentences in texts:
        if all(sentence.heading for sentence in sentences):
            continue
        task = selecting(question, sentences)
        request = ask(task)
        new = _known(not sender.has(request))
        then = Range(new.low, 1)
        size = _known(sum(map(tokens.count, task.sentences)))
        chosen = _known(len(sentences)).times(CHOSEN)
        clear = size.times(CHOSEN).times(CLEARED).plus(chosen.times(SIGNS))
        claims = clear.times(TAKEN_APART)
        figures["SelectFactual"].append(
            (new, _known(prompt_tokens(request)).times(new), chosen.times(NUMBER).times(new))
        )
        figures["ClearSentences"].append((then, bare[0].plus(size).times(then), clear.times(then)))
        figures["FactualClaims"].append((then, bare[1].plus(clear).times(then), claims.times(then)))
    return _estimate(figures, session, settings)


def estimate_grounding(left: Sequence[AskedAnswer], session: Session, settings: Settings) -> Estimate:
    """Estimate the checks of answers against what they cite and against their samples: all of it is known."""
    return entailing((task for one in left for _, task in entailments(one)), session, settings)


def entailing(tasks: Iterable[Entails], session: Session, settings: Settings) -> Estimate:
    """Estimate checks whose texts are known."""
    requests = [request for task in tasks if not session.sender.has(request := session.model.request(task))]
    asked = float(sum(map(prompt_tokens, requests)))
    calls = _known(len(requests))
    return _estimate({"Entails": [(calls, _known(asked), calls.times(VERDICT))]}, session, settings)


def _known(number: float) -> Range:
    return Range(number, number)


def _estimate(figures: Mapping[str, Sequence[Figures]], session: Session, settings: Settings) -> Estimate:
    estimator = Estimator(session.model, session.sender, settings)
    rows: list[TaskEstimate] = []
    for task, found in figures.items():
        calls, asked, written = NONE, NONE, NONE
        for one in found:
            calls, asked, written = calls.plus(one[0]), asked.plus(one[1]), written.plus(one[2])
        if calls.high:
            rows.append(estimator.row(task, calls, asked, written))
    return Estimate(tuple(rows))
