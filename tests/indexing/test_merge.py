"""Instances of one entity, and of one relationship, become one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_document, whole_chunk

from conspectus.indexing.chunks import Extractions
from conspectus.indexing.chunks import chunk as cut
from conspectus.indexing.graph import UNTYPED, Merged, Names, merge, merge_claims, resolve
from conspectus.readers.cleaning import omitted
from conspectus.rows import Chunk, Document, Span
from conspectus.settings import ChunkSettings, ResolveSettings
from conspectus.tasks import Extraction, FoundClaim, FoundEntity, FoundRelationship
from conspectus.workers import Texts

DOCUMENTS = [a_document("x" * 100, i, f"{name}.txt") for i, name in enumerate(("north", "south", "west"))]
CHUNKS = [whole_chunk(document) for document in DOCUMENTS]


def bee(
    description: str = "It stings.", span: Span | None = None, name: str = "Bee", type: str = "animal"
) -> FoundEntity:
    return FoundEntity(name, type, description, span)


def pair(
    source: str, target: str, description: str = "Together.", span: Span | None = None, strength: float = 4.0
) -> FoundRelationship:
    return FoundRelationship(source, target, description, strength, span)


def at(document: int, start: int, end: int) -> Span:
    return Span(DOCUMENTS[document].id, start, end)


def merged(
    *graphs: Extraction,
    chunks: Sequence[Chunk] = CHUNKS,
    documents: Sequence[Document] = DOCUMENTS,
    how: str = "exact",
) -> Merged:
    used = chunks[: len(graphs)]
    names = resolve(used, graphs, documents, ResolveSettings.model_validate({"resolve": how}))
    return merge([*zip(used, graphs, strict=True)], names)


def test_instances_of_one_name_are_one_entity_with_all_their_descriptions():
    result = merged(Extraction((bee("It stings."),)), Extraction((bee("It hums."),)))

    (entity,), (element,) = result.entities, result.entity_elements
    assert (entity.name, entity.number, entity.type) == ("Bee", 0, "animal")
    assert list(element.descriptions) == ["It hums.", "It stings."]
    assert entity.chunk_ids == tuple(chunk.id for chunk in CHUNKS[:2])
    assert entity.frequency == 2


def test_reversed_pairs_are_one_relationship():
    result = merged(Extraction(relationships=(pair("Bee", "Hive", "One."), pair("Hive", "Bee", "Two."))))

    (edge,) = result.relationships
    assert (edge.source, edge.target, edge.weight) == ("Bee", "Hive", 2)


def test_the_weight_of_a_relationship_is_the_number_of_distinct_spans():
    spans = [at(0, 0, 10), at(0, 20, 30), at(0, 0, 10)]
    result = merged(Extraction(relationships=tuple(pair("Bee", "Hive", "Told.", span) for span in spans)))

    assert result.relationships[0].weight == 2
    assert list(result.relationship_elements[0].descriptions.values()) == [at(0, 0, 10)]


def test_what_stands_in_the_overlap_of_two_chunks_counts_once_but_is_of_both():
    first = replace(CHUNKS[0], end=60)
    second = replace(CHUNKS[0], id="second", number=1, start=40)
    told = Extraction((bee(span=at(0, 45, 55)),), (pair("Bee", "Hive", span=at(0, 45, 55)),))

    result = merged(told, told, chunks=[first, second])

    assert result.relationships[0].weight == 1
    assert result.relationships[0].chunk_ids == (first.id, "second")
    assert next(e for e in result.entities if e.name == "Bee").frequency == 2


def test_without_spans_the_same_words_of_one_chunk_count_once_and_of_two_twice():
    same = Extraction(relationships=(pair("Bee", "Hive"), pair("Bee", "Hive")))

    assert merged(same).relationships[0].weight == 1
    assert merged(same, same).relationships[0].weight == 2


def test_strength_is_the_mean_of_what_counted():
    result = merged(
        Extraction(
            relationships=(
                pair("Bee", "Hive", "One.", strength=2.0),
                pair("Bee", "Hive", "Two.", strength=8.0),
            )
        )
    )

    assert result.relationships[0].strength == pytest.approx(5.0)


def test_an_end_that_no_record_names_becomes_an_entity():
    result = merged(Extraction((bee(),), (pair("Bee", "Hive", "It lives there."),)))

    hive = next(e for e in result.entities if e.name == "Hive")
    assert hive.type == UNTYPED
    assert list(result.entity_elements[hive.number].descriptions) == ["It lives there."]


def test_an_entity_keeps_its_own_description_where_a_relationship_stands_before_it():
    result = merged(
        Extraction(relationships=(pair("Bee", "Hive", "It lives there."),)), Extraction((bee("It stings."),))
    )

    assert list(result.entity_elements[0].descriptions) == ["It stings."]


def test_a_pair_of_one_entity_with_itself_is_dropped():
    result = merged(Extraction((bee(), bee(name="BEE")), (pair("Bee", "bee"),)))

    assert result.relationships == []
    assert len(result.entities) == 1


def test_degrees_count_neighbours():
    result = merged(
        Extraction(relationships=(pair("Bee", "Hive"), pair("Bee", "Wax"), pair("Bee", "Hive", "Again.")))
    )

    assert {e.name: e.degree for e in result.entities} == {"Bee": 2, "Hive": 1, "Wax": 1}
    assert {(r.source, r.target): r.combined_degree for r in result.relationships} == {
        ("Bee", "Hive"): 3,
        ("Bee", "Wax"): 3,
    }


def test_the_commonest_type_is_kept_and_an_alias_does_not_vote():
    graph = Extraction(
        (
            bee(name="Mara Tolan", type="person"),
            bee(name="Tolan", type="person"),
            bee(name="Tolan", type="person"),
        )
    )
    wrong = Extraction((bee(name="Mara Tolan", type="person"), bee(name="Tolan", type="location")))

    (entity,) = merged(graph, wrong, how="aliases").entities
    assert (entity.name, entity.type, entity.aliases) == ("Mara Tolan", "person", ("Tolan",))


def test_rows_are_in_alphabetical_order_and_ids_come_from_names_alone():
    result = merged(Extraction(tuple(bee(name=name) for name in ("Wax", "Bee", "Hive"))))
    other = merged(Extraction((bee("Else.", name="Bee", type="insect"),)))

    assert [(e.number, e.name) for e in result.entities] == [(0, "Bee"), (1, "Hive"), (2, "Wax")]
    assert result.entities[0].id == other.entities[0].id


some_names = st.sampled_from(["Bee", "bee", "Hive", "Wax", "The Wax", "Queen"])
some_spans = st.one_of(st.none(), st.integers(0, 9).map(lambda i: (i * 10, i * 10 + 10)))
some_graphs = st.lists(
    st.tuples(
        st.lists(
            st.tuples(some_names, st.sampled_from(["animal", "thing"]), st.sampled_from("abc"), some_spans),
            max_size=4,
        ),
        st.lists(st.tuples(some_names, some_names, st.sampled_from("abc"), some_spans), max_size=4),
    ),
    min_size=1,
    max_size=3,
)


def graph_of(
    raw: tuple[
        list[tuple[str, str, str, tuple[int, int] | None]], list[tuple[str, str, str, tuple[int, int] | None]]
    ],
    document: int,
) -> Extraction:
    entities, pairs = raw
    return Extraction(
        tuple(
            bee(text, at(document, *span) if span else None, name, kind)
            for name, kind, text, span in entities
        ),
        tuple(pair(a, b, text, at(document, *span) if span else None) for a, b, text, span in pairs),
    )


@given(some_graphs)
def test_extractions_in_columns_are_what_was_extracted_however_they_are_cut(raw: list[Any]):
    graphs = [graph_of(each, i) for i, each in enumerate(raw)]
    pairs = [*zip(CHUNKS, graphs, strict=False)]
    whole, parts = Extractions.of(pairs), [Extractions.of([pair]) for pair in pairs]

    assert list(whole) == graphs
    assert list(Extractions.joined(parts, whole.chunks, Texts())) == graphs


def facts(result: Merged) -> tuple[object, ...]:
    """Return the results that must not depend on the order of the chunks."""
    return (
        [(e.id, e.name, e.type, e.aliases, e.degree, sorted(e.chunk_ids)) for e in result.entities],
        [
            (r.id, r.source, r.target, r.weight, r.strength, r.combined_degree, sorted(r.chunk_ids))
            for r in result.relationships
        ],
        [sorted(element.descriptions.items()) for element in result.entity_elements],
        [sorted(element.instances.items()) for element in result.relationship_elements],
    )


@given(some_graphs, st.permutations(range(3)))
def test_the_order_of_the_chunks_decides_nothing(raw: list[Any], order: list[int]):
    graphs = [graph_of(each, i) for i, each in enumerate(raw)]
    places = [i for i in order if i < len(graphs)]

    ordered = merged(*graphs)
    other = merged(*(graphs[i] for i in places), chunks=[CHUNKS[i] for i in places])

    assert facts(other) == facts(ordered)


@given(some_graphs)
def test_weights_add_up_to_the_distinct_instances_of_pairs(raw: list[Any]):
    graphs = [graph_of(each, i) for i, each in enumerate(raw)]
    result = merged(*graphs)

    assert [r.weight for r in result.relationships] == [
        len(e.instances) for e in result.relationship_elements
    ]
    assert all(r.source < r.target for r in result.relationships)
    assert {name for r in result.relationships for name in (r.source, r.target)} <= {
        e.name for e in result.entities
    }
    assert sum(e.degree for e in result.entities) == 2 * len(result.relationships)


# Claims

LINKED = (
    "The [barrage](https://example.org/barrage) opened. On _Monday_ the [gate](gate.html) of Orrin leaked.\n"
)


@pytest.mark.parametrize(
    ("words", "cited"),
    [
        ("On Monday the gate", "On _Monday_ the [gate"),
        ("OF  ORRIN leaked.", "of Orrin leaked."),
        ("barrage opened", "barrage](https://example.org/barrage) opened"),
        ("The lock held.", LINKED * 5),
    ],
)
def test_a_claim_leads_to_the_words_that_it_quotes_or_to_its_chunk(words: str, cited: str):
    document = replace(a_document(LINKED * 5), omitted=omitted(LINKED * 5))
    (chunk,) = cut([document], ChunkSettings())
    claims = [[FoundClaim("Orrin", "NONE", "LEAK", "TRUE", "It leaked.", source_text=words)]]

    with_claims = merge_claims([document], [chunk], claims, names_of(document), Merged([], [], [], []))

    ((start, end),) = [(s.start, s.end) for s, _ in with_claims.claim_elements[0].instances]
    assert document.text[start:end] == cited


def test_a_claim_of_a_later_chunk_leads_to_the_words_there():
    document = replace(a_document(LINKED * 5), omitted=omitted(LINKED * 5))
    chunks = cut([document], ChunkSettings(tokens=14, overlap=0))
    claim = FoundClaim("Orrin", "NONE", "LEAK", "TRUE", "It leaked.", source_text="Orrin leaked")
    chunks = [chunk for chunk in chunks if "Orrin leaked" in chunk.text]

    with_claims = merge_claims(
        [document], chunks, [[claim]] * len(chunks), names_of(document), Merged([], [], [], [])
    )

    spans = [span for span, _ in with_claims.claim_elements[0].instances]
    assert len(spans) == len(chunks) > 1
    assert {document.text[span.start : span.end] for span in spans} == {"Orrin leaked"}


def names_of(document: Document) -> Names:
    """Return the names of a document without entities."""
    return Names({}, {}, {}, {document.id: 0}, [])
