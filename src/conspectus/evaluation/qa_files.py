"""Questions with accepted answers, from the files in which data sets are published."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from conspectus.errors import UsageError
from conspectus.runtime import check_question

Record = Mapping[str, Any]
RECORDS = TypeAdapter(list[dict[str, Any]])
LABELS = {"supports": "yes", "refutes": "no", "true": "yes", "false": "no", "not enough info": "not enough info"}
"""What the labels of claims say."""


@dataclass(frozen=True)
class Asked:
    """A question, the answers that are accepted, and the names it is about where the data says so."""

    id: str
    text: str
    answers: tuple[str, ...]
    topics: tuple[str, ...] = ()


def read_questions(path: Path) -> list[Asked]:
    """Read a JSON file, whole or in lines, of one of the forms of `FORMS`; of a folder its `queries.jsonl`.

    Raises UsageError where it is missing, is not JSON, or is of none of these forms.
    """
    path = path / "queries.jsonl" if path.is_dir() else path
    forms = ", ".join(FORMS)
    try:
        records = _records(path.read_text(encoding="utf-8-sig"))
        asked = [asked for n, record in enumerate(records) if (asked := _form(record)(record, n)).text.strip()]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except KeyError as error:
        raise UsageError(
            f"{path} has a record without {error}: it is of no known form ({forms}), or its answers are kept back"
        ) from None
    except (ValueError, TypeError, IndexError) as error:
        raise UsageError(f"{path} is not of a known form ({forms}): {error}") from None
    if not asked:
        raise UsageError(f"{path} holds no questions")
    for one in asked:
        check_question(one.text)
    return asked


def _records(text: str) -> Sequence[Record]:
    try:
        values: Any = json.loads(text)
    except ValueError:
        values = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(values, dict):
        whole = cast("Record", values)
        values = whole.get("Questions") or whole.get("questions") or [whole]
    return RECORDS.validate_python(values)


def _plain(record: Record, n: int) -> Asked:
    """BEIR, MetaQA, HotpotQA and their like: `question` or `text`, `answer` or `answers`, `topic_entity`."""
    text = record["question"] if "question" in record else record["text"]
    answers = record.get("answers", ()) if "text" in record or "answers" in record else record["answer"]
    topics = _texts(record.get("topic_entity", ()))
    return Asked(str(record.get("_id", record.get("id", n))), text, _once(_texts(answers)), _once(topics))


def _webqsp(record: Record, n: int) -> Asked:
    """WebQSP: the answers of all parses that were marked good, or of the first where none was."""
    parses: list[Any] = record["Parses"]
    good = [p for p in parses if p.get("AnnotatorComment", {}).get("ParseQuality", "Complete") == "Complete"]
    good = good or parses[:1]
    answers = [answer.get("EntityName") or answer["AnswerArgument"] for parse in good for answer in parse["Answers"]]
    topics = [parse.get("TopicEntityName") or "" for parse in good]
    return Asked(str(record["QuestionId"]), record["RawQuestion"], _once(answers), _once(topics))


def _qald(record: Record, n: int) -> Asked:
    """QALD-10: the English question; literals and addresses of the result table, or its truth."""
    texts = {form.get("language"): form["string"] for form in record["question"]}
    answers: list[str] = []
    for answer in record["answers"]:
        if "boolean" in answer:
            answers.append("yes" if answer["boolean"] else "no")
        cells = (cell["value"] for row in answer.get("results", {}).get("bindings", ()) for cell in row.values())
        answers += (str(value).rsplit("/", 1)[-1].replace("_", " ") for value in cells)
    return Asked(str(record["id"]), texts.get("en") or next(iter(texts.values())), _once(answers))


def _zero_shot_re(record: Record, n: int) -> Asked:
    """Zero-Shot RE as KILT publishes it: `head [SEP] relation`, or a question made of a template."""
    templates = _texts(record.get("template_questions") or record.get("meta", {}).get("template_questions") or ())
    head, _, relation = str(record["input"]).partition(" [SEP] ")
    text = templates[0] if templates else f"What is the {relation} of {head}?" if relation else head
    answers = _once(_texts(record.get("answer", record.get("output", ()))))
    return Asked(str(record.get("id", n)), text, answers, (head,) if relation else ())


def _claim(record: Record, n: int) -> Asked:
    """FEVER and Creak: is the claim true? The answers are yes, no, or not enough info."""
    claim = record.get("claim") or record["sentence"]
    text = f"Is it true that {claim.strip().rstrip('.')}?"
    answer = LABELS[str(record["label"]).strip().lower()]
    return Asked(str(record.get("id", record.get("ex_id", n))), text, (answer,), _once([record.get("entity", "")]))


def _texts(value: Any) -> list[str]:
    """Return the texts of a list, of an object (its `answer`, or else all values), or of a single value."""
    if isinstance(value, Mapping):
        fields = cast("Record", value)
        return _texts(fields["answer"] if "answer" in fields else list(fields.values()))
    if isinstance(value, list | tuple):
        return [text for one in cast("Sequence[Any]", value) for text in _texts(one)]
    return [str(value)]


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


FORMS: Mapping[str, tuple[str, Callable[[Record, int], Asked]]] = {
    "WebQSP": ("RawQuestion", _webqsp),
    "FEVER": ("claim", _claim),
    "Creak": ("sentence", _claim),
    "Zero-Shot RE": ("input", _zero_shot_re),
    "QALD-10": ("query", _qald),
    "BEIR, MetaQA, HotpotQA": ("", _plain),
}
"""Data sets, each with the key by which its records are known and the function that reads one."""


def _form(record: Record) -> Callable[[Record, int], Asked]:
    if isinstance(record.get("question"), list):
        return _qald
    return next((read for key, read in FORMS.values() if key in record), _plain)
