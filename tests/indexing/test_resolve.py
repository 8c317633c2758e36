"""Which names are one entity: only unambiguous aliases are merged, and every alias decision is recorded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_document, whole_chunk

from conspectus.indexing.graph import Names, resolve
from conspectus.rows import Chunk, Document
from conspectus.settings import ResolveSettings
from conspectus.tasks import Extraction, FoundEntity

PERSON, GUILD = "person", "organization"


def named(*names: str | tuple[str, str]) -> Extraction:
    """Return an extraction of entities, each given as a name or as a name with a type."""
    pairs = [n if isinstance(n, tuple) else (n, PERSON) for n in names]
    return Extraction(tuple(FoundEntity(name, kind, f"{name}.") for name, kind in pairs))


def corpus(texts: Sequence[str], paths: Sequence[str] = ()) -> tuple[list[Document], list[Chunk]]:
    documents = [a_document(text, i, paths[i] if paths else "") for i, text in enumerate(texts)]
    return documents, [whole_chunk(document) for document in documents]


def resolved(
    *graphs: Extraction, texts: Sequence[str] = (), paths: Sequence[str] = (), how: str = "aliases"
) -> Names:
    """Resolve the names of graphs, one graph per document."""
    documents, chunks = corpus(texts or [f"text {i}" for i in range(len(graphs))], paths)
    return resolve(chunks, graphs, documents, ResolveSettings.model_validate({"resolve": how}))


def joined(names: Names) -> set[tuple[str, str, str]]:
    return {(join.name, join.into, join.rule) for join in names.joins}


def name_in(names: Names, name: str, document: int = 0) -> str:
    return names.name(names.key(name, list(names.source_of)[document]))


def test_names_that_differ_in_case_marks_and_articles_are_one_without_a_join():
    names = resolved(named("The Gut", "the gut", "GUT", "the gut"))

    assert {name_in(names, form) for form in ("The Gut", "GUT", "the  gut")} == {"the gut"}
    assert names.joins == []


def test_the_commonest_form_names_the_entity():
    names = resolved(named("GUT", "Gut", "Gut"))

    assert name_in(names, "gut") == "Gut"


def test_an_acronym_joins_the_name_that_the_text_sets_beside_it_in_brackets():
    text = "The Orrin Valley Rail Association (OVRA) met. OVRA sat late."
    names = resolved(named(("Orrin Valley Rail Association", GUILD), ("OVRA", GUILD)), texts=[text])

    assert joined(names) == {("OVRA", "Orrin Valley Rail Association", "acronym")}
    assert name_in(names, "OVRA") == "Orrin Valley Rail Association"


def test_an_acronym_with_the_name_in_brackets_joins_too_and_leaves_small_words_out():
    text = "OGM [the Orrin Guild of Masons] met."
    names = resolved(named(("Orrin Guild of Masons", GUILD), ("OGM", GUILD)), texts=[text])

    assert joined(names) == {("OGM", "Orrin Guild of Masons", "acronym")}


@pytest.mark.parametrize(
    ("name", "acronym", "text"),
    [
        ("myelomonocytic scale rot", "MMSR", "It has myelomonocytic scale rot (MMSR)."),
        ("Orrin hemorrhagic fever", "ORHF", "It is Orrin hemorrhagic fever (ORHF)."),
        ("Tidal Energy Goals", "TEG", "They have Tidal Energy Goals (TEGs)."),
    ],
)
def test_an_acronym_may_have_letters_inside_words(name: str, acronym: str, text: str):
    names = resolved(named((name, GUILD), (acronym, GUILD)), texts=[text])

    assert joined(names) == {(acronym, name, "acronym")}


def test_an_acronym_without_the_first_letter_of_a_word_is_of_another_name():
    names = resolved(named(("Medical History", GUILD), ("MDS", GUILD)), texts=["Medical History (MDS)"])

    assert joined(names) == set()


def test_an_acronym_that_no_text_explains_joins_nothing():
    text = "The Orrin Valley Rail Association met OVRA."
    names = resolved(named(("Orrin Valley Rail Association", GUILD), ("OVRA", GUILD)), texts=[text])

    assert joined(names) == set()


def test_an_acronym_that_stands_for_two_names_joins_neither():
    text = "The Orrin Rail Guild (ORG) and the Old Ropers Guild (ORG) met."
    names = resolved(
        named(("Orrin Rail Guild", GUILD), ("Old Ropers Guild", GUILD), ("ORG", GUILD)), texts=[text]
    )

    assert joined(names) == set()


def test_an_acronym_joins_also_where_the_brackets_stand_in_another_text():
    texts = ["Read of the Orrin Rail Guild (ORG).", "ORG met.", "The Orrin Rail Guild met."]
    names = resolved(
        named(("Reader", PERSON)), named(("ORG", GUILD)), named(("Orrin Rail Guild", GUILD)), texts=texts
    )

    assert joined(names) == {("ORG", "Orrin Rail Guild", "acronym")}
    assert name_in(names, "ORG", 1) == "Orrin Rail Guild"


def test_an_acronym_with_several_meanings_joins_each_in_its_own_source():
    rail, ropers = ("Orrin Rail Guild", GUILD), ("Old Ropers Guild", GUILD)
    texts = ["The Orrin Rail Guild (ORG) met.", "The Old Ropers Guild (ORG) met.", "ORG met."]
    names = resolved(
        named(rail, ("ORG", GUILD)), named(ropers, ("ORG", GUILD)), named(("ORG", GUILD)), texts=texts
    )

    assert [name_in(names, "ORG", i) for i in range(3)] == ["Orrin Rail Guild", "Old Ropers Guild", "ORG"]


def test_an_acronym_that_another_text_explains_by_what_is_no_entity_joins_in_its_own_source_alone():
    texts = ["The Orrin Rail Guild (ORG) met.", "The Open Reading Group (ORG) met."]
    names = resolved(named(("Orrin Rail Guild", GUILD), ("ORG", GUILD)), named(("ORG", GUILD)), texts=texts)

    assert [name_in(names, "ORG", i) for i in range(2)] == ["Orrin Rail Guild", "ORG"]


def test_an_acronym_that_everybody_knows_needs_no_brackets():
    both = resolved(named(("United States", "location"), ("U.S.", "location")), named(("US", "location")))

    assert {name_in(both, form) for form in ("U.S.", "US")} == {"United States"}
    assert joined(resolved(named(("US", "location"), ("Orrin Rail Guild", GUILD)))) == set()


@pytest.mark.parametrize("one", ["EV", "Death Star", "TypedArray"])
def test_a_plural_makes_no_other_name(one: str):
    assert joined(resolved(named((one, "concept"), (f"{one}s", "concept")))) == {(f"{one}s", one, "plural")}


@pytest.mark.parametrize(("name", "kind"), [("Adam", "concept"), ("Mara Tolan", PERSON)])
def test_an_s_may_make_another_name(name: str, kind: str):
    assert joined(resolved(named((name, kind), (f"{name}s", kind)))) == set()


@pytest.mark.parametrize(("one", "other"), [("BEA", "Beas"), ("TALL ROOM", "TALL ROOMS")])
def test_a_capital_s_or_other_capitals_show_no_plural(one: str, other: str):
    assert joined(resolved(named((one, "concept"), (other, "concept")))) == set()


@pytest.mark.parametrize(
    ("full", "bare", "kind"),
    [
        ("Dr Mara Tolan", "Mara Tolan", PERSON),
        ("Captain Tolan", "Tolan", PERSON),
        ("Lennard Marine Ltd", "Lennard Marine", GUILD),
        ("Lennard Oy", "Lennard", GUILD),
    ],
)
def test_a_title_or_legal_form_makes_no_other_name(full: str, bare: str, kind: str):
    assert joined(resolved(named((full, kind), (bare, kind)))) == {(full, bare, "title or legal form")}


def test_names_that_differ_in_their_titles_alone_are_one():
    names = resolved(named("Captain Lorna Strand"), named("L. Strand"), named("Captain L. Strand"))

    assert {name_in(names, n) for n in ("L. Strand", "Captain L. Strand")} == {"Captain Lorna Strand"}


def test_a_woman_and_a_man_of_one_last_name_are_two():
    assert joined(resolved(named("Mr Tolan", "Mrs Tolan", "Tolan"))) == set()
    assert joined(resolved(named("Mr Tolan"), named("Miss Mara Tolan"))) == set()


def test_a_title_says_which_of_two_is_meant():
    names = resolved(named("Miss D. Tolan"), named("Dora Tolan", "Edmund Tolan"), named("Miss Tolan"))

    assert {name_in(names, n) for n in ("Miss D. Tolan", "Miss Tolan")} == {"Dora Tolan"}


def test_a_title_before_a_name_without_a_type_tells_of_a_person():
    names = resolved(
        named(("Dr Mara Tolan", "entity"), ("M. Tolan", "entity")), named(("Dr Tolan", "entity"))
    )

    assert {name_in(names, n) for n in ("M. Tolan", "Dr Tolan")} == {"Dr Mara Tolan"}
    assert joined(resolved(named(("Mr. Canada", "entity")), named(("Canada", "entity")))) == set()


@pytest.mark.parametrize(
    "other", ["Mara's Nephew", "Boy and Mara", "The Fair Mara", "Boy (Mara)", "Ghost of Old Mara"]
)
def test_a_description_is_no_full_name_of_a_person(other: str):
    assert joined(resolved(named(other, "Mara"))) == set()


def test_initials_do_not_fit_where_middle_names_differ():
    assert joined(resolved(named("M. Stanley Tolan", "Mara Vera Tolan"))) == set()
    assert joined(resolved(named("M. V. Tolan", "Mara Vera Tolan"))) != set()


def test_a_title_alone_is_a_name():
    assert joined(resolved(named("Dr", "Mara Tolan"))) == set()


@pytest.mark.parametrize("short", ["M. Tolan", "Mara E. Tolan"])
def test_initials_join_the_only_person_that_they_fit(short: str):
    names = resolved(named(short, "Mara Tolan"), named("Zorba Quenda"))

    assert joined(names) == {(short, "Mara Tolan", "initials")}


def test_initials_join_too_where_the_letter_and_the_last_name_are_often_alone():
    often = [named("M", "Tolan")] * 40

    names = resolved(*often, *[named("Mara Tolan")] * 40, named("M. Tolan"))

    assert ("M. Tolan", "Mara Tolan", "initials") in joined(names)


def test_initials_that_fit_two_people_join_neither():
    assert joined(resolved(named("M. Tolan", "Mara Tolan", "Marek Tolan"))) == set()


def test_a_last_name_that_one_person_has_joins_them_everywhere():
    names = resolved(named("Mara Tolan"), named("Tolan"))

    assert joined(names) == {("Tolan", "Mara Tolan", "last name")}
    assert name_in(names, "Tolan", 1) == "Mara Tolan"


def test_two_people_who_once_stand_side_by_side_are_no_full_name():
    names = resolved(named("Michal David"), *[named("Michal")] * 15, *[named("David")] * 15)

    assert joined(names) == set()


def test_a_full_name_joins_what_stands_for_it_far_more_often():
    names = resolved(named("Ada Byrne"), *[named("Byrne")] * 100)

    assert joined(names) == {("Byrne", "Ada Byrne", "last name")}


@pytest.mark.parametrize(("uses", "joins"), [(15, 1), (16, 0)])
def test_a_name_of_unknown_kind_stands_for_a_full_one_that_its_source_uses_beside_it(uses: int, joins: int):
    names = resolved(named("Overhearing Tolan", *[("Tolan", "concept")] * uses))

    assert len(joined(names)) == joins


def test_a_last_name_that_several_have_joins_the_one_of_its_own_source():
    names = resolved(named("Mara Tolan", "Tolan"), named("Marek Tolan", "Tolan"), named("Tolan"))

    assert joined(names) == {("Tolan", "Mara Tolan", "short name"), ("Tolan", "Marek Tolan", "short name")}
    assert [name_in(names, "Tolan", i) for i in range(3)] == ["Mara Tolan", "Marek Tolan", "Tolan"]


def test_parts_of_one_work_are_one_source():
    names = resolved(
        named("Mara Tolan"),
        named("Tolan"),
        named("Marek Tolan"),
        paths=["talk_part_1.txt", "talk_part_2.txt", "x.txt"],
    )

    assert name_in(names, "Tolan", 1) == "Mara Tolan"


def test_a_last_name_of_two_people_in_one_source_joins_neither():
    names = resolved(named("Mara Tolan", "Marek Tolan", "Tolan"))

    assert joined(names) == set()


def test_a_first_name_joins_only_within_its_source():
    names = resolved(named("Mara Tolan", "Mara"), named("Mara"))

    assert joined(names) == {("Mara", "Mara Tolan", "short name")}
    assert [name_in(names, "Mara", i) for i in range(2)] == ["Mara Tolan", "Mara"]


def test_a_first_name_joins_the_only_person_who_has_it_where_the_family_is_named():
    names = resolved(named("Mara Tolan"), named("Mara", "Miss Tolan"), named("Mara"))

    assert [name_in(names, "Mara", i) for i in (1, 2)] == ["Mara Tolan", "Mara"]
    assert name_in(resolved(named("Mara Tolan", "Mara Vey"), named("Mara", "Tolan")), "Mara", 1) == "Mara"


def test_a_name_of_unknown_kind_joins_the_only_person_of_that_name_in_its_source():
    names = resolved(named("Mara Tolan", ("Mara", "concept")), named(("Mara", "concept")))

    assert joined(names) == {("Mara", "Mara Tolan", "short name")}
    assert name_in(names, "Mara", 1) == "Mara"
    assert joined(resolved(named("Mara Tolan", ("mara", "concept")))) == set(), "no name: written small"
    assert joined(resolved(named("Mara Tolan", "Mara Vey", ("Mara", "concept")))) == set(), "two have it"
    told = named("Mara Tolan", ("Mara", "concept")), named(("Mara", "concept")), named(("Mara", "location"))
    assert joined(resolved(*told)) == set(), "it was told once: one more or less must not decide"


def test_what_is_no_person_is_not_joined_by_its_last_word_as_one():
    assert joined(resolved(named("Mara Tolan", ("Tolan", "location")))) == set()


@pytest.mark.parametrize(
    ("short", "kind", "long", "kind_of_long"),
    [
        ("Port Orrin", "location", "Branch from Quenda to Port Orrin", "location"),
        ("Orrin Rail Guild", GUILD, "Founding Meeting of the Orrin Rail Guild", GUILD),
        ("Orrin Bank", "location", "Closed Orrin Bank", "event"),
        ("Rail Guild", GUILD, "Masons and Rail Guild", GUILD),
        ("Cold Quay", "location", "Loan for Cold Quay", "location"),
        ("New Orrin", "location", "Quenda, New Orrin", "location"),
        ("World Cup", "event", "1904 World Cup", "event"),
        ("Orrin Quay", "entity", "Old Orrin Quay", "entity"),
    ],
)
def test_a_longer_name_with_another_head_or_type_is_another_thing(
    short: str, kind: str, long: str, kind_of_long: str
):
    assert joined(resolved(named((long, kind_of_long), (short, kind)))) == set()


def test_a_chain_of_joins_ends_in_one_entity():
    names = resolved(named("Dr M. Tolan", "M. Tolan", "Mara Tolan", "Tolan"))

    assert {name_in(names, n) for n in ("Dr M. Tolan", "M. Tolan", "Tolan")} == {"Mara Tolan"}


def test_exact_joins_nothing():
    text = "The Orrin Valley Rail Association (OVRA) met Dr Mara Tolan and Tolan."
    graph = named(
        ("Orrin Valley Rail Association", GUILD), ("OVRA", GUILD), "Dr Mara Tolan", "Mara Tolan", "Tolan"
    )

    assert resolved(graph, texts=[text], how="exact").joins == []


def test_every_join_says_why():
    for join in resolved(named("Dr Mara Tolan", "Mara Tolan", "M. Tolan", "Tolan")).joins:
        assert join.rule
        assert re.search(r"\w+ \w+", join.evidence)


some_names = st.sampled_from(
    [
        "Mara Tolan",
        "Marek Tolan",
        "Tolan",
        "Mara",
        "M. Tolan",
        "Dr Tolan",
        "Dr Mara Tolan",
        "Zorba Quenda",
        "Quenda",
    ]
)


@given(st.lists(st.lists(some_names, max_size=4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_the_documents_decides_nothing(graphs: list[list[str]], random: Random):
    documents, chunks = corpus([f"text {i}" for i in range(len(graphs))])
    found = [named(*names) for names in graphs]
    places = list(range(len(graphs)))
    random.shuffle(places)
    settings = ResolveSettings()

    ordered = resolve(chunks, found, documents, settings)
    other = resolve(
        [chunks[i] for i in places], [found[i] for i in places], [documents[i] for i in places], settings
    )

    assert joined(other) == joined(ordered)
    for names, document in zip(graphs, documents, strict=True):
        for name in names:
            assert other.name(other.key(name, document.id)) == ordered.name(ordered.key(name, document.id))
