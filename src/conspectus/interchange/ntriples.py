"""N-Triples (RDF 1.1): statements a line each, and the names that their addresses are told by.

A thing is called by its label where the file gives it one, else by what its address ends in. Of several
things of one name the one with the most statements keeps it; the others bear what sets them apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

Statement = tuple[str, str, str]
"""Its terms as they are written: `<address>`, `_:blank`, `"literal"@en` or `"literal"^^<type>`."""

_RDFS, _SKOS = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/2004/02/skos/core#"
LABELS = (f"<{_RDFS}label>", f"<{_SKOS}prefLabel>")
"""The relations that name a thing."""
LONGEST = 200
"""Characters of a literal that is a name; longer ones are texts about the thing."""

_STATEMENT = re.compile(
    r"\s*(<[^<>\"\s]*>|_:\S+)\s*(<[^<>\"\s]*>)\s*"
    r"(<[^<>\"\s]*>|_:\S+?|\"(?:[^\"\\]|\\.)*\"(?:@[A-Za-z][\w-]*|\^\^<[^<>\"\s]*>)?)\s*\.\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_LITERAL = re.compile(r"\"(.*)\"(?:@([\w-]+)|\^\^\S+)?", re.DOTALL)


def statements(text: str) -> Iterator[tuple[int, Statement | None]]:
    """Yield line number and statement of each line that is not empty or a comment, None for one that is neither."""
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            found = _STATEMENT.fullmatch(line)
            yield n, (found[1], found[2], found[3]) if found else None


def named(said: Sequence[Statement]) -> tuple[list[Statement], dict[str, str]]:
    """Return statements in names, in their order, and by name what long literals tell of things.

    What gives a thing the name that it bears is left out.
    """
    labels = _labels(said)
    names = _names(said, labels)
    triples: list[Statement] = []
    told: dict[str, list[str]] = defaultdict(list)
    for head, relation, tail in said:
        literal = tail.startswith('"')
        text = literal_of(tail)[0] if literal else ""
        if literal and len(text) > LONGEST:
            told[names[head]].append(" ".join(text.split()))
        elif not (relation in LABELS and literal and text == labels.get(head)):
            triples.append((names[head], relation_of(relation), text if literal else names[tail]))
    return triples, {name: " ".join(dict.fromkeys(texts)) for name, texts in told.items()}


def literal_of(term: str) -> tuple[str, str]:
    """Return the text of a literal, its escapes resolved, and its language, "" where none is said."""
    found = _LITERAL.fullmatch(term)
    assert found
    return _unescaped(found[1]), found[2] or ""


def relation_of(address: str) -> str:
    """Return what a relation is called: what its address ends in."""
    return _ending(address)


def _labels(said: Sequence[Statement]) -> dict[str, str]:
    """Return the label of each thing that has some: in English, else in no language, else the first."""
    best: dict[str, tuple[tuple[int, int], str]] = {}
    for head, relation, tail in said:
        if relation in LABELS and tail.startswith('"'):
            text, language = literal_of(tail)
            rank = (("en", "").index(language[:2]) if language[:2] in ("en", "") else 2, LABELS.index(relation))
            if text.strip() and len(text) <= LONGEST and (head not in best or rank < best[head][0]):
                best[head] = (rank, text)
    return {head: text for head, (_, text) in best.items()}


def _names(said: Sequence[Statement], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each address and blank node, no two of them the same."""
    count: Counter[str] = Counter()
    for head, _, tail in said:
        count[head] += 1
        if not tail.startswith('"'):
            count[tail] += 1
    names: dict[str, str] = {}
    same: dict[str, list[str]] = defaultdict(list)
    for term in count:
        names[term] = " ".join((labels.get(term) or _ending(term)).split()) or term
        same[names[term]].append(term)
    for name, terms in same.items():
        if len(terms) > 1:
            most, *others = sorted(terms, key=lambda term: -count[term])
            for term, mark in zip(others, _apart(others, most, labels), strict=True):
                names[term] = f"{name} ({mark})"
    return names


def _apart(terms: Sequence[str], other: str, labels: Mapping[str, str]) -> list[str]:
    """Return what tells things of one name apart: the ends of their addresses, else more of them, else all."""
    for marks in ([_ending(t) if t in labels else "" for t in terms], [_before_ending(t) for t in terms]):
        if len({*marks, _before_ending(other), ""}) == len(terms) + 2:
            return marks
    return [term.strip("<>") for term in terms]


def _ending(term: str) -> str:
    if not term.startswith("<"):
        return term
    return _readable(re.split(r"[/#]", _unescaped(term[1:-1]).rstrip("/#"))[-1])


def _before_ending(term: str) -> str:
    parts = [part for part in re.split(r"[/#]", term.strip("<>")) if part]
    return _readable(parts[-2]) if len(parts) > 1 else ""


def _readable(part: str) -> str:
    return unquote(part).replace("_", " ")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    if code := escape[1] or escape[2]:
        number = int(code, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(escape[3], escape[3])
