"""One small class of settings for each stage and method, and where their values come from.

Later sources win: the defaults below, `conspectus.toml`, environment variables
(`CONSPECTUS_CHUNK_TOKENS=800` sets `tokens` of `[chunk]`), then what the caller or the command line gives.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from conspectus.errors import SettingsError

FILE_NAME = "conspectus.toml"
PREFIX = "CONSPECTUS_"


class Section(BaseModel):
    """The base of every class of settings: frozen, and no key is taken that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ReadSettings(Section):
    """How files become documents."""

    text_field: str = Field("text", description="field of a JSON or CSV record that holds its text")
    title_field: str = Field("title", description="field of a JSON or CSV record that holds its title")


class ChunkSettings(Section):
    """How documents are cut (P1 4.1.2: 600 tokens, 100 of them shared with the chunk before)."""

    tokens: int = Field(600, ge=10, description="tokens in a chunk")
    overlap: int = Field(100, ge=0, description="tokens shared by neighbouring chunks")
    encoding: Literal["cl100k_base", "o200k_base"] = Field("cl100k_base", description="the vocabulary that counts tokens")
    mode: Literal["tokens", "sentence"] = Field("tokens", description="end chunks anywhere, or at the end of a sentence")
    strict: bool = Field(False, description="keep a last chunk that adds no more tokens than the overlap")

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> ChunkSettings:
        if self.overlap >= self.tokens:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than tokens ({self.tokens})")
        return self


class ExtractSettings(Section):
    """What is taken out of each chunk."""

    entity_types: tuple[str, ...] = Field(
        ("person", "organization", "location", "event", "date", "work", "concept"),
        description="the types of entity to look for",
    )
    max_gleanings: int = Field(1, ge=0, description="rounds of looking again for what was missed (language models only)")


class ResolveSettings(Section):
    """Which names are taken to be one entity."""

    resolve: Literal["exact", "aliases"] = Field(
        "aliases", description="join equal names only, or also acronyms, last names and honorifics where unambiguous"
    )


class CommunitySettings(Section):
    """How the graph is divided (P1 3.1.4)."""

    max_size: int = Field(10, ge=2, description="split a community that has more entities than this, where it splits")
    resolution: float = Field(1.0, gt=0, description="of modularity; higher gives smaller communities")
    seed: int = Field(42, ge=0, description="of Leiden's order of moves")


class ReportSettings(Section):
    """What a report is written from (P1 3.1.5)."""

    context_tokens: int = Field(8000, ge=500, description="tokens of evidence for one report")
    min_report_entities: int = Field(3, ge=1, description="communities smaller than this live in their parents' reports")


class GlobalSettings(Section):
    """Answers from the reports of a whole level (P1 3.1.6)."""

    level: int | None = Field(None, ge=0, description="level of the hierarchy to answer from; chosen where not given")
    context_tokens: int = Field(8000, ge=500, description="tokens in a window of reports")
    seed: int = Field(42, ge=0, description="of the order in which reports are packed into windows")


class LocalSettings(Section):
    """Answers from the neighbourhood of the entities that a question names."""

    context_tokens: int = Field(8000, ge=500, description="tokens of entities, relationships, reports and chunks")
    entities: int = Field(10, ge=1, description="entities to start from at the most")


class SearchSettings(Section):
    """Ranking of chunks."""

    k: int = Field(5, ge=1, description="number of chunks")
    k1: float = Field(1.2, ge=0, description="BM25: how fast repeating a word stops counting")
    b: float = Field(0.75, ge=0, le=1, description="BM25: how much long chunks are held back")


class Settings(Section):
    """All settings, by stage and method; each name is a table of `conspectus.toml`."""

    read: ReadSettings = ReadSettings()
    chunk: ChunkSettings = ChunkSettings()
    extract: ExtractSettings = ExtractSettings()
    resolve: ResolveSettings = ResolveSettings()
    communities: CommunitySettings = CommunitySettings()
    reports: ReportSettings = ReportSettings()
    global_: GlobalSettings = Field(GlobalSettings(), alias="global")
    local: LocalSettings = LocalSettings()
    search: SearchSettings = SearchSettings()
    model: str = Field("extractive", description="who performs the language tasks; extractive needs no key")
