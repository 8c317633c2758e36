"""The environment of every test: no network, no settings of the user, and the shared data if it exists."""

from __future__ import annotations

import gc
import ipaddress
import logging
import os
import socket
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import conspectus
from conspectus.models.llm import sender

SHARED = Path(__file__).parents[1] / "../shared/data"
SAMPLE = Path(conspectus.__file__).parent / "sample"

# 15, so that all tests take less than 10 minutes on two slow cores; `make test-long` tries more.
settings.register_profile("default", deadline=None, max_examples=15)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("long", deadline=None, max_examples=400)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection() -> None:
    """Pause the garbage collector: it would often visit the thousands of collected tests, and free nothing."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Turn the garbage collector on again, but exclude the collected tests from it."""
    gc.freeze()
    gc.enable()


class NetworkRefused(RuntimeError):
    """A test tried to use the network. Not an OSError, because the code under test might retry after one."""

    def __init__(self, target: object) -> None:
        super().__init__(
            f"a test reached for the network ({target}), which tests/conftest.py refuses: "
            "use a ScriptedModel, or a server on 127.0.0.1"
        )


@pytest.fixture(scope="session", autouse=True)
def no_waiting() -> None:
    """Retry model calls almost at once, and skip fsync: no test cuts the power, and a build writes some forty files.
    Child processes still wait.
    """
    sender.FIRST_BACKOFF = 0.01
    os.fsync = lambda fd: None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data; tests that use this fixture are skipped if it is missing."""
    if not SHARED.is_dir():
        pytest.skip("the shared data is not there (../shared/data beside the project root)")
    return SHARED.resolve()


@pytest.fixture(scope="session")
def sample_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index of the sample corpus, made without a model; tests do not write to it."""
    folder = tmp_path_factory.mktemp("indexes") / "sample"
    conspectus.build(SAMPLE, folder)
    return folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a scheduler with two workers: processes that are restarted when they die."""
    dask, distributed = (import_module(name) for name in ("dask", "distributed"))  # the import takes a second
    once = dask.config.set({"distributed.scheduler.allowed-failures": 1})
    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
    with once, distributed.LocalCluster(n_workers=2, **options) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="session", autouse=True)
def refuse_the_network() -> Iterator[None]:
    """Restrict connections and name look-ups to this machine.

    asyncio's `create_connection` and every HTTP client on it use the same functions. Child processes are not
    restricted.
    """
    real = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
    look_up = socket.getaddrinfo

    def guarded(name: str) -> Any:
        def reach(self: socket.socket, *args: Any) -> Any:
            local = self.family == getattr(socket, "AF_UNIX", None)
            if not local and not is_loopback(args[-1][0]):  # the address is the last argument of all three
                raise NetworkRefused(args[-1])
            return real[name](self, *args)

        return reach

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_loopback(host) and not is_numeric(host):
            raise NetworkRefused(host)
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        for name in real:
            patch.setattr(socket.socket, name, guarded(name))
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


def is_numeric(host: object) -> bool:
    """Return whether a host is an IP address, so that no name look-up is needed."""
    try:
        ipaddress.ip_address(as_text(host))
    except ValueError:
        return False
    return True


def is_loopback(host: object) -> bool:
    """Return whether a host is this machine; servers that listen use None or the empty text."""
    name = as_text(host)
    return name in ("", "None", "localhost") or (is_numeric(name) and ipaddress.ip_address(name).is_loopback)


def as_text(host: object) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)


@pytest.fixture(autouse=True)
def leave_no_trace() -> Iterator[None]:
    """Hide settings and keys of the environment from a test, and fail it if it changes the working directory."""
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.upper().startswith("CONSPECTUS_") or name.upper().endswith("_API_KEY"):
                patch.delenv(name)
        yield
    gc.enable()  # `conspectus index` disables it, because its process ends
    logger = logging.getLogger("conspectus")
    for handler in [h for h in logger.handlers if isinstance(h, logging.FileHandler)]:
        logger.removeHandler(handler)  # of `--log`: its folder is deleted with the test
        handler.close()
    after = Path.cwd()
    if after != before:
        os.chdir(before)
        pytest.fail(f"the test left the working directory in {after}: use monkeypatch.chdir", pytrace=False)
