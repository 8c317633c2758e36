"""An index in a read-only folder: reading works, and writing gives a clear error."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import conspectus
from conspectus.models.llm.cache import CachedReply, ResponseCache

READER = """
import sys
import conspectus
from conspectus.errors import UsageError
from conspectus.index_status import spending
from pathlib import Path
folder = Path(sys.argv[1])
try:
    (folder / "probe").touch()
    sys.exit("writable")
except PermissionError:
    pass
print(conspectus.ask("Who owns the mill?", folder, model="extractive").text)
assert conspectus.search("Who owns the mill?", folder)
assert conspectus.status_of(folder).documents == 1 and conspectus.history(folder)
assert [row.calls for row in spending(folder)] == [1]
for write in (lambda: conspectus.rollback(folder), lambda: conspectus.build(documents=["New."], folder=folder)):
    try:
        write()
    except UsageError as error:
        print("refused", error)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The read-only folder of an index with a cached reply."""
    folder = tmp_path / "index"
    conspectus.build(documents=["Bo Quill owns the mill."], folder=folder, model="extractive")
    asyncio.run(cache_reply(folder))
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)


async def cache_reply(folder: Path) -> None:
    cache = ResponseCache(folder / "replies.sqlite")
    await cache.add([CachedReply("key", "model", "WriteReport", "ok", "text")])
    await cache.aclose()


@pytest.mark.skipif(sys.platform == "win32", reason="its permissions are others")
def test_a_folder_that_may_not_be_written_to_is_read(folder: Path) -> None:
    command = [sys.executable, "-c", READER, str(folder)]
    if os.geteuid() == 0:  # permissions apply to root only without its capabilities
        if not shutil.which("setpriv"):
            pytest.skip("root may write anywhere, and there is no setpriv to give that up")
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    assert done.returncode == 0, done.stderr
    assert "mill" in done.stdout
    assert done.stdout.count("refused") == 2
