"""The evaluations that are served: their conditions, win rates and tables, and each question with its answers."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Path as InPath

from conspectus import evaluation
from conspectus.errors import NotFound

router = APIRouter(prefix="/api/studies")
Name = Annotated[str, InPath(max_length=200)]
ROWS = ("answers", "claims", "grounding", "judgements", "ratings")
"""Parts of a study that have rows for each question."""


@lru_cache(maxsize=4)
def _read(folder: Path, name: str, stamp: tuple[int, ...]) -> dict[str, Any]:
    """Return a study in the state of `stamp`, with its report as Markdown; nothing is written into its folder."""
    with tempfile.TemporaryDirectory(prefix="conspectus-study-") as scratch:
        report = evaluation.write_report(folder, Path(scratch) / "report", title=name)
        text = report.markdown.read_text("utf-8")
    return {"name": name, "markdown": text, "missing": report.missing, **report.data}


def study_of(request: Request, name: str) -> dict[str, Any]:
    """Return a study by the name of its folder; it is read again after its files have changed."""
    folder: Path | None = request.app.state.studies.get(name)
    if folder is None:
        raise NotFound(f"there is no study {name!r} here; --study DIR serves one")
    stamp = tuple(path.stat().st_mtime_ns for path in sorted(folder.glob("*.json*")))
    return _read(folder, name, stamp)


@router.get("", summary="The evaluations that are served")
def studies(request: Request) -> list[str]:
    """Return the names of the folders that the server was given."""
    return list(request.app.state.studies)


@router.get("/{name}", summary="What was compared in an evaluation, win rates and tables")
def study(request: Request, name: Name) -> dict[str, Any]:
    """Return an evaluation's questions, its results by pair, and the report that `conspectus eval report` writes."""
    return {part: rows for part, rows in study_of(request, name).items() if part not in ROWS}


@router.get("/{name}/questions/{question}", summary="One question of an evaluation, with its answers")
def question(request: Request, name: Name, question: Name) -> dict[str, Any]:
    """Return the answers to a question side by side, with judgements, ratings, claims and grounding."""
    rows = study_of(request, name)
    texts = [text for identity, text, *_ in rows["questions"] if identity == question]
    if not texts:
        raise NotFound(f"the study {name!r} has no question {question!r}")
    of_it = {part: [row for row in rows[part] if row["question"] == question] for part in ROWS}
    return {"id": question, "text": texts[0], "conditions": rows["conditions"], **of_it}
