"""Limits of a run: the budget of tokens and money (with prices and a trace), the rate limiter, and the backoff."""

from __future__ import annotations

import asyncio
import heapq
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from conspectus.errors import BudgetReached, CallFailed, ModelError, RateLimited, ServerDown, UsageError
from conspectus.models.llm.providers import LONGEST_RETRY_AFTER, PRESETS, is_local
from conspectus.rows import Usage
from conspectus.settings import Price, Settings
from conspectus.tasks.base import task_label

if TYPE_CHECKING:
    from conspectus.models.llm.cache import CachedReply, Spent

USUAL_COMPLETION = 2000
"""Tokens reserved for a reply without a stated maximum, until a longer one has been seen."""
LEAST_ROOM = 4096
"""The same under a budget, where a longer reply is cut off and has to be requested again."""
UNSURE = 1.5
"""Factor by which a prompt may be longer than counted, used until the first reply of its model gives the actual one."""
BATCH_SHARE = 0.5
"""Cost of a call in a batch as a share of its price: half, according to OpenAI's guide to its Batch API and Azure's."""
NOTHING = Usage()


@dataclass(slots=True)
class Call:
    """A request of any kind as the budget, the rate limiter and the cache see it, and the state of its latest attempt.

    `max_tokens` is the stated maximum of the reply: 0 for a reply that is not text, None if none is stated. `prompt` is
    the text for the trace, if the trace contains texts.
    """

    key: str
    model: str
    task: str
    prompt_tokens: int
    max_tokens: int | None
    priority: float = 0.0
    prompt: str = ""
    batched: bool = False
    """Whether it is part of a batch, and so costs half."""
    most: Usage = NOTHING
    """Maximum usage of the attempt, which is reserved until the actual usage is known."""
    cap: int | None = None
    """Maximum tokens of the reply, which are reserved; None without a budget, or if the request has its own."""
    capped: bool = False
    """Whether the cap cut the reply off."""
    again: bool = True
    """Whether the call may be repeated after a failure; not if part of a stream has been shown."""
    used: tuple[int, int] | None = None
    """Tokens of the prompt and of the reply, once there is a reply."""
    entered: float = 0.0
    started: float = 0.0
    backoff: Backoff | None = None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


class Trace:
    """A file of JSON lines, one for each call, with the texts of requests and replies if `texts` is set."""

    def __init__(self, path: Path, *, texts: bool = False) -> None:
        self.texts = texts
        try:
            self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise UsageError(f"the trace cannot be written to {path}: {error.strerror}") from None

    def write(self, call: CachedReply, prompt: str = "", *, cached: bool = False) -> None:
        """Write a call in its cached form, with its prompt; `cached` marks a reply that came from the cache."""
        line: dict[str, object] = {
            "task": call.task,
            "model": call.model,
            "key": call.key,
            "status": call.status,
            "cached": cached,
            "prompt_tokens": call.prompt_tokens,
            "completion_tokens": call.completion_tokens,
            "seconds": round(call.seconds, 4),
        }
        failed = call.status == "failed"
        if self.texts:
            line |= {
                "request": prompt,
                "reply": "" if failed or isinstance(call.reply, bytes) else call.reply,
            }
        if failed:
            line["error"] = call.reply
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        self._file.close()


@dataclass
class Budget:
    """Counts the usage of a run, and stops it before a call that would exceed its budget or the budget of the index.

    `prices` are in US dollars per million tokens, by model name; `price_of` gives the prices of other models, with
    `base_url` as the address of the server. For a model without a known price only tokens are counted. `before` is
    usage of the run that another Budget counted. `index_budget` applies to all runs on one index together;
    `add_earlier_runs` adds the usage of the other runs.
    """

    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    budget: float | None = None
    budget_tokens: int | None = None
    trace: Trace | None = None
    before: Usage = NOTHING
    base_url: str = ""
    index_budget: float | None = None
    index_budget_tokens: int | None = None

    def __post_init__(self) -> None:
        self.notices: dict[str, str] = {}
        """A notice for each model that a budget of money does not limit."""
        self._tasks: defaultdict[str, Usage] = defaultdict(Usage)
        self._earlier = self._lost = NOTHING
        """Usage of earlier runs on the index, and of calls of this run that may be charged but gave no reply."""
        self._longest: dict[tuple[str, str], int] = {}
        self._excess: dict[str, float] = {}
        self._reserved = NOTHING
        self._settled = asyncio.Event()

    @property
    def limited(self) -> bool:
        """Whether there is a budget, so that requests have to be counted before they are sent."""
        limits = (self.budget, self.budget_tokens, self.index_budget, self.index_budget_tokens)
        return any(limit is not None for limit in limits)

    def price(self, model: str) -> Price | None:
        """Return the price of a model, None if it is not known."""
        return price_of(model, self.prices, self.base_url)

    def cost(self, model: str, prompt_tokens: int, completion_tokens: int, *, batched: bool = False) -> float:
        """Return the cost of tokens of a model in US dollars; 0 if its price is not known."""
        price = self.price(model) or FREE
        share = BATCH_SHARE if batched else 1.0
        return share * (prompt_tokens * price.input + completion_tokens * price.output) / 1e6

    def check(self, model: str) -> None:
        """Raise UsageError if there is a budget of money, but the price of the model is not known."""
        if self.budget is None and self.index_budget is None:
            return
        price = self.price(model)
        if price == FREE and model not in self.prices:
            self.notices[model] = (
                f"The budget in US dollars does not limit {model}, which is assumed to be free on your own machine:"
                " settings={'llm.budget_tokens': N} limits it, or give it a price in `prices`."
            )
        if price is None:
            raise UsageError(
                f"a budget in US dollars needs the price of {model}: add it to `prices` in the settings,"
                " or use settings={'llm.budget_tokens': N}"
            )

    # Usage

    def usage(self) -> dict[str, Usage]:
        """Return the usage of each task in this run."""
        return dict(sorted(self._tasks.items()))

    def total(self) -> Usage:
        """Return the usage of the run."""
        return sum(self._tasks.values(), NOTHING)

    def count_cached(self, task: str) -> None:
        """Count a reply that came from the cache."""
        self._tasks[task] += Usage(cached_calls=1)

    def add_earlier_runs(self, spent: Iterable[Spent]) -> None:
        """Count the usage recorded in the response cache of an index towards the budget of the index."""
        for row in spent:
            self._earlier += self._usage_of(row, row.prompt_tokens, row.completion_tokens)

    def expect(self, model: str, task: str, completion_tokens: int) -> None:
        """Reserve at least `completion_tokens` for replies of a task without a stated maximum from now on."""
        self._longest[model, task] = max(completion_tokens, self._longest.get((model, task), 0))

    def _usage_of(self, call: Call | Spent, prompt_tokens: int, completion_tokens: int) -> Usage:
        cost = self.cost(call.model, prompt_tokens, completion_tokens, batched=call.batched)
        return Usage(1, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, cost=cost)

    # One call

    def assess(self, call: Call) -> None:
        """Set the maximum usage of a call, and the cap of its reply.

        Counted tokens of prompts are multiplied by the largest factor by which earlier counts for this model were too
        low. If the call states no maximum of its reply, the longest reply of the task so far is used (twice its length
        if a budget cut it off); under a budget it is also the cap.
        """
        prompt = int(call.prompt_tokens * self._excess.get(call.model, UNSURE)) + 1
        least = LEAST_ROOM if self.limited else USUAL_COMPLETION
        usual = max(least, self._longest.get((call.model, call.task), 0))
        reply = usual if call.max_tokens is None else call.max_tokens
        call.most = self._usage_of(call, prompt, reply)
        call.cap = reply if self.limited and call.max_tokens is None else None

    async def reserve(self, call: Call) -> None:
        """Reserve the maximum usage of a call; if only reservations of other calls prevent it, wait for those calls.

        The maximum usage is assessed anew after each wait, from the replies that arrived meanwhile.

        Raises:
            BudgetReached: the call would exceed the budget.
        """
        self.assess(call)
        while self.limited:
            label = f" ({task_label(call.task)})" if call.task else ""
            may_take = self._reserved + call.most
            reached = self._passed(may_take, "is reached", f"the next call{label} may take")
            if reached is None:
                self._reserved = may_take
                return
            if not self._reserved.calls:
                raise reached
            self._settled.clear()
            await self._settled.wait()
            self.assess(call)

    def settle(self, call: Call, *, lost: bool = False) -> None:
        """Replace a call's reservation by its usage; a `lost` call, which may be charged, counts with its maximum."""
        self.add_reserved(NOTHING - call.most)
        if call.used is None:
            if lost:
                self._lost += call.most
            return
        prompt_tokens, completion_tokens = call.used
        self._tasks[call.task] += self._usage_of(call, prompt_tokens, completion_tokens)
        self.expect(call.model, call.task, completion_tokens * (2 if call.capped else 1))
        if call.prompt_tokens:
            ratio = prompt_tokens / call.prompt_tokens
            self._excess[call.model] = max(self._excess.get(call.model, 1.0), ratio)

    def add_reserved(self, more: Usage) -> None:
        """Change the reserved usage by an amount, which may be negative; also for a batch of an earlier run."""
        if self.limited:
            self._reserved += more
            if not self._reserved.calls:
                self._reserved = NOTHING  # removes rounding errors in the cost
            self._settled.set()

    def check_room(
        self, tokens: float, cost: float, instead: str = "unchanged until the budget is reached"
    ) -> None:
        """Raise BudgetReached if work that uses at least so many tokens and US dollars would exceed the budget.

        `instead` completes the message: an alternative to a higher budget for running the same command again.
        """
        again = f" with a higher budget, or {instead}"
        more = Usage(prompt_tokens=round(tokens), cost=cost)
        if reached := self._passed(more, "is not enough", "the rest will take at least", again):
            raise reached

    def _passed(self, more: Usage, state: str, what: str, again: str = "") -> BudgetReached | None:
        """Return the error for the first budget that `more` usage would exceed, None if it would exceed none."""
        own = self.total() + self._lost
        run, index = own + self.before, own + self._earlier
        for name, limit, spent, needed, form in (
            ("this run", self.budget, run.cost, more.cost, "{:.4f} USD"),
            ("this run", self.budget_tokens, run.tokens, more.tokens, "{:,.0f} tokens"),
            ("the index", self.index_budget, index.cost, more.cost, "{:.4f} USD"),
            ("the index", self.index_budget_tokens, index.tokens, more.tokens, "{:,.0f} tokens"),
        ):
            if limit is None or spent + needed <= limit:
                continue
            cached = "replies are cached" if spent else "nothing was sent"
            if not again and (name == "the index" or needed > limit):
                again = " with a higher budget"
            return BudgetReached(
                f"the budget of {name} {state}: of {form.format(limit)}, {form.format(spent)} are spent and {what}"
                f" {form.format(needed)}; {cached}: the same command continues{again}"
            )
        return None


def open_budget(settings: Settings, before: Usage | None = None, *, embedding: bool = False) -> Budget:
    """Return a new budget from the settings, with a trace if they name one; `embedding` uses the embedder's address."""
    llm = settings.llm
    return Budget(
        settings.prices,
        llm.budget,
        llm.budget_tokens,
        Trace(Path(llm.trace), texts=llm.trace_texts) if llm.trace else None,
        before or NOTHING,
        (embedding and llm.embedder_base_url) or llm.base_url,
        llm.index_budget,
        llm.index_budget_tokens,
    )


# Prices

FREE = Price(input=0.0)
OWN_MACHINES = ("ollama/", "vllm/")
"""Prefixes of models on one's own machines, which are free unless the settings give them a price."""
OTHER_NAMES = {"bedrock": "aws", "gemini": "google"}
"""Providers with another name in genai-prices."""
TYPICAL_CALL = 1000
"""Tokens read, and tokens written, by the call from whose price the price per token is computed. Some models cost more
in calls of over 200,000 tokens, which are never sent here."""


def price_of(model: str, prices: Mapping[str, Price], base_url: str = "") -> Price | None:
    """Return the price of a model in US dollars per million tokens; None if it is not known.

    A price in `prices` (from the settings) comes first. A model at a loopback address (`base_url`), or of Ollama or
    vLLM, is otherwise free. All others are looked up in genai-prices, by the name or, for another address, by name and
    address; its data is part of the package, so that nothing is downloaded.
    """
    own = prices.get(model)
    return own or (FREE if is_free(model, prices, base_url) else _published(model, base_url))


def is_free(model: str, prices: Mapping[str, Price], base_url: str = "") -> bool:
    """Return whether a model is known to be free, without importing the table of prices."""
    own = prices.get(model)
    return own == FREE if own else is_local(base_url) or model.startswith(OWN_MACHINES)


def price_source() -> str:
    """Return the source of prices that the settings do not give, such as `genai-prices 0.2.3`."""
    return f"genai-prices {import_module('genai_prices').__version__}"


@cache
def _published(model: str, base_url: str) -> Price | None:
    prefix, _, name = model.partition("/")
    provider = OTHER_NAMES.get(prefix, prefix) if name and prefix in PRESETS else None
    if provider is None and not base_url:
        return None
    prices: Any = import_module("genai_prices")  # takes 0.4 seconds, so only when a price is needed
    usage = prices.Usage(input_tokens=TYPICAL_CALL, output_tokens=TYPICAL_CALL)
    server = {"provider_api_url": base_url} if base_url else {"provider_id": provider}
    try:
        price = prices.calc_price(usage, name if provider else model, **server)
    except LookupError:
        return None
    million = 1_000_000 / TYPICAL_CALL
    return Price(input=float(price.input_price) * million, output=float(price.output_price) * million)


# Rate of calls

BURST = 0.1
"""Share of a minute's allowance that may be used at once; the rest flows in steadily, so that no minute exceeds it."""
LONGEST_PAUSE = 60.0
"""Longest pause between attempts, in seconds: servers' limits are per minute, so that no longer wait is needed."""


class Bucket:
    """A token bucket that lets through at most `per_minute` in any minute.

    An amount larger than the bucket passes when the bucket is full, and must refill before anything else passes.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = max(1.0, per_minute * BURST)
        self._rate = per_minute * (1 - BURST) / 60
        self._level = self._size
        self._clock = clock
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Return the seconds until an amount can be taken, 0 if it can be taken now."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(amount, self._size) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        """Take an amount; a negative amount returns what was not used."""
        self._level -= amount


class RateLimiter:
    """Lets calls through, those of the highest priority first, as fast as the limits and the server allow.

    The number of concurrent calls (`width`) halves when the server limits the rate or a call times out, at most once
    for all calls that were sent together. It grows by one again for every `width` successful replies.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = self.width = float(concurrency)
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self.tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._clock = clock
        self._waiting: list[tuple[float, int, int, asyncio.Future[None]]] = []
        self._serial = count()
        self._under_way = 0
        self._closed_until = self._narrowed_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, priority: float = 0.0, tokens: int = 0) -> float:
        """Wait until the call may start and return the time, for `narrow`; `leave` must be called afterwards."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-priority, next(self._serial), tokens, turn))
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise
        return self._clock()

    def leave(self, unused_tokens: int = 0) -> None:
        """Let the next call start, and return the tokens that this one did not use."""
        self._under_way -= 1
        self.take(-unused_tokens)
        self._admit()

    def take(self, tokens: int) -> None:
        """Take more tokens for a call in progress."""
        if self.tokens:
            self.tokens.take(tokens)

    def narrow(self, entered: float, pause: float | None) -> None:
        """Halve the concurrency, and pause as long as the server asked; `entered` is when the refused call started."""
        now = self._clock()
        if entered >= self._narrowed_at:
            self.width, self._narrowed_at = max(1.0, self.width / 2), now
        self._closed_until = max(self._closed_until, now + (pause or 0.0))

    def widen(self) -> None:
        """Increase the concurrency again, after a successful reply."""
        if self.width < self._most:
            self.width = min(self._most, self.width + 1 / self.width)
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._under_way < int(self.width):
            _, _, tokens, turn = self._waiting[0]
            seconds = self._closed_until - self._clock()
            if self._requests:
                seconds = max(seconds, self._requests.wait(1))
            if self.tokens:
                seconds = max(seconds, self.tokens.wait(tokens))
            if seconds > 0 and not turn.cancelled():
                if self._timer:
                    self._timer.cancel()
                self._timer = asyncio.get_running_loop().call_later(seconds + 0.001, self._admit)
                return
            heapq.heappop(self._waiting)
            if not turn.cancelled():
                if self._requests:
                    self._requests.take(1)
                self.take(tokens)
                self._under_way += 1
                turn.set_result(None)


class Backoff:
    """The pauses between attempts of a call: they double, with jitter derived from the key, so that runs are alike."""

    def __init__(self, key: str, attempts: int, first_pause: float) -> None:
        self._random = random.Random(key)
        self._rest = self.attempts = attempts
        self._rest_limited = 5 * attempts
        self._pause = first_pause

    @property
    def attempt(self) -> int:
        """The number of the next attempt, from 1, without attempts that were refused by a rate limit."""
        return self.attempts - self._rest + 1

    def pause(self, error: ModelError, *, answered: bool) -> float | None:
        """Return the seconds to wait before the next attempt; None if it would not help, or no attempts are left.

        `answered` is whether the server has answered in this run: a server that is down is retried only if it has.
        """
        retry_after = None
        if isinstance(error, CallFailed) and error.passing:
            retry_after = error.retry_after
        elif not (isinstance(error, ServerDown) and answered):
            return None
        if isinstance(error, RateLimited):  # a rate limit is not a failure of the call
            self._rest_limited -= 1
        else:
            self._rest -= 1
        if min(self._rest, self._rest_limited) <= 0 or (retry_after or 0.0) > LONGEST_RETRY_AFTER:
            return None
        jittered = self._pause * self._random.uniform(0.5, 1.5)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        # All calls wait for Retry-After; the additional jitter keeps them from being repeated all at once.
        return jittered if retry_after is None else retry_after + min(jittered, 0.25)
