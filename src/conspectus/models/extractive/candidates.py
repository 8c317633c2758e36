"""What of a sentence may answer a question: a date, a number, a name of the kind that is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conspectus.models.extractive.search import Searcher
from conspectus.text.dates import date_spans
from conspectus.text.gazetteer import CURRENCIES
from conspectus.text.question import Question
from conspectus.text.words import CJK, WORD, fold, search_terms

NEAR = 8  # unexplained
"""Words between a candidate and the question's words at which it counts half."""
PLAIN = 0.6  # unexplained
"""What a common noun counts beside a name."""

_NUMBER = re.compile(
    r"(?:[£$€¥]\s?)?\d[\d,.]*\d|(?:[£$€¥]\s?)?\d|[一二两三四五六七八九十百千万萬亿億]+(?=[个名位次年岁公里米元分钟吨人部集座])|"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|million|half|twice|once)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"\s?(?:%|per cent|percent|(?:hundred|thousand|million|billion)\b(?:\s[^\W\d_A-Z]{3,})?|[^\W\d_A-Z]{2,}\b"
    r"|[万亿千百]*[个名位次年岁公里米元分钟吨人部集座]{0,2})"
)
_ASKS_MONEY = re.compile(
    r"\b(?:cost|price|pa(?:y|id)|earn|worth|spen[dt]|charge|budget|salary|wages?)|多少钱|价格|费用", re.IGNORECASE
)
_CURRENCY = re.compile(
    rf"[£$€¥]|\b(?:{'|'.join(sorted(CURRENCIES))})\b|"
    r"\b(?:dollar|euro|pound|cent|pence|yen|yuan|kron[ae]r?|franc|rupee)|[元块]"
)
NO_MONEY = 0.3  # unexplained
"""What a number that is no amount of money counts where money is asked for."""
_KINDS = {"person": "person", "place": "location"}


def candidates(
    question: Question, sentence: int, asked: frozenset[str], searcher: Searcher
) -> Iterator[tuple[str, float]]:
    """Yield what may be the answer of a sentence, and what it counts, at most 1: the more, the nearer to words `asked`.

    What says nothing beside the question's own words is no answer.
    """
    text = searcher.passages.text(sentence)
    places: Sequence[int] | None = None
    for start, end, weight in _of_kind(question, sentence, text, searcher):
        answer = text[start:end].strip(" ,.;:()")
        if answer and not asked.issuperset(search_terms(answer, searcher.index)):
            places = _places(text, asked, searcher) if places is None else places
            gap = min((abs(len(text[:start].split()) - place) for place in places), default=2 * NEAR)
            yield answer, weight / (1 + gap / NEAR)


def _of_kind(question: Question, sentence: int, text: str, searcher: Searcher) -> Iterator[tuple[int, int, float]]:
    """Yield where things of the kind that is asked for stand in a sentence, and what they count."""
    match question.wants:
        case "date":
            yield from ((start, end, 1.0) for start, end in date_spans(text))
        case "number":
            dates = list(date_spans(text))
            money = bool(_ASKS_MONEY.search(question.text))
            for m in _NUMBER.finditer(text):
                if not any(start <= m.start() < end for start, end in dates):
                    unit = _UNIT.match(text, m.end())
                    end = unit.end() if unit else m.end()
                    plain = money and not _CURRENCY.search(text, max(0, m.start() - 5), end + 12)
                    yield m.start(), end, NO_MONEY if plain else 1.0
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
    words = ((m, search_terms(m.group(), searcher.index)) for m in WORD.finditer(text))
    return [len(text[: m.start()].split()) for m, said in words if asked.intersection(said)]
