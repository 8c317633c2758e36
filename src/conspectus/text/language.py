"""Which language a text is in, as far as prompts come in it: Chinese, or else English."""

from __future__ import annotations

import re
from collections.abc import Iterable

from conspectus.rows import Document

AUTO = "auto"
SAMPLE = 2000
"""Characters of each document that are looked at."""
CHINESE = 0.2
"""The share of Chinese characters among letters from which on a text is Chinese; kana make it Japanese."""
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LETTER = re.compile(r"[^\W\d_]")


def language_of(texts: Iterable[str]) -> str:
    """Return `zh` where much of what is written is Chinese characters, else `en`."""
    han = kana = letters = 0
    for text in texts:
        han += len(_HAN.findall(text))
        kana += len(_KANA.findall(text))
        letters += len(_LETTER.findall(text))
    return "zh" if han > CHINESE * letters and kana < 0.1 * han else "en"


def corpus_language(documents: Iterable[Document], chosen: str = AUTO) -> str:
    """Return the language that is set, or else that of the beginnings of the documents."""
    return chosen if chosen != AUTO else language_of(document.text[:SAMPLE] for document in documents)
