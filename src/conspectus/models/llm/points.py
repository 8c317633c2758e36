"""Replies in JSON that are scored points, partial answers with follow-up questions, and the profile of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conspectus.errors import BadReply
from conspectus.models.llm.reasoning import INTEGER, Reading
from conspectus.models.llm.records import Malformed, Notes, Record, name_of, number_of, rows, text_of
from conspectus.models.llm.schemas import TEXT, many, record
from conspectus.tasks import FollowUp, PartialAnswer, Probe, Profile

POINTS = record(points=many(record(description=TEXT, score=INTEGER)))
PROBE = record(answer=TEXT, score=INTEGER, follow_ups=many(record(question=TEXT, score=INTEGER)))
PROFILE = record(domain=TEXT, persona=TEXT, entity_types=many(TEXT))


def _point(value: Record, notes: Notes) -> PartialAnswer:
    text = text_of(value, "description", needed=True)
    return PartialAnswer(text, round(number_of(value, "score", 0, 100, notes)))


def _points(value: Mapping[str, Any], notes: Notes) -> tuple[PartialAnswer, ...]:
    return rows(value["points"], "point", _point, notes)


def _points_written(points: Sequence[PartialAnswer]) -> Mapping[str, Any]:
    return {"points": [{"description": point.text, "score": point.score} for point in points]}


def _follow_up(value: Record, notes: Notes) -> FollowUp:
    return FollowUp(name_of(value, "question"), round(number_of(value, "score", 0, 100, notes)))


def _probe(value: Mapping[str, Any], notes: Notes) -> Probe:
    try:
        text, score = text_of(value, "answer"), round(number_of(value, "score", 0, 100, notes))
    except Malformed as why:
        raise BadReply(f"it is no scored answer: {why}") from None
    return Probe(text, score if text.strip() else 0, rows(value["follow_ups"], "follow-up", _follow_up, notes))


def _probe_written(probe: Probe) -> Mapping[str, Any]:
    asked = [{"question": f.question, "score": f.score} for f in probe.follow_ups]
    return {"answer": probe.text, "score": probe.score, "follow_ups": asked}


def _profile(value: Mapping[str, Any], notes: Notes) -> Profile:
    types = (" ".join(str(kind).lower().split()) for kind in value["entity_types"])
    return Profile(name_of(value, "domain"), name_of(value, "persona"), tuple(dict.fromkeys(t for t in types if t)))


def _profile_written(profile: Profile) -> Mapping[str, Any]:
    return {"domain": profile.domain, "persona": profile.persona, "entity_types": list(profile.entity_types)}


probe_of = Reading(_probe, _probe_written)
points_of = Reading(_points, _points_written)
profile_of = Reading(_profile, _profile_written)
