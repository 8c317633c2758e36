"""The extractive model: performs every task of indexing, answering and checking by selecting from the sources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from conspectus.errors import ModelError, NotSupported
from conspectus.index import Index
from conspectus.lazy import lazy_module
from conspectus.models.base import Model, performer_of
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import Document
from conspectus.tasks import Task
from conspectus.text.lexicon import read_lexicon

if TYPE_CHECKING:
    from conspectus.models.extractive import search
else:
    search = lazy_module("conspectus.models.extractive.search")  # answers need it, builds do not

R = TypeVar("R")


class ExtractiveModel(Model):
    """Performs tasks by selecting from the sources: fitted to a corpus to index it, or opened on an index to answer.

    It supports the tasks for which functions are registered with `performs` (see `models.base`). The functions' further
    parameters are properties of the model: `passages`, `index`, `searcher` and `multilingual`.
    """

    name = "extractive"
    generative = False

    def __init__(self, passages: SentenceStore | None = None, index: Index | None = None) -> None:
        self.passages = passages
        self._index = index

    def portable(self, documents: range | None = None) -> ExtractiveModel:
        """Return a copy for another process: it describes and reports alike, and extracts from `documents` if given."""
        passages = self.passages.part(documents) if self.passages and documents is not None else None
        model = ExtractiveModel(passages, self._index)
        model.multilingual = self.multilingual
        return model

    def digest(self, documents: range) -> str:
        """Return a digest of everything that extraction from some documents depends on, besides chunks and settings."""
        return self.passages.digest(documents) if self.passages else ""

    @classmethod
    def fit(cls, documents: Sequence[Document], entity_types: tuple[str, ...]) -> ExtractiveModel:
        """Read a corpus, so that its chunks are extracted with knowledge of all; otherwise each is read by itself."""
        return cls(SentenceStore.read(documents, read_lexicon(documents, entity_types)))

    @classmethod
    def of_index(cls, index: Index) -> ExtractiveModel:
        """Open the sentences of an index, so that questions can be answered from them."""
        return cls(index=index)

    async def perform(self, task: Task[R]) -> R:
        performer = performer_of(type(task))
        if performer is None:
            raise NotSupported(f"{type(task).__name__} needs a language model: name one with model=NAME")
        return cast("R", performer.function(task, *(getattr(self, name) for name in performer.needs)))

    # The parameters of registered functions

    @property
    def index(self) -> Index:
        """The index that questions are answered from."""
        if self._index is None:
            raise ModelError("the extractive model answers from an index: use ExtractiveModel.of_index")
        return self._index

    @property
    def searcher(self) -> search.Searcher:
        """The sentences of the index, ready to be searched."""
        return self.index.derive(search.Searcher)

    @cached_property
    def multilingual(self) -> bool:
        """Whether the corpus has documents in several languages."""
        if self._index is not None:
            return len(self._index.languages) > 1
        documents = self.passages.documents if self.passages else ()
        return len({document.language for document in documents}) > 1
