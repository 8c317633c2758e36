"""Make an index from what other tools made: a knowledge graph, or the output of Microsoft GraphRAG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.errors import UsageError
from conspectus.interchange.graphrag import read_graphrag
from conspectus.interchange.linked import linked_index, listed_links, read_links
from conspectus.interchange.triples import read_triples
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, public, read_sources, resolved, shown
from conspectus.storage import store

if TYPE_CHECKING:
    from conspectus import Index
    from conspectus.indexing.pipeline import Progress
    from conspectus.interchange.graphrag import Imported


@public
def import_triples(
    file: str | Path,
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: str | Path | Sequence[str | Path] = (),
    links: str | Path | None = None,
    settings: Given = None,
    progress: Progress | bool | None = None,
) -> Index:
    """Make the index in a folder from a knowledge graph, alone or with documents about its entities, and return it.

    See `interchange.triples.read_triples` for the files it takes, `interchange.linked` for how documents are linked;
    `links` names a table of entities and documents. What stood in the folder is replaced.

    Raises DocumentError where the file holds no triples, UsageError for links that cannot be read or without
    documents, and what `build` does for sources.
    """
    from conspectus.indexing.triples import index_of

    if links and not documents:
        raise UsageError("links go from entities to documents: name the documents, too")
    with shown(progress) as bars:
        if bars:
            bars.stage("read", 0)
        graph, chosen = read_triples(Path(file)), resolved(settings)
        if documents:
            listed = read_links(Path(links)) if links else []
            texts, failures, *_ = read_sources(documents, None, chosen)
            if bars:
                bars.stage("lexical", 0)
            index = linked_index(graph, texts, [*listed_links(texts), *listed], chosen, failures)
        else:
            if bars:
                bars.stage("communities", 0)
            index = index_of(graph, chosen.communities)
        return _stored(index, path_of(folder))


@public
def import_graphrag(
    source: str | Path, folder: str | Path = DEFAULT_FOLDER, *, progress: Progress | bool | None = None
) -> Imported:
    """Make the index in a folder from an output folder of Microsoft GraphRAG, and return it with what did not fit.

    See `interchange.graphrag` for the rules. What stood in the folder is replaced.

    Raises IndexMissing where there is no such output, IndexDamaged where its tables lack what is needed.
    """
    with shown(progress) as bars:
        imported = read_graphrag(Path(source), bars)
        return replace(imported, index=_stored(imported.index, path_of(folder)))


def _stored(index: Index, folder: Path) -> Index:
    with store.writing(folder):
        store.commit(folder, index, settings=index.settings, usage={})
    return store.read(folder)
