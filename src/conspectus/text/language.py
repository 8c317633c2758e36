"""Determine the language of a text, by its script and by the function words in it.

A few sentences are enough. A document with too little text is in the language of most other documents.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from conspectus.rows import Document


@cache
def read_data(name: str) -> dict[str, Any]:
    """Return the word lists of a file in `text/data`, or its tables, one per language.
    A list is one string of words in single quotes, which `tomllib` parses fast: all files (90 kB) take 6 ms of CPU.
    """
    return tomllib.loads((Path(__file__).parent / "data" / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def read_word_sets(name: str) -> dict[str, frozenset[str]]:
    """Return the word lists of a file in `text/data`, each as a set."""
    return {key: frozenset(words.split()) for key, words in read_data(name).items()}


@cache
def text_pattern(table: str, name: str) -> re.Pattern[str]:
    """Return a regular expression from `data/patterns.toml`, where a list contains alternatives."""
    pattern: str | list[str] = read_data("patterns")[table][name]
    return re.compile(pattern if isinstance(pattern, str) else "|".join(pattern))


def gives_instructions(text: str) -> bool:
    """Return whether a text contains instructions to language models, such as planted ones (prompt injection)."""
    folded = text.casefold()
    hinted = any(hint in folded for hint in read_data("patterns")["small_talk"]["hints"])
    return hinted and bool(text_pattern("small_talk", "instructions").search(folded))


GRAMMARS: dict[str, dict[str, str]] = read_data("function_words")
"""The function words of each language, by its code. For some languages, they only suffice to recognise it."""


@cache
def function_words(language: str, *kinds: str) -> tuple[str, ...]:
    """Return the function words of a language of some kinds (see `data/function_words.toml`), which may be none.

    If no kind is given, they are those without content: the kinds "nouns", "verbs" and "others".
    """
    words = GRAMMARS.get(language, {})
    return tuple(" ".join(words.get(kind, "") for kind in kinds or ("nouns", "verbs", "others")).split())


AUTO = "auto"
ENGLISH = "en"
STATED = "language"
"""The field of a document's metadata that names its language."""
SAMPLE = 300
"""Characters that are examined at the beginning, middle and end of a document, and maximum length of a question: about
a paragraph, from which 31 languages can be recognised. With half or double nothing changes."""
CHINESE = 0.2
"""Share of Chinese characters and kana among letters above which a text is Chinese or Japanese. Passages of 2wiki with a
name in Chinese have at most 0.06, those of cmrc-zh at least 0.42."""
LEAST, UNLOOKED_FOR = 1.0, 2.0
"""Least score of a language, in distinct function words, and of one that is neither likely nor English. A word that
several languages share counts as a fraction: English `met` and `over` are Dutch words too. With these, 102 of 882
sentences in 31 languages stay undetermined; with 1.0 for all it would be 49, but because of names in them, 19 of 2,000
first sentences of 2wiki, instead of 1, would not be English."""
_SCRIPTS: dict[str, str] = read_data("patterns")["scripts"]
BY_SCRIPT = {language: text_pattern("scripts", language) for language in _SCRIPTS}
"""The pattern of each script, by its most common language; between those that share one, function words decide."""
_SHARED = {"ru": ("ru", "uk", "bg"), "ar": ("ar", "fa")}
_NOT_LATIN = {*BY_SCRIPT, *_SHARED["ru"], *_SHARED["ar"]}
_LATIN = tuple(code for code in GRAMMARS if code not in _NOT_LATIN)
_QUESTION = re.compile(r"[?？؟;]\s*$")
_LATIN_LETTER = re.compile("[a-zA-Z\u00c0-\u024f]")
_OTHER_SCRIPT = re.compile("[\u0370-\u1fff\u3040-\ud7af]")
"""Any character of the scripts above; a quick first check, since most texts have none."""
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_KANA = 0.1
"""Kana per Chinese character from which on a text is Japanese: in the tests they have 0.55, in cmrc-zh at most 0.09."""


def language_of(texts: Iterable[str], likely: Sequence[str] = ()) -> str:
    """Return the language of texts taken together, as a two-letter code.
    If it cannot be determined, it is the first of the likely ones, or English.
    """
    text = " ".join(texts)
    return guess(text, likely) or next(iter(likely), ENGLISH)


def guess(text: str, likely: Sequence[str] = ()) -> str:
    """Return the language of a text as a two-letter code, or "" if it cannot be determined.
    A language that is not likely requires more function words; in a question, an interrogative suffices.
    """
    asked = len(text) <= SAMPLE and bool(_QUESTION.search(text))
    script = _script(text, asked=asked) if _OTHER_SCRIPT.search(text) else ""
    if script in ("zh", "ja", "ko", "th"):
        return script
    possible = _SHARED.get(script, (script,)) if script else _LATIN
    scores: dict[str, float] = defaultdict(float)
    known, asking = _languages_of_word(), _languages_of_word("asking")
    first, *words = _WORD.findall(text) or [""]
    distinct = dict.fromkeys((first.lower(), *words))  # other words with a capital are parts of names
    for table in (known, asking) if asked else (known,):
        for word in filter(table.__contains__, distinct):
            for language, weight in table[word]:
                scores[language] += weight
    ranked = sorted(scores.keys() & set(possible), key=lambda code: (-scores[code], code not in likely, code))
    looked_for = bool(ranked) and (ranked[0] in (*likely, ENGLISH) or bool(script) or asked)
    if ranked and scores[ranked[0]] >= (LEAST if looked_for else UNLOOKED_FOR):
        return ranked[0]
    return script


@cache
def _languages_of_word(*kinds: str) -> dict[str, list[tuple[str, float]]]:
    """Return for each function word (of some kinds) the languages that have it, each with an equal share of 1."""
    languages: dict[str, list[str]] = defaultdict(list)
    for language in GRAMMARS:
        for word in dict.fromkeys(_WORD.findall(" ".join(function_words(language, *kinds)))):
            languages[word].append(language)
    return {word: [(code, 1 / len(codes)) for code in codes] for word, codes in languages.items()}


def _script(text: str, *, asked: bool = False) -> str:
    """Return the language that most of a text's letters indicate, "" for Latin ones.
    A question may name its subject in another script. Without Latin function words its Latin letters are ignored
    ("OpenAI是谁创立的?"); with no others, it is in a language of Latin letters ("Who founded 青叶合作社?").
    """
    first, *words = (asked and _WORD.findall(text)) or [""]
    tables = _languages_of_word(), _languages_of_word("asking")
    small: set[str] = set()
    for word in (first.lower(), *words):
        small.update(code for table in tables for code, _ in table.get(word, ()))
    framed = not small.isdisjoint(_LATIN)
    if asked and not framed:
        text = _LATIN_LETTER.sub("", text)
    letters = len(_LETTER.findall(text)) or 1
    counts = {language: len(pattern.findall(text)) for language, pattern in BY_SCRIPT.items()}
    han, kana = counts["zh"], counts["ja"]
    best = max(counts, key=lambda language: counts[language])
    if han + kana > CHINESE * letters:
        best = "ja" if kana >= _KANA * han else "zh"
    elif counts[best] <= 0.5 * letters:
        return ""
    unparted = best in read_data("patterns")["small_words"]
    own = unparted and text_pattern("small_words", best).search(text)
    return "" if framed and not own and small.isdisjoint(_SHARED.get(best, (best,))) else best


def guess_document(text: str) -> str:
    """Return the language of a document, guessed from samples of its text, or "" if undetermined."""
    return guess(_sample(text))


def with_languages(
    documents: Sequence[Document], default: str = AUTO, guesses: Sequence[str] | None = None
) -> list[Document]:
    """Return the documents with the language of each in its metadata.

    A document whose language is undetermined is taken to be in the `default` language, or in that of most others. A
    stated language is not changed, unless the text is clearly in another one: pages often state the language of their
    template. `guesses` are the results of `guess_document`, if known.
    """
    guesses = guesses or [guess_document(document.text) for document in documents]
    counts = Counter(filter(None, guesses))
    commonest = min(counts, key=lambda code: (-counts[code], code), default=ENGLISH)
    usual = default if default != AUTO else commonest
    result: list[Document] = []
    for document, language in zip(documents, guesses, strict=True):
        stated = _stated(document)
        if not language or language not in (stated, usual):
            language = guess(_sample(document.text), [usual]) if language else ""
            language = language or stated or usual
        if language != stated:
            document = replace(document, metadata={**document.metadata, STATED: language})
        result.append(document)
    return result


def in_languages(documents: Sequence[Document], default: str = AUTO) -> Sequence[Document]:
    """Return the documents unchanged if each states its language (as those read from files do), else with languages."""
    return documents if all(map(_stated, documents)) else with_languages(documents, default)


def _stated(document: Document) -> str:
    code = document.metadata.get(STATED, "").replace("_", "-").partition("-")[0].lower()
    # checked, since prompts contain it
    return code if re.fullmatch("[a-z]{2,3}", code) else ""


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE:
        return text
    middle = len(text) // 2
    return f"{text[:SAMPLE]} {text[middle : middle + SAMPLE]} {text[-SAMPLE:]}"


def languages_in(documents: Iterable[Document], chosen: str = AUTO) -> tuple[str, ...]:
    """Return the languages of documents (see `with_languages`): first the chosen ones, then the most frequent."""
    counts = Counter(document.language for document in documents)
    ordered = sorted(counts, key=lambda code: (-counts[code], code)) or [ENGLISH]
    return tuple(dict.fromkeys(ordered if chosen == AUTO else (*chosen.split(","), *ordered)))


def corpus_language(documents: Sequence[Document], chosen: str = AUTO) -> str:
    """Return the chosen language, or else that of most documents."""
    return languages_in(in_languages(documents, chosen), chosen)[0]
