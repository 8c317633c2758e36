"""Citations: every reference is resolved to characters of a document, or removed and counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_built_index, a_claim, a_report, an_index

import conspectus
from conspectus.content import excerpt
from conspectus.evaluation.grounding import sentences_of
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.extractive.answer import in_context, quote
from conspectus.models.extractive.search import RankedSentence, Searcher
from conspectus.references import TABLES, Reference, strip
from conspectus.retrieval.base import MOST_SOURCES, cite, row_of
from conspectus.rows import Citation, Entity, Source, Span, distinct_sources

SWARM = "Bees swarm in May when the hive is full."
WAX = "The yellow wax that the bees leave is sold\nby the pound in Quenda."
INDEX = an_index(
    f"A note on bees. {SWARM} They return.",
    f"Prices were low. {WAX} So it goes.",
    entities=["Bees", "Quenda"],
    edges=[("Bees", "May")],
    claims=[a_claim("Bees", "They swarm.")],
    reports=[
        a_report(
            "On bees",
            0,
            [f"{SWARM} [Data: Entities (0)]", f'Tolan: "{" ".join(WAX.split())}" [Data: Entities (1)]'],
        ),
        a_report("On everything", 1, ["It is all about bees. [Data: Reports (0)]"]),
        a_report("On nothing", 2, ["There is nothing."]),
    ],
)


def shown(citation: Citation) -> list[str]:
    return [source.text for source in citation.sources]


def cited(text: str, index: Index = INDEX) -> list[Citation]:
    return list(cite(text, index)[1])


def test_a_reference_becomes_a_number_for_the_reader():
    text, citations, removed = cite("Bees swarm [Data: Entities (0)]. Wax sells [Data: Sources (1)].", INDEX)

    assert text == "Bees swarm [1]. Wax sells [2]."
    assert [(c.marker, c.kind, c.title) for c in citations] == [(1, "entity", "Bees"), (2, "source", "1.txt")]
    assert removed == 0


def test_every_source_is_the_characters_that_it_says():
    texts = {d.path: d.text for d in INDEX.documents}
    citations = cited("[Data: Reports (0, 1); Sources (0, 1); Entities (0, 1); Relationships (0)]")

    assert len({c.sources for c in citations}) == len(citations) > 2
    for citation in citations:
        for source in citation.sources:
            assert texts[source.document][source.start : source.end] == source.text


def test_one_passage_has_one_number_whatever_row_leads_to_it_and_is_shown_once():
    text, citations, _ = cite(
        f"{SWARM} [Data: Sources (0)]\n\nBees [Data: Reports (0)]\n\n{SWARM} [Data: Reports (0)]", INDEX
    )

    assert text.count("[1]") == 2
    places = [source for _, sources in distinct_sources(citations) for source in sources]
    assert len(places) == len(set(places))
    assert shown(citations[0]) == [SWARM]


def test_a_number_whose_passages_all_stand_at_others_shows_one_of_them():
    swarm, wax = (Source("1.txt", 0, len(text), text) for text in (SWARM, WAX))
    numbers = [Citation(n, "source", str(n), "1.txt", (source,)) for n, source in enumerate((swarm, wax), 1)]
    both = Citation(3, "relationship", "3", "Bees - wax", (swarm, wax))

    assert list(distinct_sources([*numbers, both]))[-1] == (both, (swarm,))


def test_where_the_answer_quotes_the_citation_ends_at_the_quoted_words():
    (citation,) = cited('One reads "Bees swarm in May when the hive" [Data: Sources (0)].')

    assert shown(citation) == ["Bees swarm in May when the hive"]


def test_a_quotation_that_holds_another_is_found_as_a_whole():
    said = 'She told me, "the bees will come back in May," and she was right about that.'
    index = an_index(f"It was warm. {said} We waited.", entities=["Bees"], edges=[])

    (citation,) = cited(f'- Tolan: "{said}" [Data: Sources (0)]', index)

    assert shown(citation) == [said]


def test_a_line_that_is_a_quotation_as_a_whole_is_one():
    (citation,) = cited(f"- {SWARM} [Data: Sources (0)]")

    assert shown(citation) == [SWARM]


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("They met on 27 February. It broke on 2 February.", "2 February"),
        ("They met on 12 May 1953. It broke on 2 May 1953.", "2 May 1953"),
    ],
)
def test_a_date_is_not_found_inside_another(text: str, date: str):
    (citation,) = cited(f"{date} [Data: Sources (0)]", an_index(text, entities=["Quay"], edges=[]))

    assert f" {date}" in f" {shown(citation)[0]}"
    assert citation.sources[0].start > 0


def test_a_quotation_that_is_cut_inside_a_word_is_found():
    (citation,) = cited('- "Bees swarm in May when the hi" [Data: Sources (0)]')

    assert shown(citation) == ["Bees swarm in May when the hi"]


def test_quoted_words_are_found_whatever_the_white_space_and_case():
    (citation,) = cited(
        'Tolan: "the yellow WAX that the bees leave is sold by the pound in Quenda." [Data: Sources (1)]'
    )

    assert shown(citation) == [WAX]


def test_a_report_leads_through_the_finding_that_says_it():
    bees, wax = cited(
        f'- {SWARM} [Data: Reports (0)]\n- Tolan: "{" ".join(WAX.split())}" [Data: Reports (0)]'
    )

    assert shown(bees) == [SWARM]
    assert shown(wax) == [WAX]
    assert bees.title == wax.title == "On bees"
    assert bees.id == wax.id


def test_a_report_that_quotes_nothing_leads_to_the_places_behind_all_its_findings():
    (citation,) = cited("Much is said of bees [Data: Reports (0)].")

    assert set(shown(citation)) == {SWARM, WAX}


def test_a_heading_that_cites_a_report_quotes_nothing():
    heading, line = cited(
        "### Bees swarm in May [Data: Reports (0)]\n\n- Bees swarm in May [Data: Reports (0)]"
    )

    assert shown(line) == ["Bees swarm in May"]
    assert "Bees swarm in May" not in shown(heading)
    assert any("Bees swarm in May" in text for text in shown(heading))


def test_a_heading_reads_few_of_the_spans_of_a_report():
    read: list[int] = []

    class Counting(list[Entity]):
        def __getitem__(self, at: Any) -> Any:
            read.append(at)
            return super().__getitem__(at)

    names = [f"Entity {i}" for i in range(200)]
    finding = f"There are many. [Data: Entities ({', '.join(map(str, range(200)))})]"
    index = an_index(*names, entities=names, reports=[a_report("Many", 0, [finding])])
    index = replace(index, entities=Counting(index.entities))
    read.clear()

    (citation,) = cited("## Many [Data: Reports (0)]", index)
    assert len(citation.sources) == MOST_SOURCES
    assert len(read) <= 8 * MOST_SOURCES


def test_a_report_that_stands_on_reports_leads_through_them():
    (citation,) = cited("It is all about bees. [Data: Reports (1)]")

    assert set(shown(citation)) == {SWARM, WAX}


def test_reports_that_refer_to_each_other_lead_somewhere_or_nowhere_but_end():
    index = an_index(
        SWARM,
        reports=[a_report("A", 0, ["B. [Data: Reports (1)]"]), a_report("B", 1, ["A. [Data: Reports (0)]"])],
    )

    assert cite("So [Data: Reports (0)].", index) == ("So.", (), 1)


def test_a_row_without_spans_leads_to_its_chunks():
    entity = replace(INDEX.entities[0], spans=())
    index = replace(INDEX, entities=[entity])

    (citation,) = cited("Bees [Data: Entities (0)].", index)
    assert shown(citation) == [INDEX.documents[0].text]


def test_what_quotes_nothing_shows_a_few_places():
    index = an_index(*(f"Bees were seen on day {i}." for i in range(9)), entities=["Bees"])

    (citation,) = cited("Bees [Data: Entities (0)].", index)
    assert len(citation.sources) == MOST_SOURCES


@pytest.mark.parametrize(
    "reference",
    ["Reports (3)", "Sources (2)", "Entities (99)", "Relationships (1)", "Claims (0)", "Reports (2)"],
)
def test_a_reference_that_leads_nowhere_is_removed_and_counted(reference: str):
    assert cite(f"Bees knit [Data: {reference}]. So.", INDEX) == ("Bees knit. So.", (), 1)


def test_the_same_reference_to_the_same_characters_has_one_number():
    text, citations, _ = cite(f"{SWARM} [Data: Sources (0)] {SWARM} [Data: Sources (0, 0)]", INDEX)

    assert text == f"{SWARM} [1] {SWARM} [1]"
    assert len(citations) == 1


def test_a_statement_begins_where_its_line_or_the_reference_before_it_ends():
    first, second = cited(f"# Bees\n- {SWARM} [Data: Sources (0)] Prices were low. [Data: Sources (1)]")

    assert shown(first) == [SWARM]
    assert shown(second) == ["Prices were low."]


some_references = st.builds(Reference, st.sampled_from(TABLES), st.integers(0, 4))
some_text = st.lists(
    st.one_of(
        st.sampled_from(["Bees swarm. ", "\n", f"- {SWARM} ", '"Prices were low." ']),
        st.lists(some_references, min_size=1, max_size=3).map(
            lambda refs: f"[Data: {'; '.join(f'{r.table} ({r.number})' for r in refs)}] "
        ),
    ),
    max_size=8,
).map("".join)


@given(some_text)
def test_the_numbers_in_the_text_are_those_of_the_citations(text: str):
    cited_text, citations, _ = cite(text, INDEX)

    written = list(dict.fromkeys(int(n) for n in re.findall(r"\[(\d+)\]", cited_text)))
    assert written == [c.marker for c in citations] == list(range(1, len(citations) + 1))
    assert "[Data" not in cited_text
    assert all(c.sources for c in citations)


def test_rows_are_known_by_table_and_number():
    assert row_of(Reference("Entities", 1), INDEX) == INDEX.entities[1]
    assert row_of(Reference("Entities", 2), INDEX) is None
    assert INDEX.entities[0].spans == (Span(INDEX.documents[0].id, 16, 16 + len(SWARM)),)


def test_an_index_in_a_quotation_is_no_citation():
    said = "The first argument is kept in argv[1] by the program."
    index = an_index(f"It was warm. {said}", entities=["Quenda"], edges=[])

    text, citations, _ = cite(f"- {said} [Data: Sources (0)]", index)

    assert text == f"- {said} [1]".replace("argv[", r"argv\[")
    assert [shown(citation) for citation in citations] == [[said]]
    assert [sentence.markers for sentence in sentences_of(text, {1})] == [(1,)]


# Whatever is quoted without a language model, the cited span has exactly the quoted characters

CHINESE = """关于“星光计划筹备委员会”的会议于三月五日在上海举行。
会议由李明主持，共有四十人参加。

预算定为八百万元，比去年增加一成。请参见“预算和开支”一节。他说：“明年再议。”
"""
JAPANESE = """端末で「ls」や "cat some-binary-file" を実行した後に画面が乱れることがあります。
その場合は "reset" と入力してください。(これがうまくいかない時は再起動します。) 設定は次の通りです。

# shutdown -h now

電源は自動的に落ちます。
"""
LISTED = """# Lentil soup

1. Rinse the lentils and soak them for two hours.
2. Fry the carrots in oil until they are soft. They must not turn brown.
3. Add the stock, and simmer it for forty minutes.

- The soup keeps for three days in a cool place.
- It is sold in the market of Quenda on Fridays.

See [the map](https://example.org/map.png) of **Quenda**. However, it does not show the weir of Mara Tolan.
(It was drawn in 1811.) The weir was built later.
"""
MAIL = """Hi Mara,

the pumps will arrive in Quenda on Thursday.

On Mon, 13 May 2024 at 17:40, Mara Tolan <mara@quenda.example> wrote:
> Zorba,
>
> the old pump failed on Sunday night. We have switched over to the
> reserve pump. It can carry the load for three weeks.
>> The manual of the crane is kept in the office. It is printed in Polish.
"""
TALK = """ZORBA ORRIN: And so the weir of Quenda broke in the flood. It was "the worst day of all," she said.

MARA TOLAN: Well, I rebuilt it in a single summer. We had twelve masons. They came from Lowmoor.
"""


def quotations(index: Index, step: int) -> Iterator[tuple[str, str, list[str]]]:
    """Every `step`-th sentence as it is quoted, with its neighbours: speaker, words, and what the citation contains."""
    searcher = Searcher(index)
    passages, documents = searcher.passages, {document.path: document for document in index.documents}
    for sentence in range(0, len(passages), step):
        for row in in_context([RankedSentence(sentence, 1.0, 1.0)], searcher):
            line = quote(row, searcher)
            sources = [source for citation in cited(line, index) for source in citation.sources]
            contents = [excerpt(documents[source.document], source.start, source.end) for source in sources]
            speaker = passages.speaker_of(row[0])
            name = passages.names[speaker] if speaker >= 0 else ""
            yield name, strip(line).removeprefix("- "), [" ".join(content.split()) for content in contents]


def not_exact(index: Index, step: int = 1) -> list[tuple[str, list[str]]]:
    """The quotations that differ from the spans that they cite."""
    return [
        (text, contents)
        for speaker, text, contents in quotations(index, step)
        if len(contents) != 1
        or text.casefold()
        not in (
            contents[0].casefold(),
            *(wording(code).quote.format(speaker, contents[0]).casefold() for code in ("en", "zh")),
        )
    ]


@pytest.mark.parametrize("text", [CHINESE, JAPANESE, LISTED, MAIL, TALK])
@pytest.mark.parametrize("chunk", [{}, {"tokens": 40, "overlap": 20}])
def test_a_quotation_leads_to_exactly_its_characters(text: str, chunk: dict[str, int]):
    assert not_exact(a_built_index(text, chunk=chunk)) == []


def test_quotations_of_the_sample_lead_to_exactly_their_characters(sample_index: Path):
    assert not_exact(conspectus.open_index(sample_index), step=3) == []  # each quotes its neighbours, too


def test_a_quotation_of_a_text_without_spaces_is_found_where_the_text_has_a_line_break():
    index = an_index("会议由李明主持，共有\n四十人参加。预算定为八百万元。")

    (citation,) = cited("有人写道：“李明主持，共有四十人参加” [Data: Sources (0)]", index)

    assert shown(citation) == ["李明主持，共有\n四十人参加"]
