"""Make the table of English words that mean nearly the same, by which questions also match what other words say.

    python benchmarks/synonyms.py MODEL_FOLDER

Words are those that corpora under ../shared/data (the five kinds of `general_english.py`) write small at least
`FREQUENT` times and mostly, so no names. They are compared by the vectors of a sentence embedder (all-MiniLM-L6-v2),
less the mean of all; other forms of a verb are as good as itself. `text/data/synonyms.toml` gets, for each stem, the
stems of the words whose cosine is at least `ALIKE`, at most `MOST`, each with its cosine in hundredths.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
from general_english import ROOT, files, passages

from conspectus.models.onnx import LocalEmbedder
from conspectus.text.language import ENGLISH, function_words_of
from conspectus.text.words import stem

TABLE = ROOT / "src/conspectus/text/data/synonyms.toml"
WORD = re.compile(r"[A-Za-z][a-z]{2,}")
FREQUENT = 4
"""Uses in small letters from which on a word is compared."""
SMALL = 0.6
"""Least share of a word's uses that is in small letters: names are below, words that often open a sentence above."""
ALIKE, MOST = 0.55, 8
"""Least cosine, and words for each at most: annually for yearly has 0.87, salary for wage 0.71, robot for machine
0.40."""
VERBS = """
    bear bore born, begin began begun, bind bound, break broke broken, breed bred, bring brought, build built,
    buy bought, catch caught, choose chose chosen, deal dealt, dig dug, draw drew drawn, drive drove driven,
    eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, flee fled, fly flew flown, forget
    forgot forgotten, freeze froze frozen, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
    lead led, leave left, lend lent, lose lost, meet met, oversee oversaw overseen, pay paid, ride rode
    ridden, rise rose risen, run ran, seek sought, sell sold, send sent, shake shook shaken, shoot shot, sing
    sang sung, sink sank sunk, sleep slept, speak spoke spoken, spend spent, stand stood, steal stole stolen,
    stick stuck, strike struck, swear swore sworn, sweep swept, swim swam swum, teach taught, tear tore torn,
    throw threw thrown, undertake undertook undertaken, wear wore worn, weave wove woven, win won, write wrote
    written
"""
"""Verbs whose forms have no stem in common: who leads is told by whom it is led; not the present for the past, for who
won is not told by those who may win."""
HEADER = (
    "# English words that mean nearly the same, with cosines in hundredths. Made by benchmarks/synonyms.py.\n"
)


def words() -> list[str]:
    """Return the words that are compared."""
    texts = chain(
        files("podcast/input"),
        passages("2wiki", "musique", "hotpotqa", "medquad"),
        files("wild/society/pages"),
        files("wild/mathematics/pages"),
    )
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(WORD.findall(text))
    without_stems = {stem(word, ENGLISH) for word in function_words_of(ENGLISH).function_words}
    return sorted(
        word
        for word, n in counts.items()
        if word.islower()
        and n >= FREQUENT
        and n >= SMALL * (n + counts[word.capitalize()])
        and stem(word, ENGLISH) not in without_stems
    )


def neighbours(compared: list[str], embedder: LocalEmbedder) -> dict[str, dict[str, float]]:
    """Return for each stem the stems of words that mean nearly the same, with the greatest cosine of two words."""
    vectors = embedder.embed(compared)
    vectors = vectors - vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stems = [stem(word, ENGLISH) for word in compared]
    near: dict[str, dict[str, float]] = {}
    for row, own in enumerate(stems):
        cosines = vectors @ vectors[row]
        for other in np.flatnonzero(cosines >= ALIKE).tolist():
            if stems[other] != own:
                known = near.setdefault(own, {})
                known[stems[other]] = max(known.get(stems[other], 0.0), float(cosines[other]))
    for own in list(near):
        noun = f"{own}ment"  # treat, treatment
        if noun in near[own]:
            near[own][noun] = near[noun][own] = 1.0
    for verb in VERBS.split(","):
        base, *past = (stem(form, ENGLISH) for form in verb.split())
        for form in (base, *past):
            near.setdefault(form, {}).update((other, 1.0) for other in past if other != form)
    return near


def write(near: dict[str, dict[str, float]]) -> None:
    """Write the table."""
    lines: list[str] = []
    for own, others in sorted(near.items()):
        best = sorted(others.items(), key=lambda other: (-other[1], other[0]))[:MOST]
        lines.append(" ".join([own, *(f"{word} {cosine * 100:.0f}" for word, cosine in best)]))
    TABLE.write_text(f"{HEADER}en = '''\n\n" + "\n".join(lines) + "\n'''\n", encoding="utf-8")
    print(f"{len(lines):,} stems, {TABLE.stat().st_size:,} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(neighbours(words(), LocalEmbedder(Path(sys.argv[1]))))
