"""Questions with accepted answers, from the files in which data sets are published.

Each reader takes the text of a file and yields questions; `read_questions` tells by its first record which
one it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from conspectus.errors import UsageError
from conspectus.runtime import check_question

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A question, the answers that are accepted, and the names it is about where the data says so."""

    id: str
    text: str
    answers: tuple[str, ...]
    topics: tuple[str, ...] = ()


def read_questions(path: Path) -> list[Asked]:
    """Read a file of MetaQA (as JSON lines), WebQSP, QALD-10, AdvHotpotQA, Zero-Shot RE, FEVER, Creak, or
    BEIR queries.

    Raises UsageError where the file is missing, is not JSON, or is of none of these forms.
    """
    path = path / "queries.jsonl" if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    try:
        records, form = _records(text)
        found = [asked for asked in FORMS[form](records) if asked.text.strip()]
    except KeyError as error:
        forms = ", ".join(FORMS)
        raise UsageError(
            f"{path} has a record without {error}: it is of no known form ({forms}), or its answers are kept back"
        ) from None
    except (ValueError, TypeError, IndexError) as error:
        raise UsageError(f"{path} is not of a form that is known ({', '.join(FORMS)}): {error}") from None
    if not found:
        raise UsageError(f"{path} holds no questions")
    for asked in found:
        check_question(asked.text)
    return found


def _records(text: str) -> tuple[Sequence[Record], str]:
    """Return the records of a file and the name of its form."""
    try:
        whole = json.loads(text)
    except ValueError:
        whole = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(whole, dict):
        whole = cast("dict[str, Any]", whole)
        if "Questions" in whole:
            return whole["Questions"], "WebQSP"
        whole = whole.get("questions", [whole])
    records = cast("list[Record]", whole)
    return records, _form(records[0])


def _form(first: Record) -> str:
    if "RawQuestion" in first:
        return "WebQSP"
    if isinstance(first.get("question"), list | dict):
        return "QALD-10"
    if "topic_entity" in first:
        return "MetaQA"
    if "claim" in first or "sentence" in first:
        return "FEVER"
    if isinstance(first.get("label"), bool) or str(first.get("label", "")).lower() in ("true", "false"):
        return "Creak"
    if "template_questions" in first or "input" in first:
        return "Zero-Shot RE"
    if "_id" in first and "text" in first:
        return "BEIR"
    return "AdvHotpotQA"


def _metaqa(records: Iterable[Record]) -> Iterator[Asked]:
    for record in records:
        yield Asked(str(record["id"]), record["question"], tuple(record["answers"]), (record["topic_entity"],))


def _webqsp(records: Iterable[Record]) -> Iterator[Asked]:
    """WebQSP: the answers of all parses that were marked good, or of the first where none was."""
    for record in records:
        parses = cast("list[Record]", record["Parses"])
        good = [p for p in parses if p.get("AnnotatorComment", {}).get("ParseQuality", "Complete") == "Complete"]
        names: list[str] = []
        topics: list[str] = []
        for parse in good or parses[:1]:
            names += (a.get("EntityName") or a["AnswerArgument"] for a in parse["Answers"])
            topics += [parse["TopicEntityName"]] if parse.get("TopicEntityName") else []
        yield Asked(str(record["QuestionId"]), record["RawQuestion"], _once(names), _once(topics))


def _qald(records: Iterable[Record]) -> Iterator[Asked]:
    """QALD-10: the English question; literals and addresses of the result table, or its truth."""
    for record in records:
        asked = record["question"]
        forms = cast("list[Record]", asked if isinstance(asked, list) else [asked])
        text = next((f["string"] for f in forms if f.get("language") == "en"), forms[0].get("string", ""))
        answers: list[str] = []
        for answer in record["answers"]:
            if "boolean" in answer:
                answers.append("yes" if answer["boolean"] else "no")
            for row in answer.get("results", {}).get("bindings", ()):
                answers += (str(cell["value"]).rsplit("/", 1)[-1].replace("_", " ") for cell in row.values())
        yield Asked(str(record["id"]), text, _once(answers))


def _hotpotqa(records: Iterable[Record]) -> Iterator[Asked]:
    for n, record in enumerate(records):
        answers: Any = record["answer"] if "answer" in record else record["answers"]
        if isinstance(answers, dict):  # QALD-10 as Think-on-Graph publishes it: names by their Wikidata ids
            answers = list(cast("dict[str, Any]", answers).values())
        accepted = cast("list[Any]", answers) if isinstance(answers, list) else [answers]
        yield Asked(str(record.get("_id", record.get("id", n))), record["question"], _once(map(str, accepted)))


def _zero_shot_re(records: Iterable[Record]) -> Iterator[Asked]:
    """Zero-Shot RE as KILT publishes it: `head [SEP] relation`, or a question made of a template."""
    for n, record in enumerate(records):
        templates = cast(
            "list[str]",
            record.get("template_questions") or record.get("meta", {}).get("template_questions") or [],
        )
        head, _, relation = str(record["input"]).partition(" [SEP] ")
        text = templates[0] if templates else f"What is the {relation} of {head}?" if relation else head
        given = record.get("output", [])
        outputs = (
            [given] if isinstance(given, str) else [o if isinstance(o, str) else o.get("answer", "") for o in given]
        )
        answers = record.get("answer", outputs)
        accepted = [answers] if isinstance(answers, str) else answers
        yield Asked(str(record.get("id", n)), text, _once(accepted), (head,) if relation else ())


_LABELS = {
    "supports": "yes",
    "refutes": "no",
    "true": "yes",
    "false": "no",
    "not enough info": "not enough info",
}


def _claims(records: Iterable[Record]) -> Iterator[Asked]:
    """FEVER and Creak: is the claim true? `answers` are yes, no, or not enough info."""
    for n, record in enumerate(records):
        claim = record.get("claim") or record["sentence"]
        topic = record.get("entity")
        label = _LABELS[str(record["label"]).strip().lower()]
        yield Asked(
            str(record.get("id", record.get("ex_id", n))),
            f"Is it true that {claim.strip().rstrip('.')}?",
            (label,),
            (topic,) if topic else (),
        )


def _beir(records: Iterable[Record]) -> Iterator[Asked]:
    for record in records:
        yield Asked(record["_id"], record["text"], tuple(record.get("answers") or ()))


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


FORMS: Mapping[str, Callable[[Iterable[Record]], Iterator[Asked]]] = {
    "MetaQA": _metaqa,
    "WebQSP": _webqsp,
    "QALD-10": _qald,
    "AdvHotpotQA": _hotpotqa,
    "Zero-Shot RE": _zero_shot_re,
    "FEVER": _claims,
    "Creak": _claims,
    "BEIR": _beir,
}
"""Readers by the data sets they are for."""
