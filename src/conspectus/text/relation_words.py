"""Words that name relations: forms of one word and words of like meaning, so that questions meet labels.

The groups are everyday English for how people, places, works and organisations are related; none is taken
from a graph. A word of a group is like any other of it, not the same.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from conspectus.text.words import WORDS_CACHED, fold, is_content, stem

IRREGULAR = """
    write wrote written; speak spoke spoken; sing sang sung; begin began begun; win won; build built; make
    made; find found; lead led; hold held; leave left; lose lost; buy bought; sell sold; teach taught; bear
    bore born borne; draw drew drawn; fly flew flown; grow grew grown; know knew known; give gave given; take
    took taken; choose chose chosen; break broke broken; ride rode ridden; drive drove driven; rise rose
    risen; fall fell fallen; go went gone; come came; become became; run ran; swim swam swum; meet met; marry
    married; die died dead death dying; fight fought; think thought; bring brought; send sent; spend spent;
    tell told; say said; sit sat; stand stood; see saw seen; eat ate eaten; beat beaten; child children; wife
    wives; person people; life lives; man men; woman women; shoot shot; feed fed; breed bred; wear wore worn;
    steal stole stolen; freeze froze frozen; lie lay lain
"""
"""Forms of one word that share no stem."""

ALIKE = """
    act actor actress star play perform appear cast feature role;
    write author writer novelist poet screenplay script pen;
    direct director filmmaker; compose composer; sing singer vocalist; paint painter; design designer
    architect; produce producer production; edit editor; publish publisher publication; record label; invent
    inventor discover; create creator develop developer make maker found founder establish start; spouse wife
    husband marry partner wed; child son daughter offspring kid; parent father mother dad mom; sibling brother
    sister; relative family kin; friend companion; enemy rival opponent; kind type genre category class sort
    style; subject topic tag keyword about describe theme description; year date when time day; release
    publish premiere launch debut issue; born birth birthplace birthday; die death dead deathplace; bury
    burial grave; place location locate where city town site situate; country nation state nationality citizen
    homeland; capital seat; border neighbour neighbor adjacent; continent region area district; river lake
    sea; mountain peak; live reside residence home; headquarter base; language speak tongue; religion faith
    believe; ethnic ethnicity people; currency money; population inhabitant resident; height tall elevation
    high; length long; age old; size large area; own owner possess; employ employer work job; member belong
    join; lead leader head chief president chair captain; govern governor rule ruler reign king queen monarch;
    minister politician; party political; school university college study educate education alumni attend
    graduate; teach teacher professor; team club; coach manager manage; sport game; league championship; award
    prize win winner medal honour honor; position occupation profession job career office title; succeed
    successor follow next; precede predecessor previous; part component consist contain include; name call
    alias known; rate rating score; popular popularity vote; cause reason due; treat cure therapy medicine
    drug; symptom sign; disease illness condition; eat food diet feed; cost price worth revenue income;
    website url site; colour color; animal species
"""
"""Words of like meaning."""

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile("(?<=[a-zß-öø-ÿа-яё])(?=[A-ZÀ-ÖØ-ÞА-ЯЁ])")
_AGENT = ("or", "er", "e")


def _groups(table: str) -> list[list[str]]:
    return [group.split() for group in table.split(";")]


@cache
def _base() -> dict[str, str]:
    return {form: forms[0] for forms in _groups(IRREGULAR) for form in forms}


@lru_cache(WORDS_CACHED)
def root(word: str) -> str:
    """Return what the forms of a word have in common: `direct` of directed, director and directs."""
    word = stem(_base().get(word, word))
    for ending in _AGENT:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


@cache
def _meanings() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for place, group in enumerate(_groups(ALIKE)):
        for word in group:
            found.setdefault(root(word), set()).add(place)
    return {word: frozenset(places) for word, places in found.items()}


def words_of_label(label: str) -> list[str]:
    """Return the folded words of a relation's label: `directed_by`, `people.person.bornIn`, `was born in`."""
    return _WORD.findall(fold(_CAMEL.sub(" ", label)))


@lru_cache(WORDS_CACHED)
def roots_of_label(label: str) -> tuple[str, ...]:
    """Return the roots of the words of a label that carry content, or of all where none does."""
    words = words_of_label(label)
    return tuple(dict.fromkeys(root(w) for w in words if is_content(w))) or tuple(map(root, words))


def grams(word: str) -> frozenset[str]:
    """Return the runs of three characters of a word with its ends marked."""
    marked = f"^{word}$"
    return frozenset(marked[i : i + 3] for i in range(len(marked) - 2))


@lru_cache(WORDS_CACHED)
def likeness(one: str, other: str) -> float:
    """Return how like two roots are, 0 to 1: the same, of like meaning, one the end of the other, or of like
    letters.
    """
    if one == other:
        return 1.0
    meanings = _meanings()
    if meanings.get(one, frozenset()) & meanings.get(other, frozenset()):
        return 0.7
    short, long = sorted((one, other), key=len)
    if len(short) >= 4 and long.endswith(short):
        return 0.85
    if len(short) >= 4 and long.startswith(short):
        return 0.6
    a, b = grams(one), grams(other)
    shared = 2 * len(a & b) / (len(a) + len(b))
    return shared if shared >= 0.6 else 0.0
