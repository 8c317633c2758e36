"""Replies in JSON that are lists of scored points, and the profile of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conspectus.models.chat.reasoning import INTEGER, Reading
from conspectus.models.chat.records import Notes, Record, name_of, number_of, rows, text_of
from conspectus.models.chat.schemas import TEXT, many, record
from conspectus.tasks import PartialAnswer, Profile

POINTS = record(points=many(record(description=TEXT, score=INTEGER)))
PROFILE = record(domain=TEXT, persona=TEXT, entity_types=many(TEXT))


def _point(value: Record, notes: Notes) -> PartialAnswer:
    text = text_of(value, "description", needed=True)
    return PartialAnswer(text, round(number_of(value, "score", 0, 100, notes)))


def _points(value: Mapping[str, Any], notes: Notes) -> tuple[PartialAnswer, ...]:
    return rows(value["points"], "point", _point, notes)


def _points_written(points: Sequence[PartialAnswer]) -> Mapping[str, Any]:
    return {"points": [{"description": point.text, "score": point.score} for point in points]}


def _profile(value: Mapping[str, Any], notes: Notes) -> Profile:
    types = (" ".join(str(kind).lower().split()) for kind in value["entity_types"])
    return Profile(name_of(value, "domain"), name_of(value, "persona"), tuple(dict.fromkeys(t for t in types if t)))


def _profile_written(profile: Profile) -> Mapping[str, Any]:
    return {"domain": profile.domain, "persona": profile.persona, "entity_types": list(profile.entity_types)}


points_of = Reading(_points, _points_written)
profile_of = Reading(_profile, _profile_written)
