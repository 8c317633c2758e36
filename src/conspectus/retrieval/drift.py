"""DRIFT: a first answer over the best reports, then follow-up questions over the graph, then one combined answer.

The first answer (the primer) proposes follow-up questions; each is answered from the context that `local` gathers for
it, and may propose others; a reduce step combines all answers. Without a language model, a follow-up is the question
combined with names from the sentences retrieved so far: it widens the search, without any reasoning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from conspectus import tokens
from conspectus.errors import ModelError, UsageError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.name_lookup import question_language
from conspectus.retrieval import local, method
from conspectus.retrieval.base import empty_answer, reduce
from conspectus.retrieval.rollup import communities_of, match_annotations
from conspectus.rows import Answer, Report
from conspectus.settings import Settings
from conspectus.tasks import FollowUp, PrimeAnswer, Probe, PursueFollowUp
from conspectus.tasks.base import Context
from conspectus.text.words import name_key

METHOD = "drift"
PRIMER_REPORTS = 5
"""Number of reports for the first answer."""
FOLLOW_UPS = 3
"""Number of follow-up questions per step."""


@dataclass
class DriftSteps:
    """The partial answers of the steps, the follow-ups asked, the tokens read, and the failures."""

    probes: list[Probe] = field(default_factory=list[Probe])
    questions: list[str] = field(default_factory=list[str])
    used: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])


@method(
    "drift",
    help="a first answer over reports, then follow-up questions",
    reads={"reports", "graph", "chunks"},
    no_preview="each step of drift depends on the one before: there is no context to show before the answer",
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best reports and from follow-up questions.

    Raises UsageError if the index has no reports, ModelError if the first answer failed.
    """
    if not index.reports:
        raise UsageError("drift starts from reports, and this index has none: ask by rollup or local")
    reports = primer_reports(question, index, settings)
    drifted = await drift(question, reports, index, model, settings)
    notices: list[str] = []
    if drifted.failed:
        notices.append(f"{len(drifted.failed)} follow-ups could not be answered: {drifted.failed[0]}")
    if not model.generative and drifted.questions:
        notices.append(wording(question_language(question, index)).crossing)
    helpful = [probe for probe in drifted.probes if probe.score > 0]
    if helpful:
        draft = Answer(question, "", METHOD, context_tokens=drifted.used, notices=tuple(notices))
        result = await reduce(helpful, draft, index, model, settings.answer)
    else:
        result = empty_answer(Answer(question, "", METHOD, context_tokens=drifted.used), index)
    questions = "; ".join(f"“{question}”" for question in drifted.questions)
    why = f"from the reports of communities {', '.join(str(report.community) for report in reports)}"
    return replace(result, why=f"{why}, then asked {questions}" if questions else why)


async def drift(
    question: str, reports: Sequence[Report], index: Index, model: Model, settings: Settings
) -> DriftSteps:
    """Ask the primer and then, at each step, the follow-ups with the highest scores that were not asked yet."""
    context = Context(reports=tuple(reports))
    primer = await model.perform(PrimeAnswer(question, context, FOLLOW_UPS))
    result = DriftSteps([primer], used=tokens.count(context.text))
    ahead = list(primer.follow_ups)
    for _ in range(settings.drift.depth):
        step = _best(ahead, [question, *result.questions], FOLLOW_UPS)
        windows = [local.context(follow_up.question, index, settings.answer) for follow_up in step]
        earlier = tuple(result.questions)
        tasks = [
            PursueFollowUp(question, follow_up.question, window, FOLLOW_UPS, earlier)
            for follow_up, window in zip(step, windows, strict=True)
            if window.sources
        ]
        replies = await model.perform_all(tasks)
        result.questions += [follow_up.question for follow_up in step]
        result.used += sum(tokens.count(task.context.text) for task in tasks)
        result.failed += [reply for reply in replies if isinstance(reply, ModelError)]
        probes = [reply for reply in replies if not isinstance(reply, ModelError)]
        result.probes += probes
        ahead += [follow_up for probe in probes for follow_up in probe.follow_ups]
    return result


def _best(ahead: Iterable[FollowUp], questions: Sequence[str], most: int) -> list[FollowUp]:
    """Return the follow-ups with the highest scores that were not asked; of equal ones, the first."""
    previous = {name_key(question) for question in questions}
    fresh: dict[str, FollowUp] = {}
    for follow_up in sorted(ahead, key=lambda f: -f.score):
        key = name_key(follow_up.question)
        if follow_up.score > 0 and key not in previous:
            fresh.setdefault(key, follow_up)
    return list(fresh.values())[:most]


def primer_reports(question: str, index: Index, settings: Settings) -> list[Report]:
    """Return the reports of the communities that best match a question, then the most important of the others."""
    annotations = match_annotations(question, index, settings)
    near: dict[int, Report] = {}
    for number in communities_of(annotations, index, settings.reports.min_report_entities):
        at = number
        while at >= 0 and at not in index.report_of_community:
            at = index.communities[at].parent
        if at >= 0:
            report = index.report_of_community[at]
            near.setdefault(report.number, report)
    others = sorted(index.reports, key=lambda r: (r.brief, r.level, -r.rating, r.number))
    return list({r.number: r for r in (*near.values(), *others)}.values())[:PRIMER_REPORTS]
