"""A retriever for LlamaIndex: `ConspectusRetriever(".conspectus", method="walk", k=5)`.

Needs the extra `llama-index`: pip install "conspectus[llama-index]".
"""
# The extra need not be installed where types are checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownParameterType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from conspectus import Index, search
from conspectus.errors import UsageError
from conspectus.rows import Hit
from conspectus.runtime import DEFAULT_FOLDER, Given

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise UsageError('the retriever for LlamaIndex needs an extra: pip install "conspectus[llama-index]"') from error


class ConspectusRetriever(BaseRetriever):
    """Ranks the chunks of an index for a query, by any method of `conspectus search`."""

    def __init__(
        self,
        index: Index | str | Path = DEFAULT_FOLDER,
        *,
        method: str = "walk",
        k: int = 5,
        settings: Given = None,
    ) -> None:
        """Take an open index or its folder; `settings` as in `conspectus.search`."""
        super().__init__()
        self._index = index
        self._method = method
        self._k = k
        self._settings = settings

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = search(query_bundle.query_str, self._index, method=self._method, k=self._k, settings=self._settings)
        return [
            NodeWithScore(
                node=TextNode(id_=hit.chunk, text=hit.text, metadata=_metadata(hit)),
                score=hit.score,
            )
            for hit in hits
        ]


def _metadata(hit: Hit) -> dict[str, Any]:
    """Return where a hit is: document, title, characters, page or section, the id of the chunk, and the score."""
    return {name: value for name, value in asdict(hit).items() if name != "text"}
