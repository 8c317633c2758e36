"""What is written before a text so that a model knows it for a question or for a passage.

Many models were trained with such words, and find less without them. Those of well-known families are known by name;
the settings `vectors.query_prefix` and `vectors.passage_prefix` go before them, for others and for servers that add
their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from conspectus.settings import VectorSettings


class Prefixes(NamedTuple):
    """What stands before a question, and before a passage."""

    query: str = ""
    passage: str = ""


PREFIXES = ("query_prefix", "passage_prefix")
"""How the settings, and an index among its own, name them."""
_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_FAMILIES = (
    (r"e5-.*instruct|e5-mistral|qwen3-embedding|linq-embed", Prefixes(_INSTRUCT)),
    (r"\be5-|arctic-embed-[lm]-v2", Prefixes("query: ", "passage: ")),
    (r"bge-\w+-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(?:small|base|large)|mxbai-embed|arctic-embed", Prefixes(_SEARCH)),
    (r"nomic-embed-text|modernbert-embed", Prefixes("search_query: ", "search_document: ")),
    (r"embedding-?gemma", Prefixes("task: search result | query: ", "title: none | text: ")),
)
"""By what is in a model's name, the first that fits; what their publishers say of retrieval."""


def known_prefixes(model: str) -> Prefixes:
    """Return the prefixes of a model by its name, none where its family is not known to need any."""
    name = model.lower().replace("_", "-")
    return next((prefixes for pattern, prefixes in _FAMILIES if re.search(pattern, name)), Prefixes())


def prefixes_of(model: str, settings: VectorSettings) -> Prefixes:
    """Return the prefixes that the settings name, and for what they leave open those of the model."""
    known = known_prefixes(model)
    query, passage = settings.query_prefix, settings.passage_prefix
    return Prefixes(known.query if query is None else query, known.passage if passage is None else passage)
