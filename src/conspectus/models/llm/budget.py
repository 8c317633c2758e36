"""What a run spends: calls, tokens and money per task, the budget it must not pass, prices, the trace of calls."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from conspectus.errors import BudgetReached, UsageError
from conspectus.models.llm.providers import is_local
from conspectus.models.llm.wire import CAPPED, Completion, Request, Status
from conspectus.rows import Usage
from conspectus.settings import Price, Settings
from conspectus.tasks.base import task_label

if TYPE_CHECKING:
    from conspectus.models.llm.cache import Spent

USUAL_COMPLETION = 2000
"""Tokens set aside for a reply of no stated maximum, until a longer one has been seen."""
LEAST_ROOM = 4096
"""The same under a budget, where a reply that is longer is cut off and has to be asked for again."""
UNSURE = 1.5
"""What a prompt may be longer than it is counted, until the first reply of its model tells."""


@dataclass(frozen=True, slots=True)
class Call:
    """What budget, rate limiter and cache need to know of a request of any kind.

    `max_tokens` is the stated maximum of the reply; 0 for what has no text, None where none is stated. `prompt` is the
    text for the trace, where that has texts.
    """

    key: str
    model: str
    task: str
    prompt_tokens: int
    max_tokens: int | None
    priority: float = 0.0
    prompt: str = ""


@dataclass(slots=True)
class Attempt:
    """One attempt at a call: what it may take at the most, set aside until it is known what it took."""

    call: Call
    tokens: int = 0
    cost: float = 0.0
    cap: int | None = None
    """The most that its reply may have because no more is set aside; None where there is no budget, or where the
    request states a maximum of its own."""
    entered: float = 0.0
    started: float = 0.0
    again: bool = True
    """Whether the call may be made again after a failure; not for a stream of which a part is shown."""
    used: tuple[int, int] | None = None
    """Tokens of the prompt and of the reply, once there is one."""
    capped: bool = False
    """Whether the cap cut the reply off."""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def request(self, request: Request) -> Request:
        """Return a request as it is sent: what it is cached under stays that of the request without the cap."""
        return replace(request, max_tokens=self.cap) if self.cap else request

    def reply(self, reply: Completion) -> Completion:
        """Take the tokens and the time of a reply, and return it, marked as CAPPED where the cap cut it off."""
        self.used = reply.prompt_tokens, reply.completion_tokens
        self.capped = self.cap is not None and reply.cut_off and reply.completion_tokens >= self.cap
        return replace(reply, finish_reason=CAPPED if self.capped else reply.finish_reason, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class _Limit:
    """A budget of "this run" or "the index", in US dollars or tokens, and what is used of it."""

    name: str
    used: float
    limit: float
    in_tokens: bool

    def amount(self, number: float) -> str:
        return f"{number:,.0f} tokens" if self.in_tokens else f"{number:.4f} USD"

    def state(self) -> str:
        return f"of {self.amount(self.limit)}, {self.amount(self.used)} are spent"


class Trace:
    """A file of JSON lines, one for each call; texts of requests and replies only where asked for."""

    def __init__(self, path: Path, *, texts: bool = False) -> None:
        self.texts = texts
        try:
            self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise UsageError(f"the trace cannot be written to {path}: {error.strerror}") from None

    def write(
        self, call: Call, status: Status, used: tuple[int, int], seconds: float, outcome: object = None
    ) -> None:
        """Write one call; `outcome` is its completion or its error, where there is one."""
        reply = outcome if isinstance(outcome, Completion) else None
        facts: dict[str, object] = {
            "task": call.task,
            "model": call.model,
            "key": call.key,
            "status": status,
            "cached": reply is not None and reply.cached,
            "prompt_tokens": used[0],
            "completion_tokens": used[1],
            "seconds": round(seconds, 4),
        }
        if self.texts:
            facts |= {"request": call.prompt, "reply": reply.text if reply else ""}
        if isinstance(outcome, Exception):
            facts["error"] = str(outcome)
        self._file.write(json.dumps(facts) + "\n")

    def close(self) -> None:
        self._file.close()


@dataclass
class Budget:
    """Counts what a run takes, and stops it before the call that would pass its budget, or that of the index.

    `prices` are in US dollars for a million tokens, by model name; the others are those of `price_of`, where `base_url`
    is the address of the server. A model of no known price counts tokens only. `before` is what the run took on other
    books, of the same budget. `index_budget` is for all runs on one index together; `add_earlier_runs` says what the
    others took.
    """

    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    budget: float | None = None
    budget_tokens: int | None = None
    trace: Trace | None = None
    before: Usage = field(default=Usage())
    base_url: str = ""
    index_budget: float | None = None
    index_budget_tokens: int | None = None
    _earlier: Usage = field(default=Usage(), init=False)
    """What earlier runs on the index took, as far as its response cache records it."""
    notices: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """For each model that a budget of money does not limit, a line that says so."""
    _lost: Usage = field(default=Usage(), init=False)
    _tasks: dict[str, Usage] = field(default_factory=dict[str, Usage], init=False)
    _longest: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int], init=False)
    _excess: dict[str, float] = field(default_factory=dict[str, float], init=False)
    _reserved_tokens: int = field(default=0, init=False)
    _reserved_cost: float = field(default=0.0, init=False)
    _settled: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    @property
    def limited(self) -> bool:
        """Whether there is a budget, so that requests have to be counted before they are sent."""
        limits = (self.budget, self.budget_tokens, self.index_budget, self.index_budget_tokens)
        return any(limit is not None for limit in limits)

    # Prices

    def price(self, model: str) -> Price | None:
        """Return the price of a model, if it is known."""
        return price_of(model, self.prices, self.base_url)

    def cost(self, model: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what tokens of a model cost; 0 where its price is not known."""
        price = self.price(model)
        return (prompt_tokens * price.input + completion_tokens * price.output) / 1e6 if price else 0.0

    def check(self, model: str) -> None:
        """Raise UsageError where a budget of money cannot be kept: the price of the model is not known."""
        if self.budget is None and self.index_budget is None:
            return
        price = self.price(model)
        if price == FREE and model not in self.prices:
            self.notices[model] = (
                f"The budget of money does not limit {model}, which is taken to cost nothing on a machine of your own:"
                " settings={'llm.budget_tokens': N} limits it, or give it a price in `prices`."
            )
        if price is None:
            raise UsageError(
                f"a budget of money needs the price of {model}: add it to `prices` in the settings,"
                " or use settings={'llm.budget_tokens': N}"
            )

    # What was taken

    def usage(self) -> dict[str, Usage]:
        """Return what each task took in this run."""
        return dict(sorted(self._tasks.items()))

    def total(self) -> Usage:
        """Return what the run took."""
        return sum(self._tasks.values(), Usage())

    def count_cached(self, task: str) -> None:
        """Count a reply that took no call."""
        self._add(task, Usage(cached_calls=1))

    def add_earlier_runs(self, spent: Iterable[Spent]) -> None:
        """Count what the response cache of an index records against the budget of the index."""
        for row in spent:
            self._earlier += self._usage_of(row.model, row.prompt_tokens, row.completion_tokens)

    def expect(self, model: str, task: str, completion_tokens: int) -> None:
        """Set aside at least so much for replies of a task that state no maximum."""
        self._longest[model, task] = max(completion_tokens, self._longest.get((model, task), 0))

    def _add(self, task: str, usage: Usage) -> None:
        self._tasks[task] = self._tasks.get(task, Usage()) + usage

    def _usage_of(self, model: str, prompt_tokens: int, completion_tokens: int) -> Usage:
        cost = self.cost(model, prompt_tokens, completion_tokens)
        return Usage(1, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, cost=cost)

    # One call

    def estimate(self, call: Call) -> Attempt:
        """Return an attempt at a call with what it may take at the most.

        A count of tokens that was too low for this model before is raised accordingly. Where the call states no maximum
        of its reply, the longest of the task so far stands in for it, twice that where a budget cut it off, and under a
        budget caps it.
        """
        self.check(call.model)
        attempt = Attempt(call)
        self._assess(attempt)
        return attempt

    def _assess(self, attempt: Attempt) -> None:
        call = attempt.call
        prompt = int(call.prompt_tokens * self._excess.get(call.model, UNSURE)) + 1
        least = LEAST_ROOM if self.limited else USUAL_COMPLETION
        usual = max(least, self._longest.get((call.model, call.task), 0))
        reply = usual if call.max_tokens is None else call.max_tokens
        attempt.tokens, attempt.cost = prompt + reply, self.cost(call.model, prompt, reply)
        attempt.cap = reply if self.limited and call.max_tokens is None else None

    async def reserve(self, attempt: Attempt) -> None:
        """Set aside what an attempt may take; where only calls under way stand in the way of it, wait for them.

        What it may take is assessed anew, by the replies that came since it was estimated.

        Raises:
            BudgetReached: the call would pass the budget.
        """
        self._assess(attempt)
        while self.limited and (limit := self._passed_by(attempt)):
            if self._reserved_tokens <= 0:
                raise _reached(limit, attempt)
            self._settled.clear()
            await self._settled.wait()
            self._assess(attempt)
        self._reserved_tokens += attempt.tokens
        self._reserved_cost += attempt.cost

    def settle(self, attempt: Attempt, *, lost: bool = False) -> None:
        """Replace what was set aside by what was used; by all of it for a `lost` call, which may be charged."""
        call = attempt.call
        self._reserved_tokens -= attempt.tokens
        self._reserved_cost -= attempt.cost
        self._settled.set()
        if attempt.used is None:
            if lost:
                self._lost += Usage(1, prompt_tokens=attempt.tokens, cost=attempt.cost)
            return
        self._add(call.task, self._usage_of(call.model, *attempt.used))
        prompt_tokens, completion_tokens = attempt.used
        self.expect(call.model, call.task, completion_tokens * (2 if attempt.capped else 1))
        if call.prompt_tokens:
            ratio = prompt_tokens / call.prompt_tokens
            self._excess[call.model] = max(self._excess.get(call.model, 1.0), ratio)

    # The limits

    def check_room(self, tokens: float, cost: float, instead: str = "as it is as far as that reaches") -> None:
        """Raise BudgetReached where work that takes at least so much would pass the budget, before it is begun.

        `instead` is how else the same command goes on than with a higher budget.
        """
        if limit := self._passed(tokens, cost):
            raise BudgetReached(
                f"the budget of {limit.name} does not reach: {limit.state()} and the rest will take"
                f" {limit.amount(tokens if limit.in_tokens else cost)} at the least; replies are cached: the same"
                f" command goes on with a higher budget, or {instead}"
            )

    def _passed_by(self, attempt: Attempt) -> _Limit | None:
        """Return the budget that a call would pass beside those under way."""
        return self._passed(self._reserved_tokens + attempt.tokens, max(0.0, self._reserved_cost) + attempt.cost)

    def _passed(self, tokens: float, cost: float) -> _Limit | None:
        """Return the first budget that so much more would pass, None where it fits them all."""
        own = self.total() + self._lost
        limits = (
            ("this run", own + self.before, self.budget, self.budget_tokens),
            ("the index", own + self._earlier, self.index_budget, self.index_budget_tokens),
        )
        for name, used, most_cost, most_tokens in limits:
            if most_cost is not None and used.cost + cost > most_cost:
                return _Limit(name, used.cost, most_cost, in_tokens=False)
            if most_tokens is not None and used.tokens + tokens > most_tokens:
                return _Limit(name, used.tokens, most_tokens, in_tokens=True)
        return None


def _reached(limit: _Limit, attempt: Attempt) -> BudgetReached:
    needed = attempt.tokens if limit.in_tokens else attempt.cost
    more = " with more than that one call takes" if needed > limit.limit else ""
    if limit.name == "the index":
        more = " with a higher budget"
    call = f"the next call ({task_label(attempt.call.task)})" if attempt.call.task else "the next call"
    return BudgetReached(
        f"the budget of {limit.name} is reached: {limit.state()} and {call} may take {limit.amount(needed)};"
        f" replies are cached: the same command goes on{more}"
    )


def open_budget(settings: Settings, before: Usage | None = None, *, embedding: bool = False) -> Budget:
    """Return a new budget as the settings say, with a trace where they name one; `embedding` is for the embedder."""
    llm = settings.llm
    return Budget(
        settings.prices,
        llm.budget,
        llm.budget_tokens,
        Trace(Path(llm.trace), texts=llm.trace_texts) if llm.trace else None,
        before or Usage(),
        (embedding and llm.embedder_base_url) or llm.base_url,
        llm.index_budget,
        llm.index_budget_tokens,
    )


# Prices

FREE = Price(input=0.0)
OWN_MACHINES = ("ollama/", "vllm/")
"""Models of one's own machines, which cost nothing unless the settings give them a price."""
PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "aws",
    "gemini": "google",
    "openai": "openai",
    "openrouter": "openrouter",
}
"""The names of the presets in genai-prices."""
TYPICAL_CALL = 1000
"""Tokens read and written by the call whose price is taken for that of all: some models cost more in calls of more
than 200,000 tokens, which are never sent here."""


def price_of(model: str, prices: Mapping[str, Price], base_url: str = "") -> Price | None:
    """Return the price of a model in US dollars for a million tokens; None where it is not known.

    The settings come first. A model at a loopback address (`base_url`), or of Ollama or vLLM, is free unless they
    give it a price. The rest are looked up in genai-prices, by the name or, for another address, by name and address;
    its data is part of the package, so that nothing is fetched.
    """
    if model in prices:
        return prices[model]
    if is_local(base_url) or model.startswith(OWN_MACHINES):
        return FREE
    return _published(model, base_url)


def is_free(model: str, prices: Mapping[str, Price], base_url: str = "") -> bool:
    """Tell whether a model is known to cost nothing, without importing the table of prices where it may cost some."""
    own = prices.get(model)
    return own == FREE if own else is_local(base_url) or model.startswith(OWN_MACHINES)


def price_source() -> str:
    """Return where prices come from that the settings do not give, as `genai-prices 0.2.3`."""
    return f"genai-prices {_published_prices().__version__}"


@cache
def _published_prices() -> Any:
    return import_module("genai_prices")  # takes 0.4 seconds, which only a price is worth


@cache
def _published(model: str, base_url: str) -> Price | None:
    prefix, _, name = model.partition("/")
    provider = PROVIDERS.get(prefix) if name else None
    if provider is None and not base_url:
        return None
    prices = _published_prices()
    usage = prices.Usage(input_tokens=TYPICAL_CALL, output_tokens=TYPICAL_CALL)
    server = {"provider_api_url": base_url} if base_url else {"provider_id": provider}
    try:
        price = prices.calc_price(usage, name if provider else model, **server)
    except LookupError:
        return None
    million = 1_000_000 / TYPICAL_CALL
    return Price(input=float(price.input_price) * million, output=float(price.output_price) * million)
