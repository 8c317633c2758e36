"""Read N-Triples (RDF 1.1) by rdflib, and give every IRI a readable name.

An entity is named by its label, else by the last part of its IRI. Of several entities with the same name, the one with
the most statements keeps it; the others get a suffix that tells them apart.

Needs the extra `graph`: pip install "conspectus[graph]".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import unquote

from conspectus.errors import UsageError

try:
    from rdflib import RDFS, SKOS, BNode, Literal, URIRef
    from rdflib.exceptions import ParserError
    from rdflib.plugins.parsers.ntriples import W3CNTriplesParser
except ImportError as error:
    raise UsageError("N-Triples need rdflib: pip install 'conspectus[graph]'") from error

Term = URIRef | BNode | Literal
Statement = tuple[Term, URIRef, Term]
"""Subject, predicate and object."""

LABELS = (RDFS.label, SKOS.prefLabel)
"""Predicates whose literal names the subject; the first is preferred."""
MAX_NAME_CHARS = 200
"""Characters of a literal that is taken as a name; a longer one is a text about the subject."""


def read_statements(text: str) -> tuple[list[Statement], list[int]]:
    """Return the statements of an N-Triples file in order, and the numbers of the lines that are invalid."""
    statements: list[Statement] = []
    invalid: list[int] = []
    blank_nodes: dict[str, BNode] = {}

    def add(*statement: Any) -> None:
        statements.append(cast("Statement", statement))

    parser = W3CNTriplesParser(cast("Any", SimpleNamespace(triple=add)), blank_nodes)
    for number, line in enumerate(text.split("\n"), 1):
        try:
            parser.line = line.rstrip("\r")
            parser.parseline()
        except (ParserError, ValueError):
            invalid.append(number)
    labels: dict[Term, Term] = {node: BNode(label) for label, node in blank_nodes.items()}  # rdflib's are random
    return [(labels.get(s, s), p, labels.get(o, o)) for s, p, o in statements], invalid


def named_triples(statements: Sequence[Statement]) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Return statements as triples of names, in their order, and the long literals of entities by name.

    Statements that only give an entity the name that it has here are left out.
    """
    labels = _labels(statements)
    names = _names(statements, labels)
    triples: list[tuple[str, str, str]] = []
    texts: dict[str, list[str]] = defaultdict(list)
    for subject, predicate, object_ in statements:
        if not isinstance(object_, Literal):
            triples.append((names[subject], _last_part(predicate), names[object_]))
        elif len(object_) > MAX_NAME_CHARS:
            texts[names[subject]].append(" ".join(object_.split()))
        elif predicate not in LABELS or str(object_) != labels.get(subject):
            triples.append((names[subject], _last_part(predicate), str(object_)))
    return triples, {name: " ".join(dict.fromkeys(parts)) for name, parts in texts.items()}


def _labels(statements: Sequence[Statement]) -> dict[Term, str]:
    """Return the label of each entity that has one: the English one, else one without a language, else the first."""
    best: dict[Term, tuple[tuple[int, int], str]] = {}
    for subject, predicate, object_ in statements:
        if predicate in LABELS and isinstance(object_, Literal):
            language = (object_.language or "")[:2]
            rank = (("en", "").index(language) if language in ("en", "") else 2, LABELS.index(predicate))
            usable = object_.strip() and len(object_) <= MAX_NAME_CHARS
            if usable and (subject not in best or rank < best[subject][0]):
                best[subject] = (rank, str(object_))
    return {subject: label for subject, (_, label) in best.items()}


def _names(statements: Sequence[Statement], labels: Mapping[Term, str]) -> dict[Term, str]:
    """Return a unique name for each IRI and blank node."""
    count: Counter[Term] = Counter()
    for subject, _, object_ in statements:
        count[subject] += 1
        if not isinstance(object_, Literal):
            count[object_] += 1
    names: dict[Term, str] = {}
    same_name: dict[str, list[Term]] = defaultdict(list)
    for term in count:
        names[term] = " ".join((labels.get(term) or _last_part(term)).split()) or f"<{term}>"
        same_name[names[term]].append(term)
    for name, terms in same_name.items():
        if len(terms) > 1:
            first, *others = sorted(terms, key=lambda term: -count[term])
            for term, suffix in zip(others, _suffixes(others, first, labels), strict=True):
                names[term] = f"{name} ({suffix})"
    return names


def _suffixes(terms: Sequence[Term], first: Term, labels: Mapping[Term, str]) -> Sequence[str]:
    """Return what tells entities of one name apart: the last parts of their IRIs, else those before, else the IRIs."""
    for suffixes in ([_last_part(t) if t in labels else "" for t in terms], [_part_before(t) for t in terms]):
        if len({*suffixes, _part_before(first), ""}) == len(terms) + 2:
            return suffixes
    return [str(term) for term in terms]


def _last_part(term: Term) -> str:
    if isinstance(term, BNode):
        return f"_:{term}"
    return _readable(re.split(r"[/#]", term.rstrip("/#"))[-1])


def _part_before(term: Term) -> str:
    parts = [part for part in re.split(r"[/#]", term) if part]
    return _readable(parts[-2]) if len(parts) > 1 else ""


def _readable(part: str) -> str:
    return unquote(part).replace("_", " ")
