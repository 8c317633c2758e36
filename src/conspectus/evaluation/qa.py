"""Short answers to questions of published data sets: EM and F1 after the normalisation of SQuAD, accuracy, Hits@1."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import string
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import TypeAdapter

from conspectus import Index
from conspectus.api.asking import IndexLike as IndexSource
from conspectus.api.asking import viewed
from conspectus.errors import UsageError
from conspectus.evaluation.comparison import JsonlTable
from conspectus.evaluation.conditions import digest
from conspectus.evaluation.run import AT_ONCE, attempt, each
from conspectus.evaluation.statistics import Measured
from conspectus.messages import is_empty_answer
from conspectus.models.base import Model
from conspectus.models.rerankers import Reranker, open_reranker
from conspectus.retrieval import METHODS, RANKINGS, rerank
from conspectus.retrieval.base import extractive
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer, Usage
from conspectus.runtime import DEFAULT_FOLDER, Options, check_question, named, public, run_of, run_sync
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import SHORT
from conspectus.text.words import CJK

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation + "，。！？；：、“”‘’（）《》【】…—·")
_UNITS = re.compile(rf"{CJK.pattern}|(?:(?!{CJK.pattern})\S)+")
_MARKERS = re.compile(r"\s*\[\d+\]")
_YES = frozenset("yes true supports supported support correct right 是 对 真".split())
_NO = frozenset("no false refutes refuted refute incorrect wrong 否 不是 不对 错 假".split())


# Questions


Record = Mapping[str, Any]
RECORDS = TypeAdapter(list[dict[str, Any]])
LABELS = {
    "supports": "yes",
    "refutes": "no",
    "true": "yes",
    "false": "no",
    "not enough info": "not enough info",
}
"""What the labels of claims say."""


@dataclass(frozen=True)
class QaQuestion:
    """A question, the answers that are accepted, and the names it is about where the data says so."""

    id: str
    text: str
    answers: tuple[str, ...]
    topics: tuple[str, ...] = ()


def read_questions(path: Path) -> list[QaQuestion]:
    """Read a JSON file, whole or in lines, of one of the forms of `FORMS`; of a folder its `queries.jsonl`.

    A .csv table has the columns `question` and `answer`, and `id` where it has one.

    Raises UsageError where it is missing, is not JSON, or is of none of these forms.
    """
    path = path / "queries.jsonl" if path.is_dir() else path
    forms = ", ".join(FORMS)
    try:
        text = path.read_text(encoding="utf-8-sig")
        is_table = path.suffix.lower() == ".csv"
        records = list(csv.DictReader(io.StringIO(text, newline=""))) if is_table else _records(text)
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


def _plain(record: Record, n: int) -> QaQuestion:
    """BEIR, MetaQA, HotpotQA and their like: `question` or `text`, `answer` or `answers`, `topic_entity`."""
    text = record["question"] if "question" in record else record["text"]
    answers = record.get("answers", ()) if "text" in record or "answers" in record else record["answer"]
    topics = _texts(record.get("topic_entity", ()))
    return QaQuestion(str(record.get("_id", record.get("id", n))), text, _once(_texts(answers)), _once(topics))


def _webqsp(record: Record, n: int) -> QaQuestion:
    """WebQSP: the answers of all parses that were marked good, or of the first where none was."""
    parses: list[Any] = record["Parses"]
    good = [p for p in parses if p.get("AnnotatorComment", {}).get("ParseQuality", "Complete") == "Complete"]
    good = good or parses[:1]
    answers = [
        answer.get("EntityName") or answer["AnswerArgument"] for parse in good for answer in parse["Answers"]
    ]
    topics = [parse.get("TopicEntityName") or "" for parse in good]
    return QaQuestion(str(record["QuestionId"]), record["RawQuestion"], _once(answers), _once(topics))


def _qald(record: Record, n: int) -> QaQuestion:
    """QALD-10: the English question; literals and addresses of the result table, or its truth."""
    texts = {form.get("language"): form["string"] for form in record["question"]}
    answers: list[str] = []
    for answer in record["answers"]:
        if "boolean" in answer:
            answers.append("yes" if answer["boolean"] else "no")
        cells = (
            cell["value"] for row in answer.get("results", {}).get("bindings", ()) for cell in row.values()
        )
        answers += (str(value).rsplit("/", 1)[-1].replace("_", " ") for value in cells)
    return QaQuestion(str(record["id"]), texts.get("en") or next(iter(texts.values())), _once(answers))


def _zero_shot_re(record: Record, n: int) -> QaQuestion:
    """Zero-Shot RE as KILT publishes it: `head [SEP] relation`, or a question made of a template."""
    templates = _texts(
        record.get("template_questions") or record.get("meta", {}).get("template_questions") or ()
    )
    head, _, relation = str(record["input"]).partition(" [SEP] ")
    text = templates[0] if templates else f"What is the {relation} of {head}?" if relation else head
    answers = _once(_texts(record.get("answer", record.get("output", ()))))
    return QaQuestion(str(record.get("id", n)), text, answers, (head,) if relation else ())


def _claim(record: Record, n: int) -> QaQuestion:
    """FEVER and Creak: is the claim true? The answers are yes, no, or not enough info."""
    claim = record.get("claim") or record["sentence"]
    text = f"Is it true that {claim.strip().rstrip('.')}?"
    answer = LABELS[str(record["label"]).strip().lower()]
    return QaQuestion(
        str(record.get("id", record.get("ex_id", n))), text, (answer,), _once([record.get("entity", "")])
    )


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


FORMS: Mapping[str, tuple[str, Callable[[Record, int], QaQuestion]]] = {
    "WebQSP": ("RawQuestion", _webqsp),
    "FEVER": ("claim", _claim),
    "Creak": ("sentence", _claim),
    "Zero-Shot RE": ("input", _zero_shot_re),
    "QALD-10": ("query", _qald),
    "BEIR, MetaQA, HotpotQA": ("", _plain),
}
"""Data sets, each with the key by which its records are known and the function that reads one."""


def _form(record: Record) -> Callable[[Record, int], QaQuestion]:
    if isinstance(record.get("question"), list):
        return _qald
    return next((read for key, read in FORMS.values() if key in record), _plain)


# Measures


def normalised(text: str) -> str:
    """Return a text in lower case, without punctuation, articles and extra space (SQuAD, Rajpurkar et al., 2016)."""
    text = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 where the answer is one of those accepted, normalised, else 0."""
    return float(normalised(answer) in map(normalised, accepted))


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the best F1 of the words of the answer (in Chinese: the characters) with an accepted one."""
    words = Counter(_UNITS.findall(normalised(answer)))
    return max((_f1(words, Counter(_UNITS.findall(normalised(one)))) for one in accepted), default=0.0)


def _f1(words: Counter[str], others: Counter[str]) -> float:
    if not words or not others:
        return float(words == others)
    return 2 * (words & others).total() / (words.total() + others.total())


def verdict(answer: str) -> str:
    """Return what an answer says to a yes-or-no question or a claim: yes, no, or "" for neither."""
    plain = normalised(answer)
    first = {plain, plain.partition(" ")[0]}
    return "yes" if first & _YES else "no" if first & _NO else ""


def accuracy(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 where an answer judges as an accepted one does, else 0."""
    return float(verdict(answer) in map(verdict, accepted))


def is_judgement(accepted: Sequence[str]) -> bool:
    """Return whether accepted answers are judgements: yes or no, supports or refutes (or not enough information)."""
    return bool(accepted) and all(verdict(one) or normalised(one) == "not enough info" for one in accepted)


def answers_qa(short: Sequence[str], asked: QaQuestion) -> Mapping[str, float]:
    """Return EM and F1 of an answer, or the accuracy of a judgement."""
    answer = short[0] if short else ""
    if is_judgement(asked.answers):
        return {"accuracy": accuracy(answer, asked.answers)}
    return {"EM": exact_match(answer, asked.answers), "F1": f1(answer, asked.answers)}


def answers_kgqa(short: Sequence[str], asked: QaQuestion) -> Mapping[str, float]:
    """Return Hits@1, EM of the first answer after normalisation, and whether the answers are all and only those."""
    if is_judgement(asked.answers):
        return answers_qa(short, asked)
    first = short[0] if short else ""
    complete = set(map(normalised, short)) == set(map(normalised, asked.answers))
    return {
        "Hits@1": float(first in asked.answers),
        "EM": exact_match(first, asked.answers),
        "all": float(complete),
    }


Score = Callable[[Sequence[str], QaQuestion], Mapping[str, float]]
"""Measures of the short answers to a question, the best first."""
SCORES: Mapping[str, Score] = {"qa": answers_qa, "kgqa": answers_kgqa}


# Answers


class QaOptions(Options, total=False):
    """What is asked and measured.

    kind: how answers are measured: `qa`, the default, by EM and F1, or `kgqa` by Hits@1.
    where: conditions on documents, as in `ask`.
    answers: a file in which every answer is saved, and from which a run continues.
    limit: the number of questions that are asked, the first of the file.
    """

    kind: Literal["qa", "kgqa"]
    where: str | Sequence[str]
    answers: str | Path | None
    limit: int | None


@dataclass(frozen=True)
class Answered:
    """One question answered by one method: the short answers, or why there are none."""

    method: str
    id: str
    question: str
    short: tuple[str, ...] = ()
    milliseconds: float = 0.0
    made_with: str = ""
    """A digest of index, model and settings."""
    error: str = ""


def short_of(answer: Answer) -> tuple[str, ...]:
    """Return the short answers of an answer; its text where the method gives none."""
    if answer.short or is_empty_answer(answer.text):
        return answer.short
    return (_MARKERS.sub("", answer.text).strip(),)


def _measured(
    method: str, asked: Sequence[QaQuestion], answered: Sequence[Answered], score: Score
) -> Measured:
    good = [(one, row) for one, row in zip(asked, answered, strict=True) if not row.error]
    scores = [score(row.short, one) for one, row in good]
    names = dict.fromkeys(name for values in scores for name in values)
    columns = {name: [values[name] for values in scores if name in values] for name in names}
    failures = {row.id: row.error for row in answered if row.error}
    return Measured(method, columns, [row.milliseconds for _, row in good], failures)


def _asker(
    index: Index,
    model: Model,
    settings: Settings,
    reranker: Reranker | None,
    table: JsonlTable[Answered],
    made_with: str,
) -> Callable[[str, QaQuestion], Awaitable[None]]:
    """Return what answers a question by a method and saves the answer, or that a call of it failed."""
    clock = time.perf_counter if model.generative else time.process_time

    async def ask(method: str, one: QaQuestion) -> None:
        began = clock()
        styled = WithAnswerOptions(model, one.text, settings.answer, index.languages)
        ranker = reranker if method in RANKINGS else None
        work = rerank.answer_reranked(METHODS[method], one.text, index, styled, settings, ranker)
        answer, error = await attempt(work)
        short = short_of(answer) if answer else ()
        milliseconds = round((clock() - began) * 1000, 3)
        table.add(Answered(method, one.id, one.text, short, milliseconds, made_with, error))

    return ask


@public
def evaluate_answers(
    questions: str | Path,
    index: IndexSource = DEFAULT_FOLDER,
    methods: str | Sequence[str] = ("walk",),
    **options: Unpack[QaOptions],
) -> list[Measured]:
    """Answer the questions of a file by each method, and measure the answers.

    Failures are counted and have no score. Indexes are those of `ask`, and so are their models where none is named.
    Raises UsageError where the file or a method makes no sense.

    Example: `evaluate_answers("data/hotpotqa", "idx", ["bm25", "walk"], limit=100)`
    """
    methods = [methods] if isinstance(methods, str) else methods
    if not methods:
        raise UsageError(f"there is no method named; there are {', '.join(METHODS)}")
    asked = read_questions(Path(questions))[: options.get("limit")]
    view = viewed(index, options.get("where", ()))
    score = named(SCORES, options.get("kind", "qa"))
    for method in methods:
        view.check(named(METHODS, method).needs)
    index_, run = view.index, run_of(options, view.built)
    chosen, path = _with_short_answers(run.settings), options.get("answers")
    table = JsonlTable(Path(path) if path else None, Answered, lambda row: (row.method, row.id, row.question))

    async def work() -> list[Measured]:
        async with (
            run.session(index_.folder, chosen) as session,
            open_reranker(chosen, index_.folder, model=run.model, session=session) as reranker,
        ):
            model = run.model or (session.model if session else extractive(index_))
            made_with = digest([index_.snapshot, model.name, chosen.model_dump(mode="json")])
            ask = _asker(index_, model, chosen, reranker, table, made_with)

            def used() -> Usage:
                return session.total if session else reranker.usage if reranker else Usage()

            results: list[Measured] = []
            for method in methods:
                before = used()
                remaining = [one for one in asked if not table.done((method, one.id, one.text), made_with)]
                await each(
                    remaining, functools.partial(ask, method), at_once=AT_ONCE if model.generative else 1
                )
                rows = [table.rows[method, one.id, one.text] for one in asked]
                results.append(replace(_measured(method, asked, rows, score), usage=used() - before))
            return results

    return run_sync(work())


def _with_short_answers(settings: Settings) -> Settings:
    """Return the settings with short answers, unless they ask for some other form."""
    if settings.answer.response != AnswerSettings().response:
        return settings
    return settings.model_copy(update={"answer": settings.answer.model_copy(update={"response": SHORT})})
