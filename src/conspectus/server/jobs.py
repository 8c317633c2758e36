"""Work on an index from the browser: uploads, builds with progress, corrections, snapshots and exports.

One job runs at a time for each index; another one waits for nothing and is refused. A job that is cancelled leaves the
snapshot before it, and the replies of language models that were bought stay cached.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Request
from fastapi import Path as InPath
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

import conspectus
from conspectus import api
from conspectus.errors import ConspectusError, IndexBusy, NotFound, UsageError
from conspectus.rows import Usage
from conspectus.server.errors import as_error
from conspectus.server.indexes import ServedIndex
from conspectus.server.rest import Served, sse

State = Literal["running", "done", "failed", "cancelled"]
UPLOADS = "uploads"
"""The folder in an index folder that uploaded files are put in; every build of the browser reads all of it."""
MAX_UPLOAD_BYTES = 100_000_000
"""Bytes of one uploaded file: a scanned book of 500 pages has some 50 MB."""
MAX_UPLOADED_FILES = 10_000
"""Files that were uploaded to one index: above this, `conspectus index FOLDER` is the better way."""
KEPT_JOBS = 100
"""Jobs of which the end is remembered."""
ALLOWED_SUFFIXES = frozenset(
    ".txt .md .rst .json .jsonl .csv .tsv .pdf .docx .pptx .xlsx .xls .html .htm .eml .mbox .msg .epub .rtf .odt .xml .srt "
    ".vtt".split()
)
"""Formats that can be uploaded. Archives are left out: what they unpack to has no bound here."""

router = APIRouter(prefix="/api")


@dataclass
class Stage:
    """A stage of a build, and how far it is; a `total` of 0 is unknown."""

    name: str
    total: int
    done: int = 0


@dataclass
class Job:
    """A build, an application of corrections or an estimate."""

    id: str
    kind: str
    index: str
    state: State = "running"
    stages: list[Stage] = field(default_factory=list[Stage])
    notes: list[str] = field(default_factory=list[str])
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""
    started: float = field(default_factory=time.time)
    seconds: float = 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the running stage is done at its speed so far; None where that is unknown."""
        return None


class Cancelled(Exception):
    """A job was cancelled by its user."""


class JobProgress:
    """Shows the stages of a build in its job; raises Cancelled at the next step once the job is cancelled."""

    shown = True

    def __init__(self, job: Job) -> None:
        self._job = job
        self._usage: Callable[[], Usage] | None = None

    def stage(self, name: str, total: int) -> Callable[..., None]:
        """Open a stage, and return what counts its steps."""
        self._check()
        stage = Stage(name, total)
        self._job.stages.append(stage)

        def tick(steps: int = 1) -> None:
            self._check()
            stage.done += steps
            if self._usage:
                self._job.usage = asdict(self._usage())

        return tick

    def note(self, text: str) -> None:
        """Add a line to the job."""
        self._job.notes.append(text)

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Show what the build took of language models."""
        self._usage = usage

    def _check(self) -> None:
        if self._job.state == "cancelled":
            raise Cancelled


class Jobs:
    """The jobs of a server, by their id."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __getitem__(self, identity: str) -> Job:
        if identity not in self._jobs:
            raise NotFound(f"there is no job {identity}")
        return self._jobs[identity]

    def of(self, index: str) -> list[Job]:
        """Return the jobs of an index, the newest first."""
        return [job for job in reversed(self._jobs.values()) if job.index == index]

    def start(self, kind: str, served: ServedIndex, work: Callable[[JobProgress], dict[str, Any]]) -> Job:
        """Run work in a thread as a job; raise IndexBusy while another job of the index is running."""
        if any(job.state == "running" for job in self.of(served.name)):
            raise IndexBusy(f"another job of {served.name} is running; wait for its end, or cancel it")
        job = Job(os.urandom(8).hex(), kind, served.name)
        self._jobs[job.id] = job
        for old in list(self._jobs)[:-KEPT_JOBS]:
            del self._jobs[old]
        task = asyncio.get_running_loop().create_task(self._run(job, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    async def _run(self, job: Job, work: Callable[[JobProgress], dict[str, Any]]) -> None:
        try:
            job.result = await run_in_threadpool(work, JobProgress(job))
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - shown to the user as the end of the job
            job.error = as_error(error)[1]["error"]["message"]
            job.state = "failed"
        else:
            job.state = "done"
        job.seconds = time.time() - job.started


def writable(request: Request) -> None:
    """Raise 403 where the server is read-only."""
    if request.app.state.options.read_only:
        raise HTTPException(403, "this server is read-only")
