"""Derive questions that one passage answers from the passages by rules, without reading a data set's own questions.

At most two questions per drawn passage: a sentence with one name replaced by "what" ("Edla Marrow died in what on
3 May?"), and the first sentence with its subject replaced ("What is a town on the river Ouse?").
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from conspectus.evaluation.retrieval import Query, RetrievalData
from conspectus.text.sentences import sentences

BEFORE, AFTER = 8, 3
"""Maximum words of the sentence that a question has before and after "what"."""
_NAME = re.compile(
    r"(?<!^)(?<![.!?] )\b(?:[A-Z][\w'’-]+(?: (?:of|the|de|and) (?=[A-Z])| (?=[A-Z]))?)+|\b\d[\d,.]*\d\b"
)
_PRONOUN = re.compile(r"^(?:He|She|It|They|His|Her|Its|Their|The \w+)\b")


def single_hop(data: RetrievalData, count: int, seed: int = 7) -> RetrievalData:
    """Return the data set with questions derived from `count` randomly drawn passages."""
    drawn = random.Random(seed)
    passages = [p for p in data.passages if p["title"] and p["text"]]
    queries: list[Query] = []
    for passage in drawn.sample(passages, min(count, len(passages))):
        texts = [passage["text"][a:b] for a, b in sentences(passage["text"])]
        for kind, text in (
            ("said", _said(drawn.choice(texts), passage["title"], drawn)),
            ("whose", _whose(texts[0])),
        ):
            if text:
                queries.append(Query(f"{kind} {passage['id']}", text, {passage["id"]: 1.0}))
    return RetrievalData(f"{data.name}, one hop", data.passages, queries)


def _said(sentence: str, title: str, drawn: random.Random) -> str:
    """Return a question for a name or number in a sentence, "" if it has none; the title is added if it is missing."""
    name = re.sub(r" \(.*?\)$", "", title)
    found = [m for m in _NAME.finditer(sentence) if m.group().strip() not in name]
    if not found:
        return ""
    asked = drawn.choice(found)
    before = sentence[: asked.start()].split()[-BEFORE:]
    after = sentence[asked.end() :].split()[:AFTER]
    text = " ".join([*before, "what", *after]).strip(" .,;")
    if name.split()[0].lower() in text.lower():
        return f"{text}?"
    return f"{_PRONOUN.sub(name, text) if _PRONOUN.match(text) else f'{name}: {text}'}?"


def _whose(opening: str) -> str:
    """Return a question for the subject of a passage's first sentence, "" if it does not fit the pattern."""
    parts = re.split(r"\b(is|was|are|were)\b", opening, maxsplit=1)
    if len(parts) < 3 or len(parts[2].split()) < 4:
        return ""
    return f"What {parts[1]} {' '.join(parts[2].split()[:14]).strip(' .,;')}?"


def shown(data: RetrievalData, count: int) -> Iterator[str]:
    """Yield the first questions with the ids of their passages, for inspection."""
    for query in data.queries[:count]:
        yield f"{next(iter(query.relevant))}: {query.text}"
