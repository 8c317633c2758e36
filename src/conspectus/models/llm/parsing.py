"""From a model's reply to what its task promised, and back.

`dump` is the inverse of `parse`: what was said before in a conversation is written from the rows, so no raw
text is kept. What a reply has that cannot be used is left out and told, `Parsed.dropped`; a reply that as a
whole cannot be read without guessing is a BadReply. Nothing here decides what to do then: see `chat`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from conspectus.errors import BadReply
from conspectus.models.llm import evaluating, lenient, points, reasoning, tuples
from conspectus.models.llm.records import (
    Malformed,
    Notes,
    claim,
    entity,
    finding,
    name_of,
    number_of,
    relationship,
    rows,
    text_of,
)
from conspectus.models.llm.schemas import CLAIMS, GRAPH, REPORT, Schema
from conspectus.models.llm.wire import without_thinking
from conspectus.tasks import (
    AnswerFromContext,
    AnyMissed,
    ChooseRelations,
    DescribeElement,
    Description,
    DraftAnswer,
    Entails,
    ExamineEvidence,
    ExtractClaims,
    ExtractGraph,
    Extraction,
    ExtractTriples,
    FoundClaim,
    GleanMore,
    MapAnswer,
    MapPoints,
    NameEntities,
    NextThought,
    PartialAnswer,
    PrimeAnswer,
    ProfileCorpus,
    PursueFollowUp,
    RatePassages,
    RateReport,
    ReduceAnswer,
    ReportDraft,
    StandaloneQuestion,
    SummariseReasons,
    Task,
    WritePropositions,
    WriteReport,
)
from conspectus.tokens import well_formed

R = TypeVar("R")


@dataclass(frozen=True)
class Parsed(Generic[R]):
    """A reply, what was left out of it and what was mended (one line each), and whether it was cut off."""

    reply: R
    dropped: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    cut: bool = False


# Replies in JSON


def _object(text: str, schema: Schema, cut: bool, notes: Notes) -> dict[str, Any]:
    """Return the object of a reply that has all keys of the schema; lists must be lists."""
    properties: Mapping[str, Schema] = schema["properties"]

    def wanted(value: Any) -> bool:
        return isinstance(value, dict) and all(
            key in value and (kind["type"] != "array" or isinstance(value[key], list))
            for key, kind in properties.items()
        )

    try:
        value, repairs = lenient.read(text, wanted, cut)
    except lenient.NotJson as why:
        raise BadReply(f"it cannot be read as JSON with the keys {', '.join(properties)}: {why}") from None
    notes.repaired += repairs
    return value


def _graph_of_json(text: str, cut: bool, notes: Notes) -> Extraction:
    value = _object(text, GRAPH, cut, notes)
    entities = rows(value["entities"], "entity", entity, notes)
    return Extraction(entities, rows(value["relationships"], "relationship", relationship, notes))


def _claims_of_json(text: str, cut: bool, notes: Notes) -> tuple[FoundClaim, ...]:
    return rows(_object(text, CLAIMS, cut, notes)["claims"], "claim", claim, notes)


def _report_of_json(text: str, cut: bool, notes: Notes) -> ReportDraft:
    value = _object(text, REPORT, cut, notes)
    try:
        return ReportDraft(
            title=name_of(value, "title"),
            summary=text_of(value, "summary", needed=True),
            rating=number_of(value, "rating", 0, 10, notes),
            rating_explanation=text_of(value, "rating_explanation"),
            findings=rows(value["findings"], "finding", finding, notes),
        )
    except Malformed as why:
        raise BadReply(f"it is no report: {why}") from None


def _compact(value: Any) -> str:
    """Return short JSON with no control token of a model's in it, such as a document may have brought in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<|", "<\\u007c")


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _graph_to_json(graph: Extraction) -> str:
    return _compact(
        {
            "entities": [{"name": e.name, "type": e.type, "description": e.description} for e in graph.entities],
            "relationships": [
                {"source": r.source, "target": r.target, "description": r.description}
                | {"strength": _whole(r.strength)}
                for r in graph.relationships
            ],
        }
    )


def _claims_to_json(claims: Sequence[FoundClaim]) -> str:
    keys: Sequence[str] = CLAIMS["properties"]["claims"]["items"]["required"]
    return _compact({"claims": [{key: getattr(claim, key) for key in keys} for claim in claims]})


def _report_to_json(report: ReportDraft) -> str:
    findings = [{"summary": f.summary, "explanation": f.explanation} for f in report.findings]
    keys = ("title", "summary", "rating", "rating_explanation")
    return _compact({key: getattr(report, key) for key in keys} | {"findings": findings})


# Replies in tuples


def _records(text: str, notes: Notes) -> tuples.Records:
    records = tuples.read(text)
    if records.cut and not records.found:
        raise BadReply("there are no records in it and no end mark")
    notes.dropped += records.dropped
    notes.repaired += records.repaired
    return records


def _graph_of_tuples(text: str, notes: Notes) -> tuple[Extraction, bool]:
    records = _records(text, notes)
    entities = rows([r for kind, r in records.found if kind == "entity"], "entity", entity, notes)
    edges = [r for kind, r in records.found if kind == "relationship"]
    notes.dropped += ["a claim, which was not asked for" for kind, _ in records.found if kind == "claim"]
    return Extraction(entities, rows(edges, "relationship", relationship, notes)), records.cut


def _claims_of_tuples(text: str, notes: Notes) -> tuple[tuple[FoundClaim, ...], bool]:
    records = _records(text, notes)
    notes.dropped += [f"a record of kind {kind!r}" for kind, _ in records.found if kind != "claim"]
    return rows([r for kind, r in records.found if kind == "claim"], "claim", claim, notes), records.cut


def _graph_to_tuples(graph: Extraction) -> str:
    entities = (("entity", (e.name, e.type, e.description)) for e in graph.entities)
    edges = (("relationship", (r.source, r.target, r.description, r.strength)) for r in graph.relationships)
    return tuples.write(iter([*entities, *edges]))


def _claims_to_tuples(claims: Sequence[FoundClaim]) -> str:
    keys = tuples.KEYS["claim"]
    return tuples.write(("claim", [getattr(claim, key) or "NONE" for key in keys]) for claim in claims)


# Replies in plain text


_HELPFULNESS = re.compile(
    r"\*{0,2}<?\s*ANSWER_HELPFULNESS\s*>?\s*[:=]?\s*(\d{1,3})(?:\.\d+)?(?:\s*/\s*100|\s*%)?"
    r"(?:\s*<?\s*/\s*ANSWER_HELPFULNESS\s*>?)?\*{0,2}",
    re.IGNORECASE,
)
_YES = re.compile(
    r"\W*(?:(?:answer|reply|答案|回答)\W+)?(?:(?P<yes>(?:yes|true)\b|是|有)|(?:no|false)\b|否|不|没有|无)",
    re.IGNORECASE,
)
_RATING = re.compile(r"(?<![\d./])\d+(?:\.\d+)?")


def _partial_answer(text: str) -> PartialAnswer:
    match = _HELPFULNESS.search(text)
    if not match:
        raise BadReply("it has no line <ANSWER_HELPFULNESS> 0-100 </ANSWER_HELPFULNESS>")
    if int(match[1]) > 100:
        raise BadReply(f"its helpfulness is {match[1]}, above 100")
    return PartialAnswer(f"{text[: match.start()]}{text[match.end() :]}".strip(), int(match[1]))


def _yes_or_no(text: str) -> bool:
    match = _YES.match(text)
    if not match:
        raise BadReply(f"it is neither yes nor no: {text[:40]!r}")
    return match["yes"] is not None


def _rating(text: str) -> int:
    """Return the one rating of a reply, `4` or `Relevance: 4/5`."""
    ratings = {float(number) for number in _RATING.findall(text)}
    if len(ratings) != 1 or not 0 <= (rating := ratings.pop()) <= 5:
        raise BadReply(f"it is not one number from 0 to 5: {text[:40]!r}")
    return round(rating)


def _question(text: str) -> str:
    """Return the one question of a reply, without the quotation marks or the label that it may stand behind."""
    line = re.sub(r"^(?:\W{0,2}(?:standalone |rewritten )?question\W{0,2}|问题)[:：]\s*", "", text, flags=re.IGNORECASE)
    return " ".join(line.split()).strip('"“”「」')


# Every task's form


@dataclass(frozen=True)
class Form:
    """How the reply to a kind of task is read and written; `schema` where it is JSON, else plain text."""

    read: Callable[[str, bool, Notes], Any]
    write: Callable[[Any], str]
    schema: Schema | None = None
    read_tuples: Callable[[str, Notes], tuple[Any, bool]] | None = None
    write_tuples: Callable[[Any], str] | None = None


def _plain(read: Callable[[str], Any], write: Callable[[Any], str] = str) -> Form:
    return Form(lambda text, _, __: read(text), write)


def _of_object(schema: Schema, made: reasoning.Reading) -> Form:
    return Form(
        lambda text, cut, notes: made.read(_object(text, schema, cut, notes), notes),
        lambda reply: _compact(made.write(reply)),
        schema,
    )


_GRAPH = Form(_graph_of_json, _graph_to_json, GRAPH, _graph_of_tuples, _graph_to_tuples)
FORMS: Mapping[type[Task[Any]], Form] = {
    ExtractGraph: _GRAPH,
    GleanMore: _GRAPH,
    AnyMissed: _plain(_yes_or_no, lambda missed: "yes" if missed else "no"),
    ExtractClaims: Form(_claims_of_json, _claims_to_json, CLAIMS, _claims_of_tuples, _claims_to_tuples),
    DescribeElement: _plain(Description, lambda description: description.text),
    WriteReport: Form(_report_of_json, _report_to_json, REPORT),
    MapAnswer: _plain(_partial_answer, lambda a: f"<ANSWER_HELPFULNESS> {a.score} </ANSWER_HELPFULNESS>\n{a.text}"),
    ReduceAnswer: _plain(str),
    AnswerFromContext: _plain(str),
    RateReport: _plain(_rating),
    RatePassages: _of_object(reasoning.RATINGS, reasoning.ratings_of),
    PrimeAnswer: _of_object(points.PROBE, points.probe_of),
    PursueFollowUp: _of_object(points.PROBE, points.probe_of),
    StandaloneQuestion: _plain(_question),
    MapPoints: _of_object(points.POINTS, points.points_of),
    ProfileCorpus: _of_object(points.PROFILE, points.profile_of),
    NameEntities: _of_object(reasoning.NAMES, reasoning.names_of),
    ExtractTriples: _of_object(reasoning.TRIPLES, reasoning.triples_of),
    WritePropositions: _of_object(reasoning.PROPOSITIONS, reasoning.propositions_of),
    NextThought: _plain(str),
    ChooseRelations: _of_object(reasoning.CHOICES, reasoning.choices_of),
    ExamineEvidence: _of_object(reasoning.EXAMINED, reasoning.examined_of),
    DraftAnswer: _of_object(reasoning.DRAFT, reasoning.draft_of),
    SummariseReasons: _plain(str),
    Entails: _plain(_yes_or_no, lambda follows: "yes" if follows else "no"),
    **{task: _of_object(schema, reading) for task, (schema, reading) in evaluating.READINGS.items()},
}


def schema_of(task: Task[Any], reply_format: str = "json") -> Schema | None:
    """Return the schema that the reply to a task has, None where it is no JSON."""
    form = FORMS[type(task)]
    return None if reply_format == "tuples" and form.read_tuples else form.schema


def parse(task: Task[R], text: str, reply_format: str = "json", cut: bool = False) -> Parsed[R]:
    """Read the reply to a task; `cut` says that the server stopped it before its end.

    Raises BadReply, saying what is wrong, where it cannot be read without guessing.
    """
    form = FORMS[type(task)]
    notes = Notes()
    text = well_formed(without_thinking(text)).strip()
    if not text:
        raise BadReply("it is empty")
    if reply_format == "tuples" and form.read_tuples:
        reply, unended = form.read_tuples(text, notes)
        cut = cut or unended
    else:
        reply = form.read(text, cut, notes)
    return Parsed(reply, tuple(notes.dropped), tuple(notes.repaired), cut)


def dump(task: Task[R], reply: R, reply_format: str = "json") -> str:
    """Return a reply as a model would have written it, so that `parse` gives it back."""
    form = FORMS[type(task)]
    if reply_format == "tuples" and form.write_tuples:
        return form.write_tuples(reply)
    return form.write(reply)
