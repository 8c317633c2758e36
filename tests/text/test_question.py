"""Questions: what they ask for."""

from __future__ import annotations

import pytest

from conspectus.text.question import other_forms, read_question
from conspectus.text.words import stem


def test_words_that_only_ask_are_no_part_of_the_focus():
    question = read_question("What examples are mentioned of the harbour dues in these documents?")

    assert question.focus == ("harbour", "due")
    assert len(question.terms) > len(question.focus)


@pytest.mark.parametrize(
    "text",
    [
        "What are the main themes of these documents?",
        "Summarise the corpus.",
        "Give me an overview.",
        "What topics are discussed?",
    ],
)
def test_what_asks_for_the_whole_is_about_the_whole(text: str):
    assert read_question(text).about_whole


def test_what_asks_for_something_in_it_is_not():
    assert not read_question("Who built the weir at Orrin?").about_whole


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("How many boats came?", "number"),
        ("By what vote was it decided?", "number"),
        ("When did it close?", "date"),
        ("On what date did it close?", "date"),
        ("Who built it?", "person"),
        ("Whose boat is it?", "person"),
        ("Where is it?", "place"),
        ("Why is it so?", ""),
        ("When should the gate be shut?", ""),
        ("Quel est le montant du loyer de la maison ?", "number"),
        ("¿Cuál es el precio de la casa?", "number"),
        ("Is it better to wait?", ""),
    ],
)
def test_the_asking_word_tells_what_kind_of_thing_is_wanted(text: str, wants: str):
    assert read_question(text).wants == wants


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("What happens when the weir is opened?", ""),
        ("Why was the gate left open when the mayor came?", ""),
        ("How did the people who built the mill live?", ""),
        ("What is the difference between ale and beer when it comes to hops?", ""),
        ("Can a friend who has no boat come?", ""),
        ("Was the gate shut when the mayor came?", ""),
        ("Which part of the mill shows how much grain is left?", ""),
        ("How does the mayor handle the case where the weir breaks?", ""),
        ("Can you tell me who came?", "person"),
        ("What was the year when the mill burned?", "date"),
        ("Who was mayor when the mill burned?", "person"),
        ("What was built there, and when?", "date"),
        ("Where and when did they meet?", "date"),
        ("When a weir leaks, does the mayor pay?", ""),
        ("When the mayor came, in what shape was the gate?", ""),
        ("When did the mill, which Tolan built, burn?", "date"),
        ("How soon must the filter be cleaned?", "number"),
    ],
)
def test_a_circumstance_is_not_what_is_wanted(text: str, wants: str):
    assert read_question(text).wants == wants


@pytest.mark.parametrize(
    ("question", "language", "given"),
    [
        ("How often does the council meet?", "en", "once in every quarter"),
        ("Wie oft wird der Filter gereinigt?", "de", "der Filter wird wöchentlich gereinigt"),
        ("Wie lange muss der Teig ruhen?", "de", "der Teig ruht über Nacht"),
        ("Wie teuer ist die Karte?", "de", "die Karte ist kostenlos"),
        ("À quelle fréquence le filtre est-il nettoyé ?", "fr", "le filtre est nettoyé chaque semaine"),
        ("Combien coûte le plan ?", "fr", "le plan est gratuit"),
        ("¿Con qué frecuencia se limpia el filtro?", "es", "el filtro se limpia todas las semanas"),
        ("¿Cuánto cuesta el plano?", "es", "el plano es gratuito"),
    ],
)
def test_numbers_may_be_given_in_words(question: str, language: str, given: str):
    read = read_question(question, language)

    assert read.wants == "number"
    assert any(cue.search(given) for cue in read.cues)


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("long", "length"),
        ("length", "long"),
        ("describe", "description"),
        ("kidney", "renal"),
        ("died", "death"),
    ],
)
def test_nouns_verbs_and_adjectives_that_belong_together_count_as_one_word(asked: str, given: str):
    assert stem(given) in other_forms(stem(asked), "en")


def test_the_present_is_no_form_of_the_past():
    assert stem("led") in other_forms(stem("lead"), "en")
    assert stem("lead") not in other_forms(stem("led"), "en")


def test_questions_that_and_joins_are_several():
    text = "What is a weir, and who opens it?"

    assert read_question(text).parts == ["What is a weir", "who opens it?"]
    assert read_question("Where and when did they meet?").parts == ["Where and when did they meet?"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was ist ein Siel?", "de"),
        ("Was ist das Siel?", "de"),
        ("Wozu ist das Siel gut?", "de"),
        ("Wozu dient das Siel?", "de"),
        ("Qu'est-ce qu'une écluse ?", "fr"),
        ("À quoi sert l'écluse ?", "fr"),
        ("¿Qué es una esclusa?", "es"),
        ("¿Para qué sirve la esclusa?", "es"),
        ("O que é uma eclusa?", "pt"),
        ("Cos'è una chiusa?", "it"),
        ("A cosa serve la chiusa?", "it"),
        ("Wat is een sluis?", "nl"),
    ],
)
def test_a_definition_is_asked_for_in_other_languages(text: str, language: str):
    question = read_question(text, language)

    assert question.asks_definition
    assert len(question.focus) == 1


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was ist mit dem Siel in Quenda passiert?", "de"),
        ("Wer war der erste Müller von Quenda?", "de"),
        ("Was macht die Stadt gegen das Hochwasser?", "de"),
        ("Qui est le maire de Quenda ?", "fr"),
        ("Qui fait le pain ?", "fr"),
        ("Qu'est-ce que la mairie a décidé ?", "fr"),
        ("Qu'est-ce qu'il faut payer ?", "fr"),
        ("¿Quién es el alcalde de Quenda?", "es"),
    ],
)
def test_what_somebody_does_or_which_office_somebody_has_is_no_definition(text: str, language: str):
    assert not read_question(text, language).asks_definition


@pytest.mark.parametrize(
    "text", ["What is meant by a weir?", "What does weir mean?", "What does PNG stand for?"]
)
def test_what_a_word_means_is_asked_for_its_definition(text: str):
    question = read_question(text)

    assert question.asks_definition
    assert len(question.focus) == 1


@pytest.mark.parametrize(
    ("text", "language", "focus"),
    [
        ('What does the term "weir" mean?', "en", ("weir",)),
        ("What is meant by the word weir?", "en", ("weir",)),
        ("What does the abbreviation PNG stand for?", "en", ("png",)),
        ("What does the term of the loan mean?", "en", ("term", "loan")),
        ("Was bedeutet der Begriff Wehr?", "de", ("wehr",)),
        ("Que signifie le terme « barrage » ?", "fr", ("barrag",)),
    ],
)
def test_what_names_a_word_as_a_word_is_no_part_of_it(text: str, language: str, focus: tuple[str, ...]):
    assert read_question(text, language).focus == focus


def test_what_many_say_is_about_many():
    assert read_question("What do residents say about the weir?").about_many
    assert not read_question("Who built the weir?").about_many


@pytest.mark.parametrize(
    "text", ["How do masons measure slope?", "Why are some people born deaf?", "How do people catch eels?"]
)
def test_how_and_why_something_is_done_is_not_what_many_say(text: str):
    assert not read_question(text).about_many


def test_names_are_the_capitalised_words_inside():
    assert read_question("What did Mara Tolan build at Orrin? When?").names == ("mara", "tolan", "orrin")


def test_a_name_may_open_a_question():
    assert read_question("Mara Tolan built which weir?").full_names == ("Mara Tolan",)
    assert read_question("Tolan's first weir?").names == ("tolan",)
    assert read_question("Did Mara leave? What is it?").names == ("mara",)
    assert read_question("Describe Mara Tolan").full_names == ("Mara Tolan",)
    assert read_question("What's Mara's trade?").names == ("mara",)


def test_the_first_word_of_a_spanish_question_is_no_name():
    assert read_question("¿Seguirán siendo válidas las entradas de Orrin?", "es").names == ("orrin",)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Summarise the P7 problem", False),
        ("Give me an overview of sensor P7", False),
        ("Summarise the field of hydrology", False),
        ("Summarise the letters of Ada Byrne", False),
        ("Summarise the story of the weir", False),
        ("Summarise the letters in three sentences", True),
        ("Please write me a short summary", True),
        ("Can you make a summary for me?", True),
        ("Gib mir einen Überblick über Primzahlen", False),
        ("Give me an overview of the documents on the P7", True),
        ("Summarise the main themes of Quenda", True),
        ("Summarise the corpus", True),
        ("Give me an overview", True),
        ("Gib mir einen Überblick über Vattnet", False),
        ("Gib mir einen Überblick über alle Dokumente", True),
    ],
)
def test_a_summary_of_what_is_named_is_not_of_the_whole(text: str, whole: bool):
    assert read_question(text).about_whole == whole


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Gib mir einen Überblick", True),
        ("Gib mir einen Überblick über alle Dokumente", True),
        ("Gib mir einen Überblick über Vattnet", False),
    ],
)
def test_a_summary_of_german_texts_may_be_of_the_whole(text: str, whole: bool):
    assert read_question(text, "de").about_whole == whole


@pytest.mark.parametrize(
    "text",
    [
        "Who presented a report?",
        "How many people work in Gothenburg?",
        "When was the plan discussed?",
        "Who signed the papers?",
        "Who stole the documents?",
        "Where are the articles of the club?",
    ],
)
def test_who_when_and_how_many_ask_for_a_fact(text: str):
    assert not read_question(text).about_many


def test_who_among_several_sources_is_about_many():
    assert read_question("Which guests discussed the climate?").about_many
    assert read_question("How many of the speakers mentioned Quenda?").about_many
    assert read_question("Who is mentioned in these documents?").about_many
    assert read_question("Where do the papers disagree?").about_many


@pytest.mark.parametrize("title", ["Dr.", "Mr.", "Mrs.", "Ms.", "Prof."])
def test_a_title_is_no_name_and_ends_no_sentence(title: str):
    assert read_question(f"What does {title} Tolan say about the weir?").names == ("tolan",)


@pytest.mark.parametrize(
    "text",
    ["What does Mara Tolan say is the common thread?", "What are the main themes, according to Mara Tolan?"],
)
def test_what_somebody_who_is_named_says_is_not_about_the_whole(text: str):
    assert not read_question(text).about_whole
    assert read_question(text.replace("Mara Tolan", "everybody")).about_whole


@pytest.mark.parametrize(
    "text", ["What was the first weir Mara Tolan built?", "What is the best lamp she ever made?"]
)
def test_a_clause_without_a_pronoun_asks_for_no_definition(text: str):
    assert not read_question(text).asks_definition


def test_how_two_things_differ_is_no_definition():
    question = read_question("What is the difference between lime and ash?")

    assert not question.asks_definition
    assert question.cues


@pytest.mark.parametrize("question", ["{} the Quenda Weir?", "{} lime and ash?"])
def test_a_contraction_asks_what_its_words_do(question: str):
    whole, *contracted = (read_question(question.format(opens)) for opens in ("What is", "What's", "what’s"))

    assert whole.asks_definition
    assert all((c.focus, c.asks_definition) == (whole.focus, True) for c in contracted)
