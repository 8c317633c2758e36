"""Retrievers of other frameworks return the hits of a search with their positions."""

from __future__ import annotations

from pathlib import Path

import pytest

import conspectus
from conspectus.index import Index

TEXTS = [
    "The lighthouse on Birrin burns whale oil.",
    "Bees swarm in May.",
    "The keeper of Birrin keeps bees.",
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("retrievers")
    return conspectus.build(documents=TEXTS, folder=folder).index


def test_langchain_is_given_the_hits_of_a_search(index: Index) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from conspectus.interchange.retrievers import LangChainRetriever

    found = LangChainRetriever(index=index, method="bm25", k=2).invoke("Who keeps bees?")

    hits = conspectus.search("Who keeps bees?", index, method="bm25", k=2)
    assert [document.page_content for document in found] == [hit.text for hit in hits] != []
    first = found[0].metadata
    [text] = [document.text for document in index.documents if document.path == first["document"]]
    assert text[first["start"] : first["end"]] == found[0].page_content


def test_llama_index_is_given_the_hits_of_a_search(index: Index) -> None:
    pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
    from conspectus.interchange.retrievers import LlamaIndexRetriever

    found = LlamaIndexRetriever(index, method="bm25", k=2).retrieve("Who keeps bees?")

    hits = conspectus.search("Who keeps bees?", index, method="bm25", k=2)
    assert [(node.text, node.score) for node in found] == [(hit.text, hit.score) for hit in hits] != []


@pytest.mark.parametrize("framework", ["langchain", "llama_index"])
def test_a_framework_that_is_not_installed_is_named_with_its_extra(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from conspectus.interchange import retrievers

    name = {"langchain": "LangChainRetriever", "llama_index": "LlamaIndexRetriever"}[framework]
    monkeypatch.delitem(vars(retrievers), name, raising=False)
    for module in ("langchain_core.callbacks", "llama_index.core.retrievers"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(conspectus.ConspectusError, match=rf"conspectus\[{framework.replace('_', '-')}\]"):
        getattr(retrievers, name)
