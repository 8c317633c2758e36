"""The tasks of answering from reports and sources (GraphRAG appendix E.3, E.4), by follow-up questions, and in
conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from conspectus.rows import ReasoningPath, Report
from conspectus.tasks.base import Context, Task, strings_in

_SUFFICIENCY = re.compile(
    r"[*`]*<?\s*DATA_SUFFICES\s*>?[^\w<]*(?:(?P<yes>(?:yes|true)\b|是)|(?:no|false)\b|否|不)?[^\w<\n]*"
    r"(?:(?:none|nothing|无)[^\w<\n]*(?![^<\n]))?(?P<clue>[^<\n]*)(?:<\s*/\s*DATA_SUFFICES\s*>[*`]*)?\s*",
    re.IGNORECASE,
)
"""The first line of a reply to `AnswerFromContext`, in the variants that models write."""
SHORT = "short answer"
"""The setting for an answer that is only a name, a date, a number, yes or no."""


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """An answer from one window of reports (or sources); `score` is its helpfulness, 0 (none at all) to 100."""

    text: str
    score: int
    section_scores: tuple[float, ...] = field(default=(), kw_only=True)
    """The relevance of each section of the text, in order (1 for a good one); language models give none."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A follow-up question, and how much its answer would help with the original question, 0 to 100."""

    question: str
    score: int


@dataclass(frozen=True, slots=True)
class Probe(PartialAnswer):
    """A partial answer, and follow-up questions."""

    follow_ups: tuple[FollowUp, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer from earlier in a conversation."""

    question: str
    answer: str


@dataclass(frozen=True)
class MapAnswer(Task[PartialAnswer]):
    """Answer a question from one window of reports or sources, and rate the answer (GraphRAG appendix E.4)."""

    label = "answer from parts"
    size_setting = "answer.context_tokens"
    about = ("question", "context")

    question: str
    context: Context
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class ReduceAnswer(Task[str]):
    """Write one answer from partial answers, given in descending helpfulness (GraphRAG appendix E.3)."""

    label = "combine answers"
    size_setting = "answer.context_tokens"
    about = ("question", "answers")

    question: str
    answers: tuple[PartialAnswer, ...]
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class AnswerFromContext(Task[str]):
    """Answer a question from one window of evidence; the first line of the reply says whether that suffices."""

    size_setting = "answer.context_tokens"
    about = ("question", "context")

    question: str
    context: Context
    response: str = "multiple paragraphs"
    general_knowledge: bool = False

    def texts(self, reply: str) -> Iterable[str]:
        return strings_in(self.parts(reply)[2])

    @staticmethod
    def parts(reply: str) -> tuple[bool, str, str]:
        """Return whether the evidence suffices, the clue query to search for next ("" for none), and the answer's text.

        If the first line is missing, as in replies of small models, there is no clue query.
        """
        line = _SUFFICIENCY.search(reply)
        if not line:
            return bool(reply.strip()), "", reply
        return bool(line["yes"]), line["clue"].strip(), reply[: line.start()] + reply[line.end() :]


@dataclass(frozen=True)
class RateReport(Task[int]):
    """Rate how relevant a report is to a question, 0 (not at all) to 5, for dynamic community selection."""

    question: str
    report: Report


@dataclass(frozen=True)
class PrimeAnswer(Task[Probe]):
    """Answer a question from a few reports as far as possible, and propose follow-up questions (DRIFT: the primer)."""

    label = "answer from reports"
    size_setting = "reports.context_tokens (drift reads five reports at once; other methods pack them)"
    about = ("question", "context")

    question: str
    context: Context
    count: int
    """Maximum number of follow-up questions."""


@dataclass(frozen=True)
class PursueFollowUp(Task[Probe]):
    """Answer a follow-up question to a question from a window of evidence, and propose further follow-up questions."""

    size_setting = "answer.context_tokens"
    about = ("question", "follow_up", "context")

    question: str
    follow_up: str
    context: Context
    count: int
    asked: tuple[str, ...] = ()
    """The follow-up questions so far, which are not to be asked again."""


@dataclass(frozen=True)
class StandaloneQuestion(Task[str]):
    """Rewrite a question of a conversation so that it can be understood alone; the latest exchange comes last."""

    label = "rewrite the question"
    about = ("question", "exchanges")

    question: str
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Rated:
    """How much a passage helps, 0 (not at all) to 10; `passage` is its index among the given ones, from 0."""

    passage: int
    rating: float


@dataclass(frozen=True)
class RatePassages(Task[tuple[Rated, ...]]):
    """Rate how much each passage helps to answer a question (reranking); the reply may omit some."""

    question: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation around an entity to choose from; `inverse` if the entity is the tail of the relation's triples."""

    relation: str
    inverse: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class Topic:
    """The current entity of a search over a graph: the path that led to it, and the relations to continue with."""

    path: ReasoningPath
    edges: tuple[Edge, ...]

    @property
    def name(self) -> str:
        return self.path.end


@dataclass(frozen=True, slots=True)
class Examined:
    """Whether facts answer a question: the answers, the best first, or clues for the next round."""

    answers: tuple[str, ...] = ()
    clues: tuple[str, ...] = ()
    """What to look for from the end of each path, in order; "" for a path that leads no further."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A short answer, and the reasoning behind it."""

    answer: str
    reasoning: str = ""


@dataclass(frozen=True)
class NextThought(Task[str]):
    """Write the next sentence of a chain of thought about a question (IRCoT)."""

    label = "reason"
    about = ("question", "context")

    question: str
    context: Context
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecognizeTriples(Task[tuple[int, ...]]):
    """Select the triples that are relevant to a question, by number from 1 (HippoRAG 2: recognition memory)."""

    label = "recognize triples"

    question: str
    triples: tuple[str, ...]


@dataclass(frozen=True)
class ChooseRelations(Task[tuple[tuple[int, ...], ...]]):
    """Choose at most `width` helpful edges of each topic entity, by index (ToG-2: relation prune)."""

    label = "choose relationships"

    question: str
    topics: tuple[Topic, ...]
    width: int
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExamineEvidence(Task[Examined]):
    """Decide whether paths of triples and chunks answer a question, and if not, what to look for next (ToG-2)."""

    question: str
    paths: tuple[ReasoningPath, ...]
    context: Context = field(default_factory=Context)
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class DraftAnswer(Task[Draft]):
    """Answer in a few words: from facts and evidence if there are any, else closed-book."""

    question: str
    stepwise: bool = False
    """Whether to reason step by step first (chain of thought)."""
    paths: tuple[ReasoningPath, ...] = ()
    context: Context = field(default_factory=Context)
