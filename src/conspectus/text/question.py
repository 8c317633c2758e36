"""Questions: which of their words say what is asked for, and which only ask."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from conspectus.text.data import word_tables
from conspectus.text.language import ENGLISH, function_words_of, language_of
from conspectus.text.language_rules import rules_of
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
        if _WHOLE.search(self.text) or matches(patterns_of(self.language).whole, self.text):
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


def _runs(
    text: str, language: str, languages: Sequence[str], focus: Collection[str]
) -> tuple[tuple[str, ...], ...]:
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


@dataclass(frozen=True)
class QuestionPatterns:
    """Patterns of one language, in lower case, and the words that its questions are built with."""

    whole: str = "(?!)"
    number: str = "(?!)"
    date: str = "(?!)"
    person: str = "(?!)"
    place: str = "(?!)"
    thing: str = "(?!)"
    """To be told of something, or why it is so."""
    scaffolding: str = ""

    def wants(self, text: str) -> str:
        """Return what kind of thing would answer a question, "" where it does not say."""
        kinds = (("number", self.number), ("date", self.date), ("person", self.person), ("place", self.place))
        return next((kind for kind, pattern in kinds if matches(pattern, text)), "")


_ASKING = {code: QuestionPatterns(**row) for code, row in word_tables("question_patterns").items()}
_ASKS = re.compile(r"[?？؟;]\s*$")


@cache
def patterns_of(language: str) -> QuestionPatterns:
    """Return how a language asks, nothing where that is not known."""
    return _ASKING.get(language, QuestionPatterns())


@cache
def question_stopwords(language: str) -> frozenset[str]:
    """Return the stems of the words that questions of a language are built with."""
    return frozenset(stem(word, language) for word in patterns_of(language).scaffolding.split())


def matches(pattern: str, text: str) -> bool:
    """Tell whether a pattern of `Asking` is in a text."""
    return bool(re.search(pattern, text, re.IGNORECASE))


def asks(text: str) -> bool:
    """Tell whether a text closes with a question mark of any script."""
    return bool(_ASKS.search(text))


# English

_MANY = re.compile(
    r"\b(?:discuss|mention|present|address|portray|express|emphasi[sz]|highlight)ed\b|\bhow (?:often|frequently)\b"
    r"|\b(?:differences?|similarit(?:y|ies)|contrasts?|trends?|patterns?|consensus|disagreements?|viewpoints?|opinions?|"
    r"attitudes?|sentiments?|mood|tone|concerns?) "
    r"(?:in|between|across|among|on|about|of|over|towards?|when|regarding)\b",
    re.IGNORECASE,
)
"""Beside `Question.about_many`: how something is told of, or how what is told differs."""
_CHOICE = re.compile(r"\bof (?:the|these|those) (?:two|three|four)\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?i:both|in common)\b|\b(?i:the same)\b.+\b(?:as|and)\b|\b(?:as|than) (?:the )?[A-ZÀ-ÖØ-Þ]"
    r"|\b(?i:which|who|whose|what)\b.+\b(?:first|last|earlier|later|more|less|(?!other|over|under|number|paper)[a-z]{3,}er)\b"
    r".*(?:[,:]| or )|,.+\bor\b.+\?"
    r"|^(?i:are|were|did|do|does|is|was|have|has) [^,?]+ and [^,?]+ (?:\w+ ){0,4}(?:same|both|share)\b"
)
"""Two things are held against each other."""
_NO_LINK = (
    "(?!(?:name|number|kind|type|sort|title|list|part|end|start|beginning|use|cause|result|amount|member|one|some|most|all)"
    " )"
)
"""Nouns before `of` that stand for nothing else than what follows."""
_AGENT = re.compile(
    rf"\b{_NO_LINK}[a-z]+(?:er|or|ist|ian|ess|ent|ant|ief|ead|tect|man|men)s? (?:of|for|behind|in)\b"
)
"""`the designer of`: somebody who is not named."""
_KIN = re.compile(
    r"\b(?:(?:grand|step|half-?)?(?:mother|father|parent|son|daughter|brother|sister|child|children)s?(?:-in-law)?|spouse|"
    r"wife|husband|widow|uncle|aunt|niece|nephew|cousin|heir|birthplace|hometown|capital|star|band|author)s? of\b"
)
_NESTED = re.compile(
    rf"\b{_NO_LINK}[a-z]+ of (?:the |an? |his |her |its )?(?:[a-z]+ ){{1,2}}(?:of|by|who|that|whose|where)\b"
)
_OWNED = re.compile(r"^[Ww]hose [a-z]+|[\w.]['’]s? (?!own\b)[a-z]{3,}|[a-z]s['’] [a-z]{3,}")
_RELATIVE = re.compile(
    r"(?<=[\w,] )(?<!\bsay )(?<!\bthink )"
    r"(?:(?:(?:in|on|at|to|for|by|from|with|after) )?(?:which|whom)|whose|who|that|where) (?!\w+ of the)[^\W\d_]\w*"
)
"""A thing that is told by what it does, `the band that recorded`."""
_REDUCED = re.compile(
    r"(?<!\bwas )(?<!\bis )(?<!\bwere )(?<!\bare )(?<!\bbeen )(?<!\bbe )(?<!\bdid )"
    r"\b(?!(?:based|need|indeed|related|compared)\b)"
    r"(?:[a-z]+ed|[a-z]*(?:born|built|made|held|sold|won|written|given|drawn|known|run|led|set|sung|taught|bought)) "
    r"(?:by|after|in|at|with|for|from|on)\b"
)
"""The same without the pronoun, `the film directed by`."""
_ASKS_VERB = re.compile(
    r"\b(?:did|does|do|has|have|had|will|would|can|could)\b"
    r"|^(?:who|which \w+|what) (?!(?:is|are|was|were|of)\b)[a-z]+\b",
    re.IGNORECASE,
)
_SAID_AFTER = re.compile(
    r"\b(?:is|was|are|were)\b.+(?:[A-ZÀ-ÖØ-Þ\d][\w.'’”\"»)-]* (?:\w+ ){0,3}[a-z]{3,}\W*$"
    r"|\b(?:born|buried|located|based|founded|built|called|from|married|made|held|died?|set)\b)"
)
"""Something is said of what is named: `was … born`."""
_THING = re.compile(
    r"^(?:who|what) (?:is|are|was|were)\b(?!.+\b(?:of|by|in|on|at|for|that|who|which)\b)"
    r"|\b(?:tell (?:me|us)|describe|introduce|explain|(?:background|story|history|role|profile) of)\b"
    r"|\bwhat (?:do (?:we|you) know|can you tell|role|part|happened|became|about|do(?:es)? .+ do)\b"
    r"|^(?:why|how (?:did|do|does|is|was|has|have|can|could))\b",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"\b(?:connect(?:ed|ions?)|related|relations?(?:hip)?|link(?:s|ed)?|ties|to do with)\b", re.IGNORECASE
)
_INTERROGATIVE = re.compile(r"\b(?:what|which|who|whom|whose|when|where|how|why)\b|\?\s*$", re.IGNORECASE)

# Chinese

_MANY_ZH = re.compile(
    r"哪些(?:人|嘉宾|专家|学者|居民|受访者|作者|文章|文档|节目|领导|公司).{0,12}(?:提|认为|讨论|谈|说|主张|支持|反对|批评)|"
    r"(?:人们|大家|各方|嘉宾们?|专家们?|受访者|居民们?|学者们?|作者们?).{0,6}(?:如何|怎么|怎样|普遍|对|认为|谈|提)|"
    r"如何看待|怎么看|怎样看待|(?:看法|观点|态度|意见|立场)(?:上)?(?:有|是|如何|怎样|存在)|"
    r"(?:趋势|规律|共同点|异同|分歧|共识|争议)(?:是|有|在|如何)|"
    r"有(?:哪些|什么)(?:不同的?)?(?:看法|观点|意见|态度|分歧|共识|争议|异同|共同点)"
)
_COMPARED_ZH = re.compile(
    r"[和与跟同、].+(?:谁|哪一?(?:个|位|部|座|家|种|本|首|所))?.*(?:更|较|先|最早|最先|相同|一样|都是|都在|共同|相比|早于|晚于)"
    r"|(?:比|还是).+(?:吗|？|\?)"
)
_LINK_ZH = re.compile(r"[^的，。？?\s]{1,14}的(?!是|人$)")
_FACT_ZH = re.compile(r"谁|何时|何地|哪|什么|多少|几|多[大高长远久重快]|吗|何|呢|？|\?")
_THING_ZH = re.compile(
    r"介绍|讲讲|说说|谈谈|描述|解释|^[^的]*是谁[？?]?$|什么是|^[^的]*是什么(?:人|样的人)?[？?]?$|怎么回事|为什么|为何|"
    r"经历|经过|来历|生平|背景"
)
ASKING_ZH = re.compile(
    r"介绍一?下?|讲讲|说说|谈谈|描述|解释|是?谁|是?什么样?|怎么回事|为什么|为何|经历|经过|来历|生平|背景|[的了吗呢是人有]|[^\w]|_"
)
"""What a Chinese question asks with."""
_TOGETHER_ZH = re.compile(r"关系|联系|关联|有什么瓜葛")


@dataclass(frozen=True)
class Intent:
    """A question, and what its form says it is after; several may hold."""

    text: str
    languages: tuple[str, ...] = ()
    """Those of what it is asked of."""

    @cached_property
    def read(self) -> Question:
        """The question's words."""
        return read_question(self.text, *self.languages)

    @cached_property
    def elsewhere(self) -> QuestionPatterns | None:
        """How its language asks, where that is neither English nor Chinese."""
        return None if self.read.language in (ENGLISH, "zh") else patterns_of(self.read.language)

    @cached_property
    def chinese(self) -> bool:
        """Whether it is written in Chinese characters."""
        return bool(CJK.search(self.text))

    @property
    def whole(self) -> bool:
        """Whether it asks for the whole of the corpus."""
        return self.read.about_whole

    @property
    def many(self) -> bool:
        """Whether it asks what several people or documents say."""
        if self.chinese:
            return bool(_MANY_ZH.search(self.text))
        if _CHOICE.search(self.text):
            return False
        return self.read.about_many or bool(_MANY.search(self.text))

    @property
    def joins(self) -> bool:
        """Whether its answer takes two facts: things are compared, or one is only told by another."""
        if self.elsewhere:
            return False
        if self.chinese:
            return bool(_COMPARED_ZH.search(self.text)) or len(_LINK_ZH.findall(self.text)) > 1
        return bool(_COMPARED.search(self.text) or _CHOICE.search(self.text)) or self._steps > 1

    @property
    def _steps(self) -> int:
        """The steps from what is named to what is asked for."""
        links = sum(len(pattern.findall(self.text)) for pattern in (_AGENT, _KIN, _OWNED, _RELATIVE, _REDUCED))
        links = max(links, 2 * bool(_NESTED.search(self.text)))
        return links + bool(_ASKS_VERB.search(self.text) or _SAID_AFTER.search(self.text))

    @property
    def relation(self) -> bool:
        """Whether it asks how things go together."""
        return bool((_TOGETHER_ZH if self.chinese else _TOGETHER).search(self.text))

    @property
    def thing(self) -> bool:
        """Whether it asks to be told of something, why it is so, or how it came about."""
        if self.elsewhere:
            return matches(self.elsewhere.thing, self.text)
        return bool((_THING_ZH if self.chinese else _THING).search(self.text))

    @property
    def fact(self) -> bool:
        """Whether it is a question at all, rather than a subject."""
        if self.elsewhere:
            return bool(self.read.wants) or asks(self.text)
        return bool((_FACT_ZH if self.chinese else _INTERROGATIVE).search(self.text))
