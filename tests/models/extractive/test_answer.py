"""Answers assembled from quotations."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from making import FILLER, a_built_index, a_report, an_index, an_index_of_quenda

from conspectus.messages import wording
from conspectus.models.extractive.answer import (
    MAX_QUOTES,
    MAX_SECTIONS,
    answer_from_context,
    in_context,
    map_answer,
    quote,
    reduce_answer,
)
from conspectus.models.extractive.search import RankedSentence, Searcher
from conspectus.references import Reference, find, strip
from conspectus.rows import Community
from conspectus.tasks import AnswerFromContext, MapAnswer, PartialAnswer, ReduceAnswer
from conspectus.tasks.base import Context

BROKE = "The weir of Quenda broke in the flood of 1811, and eleven boats were lost."
BUILT = "Mara Tolan rebuilt the weir of Quenda in a single summer with twelve masons."
BEES = "Zorba Orrin keeps ninety hives of bees behind the old school at Lowmoor."
WAX = "The wax from the hives of Zorba Orrin is sold every autumn in the market."
I_SAW = "I saw eleven boats of oak lie broken under the bridge that morning."
INDEX = an_index(
    f"{BROKE} {BUILT}",
    f"{BEES} {WAX}",
    I_SAW,
    entities=["Quenda", "Mara Tolan", "Zorba Orrin", "Lowmoor"],
    communities=[Community("a", 0, 0, -1, (), (0, 1)), Community("b", 1, 0, -1, (), (2, 3))],
    reports=[
        a_report("Quenda, Mara Tolan", 0, [f"{BROKE} [Data: Sources (0)]"], rating=3.0),
        a_report("Zorba Orrin", 1, [f"{BEES} [Data: Sources (1)]", f"{WAX} [Data: Sources (1)]"], rating=6.0),
    ],
)


def mapped(question: str) -> PartialAnswer:
    return map_answer(MapAnswer(question, Context(reports=tuple(INDEX.reports))), Searcher(INDEX))


def lines(text: str) -> list[str]:
    return [strip(line).removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def headings(text: str) -> list[str]:
    return [strip(line).removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]


def test_a_window_is_answered_by_sections_of_its_relevant_reports():
    partial = mapped("What of the hives?")

    assert headings(partial.text) == ["Zorba Orrin"]
    assert set(lines(partial.text)) == {BEES, WAX}
    assert 0 < partial.score <= 100


def test_each_line_leads_to_the_chunk_that_holds_it_and_each_heading_to_its_report():
    heading, *quotes = [line for line in mapped("What of the hives?").text.splitlines() if line]

    assert find(heading) == [Reference("Reports", 1)]
    assert all(find(quote) == [Reference("Sources", 1)] for quote in quotes)


def test_a_window_without_help_scores_zero():
    assert mapped("What of zeppelins?") == PartialAnswer("", 0)


def test_a_question_about_the_whole_is_answered_by_the_most_important_reports_first():
    partial = mapped("What are the main themes?")

    assert headings(partial.text) == ["Zorba Orrin", "Quenda, Mara Tolan"]
    assert lines(partial.text) == [BEES, WAX, BROKE]
    assert partial.score == 60


def test_a_window_of_sources_is_answered_by_its_own_sentences():
    searcher = Searcher(INDEX)
    task = MapAnswer("What of the hives?", Context(sources=(INDEX.chunks[1],)))

    assert set(lines(map_answer(task, searcher).text)) == {BEES, WAX}
    assert map_answer(MapAnswer(task.question, Context(sources=(INDEX.chunks[0],))), searcher).score == 0


def test_a_window_without_anything_to_quote_scores_zero():
    index = an_index("I signed the papers on Friday.", "The crane was sold in Quenda.")
    task = MapAnswer("Who signed the papers?", Context(sources=tuple(index.chunks)))

    assert map_answer(task, Searcher(index)) == PartialAnswer("", 0)


def reduced(*texts: str, question: str = "What of the hives?") -> str:
    answers = tuple(PartialAnswer(text, 90 - i) for i, text in enumerate(texts))
    return reduce_answer(ReduceAnswer(question, answers), Searcher(INDEX))


def test_the_whole_says_how_it_was_made():
    assert reduced(f"### Bees\n\n- {BEES}").startswith(f"*{wording('en').assembled}*")


@pytest.mark.parametrize("settings", [{"model": "openai/gpt-4.1"}, {"imported": {"format": "graphrag"}}])
def test_over_reports_that_a_model_wrote_the_whole_does_not_claim_to_be_without_one(
    settings: dict[str, object],
):
    index = replace(INDEX, settings=settings)
    assert index.reports
    task = ReduceAnswer("What of the hives?", (PartialAnswer(f"### Bees\n\n- {BEES}", 90),))
    assert reduce_answer(task, Searcher(index)).startswith(f"*{wording('en').assembled_with_reports}*")


def test_a_whole_that_quotes_nothing_is_empty():
    assert reduced("- The hives.", question="What of the hives?") == ""


def test_nothing_is_said_twice():
    text = reduced(
        f"### Bees\n\n- {BEES}\n- {WAX}", f"### More\n\n- {BEES.replace('ninety', 'eighty')}\n- {BROKE}"
    )

    assert lines(text) == [BEES, WAX, BROKE]


def test_a_section_that_says_nothing_new_is_left_out():
    assert headings(reduced(f"### Bees\n\n- {BEES}", f"### Again\n\n- {BEES}")) == ["Bees"]


def test_sections_and_quotations_are_few():
    say = [
        f"- The {w} lay on the {w}bank under {w}grass and {w}stone."
        for w in ("ash", "elm", "oak", "yew", "fir", "sedge", "fern")
    ]
    text = reduced(
        *[
            f"### Part {i}\n\n"
            + "\n".join(line.replace("lay", f"lay{i} x{i} y{i} z{i} w{i}") for line in say)
            for i in range(9)
        ]
    )

    assert len(headings(text)) <= MAX_SECTIONS
    assert all(len(lines(part)) <= MAX_QUOTES for part in re.split("^### ", text, flags=re.MULTILINE))


def test_references_are_carried_along():
    assert find(reduced(mapped("What of the hives?").text)) == [
        Reference("Reports", 1), Reference("Sources", 1), Reference("Sources", 1),
    ]  # fmt: skip


def looked_up(question: str) -> str:
    return answer_from_context(
        AnswerFromContext(question, Context(sources=tuple(INDEX.chunks))), Searcher(INDEX)
    )


def test_a_look_up_quotes_the_sentences_that_hold_what_is_asked():
    assert lines(looked_up("Who rebuilt the weir?"))[0] == BUILT


def test_a_sentence_that_opens_with_a_pronoun_is_quoted_with_the_one_before_it():
    texts = "The Quenda weir fell in the flood of spring.", "It was rebuilt by Mara Tolan with twelve masons."
    index = an_index(" ".join(texts))
    task = AnswerFromContext("Who rebuilt the Quenda weir?", Context(sources=tuple(index.chunks)))

    assert lines(answer_from_context(task, Searcher(index)))[0] == " ".join(texts)


def test_a_sentence_that_opens_with_a_consequence_is_quoted_with_its_cause():
    texts = (
        "The flood of spring tore stones out of the Quenda weir.",
        "As a result, the weir leaks every year.",
    )
    index = an_index(" ".join(texts))

    (row,) = in_context([RankedSentence(1, 1.0, 1.0)], Searcher(index))

    assert " ".join(texts) in quote(row, Searcher(index))


def test_a_question_inside_what_is_said_does_not_end_a_quotation():
    texts = (
        "The Quenda weir was rebuilt by Mara Tolan.",
        "She worked with twelve masons, right?",
        "They finished it in a single summer.",
    )
    index = an_index(" ".join(texts))

    (row,) = in_context([RankedSentence(0, 1.0, 1.0)], Searcher(index))

    assert " ".join(texts) in quote(row, Searcher(index))


def test_the_best_sentence_is_quoted_with_those_that_follow_and_no_further_ones_than_fit():
    best = "The Quenda weir was rebuilt by Mara Tolan."
    follow = [
        f"In the year {1800 + n} the masons of the town raised it by {n} feet of stone." for n in range(1, 30)
    ]
    index = an_index(" ".join([best, *follow]))

    (row,) = in_context([RankedSentence(0, 1.0, 1.0)], Searcher(index))

    quoted = quote(row, Searcher(index))
    assert " ".join([best, *follow[:8]]) in quoted
    assert len(quoted) < 1000


def test_a_quotation_ends_before_a_further_item_of_a_list_in_one_line():
    best, next_item = "The weir of Quenda was rebuilt by masons.", "The mill burnt in the spring of 1820."
    index = an_index(f"- {best} It holds the water of the river. - {next_item}")

    (row,) = in_context([RankedSentence(0, 1.0, 1.0)], Searcher(index))

    quoted = quote(row, Searcher(index))
    assert best in quoted
    assert "It holds the water" in quoted
    assert next_item not in quoted


def test_a_heading_is_not_quoted_with_the_sentence_below_it():
    heading, text = (
        "6.5. The Quenda Weir",
        "quenda weir is what the masons of Mara Tolan built in a single summer.",
    )
    index = an_index(f"{heading}\n\n{text}")
    searcher = Searcher(index)
    texts = [searcher.passages.text(sentence) for sentence in range(len(searcher.passages))]

    rows = in_context([RankedSentence(texts.index(text), 1.0, 1.0)], searcher)

    assert [texts[n] for row in rows for n in row] == [text]


def test_a_sentence_that_announces_a_list_is_quoted_with_its_items():
    announced = "A low weir can lead to three problems:"
    index = an_index(f"{announced}\n\n- dry mills\n- stranded boats\n- sour fish\n\nTolan raised it in 1821.")
    searcher = Searcher(index)
    first = next(n for n in range(len(searcher.passages)) if searcher.passages.text(n) == announced)

    (row,) = in_context([RankedSentence(first, 1.0, 1.0)], searcher)

    quoted = quote(row, searcher)
    assert all(item in quoted for item in ("dry mills", "stranded boats", "sour fish"))
    assert "Tolan" not in quoted


def test_a_list_may_be_announced_without_a_colon():
    text = "Signs of a low weir may include\n\n- dry mills\n- stranded boats\n\nTolan raised it in 1821."
    searcher = Searcher(an_index(text))

    (row,) = in_context([RankedSentence(0, 1.0, 1.0)], searcher)

    quoted = quote(row, searcher)
    assert "may include - dry mills - stranded boats" in quoted
    assert "Tolan" not in quoted


def test_an_item_is_quoted_with_what_announces_its_list():
    text = "A low weir of Quenda can lead to:\n\n- dry mills\n- stranded boats\n- sour fish"
    searcher = Searcher(an_index(text))
    boats = next(n for n in range(len(searcher.passages)) if "boats" in searcher.passages.text(n))

    (row,) = in_context([RankedSentence(boats, 1.0, 1.0)], searcher)

    quoted = quote(row, searcher)
    assert "can lead to: - dry mills - stranded boats" in quoted
    assert "fish" not in quoted


def test_a_quotation_does_not_end_with_an_announcement_alone():
    text = "The weir of Quenda was raised in 1821. This was useful for two reasons:"
    searcher = Searcher(an_index(text))

    (row,) = in_context([RankedSentence(0, 1.0, 1.0)], searcher)

    assert "two reasons" not in quote(row, searcher)


def test_a_list_is_quoted_whose_announcement_follows_the_sentence():
    best = "These signs occur at the low weir of Quenda."
    index = an_index(f"{best} They include:\ndry mills\nstranded boats at noon\nTolan raised it in 1821.")

    (row,) = in_context([RankedSentence(0, 1.0, 1.0)], Searcher(index))

    quoted = quote(row, Searcher(index))
    assert "They include: dry mills stranded boats" in quoted


def test_a_sentence_beside_the_best_is_quoted_with_it_if_it_contains_what_is_asked():
    texts = (
        "The old mill of Quenda burnt in the spring of 1820.",
        "Tolan rebuilt the weir in 1821 with stones from the river.",
    )
    searcher = Searcher(an_index(" ".join(texts), *FILLER))
    best = [RankedSentence(1, 1.0, 1.0)]

    def quoted(asked: str) -> str:
        (row,) = in_context(best, searcher, [asked])
        return quote(row, searcher)

    assert texts[0] in quoted("mill")
    assert texts[0] not in quoted("quarry")


def test_sentences_that_no_chunk_holds_together_are_not_quoted_together():
    index = a_built_index(
        "The village of Quenda lies at the foot of a long green hill in the south of the country. "
        "The old mill was built by the miller Orrin Tolan in the year 1821 with stones from the river. "
        "It has three large wheels that were driven by the water of the stream behind the house. "
        "The wheels were taken out in 1950 and are now kept in the museum of the next town. "
        "The museum is open on Sundays and can be visited by groups after a telephone call. "
        "The bakery beside the mill still sells a dark bread that is baked in a stove of clay. "
        "The bread is made of rye and keeps for two weeks when it is kept in a cool place.",
        chunk={"tokens": 64, "overlap": 30},
    )
    searcher = Searcher(index)

    rows = in_context([RankedSentence(n, 1.0, 1.0) for n in (1, 2, 3)], searcher)

    assert sorted(n for row in rows for n in row) == [1, 2, 3]
    assert all(find(quote(row, searcher)) for row in rows)


def test_a_sentence_that_a_chunk_boundary_cuts_has_the_reference_of_the_chunk_where_it_starts():
    sentence = f"The weir of Quenda is {', '.join(f'{n} feet from the mill of Tolan' for n in range(9))}."
    searcher = Searcher(a_built_index(f"It was warm. {sentence}", chunk={"tokens": 30, "overlap": 0}))

    rows = in_context([RankedSentence(1, 1.0, 1.0)], searcher)

    assert [len(find(quote(row, searcher))) for row in rows] == [1]


def test_texts_that_overlap_are_quoted_once():
    first, second = "The Quenda weir was rebuilt by Mara Tolan.", "She brought twelve masons to it."
    index = an_index(f"{first} {second}", f"{first} {second} They stayed for the summer.")
    searcher = Searcher(index)
    texts = [searcher.passages.text(sentence) for sentence in range(len(searcher.passages))]
    ranked = [
        RankedSentence(n, 1.0, 1.0) for n in (texts.index(first), len(texts) - 2)
    ]  # of one, of the other

    rows = in_context(ranked, searcher)

    assert [texts[n] for row in rows for n in row].count(first) == 1


def test_what_somebody_says_of_themselves_answers_a_look_up():
    assert I_SAW in lines(looked_up("Where did the boats of oak lie broken?"))


@pytest.mark.parametrize("question", ["Which zeppelins came?", "What is it?"])
def test_a_look_up_that_finds_nothing_says_nothing(question: str):
    assert looked_up(question) == ""


@pytest.mark.parametrize("asked", ["How has {} changed over time?", "How did {} develop?"])
def test_how_something_changed_is_told_in_the_order_of_time(asked: str):
    sentences = {
        "2023-06-10": "In Quenda the crab fishery shrank to nine boats and a museum.",
        "2019-03-04": "The crab fishery employed forty families along the whole coast.",
        "2021-05-02": "Storms and prices left half of the crab fishery without work.",
    }
    index = an_index(*sentences.values())
    dated = [replace(d, date=day) for d, day in zip(index.documents, sentences, strict=True)]
    context = Context(sources=tuple(index.chunks))
    searcher = Searcher(replace(index, documents=dated))

    text = answer_from_context(AnswerFromContext(asked.format("the crab fishery"), context), searcher)

    assert [line[:10] for line in lines(text)] == sorted(sentences)
    assert all(sentences[line[:10]] in line for line in lines(text))


def test_what_names_both_tells_how_they_are_connected():
    both = "Zorba Orrin sold the mill of Lowmoor to Mara Tolan for nine pounds."
    index = an_index(
        f"{BEES} {WAX}",
        f"{BUILT} Mara Tolan kept a diary of the weir.",
        both,
        entities=["Mara Tolan", "Zorba Orrin"],
    )
    context = Context(sources=tuple(index.chunks), entities=tuple(index.entities))

    task = AnswerFromContext("How are Mara Tolan and Zorba Orrin connected?", context)

    assert lines(answer_from_context(task, Searcher(index))) == [both]


def test_where_nothing_is_named_all_words_are_what_is_asked():
    texts = (
        "Gatefever can last for years. It is mostly caused by wet summers.",
        "The flood was caused by rain. The fire was caused by a spark. The noise was caused by the mill.",
    )
    index = an_index_of_quenda(*texts)
    task = AnswerFromContext("What causes gatefever?", Context(sources=tuple(index.chunks)))

    assert "wet summers" in lines(answer_from_context(task, Searcher(index)))[0]


def test_what_speaks_of_the_one_is_quoted_where_nothing_names_both():
    weir = "The weir of Quenda was rebuilt by Mara Tolan in one winter."
    physics = "Physics was taught by a miller of the coast in those years."
    index = an_index(physics, weir, BEES, WAX, entities=["Quenda"])
    context = Context(sources=tuple(index.chunks), entities=tuple(index.entities))

    task = AnswerFromContext("How is Quenda connected to physics?", context)

    assert weir in lines(answer_from_context(task, Searcher(index)))


def test_what_is_in_the_language_of_the_question_comes_first():
    german = "The Marktplatz von Skarne wurde 1911 gepflastert und 1960 verkauft."
    english = "In that year masons from the coast paved the old Marktplatz with grey stones."
    index = an_index(f"{german} {german[:-1]} mit Bäumen.", english)
    languages = [
        replace(d, metadata={"language": code}) for d, code in zip(index.documents, ("de", "en"), strict=True)
    ]
    index = replace(index, documents=languages)

    text = answer_from_context(
        AnswerFromContext("Tell me about the Marktplatz", Context(sources=tuple(index.chunks))),
        Searcher(index),
    )

    assert lines(text)[0] == english
