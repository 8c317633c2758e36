"""Tests of the guarantees that tests/conftest.py gives to all other tests."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from hypothesis import settings

FAR = "192.0.2.1"  # reserved for documentation (RFC 5737), so nobody uses it
REFUSED = "a test reached for the network"


def test_a_connection_to_another_machine_is_refused():
    with socket.socket() as plug, pytest.raises(RuntimeError, match=REFUSED):
        plug.connect((FAR, 80))
    with socket.socket() as plug, pytest.raises(RuntimeError, match=REFUSED):
        plug.connect_ex((FAR, 80))
    with pytest.raises(RuntimeError, match=REFUSED):
        socket.create_connection((FAR, 80))


def test_the_refusal_names_the_target_and_says_what_to_do():
    with socket.socket() as plug, pytest.raises(RuntimeError) as refusal:
        plug.connect((FAR, 80))

    assert FAR in str(refusal.value)
    assert "ScriptedModel" in str(refusal.value)
    assert not isinstance(refusal.value, OSError), "code that retries lost connections would swallow it"


@pytest.mark.parametrize("host", ["example.com", FAR])
def test_asyncio_is_refused_too(host: str):
    with pytest.raises(RuntimeError, match=REFUSED):
        asyncio.run(connect(host))


async def connect(host: str) -> None:
    await asyncio.get_running_loop().create_connection(asyncio.Protocol, host, 80)


def test_a_datagram_to_another_machine_is_refused():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        with pytest.raises(RuntimeError, match=REFUSED):
            plug.sendto(b"hello", (FAR, 9))
        with pytest.raises(RuntimeError, match=REFUSED):
            plug.sendto(b"hello", 0, (FAR, 9))


@pytest.mark.parametrize("host", ["example.com", b"example.com", "localhost.example.com"])
def test_a_name_is_not_even_looked_up(host: str | bytes):
    with pytest.raises(RuntimeError, match=REFUSED):
        socket.getaddrinfo(host, 80)


def test_urllib_cannot_get_out(monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(RuntimeError, match=REFUSED):
        urllib.request.urlopen("http://example.com/")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_can_be_reached(host: str):
    with socket.create_server((host, 0)) as server, socket.create_connection(server.getsockname()) as plug:
        peer, _ = server.accept()
        with peer:
            plug.sendall(b"hello")
            assert peer.recv(5) == b"hello"


def test_asyncio_reaches_a_server_on_this_machine():
    async def exchange() -> bytes:
        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello")
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            said = await reader.read()
            writer.close()
            return said

    assert asyncio.run(exchange()) == b"hello"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")
def test_a_unix_socket_can_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # a socket's path may have 100 characters or so
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as plug:
        server.bind("plug")
        server.listen()
        plug.connect("plug")


def test_the_environment_is_clean_and_the_profile_is_loaded():
    assert not [n for n in os.environ if n.startswith("CONSPECTUS_") or n.endswith("_API_KEY")]
    assert settings().deadline is None
    assert settings().max_examples == 15


def run_apart(folder: Path, test: str, **environ: str) -> str:
    """Run a test file with a copy of our conftest.py in another process, and return the output of pytest."""
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "test_apart.py").write_text(test, encoding="utf-8")
    command = [
        sys.executable,
        *("-m", "pytest", "-q", "-rs", "--rootdir", str(folder)),
        *("-p", "no:cacheprovider", "--disable-plugin-autoload"),  # other plugins take seconds to import
    ]
    done = subprocess.run(
        [*command, str(folder)],
        env={**os.environ, **environ},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def test_settings_and_keys_of_whoever_runs_the_tests_do_not_reach_them(tmp_path: Path):
    said = run_apart(
        tmp_path,
        "import os\n"
        "from hypothesis import settings\n"
        "def test_it(): assert {'CONSPECTUS_MODEL', 'SOME_API_KEY'}.isdisjoint(os.environ)\n"
        "def test_other_variables_stay(): assert os.environ['OTHER'] == 'x'\n"
        "def test_ci_is_not_random(): assert settings().derandomize and settings().max_examples == 15\n",
        CONSPECTUS_MODEL="x",
        SOME_API_KEY="x",
        OTHER="x",
        CI="true",
    )

    assert "3 passed" in said, said


def test_a_test_that_leaves_the_working_directory_fails_and_the_next_is_where_it_was(tmp_path: Path):
    said = run_apart(
        tmp_path,
        "import os, pathlib\n"
        "def test_strays(tmp_path): os.chdir(tmp_path)\n"
        "def test_next(): assert pathlib.Path('conftest.py').exists()\n"
        "def test_returns(tmp_path, monkeypatch): monkeypatch.chdir(tmp_path)\n",
    )

    assert "3 passed, 1 error" in said, said
    assert "left the working directory" in said


def test_a_test_of_shared_data_is_skipped_with_a_reason_where_there_is_none(tmp_path: Path):
    folder = tmp_path / "project" / "tests"
    folder.mkdir(parents=True)

    said = run_apart(folder, "def test_it(shared): raise AssertionError\n")

    assert "1 skipped" in said, said
    assert "shared data is not there" in said


def test_the_shared_data_is_a_folder(shared: Path):
    assert (shared / "README.md").is_file()
