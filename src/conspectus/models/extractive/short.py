"""The answer alone, as far as selection goes: a date, a number, a name out of the best sentences.

It is the candidate of the kind that is asked for that stands nearest to the question's words; where there is none, the
clause that holds most of them. Nothing is concluded: a yes or no, or which of two is more, is not to be had this way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from conspectus.evidence import Evidence
from conspectus.models.extractive.search import Found, Searcher
from conspectus.text.dates import date_spans
from conspectus.text.question import Question
from conspectus.text.words import CJK, WORD, fold

READ = 12
"""Sentences that are read."""
NEAR = 8
"""Words between a candidate and the question's words at which it counts half."""
PLAIN = 0.6
"""What a common noun counts beside a name."""

_NUMBER = re.compile(r"(?:[£$€¥]\s?)?\d[\d,.]*\d|(?:[£$€¥]\s?)?\d")
_UNIT = re.compile(
    r"\s?(?:%|per cent|percent|(?:hundred|thousand|million|billion)\b(?:\s[^\W\d_A-Z]{3,})?|[^\W\d_A-Z]{2,}\b"
    r"|[万亿千百]*[个名位次年岁公里米元分钟吨人部集座]{0,2})"
)
_KINDS = {"person": "person", "place": "location"}
_CLAUSE = re.compile(r"[^，。；！？,;.!?]+")


def short_answer(question_text: str, evidence: Evidence, searcher: Searcher) -> tuple[str, Found] | None:
    """Return the answer alone and the sentence that it stands in, None where no sentence speaks to the question."""
    question = searcher.read(question_text)
    named = {entity.number for entity in evidence.entities}
    found = searcher.near(question, evidence.sources, named)[:READ]
    asked = frozenset(searcher.index.terms(question_text))
    best: tuple[float, str, Found] | None = None
    for f in found:
        text = searcher.passages.text(f.sentence)
        places = _places(text, asked, searcher)
        for start, end, weight in _candidates(question, f.sentence, text, searcher):
            answer = text[start:end].strip(" ,.;:()")
            if not answer or asked.issuperset(searcher.index.terms(answer)):
                continue
            gap = min((abs(len(text[:start].split()) - place) for place in places), default=2 * NEAR)
            score = f.score * weight / (1 + gap / NEAR)
            if best is None or score > best[0]:
                best = score, answer, f
    if best is not None:
        return best[1], best[2]
    clauses = ((clause, f) for f in found for clause in _clauses(searcher.passages.text(f.sentence)))
    return max(clauses, key=lambda pair: _held(pair[0], asked, searcher), default=None)


def _candidates(question: Question, sentence: int, text: str, searcher: Searcher) -> Iterator[tuple[int, int, float]]:
    """Yield where things of the kind that is asked for stand in a sentence, and what they count."""
    match question.wants:
        case "date":
            yield from ((start, end, 1.0) for start, end in date_spans(text))
        case "number":
            dates = list(date_spans(text))
            for m in _NUMBER.finditer(text):
                if not any(start <= m.start() < end for start, end in dates):
                    unit = _UNIT.match(text, m.end())
                    yield m.start(), unit.end() if unit else m.end(), 1.0
        case "" if CJK.search(question.text):
            return  # what is asked for is seldom a name, and the clause says it
        case wants:
            passages, kind = searcher.passages, _KINDS.get(wants)
            for entity in dict.fromkeys(passages.mentioned(sentence)):
                name, type_ = passages.names[entity], passages.types[entity]
                start = fold(text).find(fold(name))
                if start < 0 or type_ == "date" or (kind and type_ != kind):
                    continue
                yield start, start + len(name), 1.0 if kind or name[:1].isupper() else PLAIN


def _places(text: str, asked: frozenset[str], searcher: Searcher) -> Sequence[int]:
    """Return the places, in words, of the question's words in a sentence."""
    words = ((m, searcher.index.terms(m.group())) for m in WORD.finditer(text))
    return [len(text[: m.start()].split()) for m, said in words if asked.intersection(said)]


def _clauses(text: str) -> list[str]:
    """Return the clauses of a sentence; in scripts with spaces, the whole of it."""
    return [m.group().strip() for m in _CLAUSE.finditer(text)] if CJK.search(text) else [text]


def _held(clause: str, asked: frozenset[str], searcher: Searcher) -> float:
    return math.fsum(searcher.weight(term) for term in asked.intersection(searcher.index.terms(clause)))
