"""Words: how text is cut into tokens, which of them carry no content, and which are forms of one word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any

TOKEN = re.compile(
    r"(?:https?://|www\.)\S+|\S+@\S+\.\w+"  # addresses
    r"|\d+(?:[.,:]\d+)*(?:st|nd|rd|th|s|%)?(?!\w)"  # numbers, times, ordinals, decades
    r"|(?:[^\W\d_]\.){2,}"  # U.S.
    r"|\w+(?:['’\-.&/+]\w+)*\+*"  # words, with what holds them together
    r"|\S"
)
"""Tokens of a text for the rules about names: words with their inner marks, numbers, single signs."""

WORD = re.compile(r"\w+(?:['’]\w+)*")
"""Words of a text for searching."""

CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
"""A character of a script that writes no spaces between words."""

STOPWORDS = frozenset(
    """
    a about above across after again against ago ah all almost along already also although always am amid
    among an and another any anybody anyone anything anyway anywhere are aren't around as aside at away back
    be became because become becomes been before behind being below beside besides between beyond both but by
    came can can't cannot come comes coming could couldn't did didn't do does doesn't doing don't done down
    during each either else enough especially etc even ever every everybody everyone everything everywhere
    except few fewer first for former from further gave get gets getting give given gives go goes going gone
    got gotten had hadn't has hasn't have haven't having he he'd he'll he's hello her here here's hers herself
    hey hi him himself his how however i i'd i'll i'm i've if in indeed inside instead into is isn't it it'd
    it'll it's its itself just keep kept last least less let let's like likely many may maybe me might mine
    more most mostly much must my myself near nearly neither never nevertheless no nobody none nor not nothing
    now nowhere of off often oh ok okay on once one one's ones only onto or other others otherwise ought our
    ours ourselves out outside over own per perhaps please put quite rather really said same saw say saying
    says see seem seemed seems seen several shall she she'd she'll she's should shouldn't simply since so some
    somebody somehow someone something sometimes somewhere soon still such take taken takes taking than thank
    thanks that that'd that'll that's the their theirs them themselves then there there'd there'll there's
    therefore these they they'd they'll they're they've this those though through throughout thus till to
    together too took toward towards uh um under unless until unto up upon us use used uses using usually very
    via was wasn't we we'd we'll we're we've went were weren't what what's whatever when whenever where
    where's whereas wherever whether which whichever while who who'd who'll who's whoever whole whom whose why
    will with within without won't would wouldn't yeah yes yet you you'd you'll you're you've your yours
    yourself yourselves
    """.split()
)
"""English words that carry no content of their own."""

VAGUE = frozenset(
    """
    able actual amount answer answers area aspect back base bottom box case cases center century chance choice
    couple decade decades edge end hour hours instance issue issues item level line list middle million
    billion month months number numbers order percent per phone question questions range rate result results
    role season side source stage state step steps term terms thousand hundred top topic total two three four
    five six seven eight nine ten dozen half quarter dollars pounds euros past present future-ready actual
    actually amazing awesome bad basic basically best better big bit bunch certain clear cool couple day days
    different early easy end entire exactly example fact fine full fun general good great guess guy guys
    happen happened happening happens hard high huge idea ideas important incredible interesting kind kinds
    know known knew large late later left little long look looked looking looks lot lots main make makes
    making made mean means meant minute moment need needed needs new next nice number okay old part parts
    people person piece place places point pretty probably problem real reason right second sense set short
    show side simple single small sort sorts special start started story stuff super sure talk talked talking
    tell telling thing things think thinking third thought time times today told tomorrow tonight totally
    tried true truly try trying two type types understand want wanted wants way ways week weeks well wonderful
    word words work worked working works world wow year years yesterday young
    """.split()
)
"""English words that say too little to tell texts apart; searched for, but never a name or concept."""

CHINESE_STOPWORDS = frozenset(
    "的 了 是 在 和 与 及 或 也 都 而 其 为 于 以 被 对 从 到 由 有 这 那 他 她 它 们 我 你 什么 "
    "哪 哪个 哪些 哪里 谁 多少 几 怎么 如何 为什么 吗 呢 吧 啊 其中 一个".split()
)
"""Chinese words that carry no content of their own."""

_SCRIPTS = re.compile(rf"{CJK.pattern}+|(?:(?!{CJK.pattern})[^\W\d_])+|\d+")

WH = frozenset("what which who whom whose when where why how whether".split())

_NAME_PUNCTUATION = re.compile(r"[^\w&+#/ ]+")
_POSSESSIVE = re.compile(r"'s\b|'(?=\s|$)")
_ARTICLE = re.compile(r"^(?:the|a|an) (?=\S)")


def fold(text: str) -> str:
    """Return the text in one Unicode form, width and case, with plain apostrophes."""
    if text.isascii():
        return text.lower()
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    return text.replace("’", "'").replace("ʼ", "'").casefold()


@cache
def name_key(name: str) -> str:
    """Return what spellings of one name have in common: case, width, accents, articles, marks removed."""
    text = fold(name)
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    text = _POSSESSIVE.sub("", text).replace(".", "")
    text = " ".join(_NAME_PUNCTUATION.sub(" ", text).split())
    return _ARTICLE.sub("", text)


@cache
def _stemmer() -> Callable[[str], str]:
    module: Any = import_module("Stemmer")  # it has no types
    return module.Stemmer("english").stemWord


@cache
def stem(word: str) -> str:
    """Return the stem of a folded English word (Snowball); other scripts come back as they are."""
    return _stemmer()(word.removesuffix("'s"))


def is_content(word: str) -> bool:
    """Tell whether a folded word carries content: no stopword, and more than a sign."""
    return word not in STOPWORDS and (len(word) > 1 or not word.isascii())


def terms(text: str) -> list[str]:
    """Return the search terms of a text, in order: folded, stemmed, no stopwords; see `unspaced_terms`."""
    words = WORD.findall(fold(text))
    if not CJK.search(text):
        return [stem(w) for w in words if is_content(w)]
    return [t for w in words for t in (unspaced_terms(w) if CJK.search(w) else [stem(w)] if is_content(w) else ())]


def unspaced_terms(run: str) -> list[str]:
    """Return the search terms of a folded stretch without spaces: its words, and every two neighbours.

    Words are what is searched for; where a question and a text are cut into words differently, the pairs
    still meet.
    """
    import rjieba

    found = [w for w in rjieba.cut(run) if w not in CHINESE_STOPWORDS]
    for part in _SCRIPTS.findall(run):
        if CJK.match(part) and len(part) > 1:
            found += (part[i : i + 2] for i in range(len(part) - 1))
        else:
            found.append(part)
    return found


def stems(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of a word list."""
    return frozenset(stem(w) for w in words)
