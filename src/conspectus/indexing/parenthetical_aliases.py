"""Glosses: a name that a Chinese, Japanese or Korean text gives in brackets behind another, as spelled elsewhere."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set

from conspectus.rows import Chunk
from conspectus.text.words import CJK, UNSPACED, name_key

LONGEST = 14
"""Characters of the name before the brackets at the most."""
SURE = 3
"""Characters from which on a name is not just the end of a longer one."""
_GLOSS = re.compile(
    rf"({UNSPACED.pattern[:-1]}\u00b7\u30fb\uac00-\ud7af]{{2,{LONGEST}}})[》」』”]?\s?[（(]([^（()）\n]{{2,80}})[)）]"
)
_LABEL = re.compile(
    r"^\s*(?:(?:英|法|德|日|俄|西班牙|葡萄牙|意大利|拉丁|荷兰|韩|越南|泰|阿拉伯)[语文語]全?名?称?|英|原名|本名|又名|又称|亦称|也称|别名|"
    r"全称|全名|旧称|以?下?简称为?|缩写为?|学名|英文名称?|영어|略称|通称)\s*[:：為为]?\s*"
)
_PARTS = re.compile(r"[,，;；、/]|\s+or\s+|或")


def parenthetical_aliases(chunks: Iterable[Chunk], known: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys of names with the key of the one that each is given in brackets behind, where that is always one.

    Both are names that are known; the longest one that ends at the brackets is meant. One in the same letters must be
    said to be another name.
    """
    meant: dict[str, Counter[str]] = defaultdict(Counter)
    for chunk in chunks:
        if not CJK.search(chunk.text):
            continue
        for match in _GLOSS.finditer(chunk.text):
            into = _named(match.group(1), known)
            for part in _PARTS.split(match.group(2)) if into else ():
                name = _LABEL.sub("", part)
                key = name_key(name)
                if key in known and key != into and (name != part or not CJK.search(name)):
                    meant[key][into] += 1
    for key in sorted(meant):
        if len(meant[key]) == 1:
            yield key, next(iter(meant[key]))


def _named(before: str, known: Set[str]) -> str:
    """Return the key of the longest name that ends a text, "" where there is none; a short one must be all of it."""
    for at in range(len(before) - 1):
        key = name_key(before[at:])
        if key in known and (at == 0 or len(key) >= SURE):
            return key
    return ""
