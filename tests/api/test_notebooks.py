"""Every synchronous function works while an event loop is running, as in a notebook cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager
from llm_corpus import settings as served
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api

TEXTS = (
    "Orran Mill was founded by Ada Brook in 1901. Orran Mill stands in Hollin.",
    "Tarn Works was founded by Ruben Vale in 1850. Ruben Vale kept Tarn Works until the flood.",
)

DOCS = Path(__file__).parents[2] / "docs"
CALLS: dict[str, Callable[[Path], Any]] = {
    "build": lambda folder: conspectus.build(documents=TEXTS, folder=folder),
    "ask": lambda folder: conspectus.ask("Who founded Tarn Works?", folder),
    "context": lambda folder: conspectus.context("Who founded Tarn Works?", folder, method="local"),
    "search": lambda folder: conspectus.search("Tarn Works", folder),
    "preview": lambda folder: conspectus.preview(documents=TEXTS),
    "Conversation.ask": lambda folder: conspectus.Conversation(folder).ask("What is Tarn Works?"),
}
"""A call of each function that takes the folder of an index, with its other arguments."""


@pytest.mark.parametrize("name", CALLS)
async def test_a_synchronous_function_works_inside_a_running_event_loop(name: str, tmp_path: Path):
    await conspectus.abuild(documents=TEXTS, folder=tmp_path)
    assert CALLS[name](tmp_path) is not None


async def test_the_asynchronous_forms_return_what_the_synchronous_ones_do(tmp_path: Path):
    built = await conspectus.abuild(documents=TEXTS, folder=tmp_path)
    question = "Who founded Tarn Works?"
    assert await conspectus.asearch(question, built.index) == conspectus.search(question, built.index)
    assert await conspectus.acontext(question, built.index) == conspectus.context(question, built.index)


async def test_an_error_inside_the_other_loop_is_raised_as_itself(tmp_path: Path):
    with pytest.raises(conspectus.ConspectusError, match="empty"):
        conspectus.ask(" ", conspectus.build(documents=TEXTS, folder=tmp_path).index)


async def test_prompts_are_tuned_inside_a_running_event_loop(tmp_path: Path):
    (tmp_path / "text.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    with SimulatedServer(Behaviour()) as server:
        api.tune(tmp_path / "text.txt", tmp_path / "prompts", settings=served(server.url))
    assert any((tmp_path / "prompts").rglob("*.md"))


def test_no_function_of_the_interface_starts_an_event_loop_of_its_own():
    """`run_sync` works inside a running loop, so functions that no test above calls have to use it, too.

    The server starts its loops in its own threads, where no caller's loop runs.
    """
    package = Path(conspectus.__file__).parent
    starting = [p for p in package.rglob("*.py") if "asyncio.run(" in p.read_text(encoding="utf-8")]
    assert {p.relative_to(package).parts[0] for p in starting} <= {"models", "server"}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Run the code of a cell in a kernel, and return what it printed; fail if it raised an exception."""
    kernel = KernelManager()
    kernel.start_kernel(cwd=str(tmp_path_factory.mktemp("notebook")))
    client = kernel.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)

        def run(code: str) -> str:
            shown: list[str] = []

            def take(message: dict[str, Any]) -> None:
                content = message["content"]
                if message["msg_type"] == "stream":
                    shown.append(content["text"])
                elif message["msg_type"] in ("execute_result", "display_data"):
                    shown.append(content["data"].get("text/markdown") or content["data"]["text/plain"])

            reply = client.execute_interactive(code, output_hook=take, timeout=300)["content"]
            assert reply["status"] == "ok", "\n".join(reply["traceback"])
            return "".join(shown)

        yield run
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


def test_the_functions_work_in_the_cells_of_a_notebook(cell: Callable[[str], str]):
    cell(f"import conspectus\nindex = conspectus.build(documents={TEXTS!r}).index")
    assert "Ruben Vale" in cell("print(conspectus.ask('Who founded Tarn Works?', index).text)")
    assert "Ruben Vale" in cell("print((await conspectus.aask('Who founded Tarn Works?', index)).text)")
    assert "Tarn" in cell("print(conspectus.search('Tarn Works', index)[0].text)")
    assert "Tarn" in cell("conspectus.context('Who founded Tarn Works?', index, method='local').windows")
    assert "Tarn" in cell("talk = conspectus.Conversation(index)\ntalk.ask('What is Tarn Works?').text")


def test_the_notebook_of_the_documentation_runs(cell: Callable[[str], str]):
    notebook = json.loads((DOCS / "notebooks" / "port-sallow.ipynb").read_text(encoding="utf-8"))
    printed = [cell("".join(part["source"])) for part in notebook["cells"] if part["cell_type"] == "code"]
    assert "1811" in printed[1]
    assert "Basil Henshaw - Maddern Chart - Josiah Maddern" in "".join(printed)
