"""Questions: what kind of thing each asks for, and which of its words name its subject.

The patterns of questions are in `data/question_patterns.toml`, by language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from conspectus.text.language import ENGLISH, function_words, language_of, read_data
from conspectus.text.language_rules import rules_of
from conspectus.text.words import CJK, SMALL, fold, name_key, stem, terms, without_particles

_PATTERNS = read_data("question_patterns")
_QUESTION_MARK = re.compile(r"[?？؟;]\s*$")
_CHINESE_QUOTED = re.compile("[《“「]")
"""Opening marks of a quoted Chinese name, which is one thing and not the whole of the corpus."""
_NAME = re.compile(rf"(?<!^)(?<![¿¡]){_PATTERNS[ENGLISH]['name_start']}[^\W\d_{SMALL}][\w'’.-]*")
_FULL_NAME = re.compile(rf"{_NAME.pattern}(?: [^\W\d_{SMALL}][\w'’.-]*)+")


@cache
def question_pattern(language: str, name: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """Return the question pattern of a language with a name; one that matches nothing if the language has none."""
    pattern: str | list[str] = _PATTERNS.get(language, {}).get(name, "(?!)")
    return re.compile(pattern if isinstance(pattern, str) else "|".join(pattern), flags)


@cache
def question_stopwords(language: str) -> frozenset[str]:
    """Return the stems of the words that questions of a language are phrased with, which do not name their subject."""
    return frozenset(
        stem(word, language) for word in _PATTERNS.get(language, {}).get("stopwords", "").split()
    )


@cache
def _related_stems(language: str) -> dict[str, tuple[str, ...]]:
    forms: dict[str, tuple[str, ...]] = {}
    for kind, first in ("verbs", 1), ("related", 0):
        for row in _PATTERNS[language][kind]:
            for form in (group := [stem(each, language) for each in row.split()]):
                forms[form] = (*forms.get(form, ()), *(other for other in group[first:] if other != form))
    return forms


def other_forms(term: str, language: str) -> Collection[str]:
    """Return the stems of other past forms of the verb with a stem ("led" for "lead"), and of nouns, verbs and adjectives
    that belong to it ("treatment" for "treat", "renal" for "kidney").
    The present is not returned for the past: a sentence about who may win does not answer who won.
    """
    if language in ("de", "nl"):  # leitet, geleitet
        return (term.removeprefix("ge") if term.startswith("ge") else f"ge{term}",)
    if language == ENGLISH:
        return (*_related_stems(language).get(term, ()), f"{term}ment", term.removesuffix("ment"))
    return ()


@dataclass(frozen=True)
class Question:
    """A question, its distinct search terms, and what its wording shows that it asks for."""

    text: str
    terms: tuple[str, ...]
    focus: tuple[str, ...]
    """The terms without the words that questions are phrased with."""
    language: str = ENGLISH
    teller: str = ""
    """The text before the verb of saying, in a question about what somebody says about something."""

    @cached_property
    def chinese(self) -> bool:
        """Whether it has any Chinese or Japanese characters."""
        return bool(CJK.search(self.text))

    @cached_property
    def about_whole(self) -> bool:
        """Whether it asks about the corpus as a whole, by its wording, and not for what somebody who is named says."""
        teller = self.teller or self.text.partition(" according to ")[2]
        if not set(self.names).isdisjoint(name_key(teller).split()):
            return False
        own = self.language if self.language != "zh" else ENGLISH
        text = self.text
        # "an overview of the letters of Ada Byrne" is about these only, "an overview of the letters" about all
        match = question_pattern(own, "summary_of").search(text)
        named = " ".join((*self.written_names, text[match.end() :] if match else ""))
        subject = _focus(question_pattern(own, "texts").sub(" ", named), self.language, (self.language,))
        if subject and not self._matches("corpus", own):
            for language in (ENGLISH, own):
                text = question_pattern(language, "summary").sub(" ", text)
        if any(question_pattern(language, "whole").search(text) for language in (ENGLISH, own)):
            return True
        # "What is this about?", but neither "Where is it?" nor "Hello"
        if not self.focus:
            return not self.wants and bool(self.terms or _QUESTION_MARK.search(self.text))
        return self._matches("whole", "zh") and not _CHINESE_QUOTED.search(self.text)

    @cached_property
    def about_sources(self) -> bool:
        """Whether it asks about the sources: what they say, who says it, how often, or how they differ."""
        if self.chinese:
            return self._matches("many", "zh")
        if self._matches("choice") or self._matches("look_up"):
            return False
        return self._matches("of_corpus") or self._matches("many")

    @cached_property
    def about_many(self) -> bool:
        """Whether it asks for several things, or what several people or documents say, rather than for one fact."""
        if self.about_sources or self.chinese or self._matches("choice"):
            return self.about_sources
        return self._matches("about_many") and not self.wants

    @cached_property
    def wants(self) -> str:
        """The kind of thing that would answer it: number, date, person or place; "" if its wording does not say."""
        language = ENGLISH if self.language == "zh" else self.language
        text = question_pattern(language, "circumstance").sub(lambda m: m[1], self.text)
        for kind in ("number", "date", "person", "place"):
            if question_pattern(language, kind).search(text):
                return kind
        return ""

    @cached_property
    def parts(self) -> list[str]:
        """The questions that it consists of: several if "and" connects them, otherwise just itself."""
        joint = question_pattern(self.language, "another_question")
        parts = joint.split(self.text)
        whole = all(len(part.split()) > 1 for part in parts)
        return parts if whole else [self.text]

    @cached_property
    def asks_name(self) -> bool:
        """Whether a name of any kind answers it ("which company", "what street"); never in Chinese."""
        return self._matches("name", self.language)

    @cached_property
    def joins_facts(self) -> bool:
        """Whether its answer requires two facts: it compares things, or identifies one by another ("mother of …")."""
        if self._form not in (ENGLISH, "zh"):
            return False
        if self.chinese:
            links = question_pattern("zh", "link").findall(self.text)
            return self._matches("compared", "zh") or len(links) > 1
        if self._matches("compared", flags=re.NOFLAG) or self._matches("choice"):
            return True
        names = ("agent", "kin", "owned", "relative", "reduced")
        steps = sum(len(question_pattern(ENGLISH, n, re.NOFLAG).findall(self.text)) for n in names)
        if self._matches("nested", flags=re.NOFLAG):
            steps = max(steps, 2)
        return steps + (self._matches("asks_verb") or self._matches("said_after", flags=re.NOFLAG)) > 1

    @cached_property
    def asks_relation(self) -> bool:
        """Whether it asks how things are related."""
        return self._matches("together", "zh" if self.chinese else ENGLISH)

    @cached_property
    def asks_change(self) -> bool:
        """Whether it asks how something changed over time."""
        return self._matches("change", self.language)

    @cached_property
    def asks_description(self) -> bool:
        """Whether it asks for a description of something, or for its reasons or history."""
        return self.asks_definition or self._matches("thing", self._form)

    @cached_property
    def cues(self) -> tuple[re.Pattern[str], ...]:
        """Patterns of words that indicate an answer to it, such as `because` if it asks why."""
        pairs = () if self.asks_definition else _PATTERNS.get(self.language, {}).get("cues", ())
        return tuple(re.compile(cue, re.I) for asked, cue in pairs if re.search(asked, self.text, re.I))

    @cached_property
    def asks_definition(self) -> bool:
        """Whether it only asks who or what something is, what it means, or (not in English) what it is for."""
        return self._matches("definition", self.language)

    @cached_property
    def asks_fact(self) -> bool:
        """Whether it is phrased as a question, not just as a topic."""
        if self._form in (ENGLISH, "zh"):
            return self._matches("interrogative", self._form)
        return bool(self.wants) or bool(_QUESTION_MARK.search(self.text))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The keys of the capitalised words in it."""
        return tuple(dict.fromkeys(map(name_key, self.written_names)))

    @cached_property
    def _text_for_names(self) -> str:
        """The text searched for names, with "of" before it if it opens with one ("Ada's", "Ada Lovelace")."""
        first, _, rest = self.text.partition(" ")
        named = (self.language == ENGLISH and rest[:1].isupper()) or first.endswith(("'s", "’s"))
        asking = not _focus(name_key(first), ENGLISH, (ENGLISH,))
        return f"of {self.text}" if named and not asking else self.text

    @cached_property
    def full_names(self) -> tuple[str, ...]:
        """The runs of two or more capitalised words in it, as written."""
        return tuple(m[0] for m in _FULL_NAME.finditer(self._text_for_names) if m[0][0].isupper())

    @cached_property
    def people(self) -> tuple[str, ...]:
        """The names that may be of people: full names, and the single names (as keys) that are in none of these."""
        inside = {key for name in self.full_names for key in name_key(name).split()}
        return (*self.full_names, *(name for name in self.names if name not in inside))

    @cached_property
    def written_names(self) -> tuple[str, ...]:
        """The capitalised words in it, as written, without those that only phrase the question."""
        rules = rules_of(self.language)
        text = self._text_for_names
        matches = (m for m in _NAME.finditer(text) if m.group()[0].isupper() and m.group() != "I")
        if rules.nouns_capitalised:  # then a noun with an article is no name
            matches = (m for m in matches if text[: m.start()].split()[-1].lower() not in rules.articles)
        names = tuple(dict.fromkeys(m.group() for m in matches))
        if self.language == ENGLISH:
            return names
        # drop interrogatives and words such as "topics": `¿Quién`, `die wichtigsten Themen`
        asking = function_words(self.language, "asking")
        built = question_stopwords(self.language)
        return tuple(
            n for n in names if n.lower() not in asking and stem(fold(n), self.language) not in built
        )

    @cached_property
    def _form(self) -> str:
        """The language of its patterns: Chinese for an English question with Chinese characters, else its own."""
        return "zh" if self.chinese and self.language == ENGLISH else self.language

    def _matches(self, name: str, language: str = ENGLISH, flags: re.RegexFlag = re.IGNORECASE) -> bool:
        return bool(question_pattern(language, name, flags).search(self.text))


def read_question(text: str, *languages: str) -> Question:
    """Read a question; its words are stemmed in the `languages` of the searched documents, English by default.
    A question in another language is also stemmed in its own, and its own function words are removed.
    """
    language = language_of([text], languages)
    text = question_pattern(ENGLISH, "contracted").sub(r"\1 is", text)
    if languages and language not in languages:
        text = without_particles(text, languages)
        languages = (*languages, language)
    telling = question_pattern(ENGLISH, "telling").search(text) if language == ENGLISH else None
    about = text[telling.end() :] if telling else text
    if question_pattern(language, "change").search(text):
        about = question_pattern(language, "changing").sub(" ", about)
    focus = _focus(about, language, languages)
    if telling and not focus:  # "of the state"
        focus = tuple(dict.fromkeys(terms(about, *languages)))
    if telling and not focus:
        about, focus = text, _focus(text, language, languages)
    teller = text[: telling.start()] if telling and about is not text else ""
    every_term = tuple(dict.fromkeys(terms(text, *languages)))
    return Question(text, every_term, focus, language, teller)


def _focus(text: str, language: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct terms of a text without the words that questions are phrased with."""
    text = question_pattern(language, "built").sub(" ", text)
    stopwords = question_stopwords(ENGLISH) | question_stopwords(language)
    return tuple(term for term in dict.fromkeys(terms(text, *languages)) if term not in stopwords)


def is_short(response: str) -> bool:
    """Return whether a requested length and format asks for just the answer, in a few words."""
    return bool(question_pattern(ENGLISH, "short_answer").search(response))
