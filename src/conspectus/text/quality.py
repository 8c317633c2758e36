"""How fit a sentence is to stand alone: complete, of some substance, and not full of filler."""

from __future__ import annotations

import re
from functools import lru_cache

from conspectus.text.words import STOPWORDS, VAGUE

_OPENING = re.compile(
    r"^(?:(?:and|but|so|or|yeah|yes|yep|no|well|oh|ah|hmm|um|uh|okay|ok|right|sure|exactly|absolutely|look|like|anyway|"
    r"you know|i mean|i think|i guess|of course|actually|honestly|frankly|basically|because|then)\b"
    r"[,.]?(?:\s+|$)(?:[–—-]+\s*)?)+",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:you know|i mean|sort of|kind of|like,|, like|um|uh|i guess|or whatever|et cetera|blah|gonna|"
    r"kinda|stuff|thing is|right\?|okay,|yeah|hmm|thank(?:s| you)|welcome|hello|--)",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"^(?:it|he|she|they|this|that|these|those|there|here|him|her|them|its|his|their|which|who|what|how|why|where|when|"
    r"it's|he's|she's|they're|that's|there's|here's|let's|do|does|did|is|are|was|were|can|could|will|would)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SAYS_LITTLE = STOPWORDS | VAGUE
_END = re.compile(r"[.!?。！？…][\"”’')\]」』]*$")


def without_opening(sentence: str) -> str:
    """Return the sentence without the small words that only link it to others ("Yeah, and so …")."""
    if sentence[:1].islower():  # a fragment; a capital would hide that
        return sentence
    rest = _OPENING.sub("", sentence, count=1)
    return rest[:1].upper() + rest[1:] if len(rest) >= 25 else sentence


def quality(sentence: str) -> float:
    """Return 0 to 1: how well a sentence reads alone. A fragment, a greeting or a question scores near 0."""
    return _quality(without_opening(sentence))


@lru_cache(maxsize=1 << 17)
def _quality(rest: str) -> float:
    words = _WORD.findall(rest.lower().replace("’", "'"))
    count = len(words)
    if count < 4:
        return 0.05 if count else 0.0
    content = sum(w not in _SAYS_LITTLE for w in words)
    score = min(content / count / 0.45, 1.0) * _length(count)
    if not _END.search(rest):
        score *= 0.35
    first = rest.lstrip("\"“‘'([")[:1]
    if first.islower() or not first.isalnum():
        score *= 0.35
    if rest.rstrip("\"”’')").endswith("?"):
        score *= 0.3
    if _DANGLING.match(rest):
        score *= 0.55
    fillers = len(_FILLER.findall(rest))
    return score * 0.75**fillers


def _length(count: int) -> float:
    if count < 8:
        return 0.3 + 0.08 * count
    return 1.0 if count <= 38 else max(0.3, 1 - (count - 38) / 60)
