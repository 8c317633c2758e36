"""What a question is after: the whole, what many say, facts to be joined, one fact, or a thing. English and Chinese.

It is read off the question's own words and form, whatever it is about: nothing here knows a corpus.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from conspectus.text.language import ENGLISH
from conspectus.text.question import Question, read_question
from conspectus.text.question_patterns import QuestionPatterns, asks, found, patterns_of
from conspectus.text.words import CJK

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
_AGENT = re.compile(rf"\b{_NO_LINK}[a-z]+(?:er|or|ist|ian|ess|ent|ant|ief|ead|tect|man|men)s? (?:of|for|behind|in)\b")
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
_ASKS = re.compile(r"\b(?:what|which|who|whom|whose|when|where|how|why)\b|\?\s*$", re.IGNORECASE)

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
            return found(self.elsewhere.thing, self.text)
        return bool((_THING_ZH if self.chinese else _THING).search(self.text))

    @property
    def fact(self) -> bool:
        """Whether it is a question at all, rather than a subject."""
        if self.elsewhere:
            return bool(self.read.wants) or asks(self.text)
        return bool((_FACT_ZH if self.chinese else _ASKS).search(self.text))
