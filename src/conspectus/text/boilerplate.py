"""Set phrases: what a corpus says again and again in the same words, as hosts, clerks and forms do.

"Thanks for tuning in", "the meeting was adjourned at": no such sentence need recur as a whole to be
furniture; that its runs of words recur over many sources tells.
"""

from __future__ import annotations

import numpy as np

from conspectus.text.vocabulary import Floats, Ints, Vocabulary

LENGTH = 4
"""Words in a run."""
SOURCES = 4
"""Sources that share a run, from which on it is a set phrase, or one in so many as ONE_IN says if these are
more.
"""
ONE_IN = 15
FEW = 20
"""With fewer sources than this nothing is told."""
CONTENT = 1
"""Words that say something which a run must have: others are just idiom."""


def boilerplate_weights(vocabulary: Vocabulary, source: Ints) -> Floats:
    """Return the share of each sentence's words, 0 to 1, in set phrases; `source[s]` is the source of one."""
    sentences = len(vocabulary.starts) - 1
    word, n = vocabulary.token_word.astype(np.int64), len(vocabulary.form) - LENGTH + 1
    total = int(source.max(initial=-1)) + 1
    if n <= 0 or total < FEW:
        return np.zeros(sentences)
    inside = vocabulary.sentence[:n] == vocabulary.sentence[LENGTH - 1 :]
    content = sum((~vocabulary.vague[word[k : n + k]]).astype(int) for k in range(LENGTH))
    place = np.flatnonzero(inside & (content >= CONTENT))
    run = np.zeros(len(place), np.int64)
    for k in range(LENGTH):
        run = run * np.int64(1_000_003) + word[place + k]  # wraps around: a hash
    _, kind = np.unique(run, return_inverse=True)
    where = np.unique(kind.astype(np.int64) * total + source[vocabulary.sentence[place]])
    spread = np.bincount(where // total)
    covered = np.zeros(len(word), bool)
    for k in range(LENGTH):
        covered[place[spread[kind] >= max(SOURCES, total // ONE_IN)] + k] = True
    size = np.maximum(np.diff(vocabulary.starts), 1)
    return np.bincount(vocabulary.sentence[covered], minlength=sentences) / size
