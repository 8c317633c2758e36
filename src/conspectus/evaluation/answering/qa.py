"""Measures of short answers: EM and F1 after the normalisation of SQuAD, and accuracy of judgements."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from conspectus.text.words import CJK

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation + "，。！？；：、“”‘’（）《》【】…—·")
_YES = frozenset("yes true supports supported support correct right 是 对 真".split())
_NO = frozenset("no false refutes refuted refute incorrect wrong 否 不是 不对 错 假".split())


def normalised(text: str) -> str:
    """Return a text in lower case, without punctuation, articles and extra space (SQuAD, Rajpurkar et al.,
    2016).
    """
    text = "".join(c for c in text.lower() if c not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 where the answer is one of those accepted, normalised, else 0."""
    return float(normalised(answer) in {normalised(one) for one in accepted})


def f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the best F1 of the words of the answer (in Chinese: the characters) with an accepted one."""
    return max((_f1(_units(answer), _units(one)) for one in accepted), default=0.0)


def _units(text: str) -> list[str]:
    plain = normalised(text)
    return re.findall(rf"{CJK.pattern}|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+", plain)


def _f1(one: Sequence[str], other: Sequence[str]) -> float:
    if not one or not other:
        return float(list(one) == list(other))
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other))


def verdict(answer: str) -> str:
    """Return what an answer says to a yes-or-no question or a claim: yes, no, or "" for neither (not enough
    to tell).
    """
    words = normalised(answer).split()
    first = words[0] if words else ""
    if first in _YES or normalised(answer) in _YES:
        return "yes"
    return "no" if first in _NO or normalised(answer) in _NO else ""


def accuracy(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 where an answer judges as an accepted one does, else 0."""
    return float(verdict(answer) in {verdict(one) for one in accepted})


def is_judgement(accepted: Sequence[str]) -> bool:
    """Tell whether what is accepted are judgements: yes or no, supports or refutes (or not enough
    information).
    """
    plain = {normalised(one) for one in accepted}
    return bool(plain) and all(verdict(one) or one == "not enough info" for one in plain)
