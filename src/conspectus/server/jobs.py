"""Work on an index from the browser: uploads, builds with progress, corrections, snapshots and exports.

Each index has one job at a time; another one is refused rather than queued. A cancelled job leaves the previous
snapshot in place, and the replies of language models that were paid for stay cached.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
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
from conspectus.server.answers import cancellable
from conspectus.server.errors import as_error
from conspectus.server.indexes import ServedIndex
from conspectus.server.rest import Served, estimate_json, sse
from conspectus.server.security import BODY_SECONDS

State = Literal["running", "done", "failed", "cancelled"]
UPLOADS = "uploads"
"""The folder in an index folder for uploaded files; every build from the browser reads all of it."""
MAX_UPLOAD_BYTES = 100_000_000
"""Maximum bytes of one uploaded file: a scanned book of 500 pages has some 50 MB."""
MAX_UPLOADED_FILES = 10_000
"""Maximum files uploaded to one index: for more, `conspectus index FOLDER` is the better way."""
MAX_FINISHED_JOBS = 100
"""Jobs that are remembered after their end; with more, the oldest are forgotten."""
ALLOWED_SUFFIXES = frozenset(api.FORMATS)
"""The file formats that can be read; archives are not among them, so nothing is unpacked here."""

_NO_FILE_NAME = re.compile(r'^$|^\.|[/\\:\x00-\x1f\x7f"<>|?*]')
MAX_NAME_BYTES = 200
"""Maximum bytes of a file name: file systems allow 255, and a temporary name needs some of them."""

router = APIRouter(prefix="/api")
log = logging.getLogger("conspectus.server")


@dataclass
class Stage:
    """A stage of a build and its progress; if `total` is 0, the total is unknown, and so are the remaining seconds."""

    name: str
    total: int
    done: int = 0
    remaining_seconds: float | None = None
    began: float = field(default_factory=time.time)


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


class Cancelled(Exception):
    """Raised in a job that its user cancelled."""


class JobProgress:
    """Records the stages of a build in its job; raises Cancelled at the next step after the job was cancelled."""

    shown = True

    def __init__(self, job: Job) -> None:
        self._job = job
        self.stop: Callable[[], None] | None = None
        self._usage: Callable[[], Usage] | None = None

    def stage(self, name: str, total: int) -> Callable[..., None]:
        """Open a stage, and return a function that counts its steps."""
        self._check()
        stage = Stage(name, total)
        self._job.stages.append(stage)

        def tick(steps: int = 1) -> None:
            self._check()
            stage.done += steps
            if stage.total:
                each = (time.time() - stage.began) / max(1, stage.done)
                stage.remaining_seconds = round(each * max(0, stage.total - stage.done), 1)
            if self._usage:
                self._job.usage = asdict(self._usage())

        return tick

    def note(self, text: str) -> None:
        """Add a line to the job."""
        self._job.notes.append(text)

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Record from now on the usage of language models that `usage` returns."""
        self._usage = usage

    def _check(self) -> None:
        if self._job.state == "cancelled":
            raise Cancelled


class Jobs:
    """The jobs of a server, by their id."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._progress: dict[str, JobProgress] = {}
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
        finished = [identity for identity, other in self._jobs.items() if other.state != "running"]
        for old in finished[:-MAX_FINISHED_JOBS]:
            del self._jobs[old]
        task = asyncio.get_running_loop().create_task(self._run(job, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    async def _run(self, job: Job, work: Callable[[JobProgress], dict[str, Any]]) -> None:
        try:
            job.result = await run_in_threadpool(work, self._progress.setdefault(job.id, JobProgress(job)))
        except (Cancelled, asyncio.CancelledError):
            job.state = "cancelled"
        except Exception as error:
            if not isinstance(error, ConspectusError):
                log.exception("a job failed")
            job.error = as_error(error)[1]["error"]["message"]
            job.state = "failed"
        else:
            job.state = "done"
        del self._progress[job.id]
        job.seconds = time.time() - job.started

    def cancel(self, identity: str) -> None:
        """Cancel a running job at its next step; calls of a language model in progress are abandoned."""
        if self[identity].state == "running":
            self[identity].state = "cancelled"
            if (progress := self._progress.get(identity)) and progress.stop:
                progress.stop()


async def writable_index(request: Request, served: Served) -> ServedIndex:
    """Return the index that a request names; respond with 403 if the server is read-only."""
    if request.app.state.options.read_only:
        raise HTTPException(403, "this server is read-only")
    return served


Writable = Annotated[ServedIndex, Depends(writable_index)]
FileName = Annotated[str, InPath(max_length=200)]
JobId = Annotated[str, InPath(pattern="^[0-9a-f]{16}$")]


# Uploads


@dataclass(frozen=True)
class UploadedFile:
    """A file that was uploaded to an index."""

    name: str
    bytes: int


@dataclass(frozen=True)
class Uploads:
    """The files that were uploaded to an index, the other folders that it is built from, and what may be uploaded."""

    files: list[UploadedFile]
    folders: list[str]
    formats: list[str]
    max_bytes: int = MAX_UPLOAD_BYTES
    max_files: int = MAX_UPLOADED_FILES


def upload_name(name: str) -> str:
    """Return the name under which a file is stored; raise UsageError if it is no plain file name of a known format."""
    plain = unicodedata.normalize("NFC", name).strip()
    if len(plain.encode()) > MAX_NAME_BYTES or _NO_FILE_NAME.search(plain):
        raise UsageError(f"{name!r} cannot be the name of an uploaded file")
    if Path(plain).suffix.lower() not in ALLOWED_SUFFIXES:
        raise UsageError(
            f"{plain}: files of this type are not read; these are: {' '.join(sorted(ALLOWED_SUFFIXES))}"
        )
    return plain


@router.get("/uploads", summary="List uploaded files")
def uploads(served: Served) -> Uploads:
    """Return the files that were uploaded to an index, and what may be uploaded."""
    files = sorted((served.folder / UPLOADS).glob("[!.]*"))
    rows = [UploadedFile(file.name, file.stat().st_size) for file in files]
    return Uploads(rows, [str(folder) for folder in folders_of(served)], sorted(ALLOWED_SUFFIXES))


@router.put("/uploads/{name}", summary="Upload a file", status_code=201)
async def upload(request: Request, served: Writable, name: FileName) -> UploadedFile:
    """Store the body as a file that the next build reads; a file of the same name is replaced.

    Responds with 413 if the file is above the limit, whether its length is declared or not.
    """
    plain, folder = upload_name(name), served.folder / UPLOADS
    folder.mkdir(parents=True, exist_ok=True)
    if len({plain, *os.listdir(folder)}) > MAX_UPLOADED_FILES:
        raise UsageError(
            f"there are {MAX_UPLOADED_FILES:,} uploaded files already; conspectus index reads folders"
        )
    descriptor, temporary = tempfile.mkstemp(prefix=".", dir=folder)
    size = 0
    try:
        with os.fdopen(descriptor, "wb") as file:
            async with asyncio.timeout(BODY_SECONDS) as patience:
                async for piece in request.stream():
                    patience.reschedule(asyncio.get_running_loop().time() + BODY_SECONDS)
                    size += len(piece)
                    if size > MAX_UPLOAD_BYTES:
                        raise HTTPException(413, f"{plain} is larger than {MAX_UPLOAD_BYTES:,} bytes")
                    file.write(piece)
        os.replace(temporary, folder / plain)
    except TimeoutError:
        raise HTTPException(408, f"{plain} did not arrive in time", {"connection": "close"}) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
    return UploadedFile(plain, size)


@router.delete("/uploads/{name}", summary="Remove an uploaded file", status_code=204)
def remove_upload(served: Writable, name: FileName) -> None:
    """Remove a file; the next build removes its document from the index."""
    file = served.folder / UPLOADS / upload_name(name)
    if not file.exists():
        raise NotFound(f"there is no uploaded file {name!r}")
    file.unlink()


# Builds


class BuildRequest(BaseModel):
    """How an index is built; names and values are those of `conspectus index`."""

    model_config = ConfigDict(extra="forbid")
    model: str | None = Field(default=None, max_length=300)
    budget: float | None = Field(default=None, ge=0)
    fresh: bool = False


def folders_of(served: ServedIndex) -> list[Path]:
    """Return the folders that an index was built from, except the folder of uploaded files."""
    folders = conspectus.status_of(served.current()).folders if served.exists() else ()
    uploaded = (served.folder / UPLOADS).resolve()
    return [folder for folder in map(Path, folders) if not folder.resolve().is_relative_to(uploaded)]


def sources_of(served: ServedIndex) -> list[Path]:
    """Return the sources of an index: the folders that it was built from before, and the uploaded files.

    Raises UsageError if a folder no longer exists, because its documents would then be removed from the index.
    """
    sources = folders_of(served)
    if gone := next((folder for folder in sources if not folder.exists()), None):
        raise UsageError(f"{gone}, which the index was built from, is missing; index on the command line")
    uploaded = served.folder / UPLOADS
    if uploaded.is_dir() and any(uploaded.iterdir()):
        sources.append(uploaded)
    if not sources:
        raise UsageError("there is nothing to index yet; upload files first")
    return sources


def build_options(request: Request, body: BuildRequest) -> dict[str, Any]:
    """Return the keyword arguments of `conspectus.build`."""
    settings = dict(request.app.state.options.settings or {})
    if body.budget is not None:
        settings["llm.budget"] = body.budget
    return {"settings": settings, "fresh": body.fresh, "model": body.model or None}


@router.post("/builds/estimate", summary="What a build would read and cost")
async def estimate(request: Request, served: Writable, body: BuildRequest) -> dict[str, Any]:
    """Return what would change and, with a language model, the calls, tokens and cost; nothing is asked or written."""
    options, sources = build_options(request, body), await run_in_threadpool(sources_of, served)
    seen = await run_in_threadpool(conspectus.preview, sources, served.folder, **options)
    result: dict[str, Any] = {"preview": asdict(seen), "estimate": None}
    with suppress(UsageError):  # the extractive model costs nothing
        estimated = await run_in_threadpool(conspectus.estimate, sources, served.folder, **options)
        result["estimate"] = estimate_json(estimated)
    return result


@router.post("/builds", summary="Build an index, or bring it up to date", status_code=202)
async def build(request: Request, served: Writable, body: BuildRequest) -> Job:
    """Start a build as a job; questions are answered from the new snapshot once it is committed."""
    options, sources = build_options(request, body), await run_in_threadpool(sources_of, served)

    def work(progress: JobProgress) -> dict[str, Any]:
        building = conspectus.abuild(sources, served.folder, progress=progress, **options)
        built = asyncio.run(cancellable(building, progress))
        lists = {"skipped": built.skipped, "failures": built.failures, "notices": built.notices}
        return {"snapshot": built.snapshot, **lists}

    return request.app.state.jobs.start("build", served, work)


@router.get("/jobs", summary="The jobs of an index, the newest first")
def jobs(request: Request, served: Served) -> list[Job]:
    """Return running and finished jobs."""
    return request.app.state.jobs.of(served.name)


@router.get("/jobs/{identity}", summary="One job")
def job(request: Request, identity: JobId) -> Job:
    """Return a job with its stages."""
    return request.app.state.jobs[identity]


@router.get("/jobs/{identity}/events", summary="Follow a job as a stream of events")
async def follow(request: Request, identity: JobId) -> StreamingResponse:
    """Send the job whenever it has changed, at most four times a second, until it ends."""
    followed: Job = request.app.state.jobs[identity]

    async def events() -> AsyncGenerator[str]:
        last = ""
        while True:
            running = followed.state == "running"
            now = sse("job", asdict(followed))
            if now != last:
                yield now
                last = now
            if not running:
                return
            await asyncio.sleep(0.25)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"cache-control": "no-store"})


@router.delete("/jobs/{identity}", summary="Cancel a job", status_code=204)
def cancel(request: Request, identity: JobId) -> None:
    """Cancel a running job at its next step; the index stays as it was."""
    request.app.state.jobs.cancel(identity)


# Snapshots and corrections


@router.get("/snapshots", summary="The snapshots that an index keeps, the newest first")
def snapshots(served: Served) -> list[dict[str, Any]]:
    """Return what `conspectus status --history --json` prints."""
    return [asdict(row) for row in conspectus.history(served.folder)]


@router.post("/snapshots/{snapshot}/rollback", summary="Return to an earlier snapshot")
def rollback(
    served: Writable, snapshot: Annotated[str, InPath(pattern="^[0-9a-f]{4,64}$")]
) -> dict[str, str]:
    """Make a stored snapshot the current one; the one that was current stays stored."""
    return {"snapshot": conspectus.rollback(served.folder, snapshot).snapshot}


@router.get("/corrections", summary="The corrections of an index")
def corrections(served: Served) -> list[dict[str, Any]]:
    """Return corrections in the order in which they are applied, followed by those undone since the last build."""
    listed = api.corrections(served.folder)
    rows = [correction_row(row.correction, row.state, row.reason) for row in listed.rows]
    return [*rows, *(correction_row(row, "undone") for row in listed.undone)]


def correction_row(row: api.Correction, state: str, reason: str = "") -> dict[str, Any]:
    """Return a correction as a row with its kind, fields and state."""
    return {"kind": row.kind, "text": str(row), "state": state, "reason": reason, **asdict(row)}


class CorrectionRequest(BaseModel):
    """A correction: its kind, as on the command line, and the fields of that kind."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["merge", "split", "rename", "retype", "delete"]
    name: str = Field(default="", max_length=500)
    names: tuple[Annotated[str, Field(max_length=500)], ...] = Field(default=(), max_length=100)
    into: str = Field(default="", max_length=500)
    to: str = Field(default="", max_length=500)
    type: str = Field(default="", max_length=500)
    documents: tuple[Annotated[str, Field(max_length=2000)], ...] = Field(default=(), max_length=1000)
    note: str = Field(default="", max_length=2000)


@router.post("/corrections", summary="Add a correction", status_code=201)
def correct(served: Writable, body: CorrectionRequest) -> dict[str, Any]:
    """Add a correction to the file of the index; the next build applies it."""
    values: dict[str, Any] = body.model_dump(exclude_defaults=True, exclude={"kind"})
    try:
        made = api.KINDS[body.kind](**values)
    except TypeError:
        raise UsageError(f"these are not the fields of {body.kind}: {', '.join(values) or 'none'}") from None
    return correction_row(conspectus.correct(served.folder, made), "waiting")


@router.delete("/corrections/{number}", summary="Undo a correction", status_code=204)
def undo(served: Writable, number: Annotated[int, InPath(ge=1, le=10**6)]) -> None:
    """Undo a correction; the next build reverses its effect."""
    api.undo(served.folder, number)


@router.post("/corrections/apply", summary="Apply corrections now", status_code=202)
async def apply(request: Request, served: Writable) -> Job:
    """Rebuild the index with its corrections as a job; documents are not read again."""

    def work(progress: JobProgress) -> dict[str, Any]:
        return {"snapshot": api.apply_corrections(served.folder, progress=progress).snapshot}

    return request.app.state.jobs.start("corrections", served, work)


# Exports


@router.get("/export", summary="Download an index in another format")
async def export(
    served: Served, format: Literal["parquet", "csv", "graphml", "json", "graphrag"]
) -> FileResponse:
    """Return a file, or a folder as a zip archive."""
    folder = Path(tempfile.mkdtemp(prefix="conspectus-export-"))
    cleanup = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    target = folder / f"{served.name}.{format}"
    path = await run_in_threadpool(conspectus.export, served.current(), format, target)
    if path.is_dir():
        path = Path(await run_in_threadpool(shutil.make_archive, str(folder / served.name), "zip", path))
    return FileResponse(path, filename=path.name, background=cleanup)
