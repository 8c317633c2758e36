"""Questions: which of their words say what is asked for, and which only ask."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from conspectus.text.function_words import function_words_of
from conspectus.text.language import ENGLISH, language_of
from conspectus.text.language_rules import rules_of
from conspectus.text.question_patterns import asks, found, patterns_of, question_stopwords
from conspectus.text.words import CJK, SMALL, fold, is_content, name_key, stem, stems, terms, without_particles

SCAFFOLDING = stems(
    """
    according across anecdote anecdotes believe believed considered current currently new address addressed
    answer approach approaches aspect aspects case cases cite cited cites commonly common compare compared
    comment comments concept concepts concerning consideration considerations consistently contain contains
    context conversation conversations corpus cover covered dataset describe described describes description
    detail details differ difference differences different differently discuss discussed discusses discussing
    discussion discussions do document documents effect effects emphasis emphasize emphasized emphasise
    emphasised episode episodes evidence example examples experience experiences explain explained explains
    explore explored express expressed feature featured features focus focused frequent frequently generally
    give given guest guests highlight highlighted highlights identify illustrate implication implications
    impact impacts important importance include included indicate influence influences insight insights
    instance interview interviews interviewee issue issues key kind kinds list main major material mention
    mentioned mentions most name notable note noted often opinion opinions overall overview particular
    particularly passage perceive perceived perception perspective perspectives place placed point points
    podcast podcasts present presented primary prominent provide provided quote quotes raise raised recurring
    refer reference references regard regarding relate related relates relation report reported reports reveal
    revolve role roles see seen sentiment series share shared show shown shows similar similarly source
    sources speak speaker speakers specific specifically stand standout state stated subject suggest suggested
    suggestions summarise summarize summary talk talked tell text significance story stories potential texts
    theme themes topic topics trend trends type types typical typically unique use used various view viewed
    views way ways widely word words
    """.split()
)
"""Stems of words that a question is built with; they say nothing of what it is about."""

_WHOLE = re.compile(
    r"\b(?:main|major|key|overall|common|recurring|most (?:frequent|common|important)|overarching|general)\b"
    r".{0,30}\b(?:themes?|topics?|ideas?|messages?|patterns?|subjects?|threads?)\b"
    r"|\b(?:summar(?:y|ise|ize)|overview|as a whole|in general|across (?:the|all)|throughout|"
    r"what (?:is|are) (?:this|these|the) (?:corpus|collection|documents?|dataset|data|texts?|archive)\b)",
    re.IGNORECASE,
)
_WHOLE_ZH = re.compile(
    r"总结|概述|概括|归纳|综述|综观|总的来说|总体上|整体上|大意|"
    r"(?:主要|核心|共同|常见|重要|关键|反复出现的?)的?(?:主题|话题|议题|问题|内容|观点|思想|论点|线索|脉络)|"
    r"(?:这些|这批|全部|所有|整个|各篇)的?(?:文档|文件|文章|资料|材料|文本|语料|数据集?|访谈|节目|报道)(?:.{0,4}(?:讲|说|谈|关于|涉及|主题)|$)"
)
_QUOTED_ZH = re.compile("[《“「]")
"""What is named between such marks is one thing."""
_ABOUT_MANY = re.compile(
    r"\b(?:how do|what do|do any|are there|can you find|who (?:are|else)|what are|do (?:the |tech )?\w+s|"
    r"(?:which|what) (?:\w+ )?\w+s(?: or \w+s)? (?:are|do|did|have|were|can))\b",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"\b(?:(?:talk|speak|say|think|feel|hear|write|worry)(?:s|ed|ing)? (?:\w+ )?(?:about|of)|"
    r"discuss(?:es|ed|ing)?|mention(?:s|ed|ing)?|describ(?:e|es|ed|ing)|perceiv(?:e|es|ed|ing)|address(?:es|ed|ing)?|emphasi[sz](?:e|es|ed|ing)|"
    r"highlight(?:s|ed|ing)?|conversations about|discussions (?:on|about|of)|"
    r"focus(?:es|ed|ing)? on|deal(?:s|ing)? with)\b",
    re.IGNORECASE,
)
"""What stands before such words says who tells, and what stands after them, of what."""
_OF_CORPUS = re.compile(
    r"\b(?:guests|episodes?|discussions?|conversations?|interviews|interviewees|hosts?(?:'s)?|speakers|participants|"
    r"authors|articles|documents|papers|chapters|transcripts|people|everyone|residents|leaders|experts|sources|"
    r"trends|patterns|types of|areas of|kinds of)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+(?:['’]\w+)?|[^\w\s-]")
_NAME = re.compile(rf"(?<![.?!]\s)(?<!^)\b[^\W\d_{SMALL}][\w'’.-]*")


_WANTS = (
    ("number", re.compile(
        r"\bhow (?:many|much|large|long|far|high|deep|wide|tall|old|big|often|fast|heavy)\b|\bwhat (?:\w+ )?"
        r"(?:vote|number|price|cost|amount|share|sum|figure|size|speed|percentage)\b"
        r"|多少|几[个名位次年岁]|多[大高长远久重快深宽]", re.IGNORECASE)),
    ("date", re.compile(
        r"\bwhen\b|\b(?:what|which) (?:date|day|year|month)\b|何时|什么时候|哪一?[年月天]|几[月日]", re.IGNORECASE)),
    ("person", re.compile(r"\bwho(?:se|m)?\b|谁|何人|哪位", re.IGNORECASE)),
    ("place", re.compile(
        r"\bwhere\b|\b(?:what|which) (?:\w+ )?(?:place|city|town|village|country|state|county|province|region|district|"
        r"island|continent|river|lake|street)\b|哪里|哪儿|何处|何地|在哪", re.IGNORECASE)),
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A question, its words that carry content (stems, each once), and those that are no scaffolding."""

    text: str
    terms: tuple[str, ...]
    focus: tuple[str, ...]
    language: str = ENGLISH
    runs: tuple[tuple[str, ...], ...] = ()
    """The words of the focus, those that are written next to each other together; none of scripts without spaces."""

    @property
    def about_whole(self) -> bool:
        """Whether it asks for the whole of the corpus, by its own words."""
        if _WHOLE.search(self.text) or found(patterns_of(self.language).whole, self.text):
            return True
        if not self.focus:  # "What is this about?", but neither "Where is it?" nor "Hello"
            return not self.wants and bool(self.terms or asks(self.text))
        return bool(_WHOLE_ZH.search(self.text)) and not _QUOTED_ZH.search(self.text)

    @property
    def about_many(self) -> bool:
        """Whether it asks what several people or documents say, rather than for one fact."""
        return bool(_OF_CORPUS.search(self.text) or (_ABOUT_MANY.search(self.text) and not self.wants))

    @property
    def wants(self) -> str:
        """What kind of thing would answer it: number, date, person or place; "" where it does not say."""
        if self.language not in (ENGLISH, "zh"):
            return patterns_of(self.language).wants(self.text)
        return next((kind for kind, pattern in _WANTS if pattern.search(self.text)), "")

    @property
    def names(self) -> tuple[str, ...]:
        """The capitalised words inside it, as keys."""
        return tuple(dict.fromkeys(map(name_key, self.written_names)))

    @property
    def written_names(self) -> tuple[str, ...]:
        """The capitalised words inside it, as they are written."""
        rules = rules_of(self.language)
        found = (m for m in _NAME.finditer(self.text) if m.group()[0].isupper())
        if rules.nouns_capitalised:  # there what has an article is no name
            found = (m for m in found if self.text[: m.start()].split()[-1].lower() not in rules.articles)
        names = tuple(dict.fromkeys(m.group() for m in found))
        if self.language == ENGLISH:
            return names
        asking = function_words_of(self.language).asking.split()  # `¿Quién`, `die wichtigsten Themen`
        built = question_stopwords(self.language)
        return tuple(n for n in names if n.lower() not in asking and stem(fold(n), self.language) not in built)


def read_question(text: str, *languages: str) -> Question:
    """Read a question; its words are stemmed in the languages of what it is asked of, English if none is given.

    A question in another language is stemmed in its own as well, and loses its own function words.
    """
    language = language_of([text], languages)
    if languages and language not in languages:
        text = without_particles(text, languages)
        languages = (*languages, language)
    told = _TELLING.search(text) if language == ENGLISH else None
    asked = text[told.end() :] if told else text
    if told and not _asked_in(asked, language, languages):
        asked = text
    focus = _asked_in(asked, language, languages)
    return Question(text, _stems_of(text, languages), focus, language, _runs(asked, language, languages, focus))


def _runs(text: str, language: str, languages: Sequence[str], focus: Collection[str]) -> tuple[tuple[str, ...], ...]:
    runs: list[list[str]] = [[]]
    focus = frozenset(focus)
    for word in _WORDS.findall(fold(text)):
        stemmed = terms(word, *languages)
        if is_content(word, language) and stemmed and all(s in focus for s in stemmed) and not CJK.search(word):
            runs[-1].append(word)
        else:
            runs.append([])
    return tuple(dict.fromkeys(tuple(dict.fromkeys(run)) for run in runs if run))


def _asked_in(text: str, language: str, languages: Sequence[str]) -> tuple[str, ...]:
    if language == "zh":
        text = _BUILT_ZH.sub(" ", text)
    building = SCAFFOLDING if language == ENGLISH else SCAFFOLDING | question_stopwords(language)
    return tuple(t for t in _stems_of(text, languages) if t not in building)


_BUILT_ZH = re.compile(
    "[做干搞][了过着]?(?:什么|哪些|些什么)(?:事情?)?|(?:是|有着?)?(?:什么|怎样的?)(?:关系|联系|关联)|什么样?|哪[里儿个些位一]?|何[时地处人]|怎么样?|怎样|如何|为什么|为何|多少|几[个位名次年]?|是?谁|有没有|是不是|是否|"
    "(?:有什么|之间的?)?(?:关系|联系|关联)|介绍一?下?|说说|讲讲|谈谈|描述|解释|请问?|[吗呢吧啊的了在和与是有被及，。？?]"
)
"""What a Chinese question is built with; what stands on both sides of it makes no pair."""


def _stems_of(text: str, languages: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms(text, *languages)))
