"""Check answers, and what they stand on: factual claims, grounding, and what an index loses (GraphRAG §4.2, future
work)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from conspectus.api.asking import model_of
from conspectus.api.building import open_index
from conspectus.evaluation.checking.claim_counts import count
from conspectus.evaluation.checking.claiming import find_claims, pending
from conspectus.evaluation.checking.loss import measure, sampled
from conspectus.evaluation.checking.stages import stages_of
from conspectus.evaluation.comparing.asked_answers import asked_answers, found_by
from conspectus.evaluation.comparing.conditions import answering, check, conditions_of, settings_for
from conspectus.evaluation.comparing.current_results import judged_in
from conspectus.evaluation.jsonl_table import claims_in, grounding_in
from conspectus.index import Index
from conspectus.indexing.estimate import check_budget
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.cache import FILE_NAME
from conspectus.models.llm.session import open_session
from conspectus.models.llm.session import open_session as opened_model
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer, Chunk, Usage
from conspectus.runtime import DEFAULT_FOLDER, Given, folder_of, path_of, resolved, run_sync, session_for
from conspectus.settings import Settings
from conspectus.storage import locks

if TYPE_CHECKING:
    from conspectus.evaluation.checking.claim_counts import ClaimCounts
    from conspectus.evaluation.checking.grounding import Grounding
    from conspectus.evaluation.checking.loss import Loss
    from conspectus.evaluation.comparing.conditions import Condition
    from conspectus.indexing.estimate import Estimate
    from conspectus.indexing.pipeline import Progress
    from conspectus.models.llm.session import Session

T = TypeVar("T")
STEPS = ("SelectFactual", "ClearSentences", "FactualClaims")
"""The tasks by which claims are found."""
NONE = Usage()


@dataclass(frozen=True)
class Checked(Generic[T]):
    """What a check found, what it took of a language model, and what its replies lacked, a line each."""

    found: T
    usage: Usage = NONE
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckPreview:
    """What a check would do: so many in all, so many that are left, and what these would take of a language model."""

    all: int
    left: int
    estimate: Estimate | None = None
    """None where the rules check, which costs nothing."""


def evaluate_claims(
    folder: str | Path,
    *,
    conditions: Sequence[str] = (),
    sample: int | None = None,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> Checked[ClaimCounts]:
    """Find the factual claims of the answers in a comparison's folder, and count them and their clusters (GraphRAG
    §4.2).

    Claims that are kept are not looked for again, failed ones are. Without a language model the sentences that state
    something are the claims. They are held against the judgements that hold now, of the judge who judged most. Raises
    UsageError where there are no answers, or no such condition.
    """
    from conspectus.evaluation.checking.checking_estimate import estimate_claims as cost

    chosen, target = resolved(settings), path_of(folder)
    asked = asked_answers(target, conditions, sample)
    kept = claims_in(target)
    by = model.name if model else found_by(chosen, *STEPS)
    left = pending(asked, kept, by)

    async def work(performer: Model) -> None:
        await find_claims(left, performer, kept, by, _tick(progress, "claims", len(left)))

    usage, notices = _checked(work, lambda session: cost(left, session, chosen), target, chosen, model)
    rows = [row for one in asked if (row := kept.get((one.answer.condition, one.answer.question)))]
    judged = judged_in(target)
    return Checked(count(rows, judged.sound if judged else ()), usage, notices)


def estimate_claims(
    folder: str | Path, *, conditions: Sequence[str] = (), sample: int | None = None, settings: Given = None
) -> CheckPreview:
    """Return what `evaluate_claims` would ask, and ask nothing."""
    from conspectus.evaluation.checking.checking_estimate import estimate_claims as cost

    chosen, target = resolved(settings), path_of(folder)
    asked = asked_answers(target, conditions, sample)
    left = pending(asked, claims_in(target), found_by(chosen, *STEPS))
    return CheckPreview(len(asked), len(left), _estimated(lambda session: cost(left, session, chosen), target, chosen))


def evaluate_grounding(
    folder: str | Path,
    *,
    conditions: Sequence[str] = (),
    sample: int | None = None,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> Checked[Grounding]:
    """Check which sentences of a folder's answers follow from what they cite, and from answers sampled beside them.

    What is kept is not checked again, what failed is. Without a language model a sentence follows from a text that
    holds most of its words. Raises UsageError where there are no answers, or no such condition.
    """
    from conspectus.evaluation.checking.checking_estimate import estimate_grounding as cost
    from conspectus.evaluation.checking.grounding import ground, pending, summarise

    chosen, target = resolved(settings), path_of(folder)
    asked = asked_answers(target, conditions, sample)
    kept = grounding_in(target)
    by = model.name if model else found_by(chosen, "Entails")
    left = pending(asked, kept, by)

    async def work(performer: Model) -> None:
        await ground(left, performer, kept, by, _tick(progress, "grounding", len(left)))

    usage, notices = _checked(work, lambda session: cost(left, session, chosen), target, chosen, model)
    rows = [row for one in asked if (row := kept.get((one.answer.condition, one.answer.question)))]
    return Checked(summarise(rows), usage, notices)


def estimate_grounding(
    folder: str | Path, *, conditions: Sequence[str] = (), sample: int | None = None, settings: Given = None
) -> CheckPreview:
    """Return what `evaluate_grounding` would ask, and ask nothing."""
    from conspectus.evaluation.checking.checking_estimate import estimate_grounding as cost
    from conspectus.evaluation.checking.grounding import pending

    chosen, target = resolved(settings), path_of(folder)
    asked = asked_answers(target, conditions, sample)
    left = pending(asked, grounding_in(target), found_by(chosen, "Entails"))
    return CheckPreview(len(asked), len(left), _estimated(lambda session: cost(left, session, chosen), target, chosen))


def evaluate_loss(
    index: Index | str | Path = DEFAULT_FOLDER,
    chunks: int = 50,
    conditions: Sequence[str] = ("local",),
    *,
    seed: int = 0,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> Checked[Loss]:
    """Follow the facts of sampled chunks through an index: what was extracted, descriptions, reports, answers.

    `conditions` answer a question about the names of each chunk. Replies of a language model are kept with the index,
    so that the same call goes on from them. A budget is checked before the first call. Raises UsageError where the
    index has no text or cannot be asked so.
    """
    opened, chosen = _opened(index), resolved(settings)
    drawn = sampled(opened, chunks, seed)
    asking = _conditions(
        conditions, opened, chosen, generative=model.generative if model else chosen.model != "extractive"
    )
    by = model.name if model else found_by(chosen, *STEPS, "Entails")

    async def work() -> Checked[Loss]:
        async with session_for(chosen, folder_of(index, opened), model) as session:
            if session and session.sender.ledger.limited:
                rest = await _loss_estimate(opened, drawn, asking, session, chosen)
                if any(task.calls.low for task in rest.tasks if task.task == STEPS[0]):  # else some or all is bought
                    check_budget(rest, session.sender.ledger)
            performer = model or (session.model if session else model_of(opened))
            ask = _asking(asking, opened, performer)
            found = await measure(opened, drawn, performer, by, ask, list(asking), _tick(progress, "loss", len(drawn)))
            return Checked(found, session.total, session.notices) if session else Checked(found)

    return run_sync(work())


def estimate_loss(
    index: Index | str | Path = DEFAULT_FOLDER,
    chunks: int = 50,
    conditions: Sequence[str] = ("local",),
    *,
    seed: int = 0,
    settings: Given = None,
) -> CheckPreview:
    """Return what `evaluate_loss` would ask, and ask nothing."""
    opened, chosen = _opened(index), resolved(settings)
    drawn = sampled(opened, chunks, seed)
    asking = _conditions(conditions, opened, chosen, generative=chosen.model != "extractive")

    async def work() -> Estimate | None:
        if chosen.model == "extractive":
            return None
        async with opened_model(chosen, _with_replies(folder_of(index, opened)), to_ask=False) as session:
            return await _loss_estimate(opened, drawn, asking, session, chosen)

    return CheckPreview(len(drawn), len(drawn), run_sync(work()))


async def _loss_estimate(
    index: Index,
    drawn: Sequence[Chunk],
    asking: Mapping[str, tuple[Condition, Settings]],
    session: Session,
    settings: Settings,
) -> Estimate:
    from conspectus.evaluation.checking.loss_estimate import estimate_loss as cost

    named = [condition for condition, _ in asking.values()]
    return await cost(index, drawn, await stages_of(index, drawn), named, session, model_of(index), settings)


# What they share


def _tick(progress: Progress | None, stage: str, total: int) -> Tick:
    return progress.stage(stage, total) if progress else no_tick


def _checked(
    work: Callable[[Model], Awaitable[None]],
    cost: Callable[[Session], Estimate],
    folder: Path,
    settings: Settings,
    model: Model | None,
) -> tuple[Usage, tuple[str, ...]]:
    """Do the work in a folder with a model, the settings', or the rules; return what it took, and notices.

    A budget is checked before the first call.
    """

    async def checked() -> tuple[Usage, tuple[str, ...]]:
        async with session_for(settings, folder, model) as session:
            if session and session.sender.ledger.limited:
                check_budget(cost(session), session.sender.ledger)
            with locks.writing(folder, "comparison"):
                await work(model or (session.model if session else ExtractiveModel()))
            return (session.total, session.notices) if session else (NONE, ())

    return run_sync(checked())


def _estimated(cost: Callable[[Session], Estimate], folder: Path, settings: Settings) -> Estimate | None:
    if settings.model == "extractive":
        return None

    async def work() -> Estimate:
        async with open_session(settings, _with_replies(folder), to_ask=False) as session:
            return cost(session)

    return run_sync(work())


def _with_replies(folder: Path | None) -> Path | None:
    """Return a folder where it has replies; an estimate makes no file of them."""
    return folder if folder and (folder / FILE_NAME).exists() else None


def _opened(index: Index | str | Path) -> Index:
    return index if isinstance(index, Index) else open_index(index)


def _conditions(
    names: Sequence[str], index: Index, settings: Settings, *, generative: bool
) -> Mapping[str, tuple[Condition, Settings]]:
    """Return conditions and their settings by name; raise UsageError where an index cannot be asked by one."""
    found: dict[str, tuple[Condition, Settings]] = {}
    for condition in conditions_of(names) if names else ():
        chosen = settings_for(condition, settings, index)
        check(condition, index, chosen, generative=generative)
        found[condition.name] = (condition, chosen)
    return found


def _asking(
    conditions: Mapping[str, tuple[Condition, Settings]], index: Index, model: Model
) -> Callable[[str, str], Awaitable[Answer]]:
    async def ask(question: str, name: str) -> Answer:
        condition, settings = conditions[name]
        performer = WithAnswerOptions(model, question, settings.answer, index.languages) if model.generative else model
        return await answering(question, condition, index)(question, index, performer, settings)

    return ask
