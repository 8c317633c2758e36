"""The books of a run: calls, tokens and money per task, the budget they must not pass, the trace of calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from conspectus.errors import BudgetReached, UsageError
from conspectus.models.server.wire import CAPPED, Completion, Request
from conspectus.rows import Usage
from conspectus.settings import Price, Settings

USUAL_COMPLETION = 2000
"""Tokens set aside for a reply of no stated maximum, until a longer one has been seen."""
LEAST_ROOM = 4096
"""The same under a budget, where a reply that is longer is cut off and has to be asked for again."""
UNSURE = 1.5
"""What a prompt may be longer than it is counted, until the first reply of its model tells."""

FREE = ("ollama/", "vllm/")
"""Models of one's own machines, which a budget of money does not stop at."""


@dataclass(slots=True)
class Reservation:
    """What one call may take at the most, set aside until it is known what it took.

    `cap` is the most that its reply may have because no more is set aside; None where there is no budget, or where
    the request states a maximum of its own.
    """

    model: str
    task: str
    prompt_tokens: int
    stated: int | None
    room: int
    tokens: int = 0
    cost: float = 0.0
    cap: int | None = None

    def capped(self, request: Request) -> Request:
        """Return a request as it is sent: what it is kept under stays that of the request without the cap."""
        return replace(request, max_tokens=self.cap) if self.cap else request

    def judged(self, reply: Completion) -> Completion:
        """Return a reply to the request as it was sent, marked as CAPPED where that is what cut it off."""
        capped = self.cap is not None and reply.cut_off and reply.completion_tokens >= self.cap
        return replace(reply, finish_reason=CAPPED) if capped else reply


@dataclass(slots=True)
class _Account:
    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


class Trace:
    """A file of JSON lines, one for each call; texts of requests and replies only where asked for."""

    def __init__(self, path: Path, *, texts: bool = False) -> None:
        self.texts = texts
        try:
            self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise UsageError(f"the trace cannot be written to {path}: {error.strerror}") from None

    def call(self, facts: Mapping[str, object], request: str, reply: str) -> None:
        """Write one call."""
        texts = {"request": request, "reply": reply} if self.texts else {}
        self._file.write(json.dumps({**facts, **texts}) + "\n")

    def close(self) -> None:
        self._file.close()


@dataclass
class Ledger:
    """Counts what a run takes, and stops it before the call that would pass its budget.

    `prices` are per million tokens, by model name; a model of no known price counts tokens only. `before` is what the
    run took on other books, of the same budget.
    """

    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    budget: float | None = None
    budget_tokens: int | None = None
    trace: Trace | None = None
    before: Usage = field(default_factory=Usage)
    _tasks: dict[str, _Account] = field(default_factory=dict[str, "_Account"], init=False)
    _longest: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int], init=False)
    _excess: dict[str, float] = field(default_factory=dict[str, float], init=False)
    _lost: Usage = field(default=Usage(), init=False)
    _reserved_tokens: int = field(default=0, init=False)
    _reserved_cost: float = field(default=0.0, init=False)
    _settled: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    @property
    def limited(self) -> bool:
        """Whether there is a budget, so that requests have to be counted before they are sent."""
        return self.budget is not None or self.budget_tokens is not None

    def price(self, model: str) -> Price | None:
        """Return the price of a model, if it is known."""
        return self.prices.get(model)

    def cost(self, model: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what tokens of a model cost; 0 where its price is not known."""
        price = self.price(model)
        return (prompt_tokens * price.input + completion_tokens * price.output) / 1e6 if price else 0.0

    def check(self, model: str) -> None:
        """Raise UsageError where a budget of money cannot be kept: the price of the model is not known."""
        if self.budget is not None and self.price(model) is None and not model.startswith(FREE):
            raise UsageError(
                f"a budget of money needs the price of {model}: add it to `prices` in the settings,"
                " or use --budget-tokens"
            )

    def estimate(
        self, model: str, task: str, prompt_tokens: int, completion_tokens: int | None, room: int = 0
    ) -> Reservation:
        """Return what a call may take at the most.

        A count of tokens that was too low for this model before is raised accordingly. `completion_tokens` is
        the stated maximum of the reply; without one, the longest of the task so far stands in for it, or `room` where
        that is more, and under a budget caps it.
        """
        self.check(model)
        held = Reservation(model, task, prompt_tokens, completion_tokens, room)
        self._assess(held)
        return held

    def _assess(self, held: Reservation) -> None:
        prompt = int(held.prompt_tokens * self._excess.get(held.model, UNSURE)) + 1
        least = LEAST_ROOM if self.limited else USUAL_COMPLETION
        usual = max(least, held.room, self._longest.get((held.model, held.task), 0))
        reply = usual if held.stated is None else held.stated
        held.tokens, held.cost = prompt + reply, self.cost(held.model, prompt, reply)
        held.cap = reply if self.limited and held.stated is None else None

    def expect(self, model: str, task: str, completion_tokens: int) -> None:
        """Set aside at least so much for replies of a task that state no maximum."""
        self._longest[model, task] = max(completion_tokens, self._longest.get((model, task), 0))

    async def reserve(self, held: Reservation) -> None:
        """Set aside what a call may take; where only calls under way stand in the way of it, wait for them.

        What it may take is assessed anew, by the replies that came since it was estimated.

        Raises:
            BudgetReached: the call would pass the budget.
        """
        self._assess(held)
        while not self._fits(held):
            if self._reserved_tokens <= 0:
                raise BudgetReached(self._reached(held))
            self._settled.clear()
            await self._settled.wait()
            self._assess(held)
        self._reserved_tokens += held.tokens
        self._reserved_cost += held.cost

    def settle(self, held: Reservation, prompt_tokens: int, completion_tokens: int) -> None:
        """Replace what was set aside by what was taken."""
        self._release(held)
        account = self._account(held.task)
        account.calls += 1
        account.prompt_tokens += prompt_tokens
        account.completion_tokens += completion_tokens
        account.cost += self.cost(held.model, prompt_tokens, completion_tokens)
        self.expect(held.model, held.task, completion_tokens)
        if held.prompt_tokens:
            ratio = prompt_tokens / held.prompt_tokens
            self._excess[held.model] = max(self._excess.get(held.model, 1.0), ratio)

    def release(self, held: Reservation, *, lost: bool = False) -> None:
        """Give back what was set aside; not for a `lost` call, whose reply never came but may be charged."""
        self._release(held)
        if lost:
            was = self._lost
            self._lost = Usage(was.calls + 1, prompt_tokens=was.prompt_tokens + held.tokens, cost=was.cost + held.cost)

    def served(self, task: str) -> None:
        """Count a reply that took no call."""
        self._account(task).cached_calls += 1

    def usage(self) -> dict[str, Usage]:
        """Return what each task took in this run."""
        return {
            task: Usage(a.calls, a.cached_calls, a.prompt_tokens, a.completion_tokens, a.cost)
            for task, a in sorted(self._tasks.items())
        }

    def total(self) -> Usage:
        """Return what the run took."""
        accounts = self._tasks.values()
        return Usage(
            sum(a.calls for a in accounts),
            sum(a.cached_calls for a in accounts),
            sum(a.prompt_tokens for a in accounts),
            sum(a.completion_tokens for a in accounts),
            sum(a.cost for a in accounts),
        )

    def check_room(self, tokens: float, cost: float, instead: str = "as it is as far as that reaches") -> None:
        """Raise BudgetReached where work that takes at least so much would pass the budget, before it is begun.

        `instead` is how else the same command goes on than with more.
        """
        used, money = self._taken()
        if self.budget is not None and money + cost > self.budget:
            state = f"of {self.budget:g}, {money:.4f} is spent and the rest will take {cost:.4f} at the least"
        elif self.budget_tokens is not None and used + tokens > self.budget_tokens:
            state = (
                f"of {self.budget_tokens:,} tokens, {used:,} are used and the rest will take {tokens:,.0f} at the least"
            )
        else:
            return
        again = f"what was bought is kept: the same command goes on with more, or {instead}"
        raise BudgetReached(f"the budget does not reach: {state}; {again}")

    def _taken(self) -> tuple[int, float]:
        """Return the tokens and the money that the run took so far, on these books and before."""
        parts = (self.total(), self._lost, self.before)
        return sum(p.prompt_tokens + p.completion_tokens for p in parts), sum(p.cost for p in parts)

    def _account(self, task: str) -> _Account:
        return self._tasks.setdefault(task, _Account())

    def _release(self, held: Reservation) -> None:
        self._reserved_tokens -= held.tokens
        self._reserved_cost -= held.cost
        self._settled.set()

    def _fits(self, held: Reservation) -> bool:
        if not self.limited:
            return True
        used, money = self._taken()
        tokens, cost = used + self._reserved_tokens + held.tokens, money + max(0.0, self._reserved_cost) + held.cost
        return (self.budget_tokens is None or tokens <= self.budget_tokens) and (
            self.budget is None or cost <= self.budget
        )

    def _reached(self, held: Reservation) -> str:
        used, paid = self._taken()
        if self.budget is not None and paid + held.cost > self.budget:
            state = f"of {self.budget:g}, {paid:.4f} is spent and the next call may take {held.cost:.4f}"
        else:
            state = f"of {self.budget_tokens:,} tokens, {used:,} are used and the next call may take {held.tokens:,}"
        alone = held.cost > (self.budget or held.cost) or held.tokens > (self.budget_tokens or held.tokens)
        more = " with more than that one call takes" if alone else ""
        kept = f"what was bought is kept: the same command goes on{more}"
        return f"the budget is reached before {held.task or 'a call'}: {state}; {kept}"


def open_ledger(settings: Settings, before: Usage | None = None) -> Ledger:
    """Return new books as the settings say, with a trace where they name one."""
    llm = settings.llm
    trace = Trace(Path(llm.trace), texts=llm.trace_texts) if llm.trace else None
    return Ledger(settings.prices, llm.budget, llm.budget_tokens, trace, before or Usage())
