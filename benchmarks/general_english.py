"""Make the table of general English, which distinguishes the terms of a domain from words that are used anywhere.

    python benchmarks/general_english.py

Reads corpora of five kinds under ../shared/data: conversation (podcast), encyclopedia (2wiki, musique, hotpotqa),
medicine (medquad), and web pages on society and on mathematics. It writes to `text/data/general_english.toml`

- the general frequency of each word that at least three of the five use, on the Zipf scale (log10 of occurrences in
  10^9 words): the median of its frequencies, so that no single domain makes its own terms general. Words that half of
  the conversations use (folks, kids, stuff) have at least their frequency in the podcast, the only spoken corpus;
- the words that are mostly verbs and those that are mostly modifiers, by their neighbours in all five corpora together.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import log10
from pathlib import Path
from statistics import median
from textwrap import fill

import numpy as np

from conspectus.algorithms.statistics import Bools
from conspectus.content import without
from conspectus.readers.cleaning import omitted
from conspectus.text.language import ENGLISH
from conspectus.text.phrases import FREQUENT
from conspectus.text.sentences import sentences
from conspectus.text.vocabulary import Vocabulary, read_vocabulary

ROOT = Path(__file__).parents[1]
DATA = ROOT / "../shared/data"
TABLE = ROOT / "src/conspectus/text/data/general_english.toml"
WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
SPOKEN = 0.5
"""Least share of episodes with a word that is general in speech: mom is in 0.55, scale in 0.52, robots in 0.38."""
BEFORE_ARTICLE, HEADING_VERB = 0.06, 0.6
"""Share of a word's uses before an article above which it is no noun (nouns have 0.00 to 0.02, verbs 0.1 to 0.3); and
share of its uses at the end of a phrase that follow a determiner, from which on it is a noun nevertheless."""
CLOSING_DETERMINED, DETERMINED = 0.25, 0.06
"""Share of a word's uses after a determiner that end the phrase, below which it is a modifier (adjectives have 0.0 to
0.2, nouns 0.5 and more); and least share of uses after a determiner of a noun in -ed or -ing (inserted has 0.01)."""
HEADER = "# General English: Zipf frequencies, verbs and modifiers. Made by benchmarks/general_english.py.\n"


def passages(*names: str) -> Iterator[str]:
    """Yield the passages of data sets in the BEIR layout."""
    for name in names:
        with (DATA / "docqa" / name / "corpus.jsonl").open(encoding="utf-8") as lines:
            yield from (json.loads(line)["text"] for line in lines)


def files(folder: str) -> Iterator[str]:
    """Yield the texts of a folder without markup and boilerplate."""
    for path in sorted((DATA / folder).glob("*.txt")):
        text = path.read_text(encoding="utf-8", errors="replace")
        yield without(text, omitted(text))


def spoken() -> set[str]:
    """Return the words that occur in at least half of the podcast episodes."""
    episodes: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((DATA / "podcast/input").glob("*.txt")):
        episode = path.stem.split("-part")[0]
        for word in WORD.findall(path.read_text(encoding="utf-8", errors="replace").lower()):
            episodes[word].add(episode)
    count = len(set().union(*episodes.values()))
    return {word for word, where in episodes.items() if len(where) >= SPOKEN * count}


def vocabulary(texts: Iterator[str]) -> Vocabulary:
    """Return the vocabulary of the distinct sentences of texts."""
    distinct = {text[a:b]: None for text in texts for a, b in sentences(text, 0, len(text), ENGLISH)}
    return read_vocabulary(list(distinct), [ENGLISH] * len(distinct))


def frequencies(words: Vocabulary) -> dict[str, float]:
    """Return the share of each word among all words."""
    counts = {
        word: n for word, n in zip(words.words, words.count.tolist(), strict=True) if WORD.fullmatch(word)
    }
    return {word: count / sum(counts.values()) for word, count in counts.items()}


def verbal(words: Vocabulary) -> Bools:
    """Return which words are mostly verbs or prepositions: they often occur right before an article."""
    return (words.share_before("the", "a", "an") > BEFORE_ARTICLE) & (words.share_as_head < HEADING_VERB)


def modifier(words: Vocabulary) -> Bools:
    """Return which words are mostly adjectives or participles: after a determiner they seldom end the phrase."""
    token = words.token_word
    behind = words.behind(np.array([w in words.rules.before_nouns for w in words.words], bool)[token])
    closes = ~words.before(~words.stop[token])
    determined = np.bincount(token[behind], minlength=len(words.words))
    closed = np.bincount(token[behind & closes], minlength=len(words.words))
    ending = np.array([w.endswith(("ing", "ed")) for w in words.words], bool)
    participle = ending & (determined < DETERMINED * words.count)
    return participle | ((determined >= 6) & ((closed + 0.5) / (determined + 1) < CLOSING_DETERMINED))


def main() -> None:
    """Read the corpora and write the table."""
    folders = [
        list(texts)
        for texts in (
            files("podcast/input"),
            passages("2wiki", "musique", "hotpotqa"),
            passages("medquad"),
            files("wild/society/pages"),
            files("wild/mathematics/pages"),
        )
    ]
    domains = [frequencies(vocabulary(iter(texts))) for texts in folders]
    lists: defaultdict[str, list[str]] = defaultdict(list)
    speech = spoken()
    for word in sorted(set().union(*domains)):
        share = median(domain.get(word, 0.0) for domain in domains)
        if word in speech:
            share = max(share, domains[0].get(word, 0.0))
        if share:
            lists[f"{log10(share * 1e9):.1f}"].append(word)
    together = vocabulary(text for texts in folders for text in texts)
    known = Counter(word for domain in domains for word in domain)
    for name, flags in (("verbs", verbal(together)), ("modifiers", modifier(together))):
        words = [together.words[w] for w in np.flatnonzero(flags & (together.count >= FREQUENT)).tolist()]
        lists[name] = sorted(word for word in words if known[word] > 1)
    rows = (
        f"\"{name}\" = '''\n{fill(' '.join(lists[name]), 110)}\n'''\n" for name in sorted(lists, reverse=True)
    )
    TABLE.write_text(HEADER + "".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
