"""What judging will cost, told before it is spent: a comparison of six conditions is tens of thousands of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from conspectus import tokens
from conspectus.evaluation.jsonl_table import ConditionAnswer, Question
from conspectus.evaluation.judging.judge import task_of
from conspectus.evaluation.judging.pairing import HeadToHead
from conspectus.evaluation.judging.reasons import MOST_TOKENS
from conspectus.indexing.estimate import Estimate, Estimator, Range
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.model import ChatModel
from conspectus.tasks import Criterion

VERDICT = Range(40, 250)
"""Tokens of a verdict."""
TEMPLATE, SUMMARY = 150, Range(60, 250)
"""Tokens of a prompt that asks for a summary, without the reasons, and of the summary."""


def estimate(
    to_ask: Sequence[HeadToHead], model: ChatModel, estimator: Estimator, language: str, reasons: bool
) -> Estimate:
    """Estimate the judgements that are left, and summaries of the reasons of all where they are wanted."""
    calls = Range(len(to_ask), len(to_ask))
    asked = float(_asked(to_ask, model, language))
    rows = [estimator.row("Judge", calls, Range(asked, asked), calls.times(VERDICT))]
    if reasons and to_ask:
        groups = len({(one.pair, one.criterion.name) for one in to_ask})
        calls = Range(groups, 2 * groups)
        most = MOST_TOKENS + TEMPLATE
        least = min(most, TEMPLATE + VERDICT.low)
        rows.append(estimator.row("SummariseReasons", calls, calls.times(Range(least, most)), calls.times(SUMMARY)))
    return Estimate(tuple(rows))


def _asked(to_ask: Sequence[HeadToHead], model: ChatModel, language: str) -> int:
    """Return the tokens of all prompts, to a few for each: what stands in many of them is counted once."""

    @cache
    def size(text: str) -> int:
        return tokens.count(text)

    def bare(criterion: Criterion) -> int:
        empty = ConditionAnswer("", "")
        return prompt_tokens(model.request(task_of(HeadToHead(empty, empty, criterion, Question("", ""), 1), language)))

    prompts = {one.criterion.name: one.criterion for one in to_ask}
    templates = {name: bare(criterion) for name, criterion in prompts.items()}
    alike = Counter((one.criterion.name, one.question.text, one.first.text, one.second.text) for one in to_ask)
    return sum(n * (templates[name] + sum(map(size, texts))) for (name, *texts), n in alike.items())
