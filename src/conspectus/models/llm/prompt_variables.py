"""What each prompt is filled with: the fields of its task, documents fenced as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conspectus.models.llm import evaluating
from conspectus.models.llm.fencing import fence
from conspectus.references import TABLES, find, strip
from conspectus.rows import Triple
from conspectus.tasks import (
    AnswerFromContext,
    AnyMissed,
    ChooseRelations,
    DescribeElement,
    DraftAnswer,
    ExamineEvidence,
    ExtractClaims,
    ExtractGraph,
    ExtractTriples,
    GleanMore,
    MapAnswer,
    MapPoints,
    NameEntities,
    NextThought,
    PrimeAnswer,
    ProfileCorpus,
    PursueFollowUp,
    RatePassages,
    RateReport,
    ReduceAnswer,
    StandaloneQuestion,
    Task,
    WritePropositions,
    WriteReport,
    is_short,
)
from conspectus.tasks.context import Context

REPAIR = "Repair"
"""The one prompt of no task: what is said to a reply that cannot be read."""

LANGUAGES = {
    "en": {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian"}
    | {"pt": "Portuguese", "nl": "Dutch", "ru": "Russian", "ja": "Japanese", "ko": "Korean", "ar": "Arabic"}
    | {"sv": "Swedish", "da": "Danish", "no": "Norwegian", "fi": "Finnish", "pl": "Polish", "cs": "Czech"}
    | {"hu": "Hungarian", "ro": "Romanian", "ca": "Catalan", "tr": "Turkish", "id": "Indonesian", "vi": "Vietnamese"}
    | {"uk": "Ukrainian", "bg": "Bulgarian", "el": "Greek", "fa": "Persian", "he": "Hebrew"}
    | {"hi": "Hindi", "th": "Thai"},
    "zh": {"zh": "中文", "en": "英文"},
}
_KINDS_ZH = {"entity": "实体", "relationship": "关系", "claim": "声明"}


def _language(task: Task[Any], own: str) -> str:
    return LANGUAGES[own].get(task.language.partition("-")[0], task.language)


def _tables(evidence: Context) -> list[str]:
    return [name.capitalize() for name, _ in evidence.tables()] or ["Reports"]


def _cited(task: ReduceAnswer) -> list[str]:
    """Return the tables that partial answers cite, so that a final one writes their references as they do."""
    named = {reference.table for answer in task.answers for reference in find(answer.text)}
    return [table for table in TABLES if table in named] or ["Reports"]


def _reference(tables: Sequence[str]) -> str:
    parts = (f"{table} ({ids})" for table, ids in zip(tables, _EXAMPLE_IDS, strict=False))
    return f"[Data: {'; '.join(parts)}]"


_EXAMPLE_IDS = ("2, 7", "5", "1, 3", "4", "6")


def _claims_data(task: ExtractClaims) -> str:
    return fence(f"Entities: {'; '.join(task.entities)}\n\nText:\n{task.chunk.text}")


def _element_data(task: DescribeElement) -> str:
    numbered = (f"{n}. {' '.join(text.split())}" for n, text in enumerate(task.descriptions, 1))
    return fence("\n".join((task.name, *numbered)))


def _analysts_data(task: ReduceAnswer) -> str:
    blocks = (
        f"-----Analyst {n}, helpfulness {answer.score}-----\n{answer.text}" for n, answer in enumerate(task.answers, 1)
    )
    return fence("\n\n".join(blocks))


def _trails_data(task: ExamineEvidence | DraftAnswer) -> str:
    """Return paths of triples and chunks as they are shown; empty where there are none."""
    paths = (f"{n}. {'; '.join(map(_fact, trail.triples))}" for n, trail in enumerate(task.paths, 1))
    blocks = ["-----Paths-----\n" + "\n".join(paths)] if task.paths else []
    return fence("\n".join((*blocks, task.context.text))) if blocks or task.context.text else ""


def _fact(triple: Triple) -> str:
    return f"({triple.head}, {triple.relation}, {triple.tail})"


def _topics_data(task: ChooseRelations) -> str:
    lines: list[str] = []
    for n, topic in enumerate(task.topics, 1):
        reached = f" (reached by {'; '.join(map(_fact, topic.path.triples))})" if topic.path.triples else ""
        lines.append(f"Entity {n}: {topic.name}{reached}")
        for place, edge in enumerate(topic.edges, 1):
            shown = f"(?, {edge.relation}, {topic.name})" if edge.inverse else f"({topic.name}, {edge.relation}, ?)"
            lines.append(f"  {place}. {shown} x {edge.count}")
    return fence("\n".join(lines))


def _numbered(texts: tuple[str, ...]) -> str:
    return "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1)) or "-"


def _conversation_data(task: StandaloneQuestion) -> str:
    return fence("\n\n".join(f"Question: {e.question}\nAnswer: {e.answer}" for e in task.exchanges))


def _samples_data(task: ProfileCorpus) -> str:
    blocks = (f"-----Sample {n}-----\n{chunk.text.strip()}" for n, chunk in enumerate(task.samples, 1))
    return fence("\n\n".join(blocks))


def _passages_data(task: RatePassages) -> str:
    return fence("\n\n".join(f"-----Passage {n}-----\n{text.strip()}" for n, text in enumerate(task.passages, 1)))


_USUAL: Mapping[str, Mapping[str, str]] = {"en": {}, "zh": {"multiple paragraphs": "多个段落"}}
"""Lengths and formats that our settings name, in the language of the prompt."""
_SHORT = {
    "en": "the answer alone in as few words as it takes (a name, a date, a number, yes or no), with its reference and "
    "without a sentence around it",
    "zh": "只写答案本身，越短越好（名称、日期、数字、是或否），后面附引用，不写成句子",
}
Fields = Mapping[str, Callable[[Any, str], str]]
"""What each field of a prompt is made of: the task, and the language of the prompt."""

_ANSWER: Fields = {
    "question": lambda task, _: task.question,
    "response": lambda task, own: (
        _SHORT[own] if is_short(task.response) else _USUAL[own].get(task.response, task.response)
    ),
}
FIELDS: Mapping[str, Fields] = {
    ExtractGraph.__name__: {
        "entity_types": lambda task, _: ", ".join(task.entity_types),
        "language": _language,
        "text": lambda task, _: fence(task.chunk.text),
    },
    AnyMissed.__name__: {},
    GleanMore.__name__: {},
    ExtractClaims.__name__: {"language": _language, "data": lambda task, _: _claims_data(task)},
    DescribeElement.__name__: {
        "kind": lambda task, own: _KINDS_ZH.get(task.kind, task.kind) if own == "zh" else task.kind,
        "language": _language,
        "data": lambda task, _: _element_data(task),
    },
    WriteReport.__name__: {"language": _language, "data": lambda task, _: fence(task.context.text)},
    MapAnswer.__name__: {
        **_ANSWER,
        "table": lambda task, _: ", ".join(_tables(task.context)),
        "data": lambda task, _: fence(task.context.text),
    },
    MapPoints.__name__: {
        **_ANSWER,
        "table": lambda task, _: ", ".join(_tables(task.context)),
        "data": lambda task, _: fence(task.context.text),
    },
    ProfileCorpus.__name__: {"language": _language, "data": lambda task, _: _samples_data(task)},
    ReduceAnswer.__name__: {
        **_ANSWER,
        "table": lambda task, _: _cited(task)[0],
        "reference": lambda task, _: _reference(_cited(task)),
        "data": lambda task, _: _analysts_data(task),
    },
    AnswerFromContext.__name__: {
        **_ANSWER,
        "tables": lambda task, _: ", ".join(_tables(task.context)),
        "table": lambda task, _: _tables(task.context)[0],
        "reference": lambda task, _: _reference(_tables(task.context)),
        "data": lambda task, _: fence(task.context.text),
    },
    RateReport.__name__: {
        "question": lambda task, _: task.question,
        "data": lambda task, _: fence(strip(task.report.text)),
    },
    PrimeAnswer.__name__: {
        "question": lambda task, _: task.question,
        "count": lambda task, _: str(task.count),
        "data": lambda task, _: fence(task.context.text),
    },
    PursueFollowUp.__name__: {
        "question": lambda task, _: task.question,
        "follow_up": lambda task, _: task.follow_up,
        "asked": lambda task, _: _numbered(task.asked),
        "count": lambda task, _: str(task.count),
        "reference": lambda task, _: _reference(_tables(task.context)),
        "data": lambda task, _: fence(task.context.text),
    },
    StandaloneQuestion.__name__: {
        "question": lambda task, _: task.question,
        "data": lambda task, _: _conversation_data(task),
    },
    RatePassages.__name__: {
        "question": lambda task, _: task.question,
        "data": lambda task, _: _passages_data(task),
    },
    NameEntities.__name__: {"text": lambda task, _: fence(task.text)},
    ExtractTriples.__name__: {
        "data": lambda task, _: fence(f"Entities: {'; '.join(task.entities)}\n\nText:\n{task.chunk.text}")
    },
    WritePropositions.__name__: {
        "language": _language,
        "data": lambda task, _: fence(f"Title: {task.title}\n\n{task.chunk.text}"),
    },
    NextThought.__name__: {
        "question": lambda task, _: task.question,
        "thoughts": lambda task, _: " ".join(task.thoughts) or "-",
        "data": lambda task, _: fence(task.context.text),
    },
    ChooseRelations.__name__: {
        "question": lambda task, _: task.question,
        "clues": lambda task, _: _numbered(task.clues),
        "width": lambda task, _: str(task.width),
        "data": lambda task, _: _topics_data(task),
    },
    ExamineEvidence.__name__: {
        "question": lambda task, _: task.question,
        "clues": lambda task, _: _numbered(task.clues),
        "data": lambda task, _: _trails_data(task),
    },
    DraftAnswer.__name__: {
        "question": lambda task, _: task.question,
        "data": lambda task, _: _trails_data(task),
    },
    **evaluating.FIELDS,
    REPAIR: {"error": lambda error, _: str(error)},
}
