"""What limits a run: its budget of tokens and money (with prices and a trace), the rate limiter, and the backoff."""

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
"""Tokens set aside for a reply of no stated maximum, until a longer one has been seen."""
LEAST_ROOM = 4096
"""The same under a budget, where a reply that is longer is cut off and has to be asked for again."""
UNSURE = 1.5
"""What a prompt may be longer than it is counted, until the first reply of its model tells."""
BATCH_SHARE = 0.5
"""What a call of a batch costs, as a share of its price: half, say OpenAI's guide to its Batch API and Azure's."""
NOTHING = Usage()


@dataclass(slots=True)
class Call:
    """A request of any kind as budget, rate limiter and cache see it, and what is known of its latest attempt.

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
    batched: bool = False
    """Whether it is part of a batch, and so costs half."""
    most: Usage = NOTHING
    """What the attempt may take at the most, reserved until it is known what it took."""
    cap: int | None = None
    """The most that its reply may have because no more is reserved; None where there is no budget, or where the
    request states a maximum of its own."""
    capped: bool = False
    """Whether the cap cut the reply off."""
    again: bool = True
    """Whether the call may be made again after a failure; not for a stream of which a part is shown."""
    used: tuple[int, int] | None = None
    """Tokens of the prompt and of the reply, once there is one."""
    entered: float = 0.0
    started: float = 0.0
    backoff: Backoff | None = None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


class Trace:
    """A file of JSON lines, one for each call; texts of requests and replies only where asked for."""

    def __init__(self, path: Path, *, texts: bool = False) -> None:
        self.texts = texts
        try:
            self._file: IO[str] = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise UsageError(f"the trace cannot be written to {path}: {error.strerror}") from None

    def write(self, call: CachedReply, prompt: str = "", *, cached: bool = False) -> None:
        """Write a call as it is cached, and what was asked; `cached` tells that it was served from there."""
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
    before: Usage = NOTHING
    base_url: str = ""
    index_budget: float | None = None
    index_budget_tokens: int | None = None

    def __post_init__(self) -> None:
        self.notices: dict[str, str] = {}
        """For each model that a budget of money does not limit, a line that says so."""
        self._tasks: defaultdict[str, Usage] = defaultdict(Usage)
        self._earlier = self._lost = NOTHING
        """What earlier runs on the index took, and calls of this one that were charged for and gave no reply."""
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
        """Return the price of a model, if it is known."""
        return price_of(model, self.prices, self.base_url)

    def cost(self, model: str, prompt_tokens: int, completion_tokens: int, *, batched: bool = False) -> float:
        """Return what tokens of a model cost; 0 where its price is not known."""
        price = self.price(model) or FREE
        share = BATCH_SHARE if batched else 1.0
        return share * (prompt_tokens * price.input + completion_tokens * price.output) / 1e6

    def check(self, model: str) -> None:
        """Raise UsageError where a budget of money cannot be kept: the price of the model is not known."""
        if self.budget is None and self.index_budget is None:
            return
        price = self.price(model)
        if price == FREE and model not in self.prices:
            self.notices[model] = (
                f"The budget of money does not limit {model}, which is taken to be free on your own machine:"
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
        return sum(self._tasks.values(), NOTHING)

    def count_cached(self, task: str) -> None:
        """Count a reply that took no call."""
        self._tasks[task] += Usage(cached_calls=1)

    def add_earlier_runs(self, spent: Iterable[Spent]) -> None:
        """Count what the response cache of an index records against the budget of the index."""
        for row in spent:
            self._earlier += self._usage_of(row, row.prompt_tokens, row.completion_tokens)

    def expect(self, model: str, task: str, completion_tokens: int) -> None:
        """Set aside at least so much for replies of a task that state no maximum."""
        self._longest[model, task] = max(completion_tokens, self._longest.get((model, task), 0))

    def _usage_of(self, call: Call | Spent, prompt_tokens: int, completion_tokens: int) -> Usage:
        cost = self.cost(call.model, prompt_tokens, completion_tokens, batched=call.batched)
        return Usage(1, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, cost=cost)

    # One call

    def assess(self, call: Call) -> None:
        """Set what a call may take at the most.

        A count of tokens that was too low for this model before is raised accordingly. Where the call states no maximum
        of its reply, the longest of the task so far stands in for it, twice that where a budget cut it off, and under a
        budget caps it.
        """
        prompt = int(call.prompt_tokens * self._excess.get(call.model, UNSURE)) + 1
        least = LEAST_ROOM if self.limited else USUAL_COMPLETION
        usual = max(least, self._longest.get((call.model, call.task), 0))
        reply = usual if call.max_tokens is None else call.max_tokens
        call.most = self._usage_of(call, prompt, reply)
        call.cap = reply if self.limited and call.max_tokens is None else None

    async def reserve(self, call: Call) -> None:
        """Reserve what a call may take; where only calls under way stand in the way of it, wait for them.

        What it may take is assessed anew, by the replies that came meanwhile.

        Raises:
            BudgetReached: the call would pass the budget.
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
        """Replace what was reserved by what was used; by all of it for a `lost` call, which may be charged."""
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
        """Count more as reserved, as what a batch may take that an earlier run submitted; or less."""
        if self.limited:
            self._reserved += more
            if not self._reserved.calls:
                self._reserved = NOTHING  # without what is left of money by rounding
            self._settled.set()

    def check_room(
        self, tokens: float, cost: float, instead: str = "as it is as far as that reaches"
    ) -> None:
        """Raise BudgetReached where work that takes at least so much would pass the budget, before it is begun.

        `instead` is how else the same command goes on than with a higher budget.
        """
        again = f" with a higher budget, or {instead}"
        more = Usage(prompt_tokens=round(tokens), cost=cost)
        if reached := self._passed(more, "does not reach", "the rest will take at least", again):
            raise reached

    def _passed(self, more: Usage, state: str, what: str, again: str = "") -> BudgetReached | None:
        """Return the error for the first budget that so much more would pass, None where it fits them all."""
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
                f" {form.format(needed)}; {cached}: the same command goes on{again}"
            )
        return None


def open_budget(settings: Settings, before: Usage | None = None, *, embedding: bool = False) -> Budget:
    """Return a new budget as the settings say, with a trace where they name one; `embedding` is for the embedder."""
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
"""Models of one's own machines, which cost nothing unless the settings give them a price."""
OTHER_NAMES = {"bedrock": "aws", "gemini": "google"}
"""Providers that genai-prices names in another way."""
TYPICAL_CALL = 1000
"""Tokens read and written by the call whose price is taken for that of all: some models cost more in calls of more
than 200,000 tokens, which are never sent here."""


def price_of(model: str, prices: Mapping[str, Price], base_url: str = "") -> Price | None:
    """Return the price of a model in US dollars for a million tokens; None where it is not known.

    The settings come first. A model at a loopback address (`base_url`), or of Ollama or vLLM, is free unless they
    give it a price. The rest are looked up in genai-prices, by the name or, for another address, by name and address;
    its data is part of the package, so that nothing is fetched.
    """
    own = prices.get(model)
    return own or (FREE if is_free(model, prices, base_url) else _published(model, base_url))


def is_free(model: str, prices: Mapping[str, Price], base_url: str = "") -> bool:
    """Tell whether a model is known to cost nothing, without importing the table of prices where it may cost some."""
    own = prices.get(model)
    return own == FREE if own else is_local(base_url) or model.startswith(OWN_MACHINES)


def price_source() -> str:
    """Return where prices come from that the settings do not give, as `genai-prices 0.2.3`."""
    return f"genai-prices {import_module('genai_prices').__version__}"


@cache
def _published(model: str, base_url: str) -> Price | None:
    prefix, _, name = model.partition("/")
    provider = OTHER_NAMES.get(prefix, prefix) if name and prefix in PRESETS else None
    if provider is None and not base_url:
        return None
    prices: Any = import_module("genai_prices")  # takes 0.4 seconds, which only a price is worth
    usage = prices.Usage(input_tokens=TYPICAL_CALL, output_tokens=TYPICAL_CALL)
    server = {"provider_api_url": base_url} if base_url else {"provider_id": provider}
    try:
        price = prices.calc_price(usage, name if provider else model, **server)
    except LookupError:
        return None
    million = 1_000_000 / TYPICAL_CALL
    return Price(input=float(price.input_price) * million, output=float(price.output_price) * million)


# How fast calls go out

BURST = 0.1
"""The part of a minute's allowance that may go at once; the rest flows, so that no minute has more."""
LONGEST_PAUSE = 60.0
"""Seconds: the limits of servers are for a minute, so that none has to be waited for longer."""


class Bucket:
    """A token bucket that lets through at most `per_minute` in any minute, however it starts.

    More than it ever holds passes when it is full, and is paid back before anything else passes.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = max(1.0, per_minute * BURST)
        self._rate = per_minute * (1 - BURST) / 60
        self._level = self._size
        self._clock = clock
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Return the seconds until an amount can be taken."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(amount, self._size) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        """Take an amount; giving a negative one puts back what was not used."""
        self._level -= amount


class RateLimiter:
    """Lets calls through, those of the highest priority first, as fast as the limits and the server allow.

    The number of calls under way halves when the server says that there are too many, at most once for all
    that were sent together, and grows back by one for as many good replies as it lets through at once.
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
        """Wait for one's turn and return the moment it came, for `narrow`; `leave` has to follow."""
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
        """Make room for the next call, and give back what of its tokens was not used after all."""
        self._under_way -= 1
        self.take(-unused_tokens)
        self._admit()

    def take(self, tokens: int) -> None:
        """Take more tokens for a call under way."""
        if self.tokens:
            self.tokens.take(tokens)

    def narrow(self, entered: float, pause: float | None) -> None:
        """Let fewer through, after the pause that the server asked for; `entered` is of the refused call."""
        now = self._clock()
        if entered >= self._narrowed_at:
            self.width, self._narrowed_at = max(1.0, self.width / 2), now
        self._closed_until = max(self._closed_until, now + (pause or 0.0))

    def widen(self) -> None:
        """Let more through again, after a good reply."""
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
    """How long a call is tried: pauses that double, with jitter from its key, so that runs are alike."""

    def __init__(self, key: str, attempts: int, first_pause: float) -> None:
        self._random = random.Random(key)
        self._rest = self.attempts = attempts
        self._rest_limited = 5 * attempts
        self._pause = first_pause

    @property
    def attempt(self) -> int:
        """The number of the next attempt, from 1; those that a rate limit held up do not count."""
        return self.attempts - self._rest + 1

    def pause(self, error: ModelError, *, answered: bool) -> float | None:
        """Return the seconds to wait before asking again; None where that is no use, or has been done enough.

        `answered` tells whether the server ever did: one that never has is not waited for.
        """
        retry_after = None
        if isinstance(error, CallFailed) and error.passing:
            retry_after = error.retry_after
        elif not (isinstance(error, ServerDown) and answered):
            return None
        if isinstance(error, RateLimited):  # waiting its turn is no failure of the call
            self._rest_limited -= 1
        else:
            self._rest -= 1
        if min(self._rest, self._rest_limited) <= 0 or (retry_after or 0.0) > LONGEST_RETRY_AFTER:
            return None
        jittered = self._pause * self._random.uniform(0.5, 1.5)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        # All calls wait for Retry-After; the jitter on top keeps them from coming back at once.
        return jittered if retry_after is None else retry_after + min(jittered, 0.25)
