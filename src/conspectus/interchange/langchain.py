"""A retriever for LangChain: `ConspectusRetriever(index=".conspectus", method="walk", k=5)`.

Needs the extra `langchain`: pip install "conspectus[langchain]".
"""
# The extra need not be installed where types are checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportUnknownParameterType=false, reportUnknownMemberType=false

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from conspectus import search
from conspectus.errors import UsageError
from conspectus.rows import Hit
from conspectus.runtime import DEFAULT_FOLDER

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise UsageError('the retriever for LangChain needs an extra: pip install "conspectus[langchain]"') from error


class ConspectusRetriever(BaseRetriever):
    """Ranks the chunks of an index for a query, by any method of `conspectus search`.

    `index` is an open index or its folder; `settings` as in `conspectus.search`.
    """

    index: Any = DEFAULT_FOLDER
    method: str = "walk"
    k: int = 5
    settings: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = search(query, self.index, method=self.method, k=self.k, settings=self.settings)
        return [Document(id=hit.chunk, page_content=hit.text, metadata=_metadata(hit)) for hit in hits]


def _metadata(hit: Hit) -> dict[str, Any]:
    """Return where a hit is: document, title, characters, page or section, the id of the chunk, and the score."""
    return {name: value for name, value in asdict(hit).items() if name != "text"}
