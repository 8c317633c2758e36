"""What a text itself tells of what a model will find in it: the names that rules read in it, counted for nothing.

The shares are between what was measured of real models (the recorded replies of GPT-4o and the index of GPT-4.1 on A
Christmas Carol, the podcast of GraphRAG Table 3) and of the simulated server on four corpora, with a margin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.costs.ranges import NONE, Range
from conspectus.rows import Chunk, Document
from conspectus.settings import ReportSettings

UNNAMED = 0.006
"""What a model names in a chunk for each token of it, beside the names that rules read: things without capitals."""
UNNAMED_ONCE, UNNAMED_SHARED = 0.003, 0.0007
"""Of these, different ones in the whole text, and those that are in several chunks."""
LONE, LINKED = 40, 25
"""Names that may make no community; what there may be to describe between names, however few these are."""

GRAPH, GLEANED = Range(36, 140), Range(0, 60)
"""Tokens of an extraction, and of a round of gleaning, for each name in a chunk."""
DESCRIBED = (Range(0.52, 1.8), Range(180, 720), Range(52, 220))
"""For each name that several chunks have: elements to be described, tokens of what is asked, and of the replies."""
REPORTED = (Range(0.08, 0.31), Range(140, 560), Range(38, 310))
"""For each different name: communities of three or more, tokens of what is asked about them, and of their reports."""
LEAST = 3
"""Entities of the smallest community with a report, in what was measured."""
OF_CLAIMS = 2
"""How much more there may be to describe and to report where claims are taken out too."""

Taken = tuple[Range, Range, Range]
"""Calls, tokens of prompts, tokens of replies."""


@dataclass(frozen=True, slots=True)
class EntityEstimate:
    """Names in a text: how often a chunk has one, how many there are, and how many several chunks have."""

    mentions: float
    names: float
    shared: float

    def described(self, *, claims: bool) -> Taken:
        """Return what descriptions take."""
        calls, asked, written = (Range(self.shared * low, (self.shared + LINKED) * high) for low, high in DESCRIBED)
        return _more(calls, claims), _more(asked, claims), _more(written, claims)

    def reported(self, settings: ReportSettings, *, claims: bool) -> Taken:
        """Return what reports take: fewer where only larger communities have one, more where smaller ones do."""
        if not settings.write:
            return NONE, NONE, NONE
        size = LEAST / settings.min_report_entities
        least, most = max(0.0, self.names - LONE) * min(1.0, size), self.names * max(0.5, size)
        calls, asked, written = (Range(least * of.low, most * of.high) for of in REPORTED)
        return calls, _more(asked, claims), _more(written, claims)


def counted(chunks: Sequence[Chunk], entity_types: Sequence[str], language: str) -> EntityEstimate:
    """Count the names in chunks, as the rules that need no language model read them, and what these leave out.

    Dates are not counted: rules read them all, and models take few of them for things.
    """
    import numpy as np

    from conspectus.text.lexicon import read_lexicon

    texts = [Document(c.id, i, "", c.text, c.document_id, None, {"language": language}) for i, c in enumerate(chunks)]
    lexicon = read_lexicon(texts, [kind for kind in entity_types if kind != "date"])
    chunk_of = np.repeat(lexicon.sentences.document, np.diff(lexicon.starts)).tolist()
    held = Counter(name for _, name in set(zip(chunk_of, lexicon.mentions.tolist(), strict=True)))
    size = sum(chunk.n_tokens for chunk in chunks)
    shared = sum(number > 1 for number in held.values())
    return EntityEstimate(
        held.total() + UNNAMED * size, len(held) + UNNAMED_ONCE * size, shared + UNNAMED_SHARED * size
    )


def _more(usual: Range, claims: bool) -> Range:
    return Range(usual.low, usual.high * OF_CLAIMS) if claims else usual
