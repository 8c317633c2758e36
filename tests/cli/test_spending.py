"""Questions and messages about cost: before a run, during it, and at its end."""

from __future__ import annotations

import io
import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
import typer
from llm_corpus import documents, settings
from simulated_replies import reply_to
from simulated_server import Behaviour, Refusal, SimulatedServer
from typer.testing import Result

from conspectus import api
from conspectus.cli import options
from conspectus.cli.options import ASK_ABOVE_TOKENS, ASK_ABOVE_USD, agree_to
from conspectus.cli.show import LINE_EVERY, Bars
from conspectus.errors import UsageError
from conspectus.indexing.estimate import Estimate, Range, TaskEstimate, exactly
from conspectus.models.llm import sender
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.rows import Usage
from conspectus.runtime import shown
from conspectus.settings import ModelSettings, Settings
from conspectus.storage.manifests import writing

Run = Callable[..., Result]
DEAR = ("--set", "prices={ simulated = { input = 1000.0, output = 4000.0 } }")
CHEAP = ("--set", "prices={ simulated = { input = 0.01, output = 0.04 } }")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for n, document in enumerate(documents()):
        (folder / f"{n}.txt").write_text(document["text"], encoding="utf-8")
    return folder


def asking(server: SimulatedServer) -> tuple[str, ...]:
    return ("--model", "simulated", "--base-url", server.url)


def test_without_a_terminal_more_than_a_little_is_spent_only_with_yes_or_a_budget(
    run: Run, server: SimulatedServer, papers: Path
):
    before = server.counts["requests"]
    refused = run("index", papers, *asking(server), *DEAR, code=2).stderr
    assert "--yes" in refused
    assert "--budget" in refused
    assert server.counts["requests"] == before
    assert not (Path(".conspectus") / "manifest.json").exists()
    assert "$" in run("index", papers, *asking(server), *DEAR, "--budget", 1000).stderr
    run("index", papers, "--index", "agreed", *asking(server), *DEAR, "--yes")


def test_a_little_is_spent_without_asking_and_the_last_line_says_how_much(
    run: Run, server: SimulatedServer, papers: Path
):
    first = run("index", papers, *asking(server), *CHEAP).stdout.splitlines()[-1]
    again = run("index", papers, "--fresh", *asking(server), *CHEAP).stdout.splitlines()[-1]
    assert "$0.00" in first
    assert "calls" in first
    assert "0 calls" in again
    assert "from the cache" in again


def test_the_index_has_a_budget_that_the_same_command_does_not_pass(
    run: Run, server: SimulatedServer, papers: Path
):
    spent = 0
    for _ in range(3):
        before = server.prompt_tokens + server.completion_tokens
        more = ("--set", "llm.index_budget_tokens=20000")
        stopped = run("index", papers, *asking(server), *more, code=1).stderr
        spent += server.prompt_tokens + server.completion_tokens - before
        assert "the index" in stopped
    assert 0 < spent <= 20_000


def estimate_of(tokens: float, cost: float | None) -> Estimate:
    money = None if cost is None else exactly(cost)
    return Estimate((TaskEstimate("ExtractGraph", "m", exactly(1), exactly(tokens), Range(0, 0), money),))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_asked_above_the_threshold_and_not_below_it(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def no(text: str, **_: object) -> None:
        asked.append(text)
        raise typer.Abort

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(options.typer, "confirm", no)
    for below in (estimate_of(10**9, ASK_ABOVE_USD / 2), estimate_of(ASK_ABOVE_TOKENS / 2, None)):
        agree_to(below, Settings(), yes=False)
    assert not asked
    above = estimate_of(10**9, 2 * ASK_ABOVE_USD), estimate_of(2 * ASK_ABOVE_TOKENS, None)
    for estimate in above:
        agree_to(estimate, Settings(), yes=True)
        agree_to(estimate, Settings(llm=ModelSettings(budget_tokens=5)), yes=False)
        assert not asked
    for estimate in above:
        with pytest.raises(typer.Exit):
            agree_to(estimate, Settings(), yes=False)
    assert len(asked) == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(UsageError, match="--yes"):
        agree_to(above[0], Settings(), yes=False)


def test_without_a_terminal_a_line_says_every_while_how_far_it_is_and_what_is_spent(
    capsys: pytest.CaptureFixture[str],
):
    waits, ends = Queue[float](), Queue[bool]()

    def wait(seconds: float) -> bool:
        waits.put(seconds)
        return ends.get()

    with Bars(quiet=False, wait=wait) as bars:
        assert waits.get() == LINE_EVERY
        assert capsys.readouterr().err == ""  # a short run prints nothing
        bars.watch(lambda: Usage(calls=7, prompt_tokens=900, completion_tokens=100, cost=0.25))
        earlier = bars.stage("describe", 100)
        tick = bars.stage("reports", 40)
        for _ in range(10):
            tick()
            earlier()
        ends.put(False)
        waits.get()
        ends.put(True)
    (line,) = capsys.readouterr().err.splitlines()
    for fact in ("10 of 40", "7 calls", "1,000 tokens", "$0.25", "left"):
        assert fact in line


def test_no_count_is_shown_of_more_than_there_is(monkeypatch: pytest.MonkeyPatch):
    """The last descriptions end while reports are already being written."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Bars(quiet=False) as bars, shown(True) as line:
        for progress in (bars, line):
            assert progress
            earlier = progress.stage("describe", 0)
            for _ in range(3):
                earlier()
            tick = progress.stage("reports", 2)
            monkeypatch.setattr("conspectus.runtime.EVERY", -1)
            for work in (earlier, earlier, earlier, tick, tick):
                work()
    counts = re.findall(r"(\d+)(?:/| of )(\d+)", terminal.getvalue())
    assert counts
    assert all(int(done) <= int(total) for done, total in counts)
    assert {total for _, total in counts} == {"2"}
    assert "reports 2 (" in terminal.getvalue()


def test_a_warning_stands_above_the_bars(monkeypatch: pytest.MonkeyPatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Bars(quiet=False) as bars:
        bars.stage("extract", 40)()
        assert bars._bars
        bars._bars.refresh()
        logging.getLogger("conspectus").warning("No answer from a server.")
    assert re.search(r"(?:^|\n|\x1b\[\d?[A-Z])No answer from a server\.", terminal.getvalue())


def test_a_quiet_run_prints_no_lines(capsys: pytest.CaptureFixture[str]):
    with Bars(quiet=True, wait=lambda _: pytest.fail("nobody waits")) as bars:
        bars.stage("extract", 40)()
        logging.getLogger("conspectus").warning("No answer from a server.")
    assert capsys.readouterr().err == ""


def test_what_wrote_nothing_leaves_nothing_behind(run: Run, server: SimulatedServer, papers: Path):
    run("index", "nowhere", code=2)
    run(
        "index", papers, "--model", "m", "--base-url", "http://127.0.0.1:9", "--set", "llm.attempts=1", code=1
    )
    run("index", papers, *asking(server), *DEAR, code=2)  # no terminal, so nobody can agree

    assert not Path(".conspectus").exists()


def test_nobody_is_kept_from_writing_while_a_question_waits(
    server: SimulatedServer, papers: Path, tmp_path: Path
):
    def agree(_: Estimate) -> None:
        with writing(tmp_path / "index"):
            raise UsageError("declined")

    with pytest.raises(UsageError, match="declined"):
        api.build(papers, tmp_path / "index", settings=settings(server.url), agree=agree)
    assert not (tmp_path / "index").exists()


def test_a_budget_of_money_for_what_is_free_is_said_to_limit_nothing(
    run: Run, server: SimulatedServer, papers: Path
):
    assert "--budget-tokens" in run("index", papers, *asking(server), "--budget", 1).stderr
    assert "--budget-tokens" not in run("index", papers, *asking(server), "--budget-tokens", 10**6).stderr


def test_what_is_free_costs_0_wherever_it_is_told(run: Run, server: SimulatedServer, papers: Path):
    made = run("index", papers, *asking(server)).stdout

    assert "$0." in made.partition("Spent:")[2]
    assert "unknown" not in run("status").stdout


def test_a_budget_of_tokens_holds_for_all_runs_on_an_index(run: Run, server: SimulatedServer, papers: Path):
    result = run("index", papers, *asking(server), "--index-budget-tokens", 3000, code=1)

    assert "the budget of the index" in result.stderr


def test_a_budget_below_the_least_estimate_is_said_before_anything_is_asked(
    run: Run, server: SimulatedServer, papers: Path
):
    for free_or_dear in ((), DEAR):
        for budget in ("--budget-tokens", "--index-budget-tokens"):
            refused = run("index", papers, *asking(server), *free_or_dear, budget, 100, code=1)
            assert "This will take at least" in refused.stderr
    assert "at least" not in run("index", papers, *asking(server), *DEAR, "--budget-tokens", 10**7).stderr


def test_the_history_says_what_each_snapshot_cost(run: Run, server: SimulatedServer, papers: Path):
    def last() -> str:
        return run("status", "--history", "--index", "made").stdout.splitlines()[1].split()[-1]

    run("index", papers, "--index", "made", "--model", "extractive")
    assert last() == "0"
    run("index", papers, "--index", "made", *asking(server), *CHEAP, "--fresh")
    assert float(last()) > 0


def test_an_error_in_mid_run_says_how_many_replies_are_cached_and_the_same_command_goes_on(
    run: Run, papers: Path
):
    healthy, asked = False, 0

    def reply(*of: Any) -> str:
        nonlocal asked
        asked += 1
        if asked > 20 and not healthy:
            raise Refusal(401, "Incorrect API key provided.", "invalid_api_key")
        return reply_to(*of)

    with SimulatedServer(Behaviour(), reply) as server:
        stopped = run("index", papers, *asking(server), code=1).stderr
        replies = ResponseCache(Path(".conspectus") / FILE_NAME)
        cached = replies.stats().by_status["ok"]
        replies.close()
        assert cached >= 20
        assert f"{cached} replies of language models are cached" in stopped
        healthy = True
        run("index", papers, *asking(server))
        assert server.counts["asked again"] == 0


def test_a_server_that_goes_away_in_mid_run_leaves_replies_that_are_counted(
    run: Run, papers: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sender, "FIRST_BACKOFF", 0.01)
    asked = 0

    def reply(*of: Any) -> str:
        nonlocal asked
        asked += 1
        if asked == 20:
            server.stop()
        return reply_to(*of)

    with SimulatedServer(Behaviour(), reply) as server:
        stopped = run("index", papers, *asking(server), code=1).stderr
    replies = ResponseCache(Path(".conspectus") / FILE_NAME)
    cached = replies.stats().by_status["ok"]
    replies.close()
    assert "no server answers" in stopped
    assert f"{cached} replies of language models are cached" in stopped


def test_a_name_that_the_server_does_not_know_is_checked_where_it_was_given(run: Run, papers: Path):
    with SimulatedServer(Behaviour(models=("simulated",))) as server:
        no_embedder = run("index", papers, *asking(server), "--embedder", "wrong", code=1).stderr
        no_model = run("index", papers, "--model", "wrong", "--base-url", server.url, code=1).stderr
    assert "check --embedder" in no_embedder
    assert "check --model" in no_model


def test_an_address_that_names_the_path_of_calls_is_answered_with_the_one_that_does_not(
    run: Run, server: SimulatedServer, papers: Path
):
    whole = f"{server.url}/chat/completions"
    refused = run("index", papers, "--model", "simulated", "--base-url", whole, code=1).stderr
    assert f"--base-url {server.url}," in refused


def test_a_sample_says_what_it_spent_and_is_not_advised_for_a_small_folder(
    run: Run, server: SimulatedServer, papers: Path
):
    dry = ("index", papers, *asking(server), "--dry-run")
    assert "--sample" not in run(*dry).stderr
    assert re.search(r"Spent: [1-9]\d* calls", run(*dry, "--sample", 2).stderr)


def test_a_budget_below_one_call_is_told_as_that(run: Run, server: SimulatedServer, papers: Path):
    before = server.counts["requests"]
    refused = run("index", papers, *asking(server), "--budget-tokens", 3000, code=1).stderr
    assert "nothing was sent" in refused
    assert server.counts["requests"] == before


def test_a_budget_of_money_that_limits_nothing_is_said_before_the_first_call(run: Run, papers: Path):
    with SimulatedServer(Behaviour(key="other")) as server:
        refused = run("index", papers, *asking(server), "--budget", 1, code=1).stderr
    assert "--budget-tokens" in refused


def test_a_check_of_models_and_the_cache_speak_as_the_command_line_does(
    run: Run, server: SimulatedServer, papers: Path
):
    down = run("models", "check", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", code=3).stdout
    assert "--base-url" in down
    run("index", papers, *asking(server))
    run("index", papers, "--fresh", *asking(server))
    assert "AnyMissed" not in run("cache").stdout


def test_fast_has_the_model_asked_for_the_reports_alone(run: Run, server: SimulatedServer, papers: Path):
    before = server.counts.copy()

    run("index", papers, *asking(server), "--fast", "--yes")

    new = server.counts - before
    assert set(new) == {"requests", "WriteReport"}
    status = run("status").stdout
    assert (
        "extractive (extract entities, describe entities and relationships); simulated (write reports)"
        in status
    )
    assert "simulated (write reports)" in run("status", "--history").stdout
    assert "Nothing has changed" in run("index", papers).stdout


def test_fast_needs_a_model_for_the_reports(run: Run, papers: Path):
    assert "--model" in run("index", papers, "--fast", code=options.USAGE).stderr
