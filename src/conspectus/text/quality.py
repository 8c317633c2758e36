"""How fit a sentence is to stand alone: complete, of some substance, and not full of filler."""

from __future__ import annotations

import re
from functools import lru_cache

from conspectus.text.language import ENGLISH
from conspectus.text.language_rules import rules_of
from conspectus.text.tokenize import tag_of, words_of_run
from conspectus.text.words import STOPWORDS, UNSPACED, VAGUE, is_unspaced, stopwords

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
_END = re.compile(r"[.!?。！？…؟۔।][\"”’'»)\]」』]*$")
ASKS = ("?", "？", "؟")
"""How questions end, and the marks that may close behind that."""
CLOSING = "\"”’'」』）)»"

# Chinese and Japanese
_OPENING_UNSPACED = re.compile(
    r"^(?:但是?|而且?|不过|因此|所以|然而|另外|此外|同时|并且|于是|其实|当然|那么|しかし|また|そして|なお)[，,、]"
)
_DANGLING_UNSPACED = re.compile(
    r"^(?:他|她|它|是|为|為|乃|被|曾|这|這|那|该|該|此|其|以上|以下|如下|后者|前者|并|並|而|但|也|还|則|则|即|以及|或|彼|これ|それ|この|その|ここ|そこ)"
)
_SHORT, _LONG = 12, 90  # unexplained
"""Characters of a sentence that says enough and not too much."""


def without_opening(sentence: str, language: str = ENGLISH) -> str:
    """Return the sentence without the small words that only link it to others ("Yeah, and so …")."""
    if UNSPACED.match(sentence):
        return _OPENING_UNSPACED.sub("", sentence, count=1)
    if language != ENGLISH or sentence[:1].islower():  # a fragment; a capital would hide that
        return sentence
    rest = _OPENING.sub("", sentence, count=1)
    return rest[:1].upper() + rest[1:] if len(rest) >= 25 else sentence


def quality(sentence: str, language: str = ENGLISH) -> float:
    """Return 0 to 1: how well a sentence reads alone. A fragment, a greeting or a question scores near 0."""
    rest = without_opening(sentence, language)
    return _quality_unspaced(rest) if is_unspaced(rest) else _quality(rest, language)


@lru_cache(maxsize=1 << 17)
def _quality(rest: str, language: str) -> float:
    words = _WORD.findall(rest.lower().replace("’", "'"))
    count = len(words)
    if count < 4:
        return 0.05 if count else 0.0
    little = _SAYS_LITTLE if language == ENGLISH else stopwords(language)
    content = sum(w not in little for w in words)
    score = min(content / count / 0.45, 1.0) * _length(count) * _form(rest)
    if language != ENGLISH:
        return score * (0.55 if words[0] in rules_of(language).before_verbs else 1.0)
    if _DANGLING.match(rest):
        score *= 0.55
    fillers = len(_FILLER.findall(rest))
    return score * 0.75**fillers


def _form(rest: str) -> float:
    """Return what the ends of a sentence leave of its quality."""
    score = 1.0
    if not _END.search(rest):
        score *= 0.35
    first = rest.lstrip("\"“‘'([«„¿¡")[:1]
    if first.islower() or not first.isalnum():
        score *= 0.35
    if rest.rstrip(CLOSING).endswith(ASKS):
        score *= 0.3
    return score


@lru_cache(maxsize=1 << 17)
def _quality_unspaced(rest: str) -> float:
    """The same by characters, where there are no spaces."""
    count = len(UNSPACED.findall(rest))
    if count < _SHORT / 2:
        return 0.05
    score = min(1.0, count / _SHORT) * (1.0 if count <= _LONG else max(0.3, 1 - (count - _LONG) / _LONG))
    score *= min(1.0, 2 * count / len(rest))  # mostly other letters and signs
    if not _END.search(rest):
        score *= 0.35
    if not rest.lstrip('“「『《"‘（(')[:1].isalnum():
        score *= 0.35
    if rest.rstrip(CLOSING).endswith(ASKS):
        score *= 0.3
    if sum(map(rest.count, "（(「『《“")) != sum(map(rest.count, "）)」』》”")):
        score *= 0.5
    return score * (0.55 if _DANGLING_UNSPACED.match(rest) or _opens_with_verb(rest) else 1.0)


def _opens_with_verb(rest: str) -> bool:
    """Tell whether a Chinese sentence leaves out who or what it is about."""
    first = words_of_run(rest[:6])[0]
    return len(first) > 1 and tag_of(first) in ("v", "c", "d")


def _length(count: int) -> float:
    if count < 8:
        return 0.3 + 0.08 * count
    return 1.0 if count <= 38 else max(0.3, 1 - (count - 38) / 60)
