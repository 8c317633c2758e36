"""Graphs that are given instead of extracted: triples from files, and the sentences of an imported graph.

Names are matched regardless of case and articles. The last name of a person is an alias if no other entity's name ends
with it and the corpus mostly writes it with a capital letter.
"""

from __future__ import annotations

import bz2
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from conspectus.errors import DocumentError, UsageError
from conspectus.index import Index
from conspectus.indexing.arrays import map_sentences, sentence_arrays, text_arrays
from conspectus.indexing.communities import find_communities
from conspectus.indexing.graph import Names as ResolvedNames
from conspectus.indexing.graph import triples_of
from conspectus.models.base import Tick, no_tick
from conspectus.readers.encodings import decode
from conspectus.rows import AliasDecision, Entity, Failure, Relationship, Span, Triple, content_id
from conspectus.settings import CommunitySettings
from conspectus.tasks import FoundTriple
from conspectus.text.lexicon import read_lexicon, read_sentences
from conspectus.text.mentions import units
from conspectus.text.sentences import quality
from conspectus.text.words import fold, name_key, stem
from conspectus.triple_graph import StoredTripleGraph, TripleWriter

OPENIE = "openie"
"""The key in the origin of an index for the file that its triples were imported from."""
MAX_SPANS = 10
"""Maximum spans stored per entity or relationship, from the clearest sentences."""
TripleText = tuple[str, str, str]
"""Head, relation and tail, as texts."""

# Knowledge graphs without documents


@dataclass(frozen=True)
class GivenGraph:
    """A knowledge graph read from a file: the distinct triples, and the failures."""

    triples: Sequence[TripleText]
    failures: Sequence[Failure] = ()
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Long texts about entities, by name."""


def index_of(graph: GivenGraph, settings: CommunitySettings | None = None) -> Index:
    """Return an index of a graph without text: names as entities, pairs as relationships, and their communities."""
    rows = graph_rows(graph)
    communities = find_communities(rows["entities"], rows["relationships"], settings or CommunitySettings())
    names = ResolvedNames({}, {}, {}, {}, [])  # methods expect words and arrays
    lexicon = read_lexicon([], ())
    words, arrays = text_arrays([], [], lexicon.sentences)
    arrays |= sentence_arrays([], lexicon, {}, names)
    return Index(**rows, communities=communities, failures=graph.failures, words=words, arrays=arrays)


def graph_rows(graph: GivenGraph) -> dict[str, Any]:
    """Return the triples of a given graph, its names as entities, and an undirected relationship per pair of names.

    Entities are in the order of their first occurrence; their degree is the number of neighbours. The description of a
    relationship lists all triples between its ends.
    """
    neighbours: dict[str, set[str]] = {}
    pairs: dict[tuple[str, str], list[TripleText]] = {}
    for head, relation, tail in graph.triples:
        neighbours.setdefault(head, set()).add(tail)
        neighbours.setdefault(tail, set()).add(head)
        if head != tail:
            pairs.setdefault((min(head, tail), max(head, tail)), []).append((head, relation, tail))
    degree = {name: len(others - {name}) for name, others in neighbours.items()}
    descriptions = graph.descriptions
    entities = [
        Entity(content_id("entity", name), i, name, "", descriptions.get(name, ""), (), degree=degree[name])
        for i, name in enumerate(neighbours)
    ]
    relationships: list[Relationship] = []
    for i, ((source, target), between) in enumerate(pairs.items()):
        text = "; ".join(f"{head} {relation.replace('_', ' ')} {tail}" for head, relation, tail in between)
        row = Relationship(
            content_id("relationship", source, target), i, source, target, text, float(len(between))
        )
        relationships.append(replace(row, combined_degree=degree[source] + degree[target]))
    triples = [Triple(content_id(*texts), i, *texts) for i, texts in enumerate(graph.triples)]
    return {"entities": entities, "relationships": relationships, "triples": triples}


# Knowledge graphs on disk: Wikidata's dumps and tables, in their published formats


def store_triples(source: Path, target: Path, language: str = "en", tick: Tick = no_tick) -> int:
    """Write the triples of a compressed file to a file for `StoredTripleGraph`, and return their number.

    source: a file packed with gzip or bzip2 (`.gz`, `.bz2`), read as a stream. `.nt` and `.json` before that suffix are
        Wikidata dumps ("truthy" N-Triples, or entities): labels in the language are read, and the best-ranked
        statements about entities, times and quantities. Other files have lines of three columns, by tabs or bars.

    Raises DocumentError if the file cannot be read or contains no triples.
    """
    kind = Path(source.stem).suffix.lower()
    read = {".nt": _truthy, ".json": _entities}.get(kind, _columns)
    unpack = bz2.open if source.suffix.lower() == ".bz2" else gzip.open
    writer = TripleWriter(target, tick)
    try:
        with unpack(source, "rt", encoding="utf-8", errors="replace") as lines:
            read(lines, writer, language)
    except (OSError, EOFError, ValueError) as error:
        raise DocumentError(f"{source} cannot be read ({error}); fetch it again") from None
    finally:
        written = writer.finish()
    if not written:
        raise DocumentError(
            f"{source} contains no triples; a compressed file is a dump of Wikidata, or has three columns"
        )
    return written


_ENTITY, _DIRECT = "<http://www.wikidata.org/entity/", "<http://www.wikidata.org/prop/direct/"
_LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
_TYPED = ("#dateTime>", "#decimal>")
_LONG_ESCAPE = re.compile(r"\\U([0-9A-Fa-f]{8})")


def _truthy(lines: Iterable[str], writer: TripleWriter, language: str) -> None:
    """Read Wikidata's truthy statements."""
    for line in lines:
        parts = line.rstrip(" .\n").split(" ", 2)
        if len(parts) < 3 or not parts[0].startswith(_ENTITY):
            continue
        subject, predicate, value = parts[0][len(_ENTITY) : -1], parts[1], parts[2]
        if predicate == _LABEL and value.endswith(f'"@{language}'):
            text = _LONG_ESCAPE.sub(lambda m: chr(int(m[1], 16)), value[: value.rindex("@")])
            _label(subject, json.loads(text, strict=False), writer)
        elif predicate.startswith(_DIRECT) and subject[0] == "Q":
            if value.startswith(_ENTITY + "Q"):
                end = int(value[len(_ENTITY) + 1 : -1])
            elif value.endswith(_TYPED):
                end = writer.number(_value(value[1 : value.rindex('"')]))
            else:
                continue
            writer.add(int(subject[1:]), predicate[len(_DIRECT) : -1], end)


def _entities(lines: Iterable[str], writer: TripleWriter, language: str) -> None:
    """Read Wikidata's entities in JSON, one per line."""
    for line in lines:
        text = line.strip().rstrip(",")
        if not text.startswith("{"):
            continue
        entity: Any = json.loads(text)
        claims = cast("Mapping[str, Any]", entity.get("claims") or {})
        if label := entity.get("labels", {}).get(language, {}).get("value"):
            _label(entity["id"], label, writer)
        for relation, statements in claims.items() if entity["id"][0] == "Q" else ():
            ranks = {statement.get("rank", "normal") for statement in statements}
            best = "preferred" if "preferred" in ranks else "normal"
            for statement in statements:
                value = statement.get("mainsnak", {}).get("datavalue", {}).get("value")
                if statement.get("rank", "normal") != best or not isinstance(value, dict):
                    continue
                fields = cast("Mapping[str, Any]", value)
                if str(fields.get("id", "")).startswith("Q"):
                    writer.add(int(entity["id"][1:]), relation, int(fields["id"][1:]))
                elif text := fields.get("time") or fields.get("amount"):
                    writer.add(int(entity["id"][1:]), relation, writer.number(_value(text)))


def _label(id: str, label: str, writer: TripleWriter) -> None:
    if id[0] == "P":
        writer.label(id, label)
    elif id[0] == "Q":
        writer.spell(int(id[1:]), label)


def _value(text: str) -> str:
    """Return a time or a quantity in readable form: 1952-03 for +1952-03-00T00:00:00Z."""
    return text.lstrip("+").partition("T")[0].replace("-00", "")


def _columns(lines: Iterable[str], writer: TripleWriter, language: str) -> None:
    """Read lines of head, relation and tail."""
    for line in lines:
        cells = [" ".join(cell.split()) for cell in line.split("\t" if "\t" in line else "|", 2)]
        if len(cells) == 3 and all(cells):
            writer.add(writer.number(cells[0]), cells[1], writer.number(cells[2]))


def triples_about(names: Iterable[str], file: Path) -> list[TripleText]:
    """Return the triples of a graph on disk between any of the given names, and the first triple of each name."""
    graph = StoredTripleGraph.of_path(file)
    wanted = [number for name in names for number in graph.numbers_of_key.get(name_key(name), ())]
    triples: dict[TripleText, None] = {}
    for name in wanted:
        for position, step in enumerate(graph.steps(name)):
            if position == 0 or step.to in wanted:
                head, tail = graph.heads[step.triple], graph.tails[step.triple]
                triples[graph.names[head], graph.relations[step.relation], graph.names[tail]] = None
    return list(triples)


# OpenIE files


@dataclass(frozen=True)
class OpenIe:
    """The triples of one passage in an OpenIE file; `dropped` is the number of entries that are not three texts."""

    id: str
    triples: tuple[FoundTriple, ...]
    dropped: int = 0


def read_openie(path: Path) -> list[OpenIe]:
    """Read triples of passages from a file with one JSON object per line: `_id`, and `triples` as lists of 3 texts.

    Raises DocumentError, which names the line, if a line is not such an object.
    """
    try:
        lines = decode(path.read_bytes()).text.split("\n")
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from None
    read: list[OpenIe] = []
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = cast("Mapping[str, Any]", json.loads(line))
            given = cast("list[Any]", record["triples"])
            lists = (cast("list[Any]", t) for t in given if isinstance(t, list))
            triples = [
                FoundTriple(*(" ".join(str(part).split()) for part in t)) for t in lists if len(t) == 3
            ]
            whole = tuple(t for t in triples if t.head and t.relation and t.tail)
            read.append(OpenIe(str(record["_id"]), whole, len(given) - len(whole)))
        except (ValueError, KeyError, TypeError) as error:
            raise DocumentError(f"{path}, line {n}: not an object with _id and triples ({error})") from None
    return read


def with_openie(index: Index, passages: Sequence[OpenIe], source: str = "") -> Index:
    """Return an index with its triples replaced by those of passages; its graph and reports are unchanged.

    A passage belongs to the document with the same `_id`, `id` or path, and its triples to all chunks of that document.
    Passages without a document, and invalid triples, are recorded as failures of stage `import`.

    Raises UsageError if no passage has a document.
    """
    chunks: dict[str, list[str]] = {}
    for chunk in index.chunks:
        chunks.setdefault(chunk.document_id, []).append(chunk.id)
    documents = {
        key: d.id
        for d in index.documents
        for key in (d.metadata.get("_id"), d.metadata.get("id"), d.path)
        if key
    }
    matched = [p for p in passages if p.id in documents]
    if not matched:
        raise UsageError(
            f"none of the {len(passages)} passages of {source or 'the file'} is a document of this index; "
            "index the corpus whose records have their _id first"
        )
    by_chunk = [(chunk, p.triples) for p in matched for chunk in chunks.get(documents[p.id], ())]
    failures = [f for f in index.failures if f.stage != "import"]
    if unmatched := [p.id for p in passages if p.id not in documents]:
        missing = f"{len(unmatched)} passages have no document here, the first {unmatched[0]}"
        failures.append(Failure("import", missing, source))
    if dropped := sum(p.dropped for p in matched):
        error = f"{dropped} entries are not triples of head, relation and tail"
        failures.append(Failure("import", error, source))
    origin = {**index.origin, OPENIE: source}
    return replace(index, triples=triples_of(by_chunk), failures=failures, origin=origin)


def with_openie_of(before: Index, index: Index) -> tuple[Index, tuple[str, ...]]:
    """Return an index with the imported triples of an index before, for chunks that are the same, and a notice.

    The notice says how many new chunks lack triples. An index whose model extracted triples is returned unchanged.
    """
    if OPENIE not in before.origin or index.triples:
        return index, ()
    source, present = before.origin[OPENIE], {chunk.id for chunk in index.chunks}
    triples: list[Triple] = []
    for triple in before.triples:
        if chunks := tuple(chunk for chunk in triple.chunk_ids if chunk in present):
            triples.append(replace(triple, number=len(triples), chunk_ids=chunks))
    new = len(present.difference(chunk.id for chunk in before.chunks))
    notice = f"{new:,} new chunks have no imported triples: conspectus import openie {source or 'FILE'} brings them."
    carried = replace(index, triples=triples, origin={**index.origin, OPENIE: source})
    return carried, (notice,) if new else ()


# Sentences of an imported graph


def with_sentences(index: Index) -> Index:
    """Return an index with the arrays that methods need, and with the spans that mention entities and relationships."""
    sentences = read_sentences(index.documents, map_sentences(index.documents))
    lexicon = read_lexicon(index.documents, sentences=sentences)
    entity_of_key = {name_key(e.name) or e.name: e.number for e in index.entities}
    resolved = ResolvedNames({}, {}, {}, {}, [])
    table, texts = lexicon.sentences.table, lexicon.sentences.texts
    names = Names(index.entities, texts)
    mentioned = [names.find(text) for text in texts]
    starts = np.cumsum([0, *map(len, mentioned)]).astype(np.int32)
    mentions = np.array([number for row in mentioned for number in row], np.int32)
    words, arrays = text_arrays(index.documents, index.chunks, lexicon.sentences)
    arrays |= sentence_arrays(index.documents, lexicon, entity_of_key, resolved)
    arrays |= {"sentences.mention_starts": starts, "sentences.mentions": mentions}
    inside: list[int] = table.document.tolist()
    ids = [index.documents[d].id for d in inside]
    spans = list(map(Span, ids, table.start.tolist(), table.end.tolist()))
    clarity = [quality(text) for text in texts]
    entities, relationships = _with_spans(index, mentioned, spans, clarity, names.last_names)
    joins = [
        AliasDecision(word, index.entities[number].name, "last name", "no other entity has it at its end")
        for number, word in sorted(names.last_names.items())
        if entities[number].aliases
    ]
    return replace(
        index, entities=entities, relationships=relationships, joins=joins, words=words, arrays=arrays
    )


def _with_spans(
    index: Index,
    mentioned: Sequence[Sequence[int]],
    spans: Sequence[Span],
    clarity: Sequence[float],
    last_names: Mapping[int, str],
) -> tuple[list[Entity], list[Relationship]]:
    """Return entities and relationships with the spans of sentences in their chunks that mention them, clearest first.

    A sentence mentions a relationship if it mentions both of its ends.
    """
    sentences_of: dict[int, list[int]] = defaultdict(list)
    for sentence, numbers in enumerate(mentioned):
        for number in numbers:
            sentences_of[number].append(sentence)

    def clearest(sentences: Iterable[int], chunk_ids: Sequence[str]) -> tuple[Span, ...]:
        chunks = [index.chunk_of[c].span for c in chunk_ids]
        rows = ((s, spans[s]) for s in sentences)
        here = ((s, at, chunk) for s, at in rows for chunk in chunks if chunk.document_id == at.document_id)
        inside = {s for s, at, chunk in here if chunk.start <= at.start and at.end <= chunk.end}
        return tuple(spans[s] for s in sorted(inside, key=lambda s: (-clarity[s], s))[:MAX_SPANS])

    entities: list[Entity] = []
    for row in index.entities:
        aliases = (*row.aliases, last_names[row.number]) if row.number in last_names else row.aliases
        entities.append(
            replace(row, spans=clearest(sentences_of[row.number], row.chunk_ids), aliases=aliases)
        )
    number = index.entity_of_name
    relationships: list[Relationship] = []
    for row in index.relationships:
        both = {*sentences_of[number[row.source]]} & {*sentences_of[number[row.target]]}
        relationships.append(replace(row, spans=clearest(both, row.chunk_ids)))
    return entities, relationships


Key = tuple[str, ...]
"""The words of a name, normalised."""


class Names:
    """Finds the entities of a graph in sentences."""

    def __init__(self, entities: Iterable[Entity], sentences: Iterable[str] = ()) -> None:
        """Read the names of entities; the `sentences` of the corpus show which words are capitalised."""
        self._by_first: dict[str, list[tuple[Key, int, str]]] = defaultdict(list)
        """By first word, the longest first: the words of a name, its entity, and a text that must occur literally."""
        people: dict[Key, int] = {}
        keys: set[Key] = set()
        for entity in entities:
            for name in (entity.name, *entity.aliases):
                key = tuple(units(name_key(name)))
                if self._add(key, entity.number, "", keys) and entity.type == "person":
                    people[key] = entity.number
        self.last_names: dict[int, str] = {}
        """Last names that are aliases, by the number of the person's entity."""
        lasts = Counter(key[-1] for key in keys)
        written = Counter(word for sentence in sentences for word in re.findall(r"\w+", sentence))
        for key, number in people.items():
            word = key[-1].capitalize()
            alone = lasts[key[-1]] == 1 and 2 <= len(key) <= 3 and "of" not in key
            if alone and len(word) > 2 and written[word] > written[key[-1]]:
                self.last_names[number] = word
                self._add(key[-1:], number, word, keys)
        for entries in self._by_first.values():
            entries.sort(key=lambda k: (-len(k[0]), k[1]))

    def _add(self, key: Key, number: int, required: str, keys: set[Key]) -> bool:
        if key in keys or len("".join(key)) < 2:
            return False
        keys.add(key)
        self._by_first[key[0]].append((key, number, required))
        return True

    def find(self, sentence: str) -> list[int]:
        """Return the numbers of the entities that a sentence mentions, each once, in text order."""
        words = units(name_key.__wrapped__(sentence))  # bypasses the cache: sentences hardly ever recur
        numbers: dict[int, None] = {}
        at = 0
        while at < len(words):
            size = 1
            for key, number, required in self._by_first.get(words[at], ()):
                if _same(tuple(words[at : at + len(key)]), key) and required in sentence:
                    numbers[number] = None
                    size = len(key)
                    break
            at += size
        return list(numbers)


def _same(words: Key, key: Key) -> bool:
    """Return whether words match a name; the last word of a name of several words may be inflected."""
    longer = len(words) == len(key) > 1
    return words == key or (longer and words[:-1] == key[:-1] and stem(words[-1]) == stem(key[-1]))


def same_name(name: str) -> str:
    """Return a key that all spellings of a name share."""
    return name_key(name) or fold(name)
