"""A retriever for LlamaIndex: `ConspectusRetriever(".conspectus", method="walk", k=5)`.

Needs the extra `llama-index`: pip install "conspectus[llama-index]".
"""
# An extra is not always installed where types are checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownParameterType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from pathlib import Path

from conspectus.api.asking import search
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.interchange.hits import metadata_of
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
        """Take an index that is open, or its folder; `settings` are as for `conspectus.search`."""
        super().__init__()
        self._index = index
        self._method = method
        self._k = k
        self._settings = settings

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = search(query_bundle.query_str, self._index, method=self._method, k=self._k, settings=self._settings)
        return [
            NodeWithScore(
                node=TextNode(id_=hit.chunk, text=hit.text, metadata=metadata_of(hit)),
                score=hit.score,
            )
            for hit in hits
        ]
