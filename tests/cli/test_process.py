"""Tests of the command as a process: start-up, exit codes, pipes, interrupts, logs, unexpected errors."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from llm_corpus import documents, using
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

import conspectus
from conspectus import api
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.settings import Settings

Run = Callable[..., Result]
Process = subprocess.CompletedProcess[str]

unix = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and terminals as Unix has them")


def test_a_warning_of_the_library_is_a_note(capsys: pytest.CaptureFixture[str]):
    logging.getLogger("conspectus").warning("No answer from %s", "http://127.0.0.1:9")
    logging.getLogger("conspectus").critical("ended by an unforeseen error")
    assert capsys.readouterr().err == "No answer from http://127.0.0.1:9\n"


def command(*args: object, cwd: Path, **environ: str) -> Process:
    return subprocess.run(
        [sys.executable, "-m", "conspectus", *map(str, args)],
        cwd=cwd,
        env={**os.environ, "PYTHONUTF8": "1", **environ},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


MODULES = 250
"""Modules that `--help` may import, including those that the interpreter loads at start; `benchmarks/startup.py`
measures the time.
"""


def test_help_imports_few_modules_and_nothing_heavy(tmp_path: Path):
    script = (
        "import sys\n"
        "from conspectus.cli import main\n"
        "sys.argv = ['conspectus', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'pyarrow', 'pydantic', 'rich', 'asyncio', 'aiohttp'} & set(sys.modules)\n"
        "print(sorted(heavy), len(sys.modules), file=sys.stderr)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )

    heavy, modules = done.stderr.rsplit(" ", 1)
    assert heavy == "[]"
    assert int(modules) < MODULES
    for name in ("index", "ask", "search", "status", "report", "entity", "path", "config", "init"):
        assert f"\n  {name} " in done.stdout


def test_a_question_without_a_model_imports_nothing_of_indexing_or_of_servers(tmp_path: Path, sampled: Path):
    code = (
        "import sys; from conspectus.cli import main\n"
        f"sys.argv = ['conspectus', 'ask', 'What are the main themes?', '--index', {str(sampled)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'aiohttp', 'scipy', 'graspologic_native', 'conspectus.indexing', 'conspectus.evaluation'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )

    assert "Sources" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_package_runs_as_a_module_and_knows_its_version(tmp_path: Path):
    done = command("--version", cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"conspectus {conspectus.__version__}\n", "")


def test_exit_codes_tell_how_it_ended(tmp_path: Path, corpus: Path, run: Run):
    (tmp_path / "broken.docx").write_bytes(b"no archive")

    assert command("index", corpus, "broken.docx", cwd=tmp_path).returncode == 3
    assert command("index", "nowhere", cwd=tmp_path).returncode == 2
    run("index", "broken.docx", code=1)
    run("index", code=2)
    run("indx", code=2)
    run("index", corpus)
    assert command("ask", "Who is Ada Brook?", cwd=tmp_path).returncode == 0


def test_results_and_notes_do_not_mix_when_piped(tmp_path: Path, indexed: Path, corpus: Path):
    made = command("index", corpus, cwd=tmp_path)
    asked = command("ask", "Who is Ada Brook?", "--index", indexed, "--json", cwd=tmp_path)

    assert made.stderr == ""
    assert "\x1b" not in made.stdout
    assert asked.stderr == ""
    assert json.loads(asked.stdout)["question"] == "Who is Ada Brook?"


def test_json_is_whole_where_the_output_is_not_utf_8(tmp_path: Path):
    (tmp_path / "a.txt").write_text("Zoë Brontë wrote 北京 letters.", encoding="utf-8")
    command("index", "a.txt", cwd=tmp_path)

    done = command("search", "letters", "--json", cwd=tmp_path, PYTHONUTF8="0", PYTHONIOENCODING="ascii")

    assert json.loads(done.stdout)["hits"][0]["text"] == "Zoë Brontë wrote 北京 letters."


@unix
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, indexed: Path):
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "conspectus", "status", "--index", str(indexed)],
            cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    finally:
        os.close(write)

    assert done.stderr == b""
    assert done.returncode == 141


@unix
def test_a_command_whose_streams_are_closed_does_its_work(tmp_path: Path, corpus: Path):
    script = '"$@" <&- >&- 2>&-'
    index = ["sh", "-c", script, "sh", sys.executable, "-m", "conspectus", "index", str(corpus)]

    assert subprocess.run(index, cwd=tmp_path, check=False).returncode == 0
    assert conspectus.open_index(tmp_path / ".conspectus").documents


INTERRUPTED = """
import os, signal, sys
from conspectus.cli import main
from conspectus.cli.show import Bars

stage = Bars.stage
def interrupted(self, name, total):
    if name == 'reports':
        os.kill(os.getpid(), signal.SIGINT)
    return stage(self, name, total)
Bars.stage = interrupted
main()
"""


@unix
def test_an_interrupt_ends_at_once_and_leaves_the_index_that_was_there(
    tmp_path: Path, corpus: Path, indexed: Path
):
    before = api.build(
        [corpus / "mill.txt", corpus / "flood.txt"], tmp_path / "kept", settings=Settings()
    ).snapshot

    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "index", str(corpus), "--index", "kept"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr == f"interrupted: the index in kept is unchanged, snapshot {before}\n"
    assert api.open_index(tmp_path / "kept").snapshot == before


WHILE_INDEXING_WORDS = """
import os, signal
from conspectus.cli import main
from conspectus.indexing import pipeline

pipeline._arrays = lambda *_: os.kill(os.getpid(), signal.SIGINT)
main()
"""


@unix
def test_an_interrupt_of_work_beside_the_reports_shows_no_traceback(tmp_path: Path, corpus: Path):
    done = subprocess.run(
        [sys.executable, "-c", WHILE_INDEXING_WORDS, "index", str(corpus)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (130, "interrupted: no index was written\n")


AT_START = """
import os, signal, sys
from conspectus.cli import main

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == awaited:
            os.kill(os.getpid(), signal.SIGINT)

awaited = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupts())
main()
"""


@unix
@pytest.mark.parametrize(
    "imported", ["conspectus.cli.app", "typer", "conspectus.api", "numpy", "conspectus.index"]
)
def test_an_interrupt_while_something_is_imported_shows_no_traceback(
    imported: str, tmp_path: Path, corpus: Path
):
    done = subprocess.run(
        [sys.executable, "-c", AT_START, imported, "index", str(corpus)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr.startswith("interrupted")
    assert done.stderr.count("\n") == 1


AT_ANY_MOMENT = """
import asyncio, random, signal
from concurrent.futures import ThreadPoolExecutor
from conspectus.cli.app import Interrupts

threads = ThreadPoolExecutor(1)

async def store():
    while True:
        await asyncio.get_running_loop().run_in_executor(threads, int)

async def work():
    signal.setitimer(signal.ITIMER_REAL, random.uniform(.0005, .003))
    await asyncio.gather(*(store() for _ in range(4)))

signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
for _ in range(300):
    try:
        signal.signal(signal.SIGINT, Interrupts())
        asyncio.run(work())
    except KeyboardInterrupt:
        pass
"""


@unix
def test_an_interrupt_at_any_moment_ends_a_loop():
    subprocess.run([sys.executable, "-c", AT_ANY_MOMENT], timeout=60, check=True)


TWICE = """
import asyncio, os, signal
from conspectus import api
from conspectus.cli import main

async def read():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        os.kill(os.getpid(), signal.SIGINT)

async def build():
    reading = asyncio.create_task(read())
    await asyncio.sleep(1)

api.build = lambda *_, **__: asyncio.run(build())
main()
"""


@unix
def test_a_second_interrupt_in_the_same_moment_shows_no_traceback(tmp_path: Path, corpus: Path):
    done = subprocess.run(
        [sys.executable, "-c", TWICE, "index", str(corpus)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (130, "interrupted: no index was written\n")


@unix
def test_an_interrupted_run_says_how_many_replies_are_cached_and_the_next_goes_on_from_them(tmp_path: Path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for text in documents():
        (texts / f"{text['id']}.txt").write_text(text["text"], encoding="utf-8")
    with SimulatedServer(Behaviour()) as server:
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, "index", str(texts), *using(server)],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        replies = ResponseCache(tmp_path / ".conspectus" / FILE_NAME)
        cached = replies.stats().by_status["ok"]
        replies.close()

        assert done.returncode == 130
        assert cached > 10
        assert f"{cached:,} replies" in done.stderr
        assert done.stderr.count("\n") == 1
        assert command("index", texts, *using(server), cwd=tmp_path).returncode == 0
        assert server.counts["asked again"] < cached  # at most the requests that were running


@unix
def test_on_a_terminal_each_stage_has_a_bar_and_an_answer_is_set(tmp_path: Path, corpus: Path):
    made = on_a_terminal(tmp_path, "index", str(corpus))
    asked = on_a_terminal(tmp_path, "ask", "Who is Ada Brook?")

    for label in ("reading files", "extracting the graph", "writing reports"):
        assert label in made
    assert "6 of 6" in made
    assert "Indexed 6 documents" in made
    assert "\x1b[3mAssembled from quotations" in asked


def on_a_terminal(cwd: Path, *args: str) -> str:
    """Run the command on a terminal of its own and return all that it shows."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ.update(TERM="xterm-256color", COLUMNS="100", LINES="40", PYTHONUTF8="1")
        os.execv(sys.executable, [sys.executable, "-m", "conspectus", *args])  # noqa: S606
    shown = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # Linux raises this at the end of the output
            part = b""
        if not part:
            break
        shown += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return shown.decode("utf-8", "replace")


# Logs, and unexpected errors


def test_a_log_tells_the_command_the_settings_and_the_stages(tmp_path: Path, corpus: Path):
    done = command("index", corpus, "--log", "run.log", "--set", "chunk.tokens=700", cwd=tmp_path)

    log = (tmp_path / "run.log").read_text()
    assert done.returncode == 0
    assert f"conspectus {conspectus.__version__}, Python " in log
    assert "setting chunk.tokens = 700 (given)" in log
    assert "stage reports took " in log
    command("--log", "run.log", "status", cwd=tmp_path)
    command("status", cwd=tmp_path, CONSPECTUS_LOG="run.log")
    assert (tmp_path / "run.log").read_text().count(f"conspectus {conspectus.__version__}, Python ") == 3


def test_a_log_shows_no_key(tmp_path: Path):
    done = command(
        "config", "--log", "run.log", "--set", "llm.base_url=http://me:secret@host/v1", cwd=tmp_path
    )
    log = (tmp_path / "run.log").read_text()
    assert done.returncode == 2
    assert "llm.base_url=http://[key]@host/v1" in log
    assert "secret" not in log + done.stdout + done.stderr


def test_a_log_that_cannot_be_written_is_a_mistake_of_usage(run: Run):
    assert "cannot be written" in run("--log", "nowhere/run.log", "config", code=2).stderr
    assert "cannot be written" in run("config", "--log", "nowhere/run.log", code=2).stderr


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that fails to open with an unexpected error."""

    def explode(_: object) -> None:
        raise RuntimeError("the sky fell")

    monkeypatch.setattr(api, "open_index", explode)


def test_a_lack_of_memory_says_how_to_go_on(run: Run, papers: Path, monkeypatch: pytest.MonkeyPatch):
    def starved(*_given: object, **_named: object) -> None:
        raise MemoryError

    monkeypatch.setattr(conspectus.api, "build", starved)
    result = run("index", papers, code=1)

    assert "--index A --index B" in result.stderr
    assert "report it" not in result.stderr


@pytest.mark.usefixtures("broken")
def test_an_unforeseen_error_asks_for_a_report_and_leaves_its_traceback_to_the_log(run: Run, tmp_path: Path):
    result = run("status", "--log", "run.log", code=1)

    first, second = result.stderr.splitlines()
    assert first == "error: RuntimeError: the sky fell"
    assert "please report it" in second
    assert "Traceback" not in result.stderr
    assert "Traceback" in (tmp_path / "run.log").read_text()


def test_what_the_file_system_refuses_is_one_line_that_names_the_file(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "kept/manifest.json")

    monkeypatch.setattr(api, "open_index", refuse)

    assert (
        run("status", code=1).stderr
        == "error: kept/manifest.json cannot be read or written: Permission denied\n"
    )


BROKEN = """
from conspectus import api
from conspectus.cli import main

def explode(folder):
    raise RuntimeError('the sky fell')
api.open_index = explode
main()
"""


def test_an_unforeseen_error_shows_no_traceback_in_a_process_of_its_own(tmp_path: Path):
    def status(**environ: str) -> Process:
        return subprocess.run(
            [sys.executable, "-c", BROKEN, "status"],
            cwd=tmp_path, env={**os.environ, **environ}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    quiet, debugged = status(), status(CONSPECTUS_DEBUG="1")

    assert quiet.returncode == 1
    assert quiet.stderr.splitlines()[0] == "error: RuntimeError: the sky fell"
    assert len(quiet.stderr.splitlines()) == 2
    assert debugged.returncode == 1
    assert "Traceback" in debugged.stderr


@pytest.mark.usefixtures("broken")
def test_an_unforeseen_error_is_let_through_for_who_wants_to_see_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CONSPECTUS_DEBUG", "1")

    assert isinstance(run("status", code=1).exception, RuntimeError)


def test_the_shell_can_complete_commands_and_methods(tmp_path: Path):
    def complete(words: str) -> list[str]:
        done = command(
            cwd=tmp_path,
            _CONSPECTUS_COMPLETE="complete_bash",
            COMP_WORDS=words,
            COMP_CWORD=str(len(words.split(" ")) - 1),
        )
        return done.stdout.split()

    assert complete("conspectus sta") == ["status"]
    assert complete("conspectus ask --method l") == ["local"]


def test_signals_are_python_s_own_again_where_the_command_line_is_only_imported():
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import conspectus.cli; "
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )  # a separate process, because this one may ignore the signal
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"
