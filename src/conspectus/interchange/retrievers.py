"""Retrievers for other frameworks: `LangChainRetriever(index="my_index", k=5)`, `LlamaIndexRetriever("my_index", k=5)`.

They rank the chunks of an index by any method of `conspectus search`, and need the extras `langchain` and
`llama-index`. The classes are created when first imported, from a base class of the framework.
"""
# Types are checked without the extras installed:
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownParameterType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from conspectus import search
from conspectus.errors import UsageError
from conspectus.rows import Hit

if TYPE_CHECKING:
    from pathlib import Path

    from conspectus import Index, Settings

DEFAULT_FOLDER = ".conspectus"


def __getattr__(name: str) -> Any:
    """Create the retriever class of a framework when it is first imported."""
    if name not in _MAKERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    make, extra = _MAKERS[name]
    try:
        retriever = make()
    except ImportError as error:
        raise UsageError(f'{name} needs an extra: pip install "conspectus[{extra}]"') from error
    globals()[name] = retriever
    return retriever


def _metadata(hit: Hit) -> dict[str, Any]:
    """Return the metadata of a hit: document, title, characters, page or section, id of the chunk, and score."""
    return {name: value for name, value in asdict(hit).items() if name != "text"}


def _langchain() -> Any:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class LangChainRetriever(BaseRetriever):
        """Ranks the chunks of an index, open or named by its folder; `settings` as in `conspectus.search`."""

        index: Any = DEFAULT_FOLDER
        method: str = "mixed"
        k: int = 5
        settings: Any = None

        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            hits = search(query, self.index, method=self.method, k=self.k, settings=self.settings)
            return [Document(id=hit.chunk, page_content=hit.text, metadata=_metadata(hit)) for hit in hits]

    return LangChainRetriever


def _llama_index() -> Any:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class LlamaIndexRetriever(BaseRetriever):
        """Ranks the chunks of an index, open or named by its folder; `settings` as in `conspectus.search`."""

        def __init__(
            self,
            index: Index | str | Path = DEFAULT_FOLDER,
            *,
            method: str = "mixed",
            k: int = 5,
            settings: Settings | dict[str, Any] | None = None,
        ) -> None:
            super().__init__()
            self._index, self._method, self._k, self._settings = index, method, k, settings

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            hits = search(
                query_bundle.query_str, self._index, method=self._method, k=self._k, settings=self._settings
            )
            nodes = [TextNode(id_=hit.chunk, text=hit.text, metadata=_metadata(hit)) for hit in hits]
            return [NodeWithScore(node=node, score=hit.score) for node, hit in zip(nodes, hits, strict=True)]

    return LlamaIndexRetriever


_MAKERS = {
    "LangChainRetriever": (_langchain, "langchain"),
    "LlamaIndexRetriever": (_llama_index, "llama-index"),
}
