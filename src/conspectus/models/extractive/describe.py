"""A description of an entity or relationship: the sentences of the sources that say most about it.

Each sentence is a line, so that nothing has to be cut apart again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from conspectus.models.base import performs
from conspectus.tasks import DescribeElement, Description
from conspectus.text.language import ENGLISH
from conspectus.text.quality import quality
from conspectus.text.words import is_unspaced, unspaced_terms

MOST_SENTENCES = {"entity": 3, "relationship": 2}
MOST_WORDS = 70  # unexplained
_QUOTED = re.compile(r'^([^":：]{2,40})(?:: "(.*)"|：“(.*)”)$', re.DOTALL)
_DEFINES = re.compile(r"^.{0,12}\b(?:is|was|are|were|has been|became|founded|created|means|works?)\b", re.IGNORECASE)
_DEFINES_ELSEWHERE = re.compile(
    r"^.{0,12}\b(?:ist|war|sind|waren|wurde|est|était|sont|fut|es|era|fue|son|é|foi|são|è|fu|sono|werd|zijn|"
    r"является|являлся|был|была|είναι|ήταν)\b"
    r"|^[^，。；]{0,14}(?:是|为|為|即|指|位于|位於|成立于|创立|创办|生于|とは|である|です)|^\s*(?:—|هو|هي)\s",
    re.IGNORECASE,
)


@performs(DescribeElement)
def describe_element(task: DescribeElement, worth: Mapping[str, float]) -> Description:
    """Choose the few instances that read best and say something of their own; name them in order of merit.

    `worth` is what set phrases leave of a statement's worth, by its words.
    """
    chosen: list[int] = []
    words: set[str] = set()
    length = 0
    for i in sorted(range(len(task.descriptions)), key=lambda i: (-_merit(task, task.descriptions[i], worth), i)):
        own = _words(task.descriptions[i])
        if chosen and (len(own & words) > 0.6 * len(own) or length + len(own) > MOST_WORDS):
            continue
        chosen.append(i)
        words |= own
        length += len(own)
        if len(chosen) == MOST_SENTENCES.get(task.kind, 2):
            break
    return Description("\n".join(task.descriptions[i] for i in chosen), tuple(chosen))


def _words(description: str) -> frozenset[str]:
    """Return the words of a description; where there are no spaces, its pairs of characters."""
    text = description.lower()
    return frozenset(unspaced_terms(text)) if is_unspaced(text) else frozenset(text.split())


@lru_cache(maxsize=1 << 17)
def _reading(description: str, language: str) -> tuple[float, str, str]:
    """Return the quality of a description, who says it, and what is said."""
    first, *more = description.splitlines() or [""]
    match = _QUOTED.match(first)
    speaker, said = (match.group(1), match.group(2) or match.group(3) or "") if match else ("", first)
    return min(quality(said, language), *(0.9 * _reading(line, language)[0] for line in more), 1.0), speaker, said


def _merit(task: DescribeElement, description: str, worth: Mapping[str, float]) -> float:
    name = task.name
    merit, speaker, said = _reading(description, task.language)
    merit *= worth.get(said, 1.0)
    if name == speaker:  # what somebody says is no description of them
        merit -= 1
    at = said.lower().find(name.lower())
    if at >= 0:
        merit += 0.15 if at < 20 else 0.0
        defines = _DEFINES if task.language == ENGLISH else _DEFINES_ELSEWHERE
        if defines.match(said[at + len(name) :]):
            merit += 0.35
    return merit
