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
"""The line that a reply to `AnswerFromContext` opens with, as models write it."""
SHORT = "short answer"
"""The length of an answer that is no more than a name, a date, a number, yes or no."""


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """An answer from one window of reports (or sources); `score` is 0 to 100, 0 for no help at all."""

    text: str
    score: int
    section_scores: tuple[float, ...] = field(default=(), kw_only=True)
    """How relevant each section of the text is (1 for a good one), in their order; a language model gives none."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A further question, and how much its answer would help with the first one, 0 to 100."""

    question: str
    score: int


@dataclass(frozen=True, slots=True)
class Probe(PartialAnswer):
    """A partial answer, and what to ask next."""

    follow_ups: tuple[FollowUp, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer, earlier in a conversation."""

    question: str
    answer: str


@dataclass(frozen=True)
class MapAnswer(Task[PartialAnswer]):
    """Answer a question from one window of reports or sources, and say how helpful that is (GraphRAG appendix E.4)."""

    label = "answer from parts"
    size_setting = "answer.context_tokens"
    about = ("question", "context")

    question: str
    context: Context
    response: str = "multiple paragraphs"
    general_knowledge: bool = False


@dataclass(frozen=True)
class ReduceAnswer(Task[str]):
    """Make one answer of the partial ones, given in descending helpfulness (GraphRAG appendix E.3)."""

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
        """Return whether the evidence suffices, what to search for next ("" for nothing), and the text of the answer.

        Where the line is missing, as small models leave it out, there is nothing to search for.
        """
        line = _SUFFICIENCY.search(reply)
        if not line:
            return bool(reply.strip()), "", reply
        return bool(line["yes"]), line["clue"].strip(), reply[: line.start()] + reply[line.end() :]


@dataclass(frozen=True)
class RateReport(Task[int]):
    """Rate how relevant a report is to a question, 0 (not at all) to 5: the descent from the root goes by it."""

    question: str
    report: Report


@dataclass(frozen=True)
class PrimeAnswer(Task[Probe]):
    """Answer a question from a few reports as far as they go, and say what to ask next (DRIFT: the primer)."""

    label = "answer from reports"
    size_setting = "reports.context_tokens (drift reads five reports at once; other methods pack them)"
    about = ("question", "context")

    question: str
    context: Context
    count: int
    """Follow-up questions at the most."""


@dataclass(frozen=True)
class PursueFollowUp(Task[Probe]):
    """Answer a follow-up question from a window of evidence, for the question behind it, and say what to ask next."""

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
    """Rewrite a question of a conversation so that it can be understood alone; the latest exchange stands last."""

    label = "rewrite the question"
    about = ("question", "exchanges")

    question: str
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Rated:
    """How much a passage helps, 0 (not at all) to 10; `passage` is its place among those given, from 0."""

    passage: int
    rating: float


@dataclass(frozen=True)
class RatePassages(Task[tuple[Rated, ...]]):
    """Rate how much each of some passages helps to answer a question (reranking); one may be left out."""

    question: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation around an entity, as one to choose from; `inverse` where the entity is the tail of its triples."""

    relation: str
    inverse: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class Topic:
    """An entity that a search over a graph stands on: the path that led to it, and which relations lead on."""

    path: ReasoningPath
    edges: tuple[Edge, ...]

    @property
    def name(self) -> str:
        return self.path.end


@dataclass(frozen=True, slots=True)
class Examined:
    """Whether facts answer a question: the answers, the best first, or what to look for next."""

    answers: tuple[str, ...] = ()
    clues: tuple[str, ...] = ()
    """What to look for from the end of each path, in their order; "" from one that leads no further."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A short answer, and how it was come to."""

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
    """Tell by their numbers, from 1, which triples bear on a question (HippoRAG 2: recognition memory)."""

    label = "recognize triples"

    question: str
    triples: tuple[str, ...]


@dataclass(frozen=True)
class ChooseRelations(Task[tuple[tuple[int, ...], ...]]):
    """Choose for each topic entity the places of at most `width` of its edges that help (ToG-2: relation prune)."""

    label = "choose relationships"

    question: str
    topics: tuple[Topic, ...]
    width: int
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExamineEvidence(Task[Examined]):
    """Tell whether paths of triples and chunks answer a question, else what to look for next (ToG-2)."""

    question: str
    paths: tuple[ReasoningPath, ...]
    context: Context = field(default_factory=Context)
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class DraftAnswer(Task[Draft]):
    """Answer in few words: from facts and evidence where they are given, else from what the model knows itself."""

    question: str
    stepwise: bool = False
    """Whether to reason step by step first (chain of thought)."""
    paths: tuple[ReasoningPath, ...] = ()
    context: Context = field(default_factory=Context)
