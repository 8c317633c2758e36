"""One small class of settings for each stage and method; `configuration` says where their values come from."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """The base of every class of settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


def _check_no_password(name: str, address: str) -> None:
    """Raise ValueError if a URL contains a password or a query, which may contain a key: settings are stored."""
    for part, pattern in (("a password", r"://[^/\s]*@"), ("a query (what follows the ?)", r"://[^#]*\?")):
        if re.search(pattern, address):
            raise ValueError(f"{name} contains {part}; leave it out, keys come from the environment alone")


class ReadSettings(Section):
    """How files become documents."""

    text_field: str = Field(default="text", description="Field of JSON and CSV records that holds the text")
    title_field: str = Field(default="title", description="Field of JSON and CSV records that holds the title")
    max_megabytes: float = Field(
        default=200.0, gt=0, description="Maximum size of a file in megabytes, also after unpacking"
    )
    password_file: str = Field(
        default="", description="File with passwords for encrypted documents, one per line"
    )
    follow_symlinks: bool = Field(default=False, description="Follow symbolic links that lead out of a folder")
    include: tuple[str, ...] = Field(
        default=(), description='Patterns of files to read in folders, such as "*.md" or "docs/**"; all if empty'
    )
    exclude: tuple[str, ...] = Field(
        default=(), description='Patterns of files and folders to leave out, such as "drafts/"'
    )
    gitignore: bool = Field(default=True, description="Leave out files that .gitignore excludes")


class ChunkSettings(Section):
    """How documents are cut (GraphRAG §4.1.2: 600 tokens, 100 of them shared with the chunk before)."""

    tokens: int = Field(default=600, ge=10, description="Size of a chunk in tokens")
    overlap: int = Field(default=100, ge=0, description="Tokens that neighbouring chunks share")
    mode: Literal["tokens", "sentence"] = Field(
        default="tokens", description="Where chunks end: after a number of tokens, or at the end of a sentence"
    )

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> ChunkSettings:
        if self.overlap >= self.tokens:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than tokens ({self.tokens})")
        return self


class ExtractSettings(Section):
    """What is taken out of each chunk."""

    entity_types: tuple[str, ...] = Field(
        default=("person", "organization", "location", "event", "date", "work", "concept"),
        description="Entity types to extract",
    )
    max_gleanings: int = Field(
        default=1,
        ge=0,
        description="Maximum number of gleanings, i.e. further passes over a chunk for missed entities; requires a "
        "language model",
    )
    style: Literal["graph", "triples"] = Field(
        default="graph",
        description="What is extracted: entities and relationships of the entity types, or open triples (HippoRAG; "
        "requires a language model)",
    )
    claims: bool = Field(
        default=False, description="Also extract claims (covariates) about entities; requires a language model"
    )


class ResolveSettings(Section):
    """Which names are taken to be one entity."""

    resolve: Literal["exact", "aliases"] = Field(
        default="aliases",
        description="Entity resolution: join equal names only, or also acronyms, last names and honorifics if "
        "unambiguous",
    )


class CommunitySettings(Section):
    """How the graph is divided (GraphRAG §3.1.4)."""

    max_size: int = Field(
        default=10,
        ge=2,
        description="Maximum number of entities of a community; larger ones are split if they can be",
    )
    seed: int = Field(default=42, ge=0, description="Random seed for Leiden")


class ReportSettings(Section):
    """What a report is written from (GraphRAG §3.1.5)."""

    context_tokens: int = Field(
        default=8000,
        ge=500,
        description="Maximum tokens of context for one community report, and of descriptions that are summarised at "
        "once",
    )
    min_report_entities: int = Field(
        default=3,
        ge=1,
        description="Minimum number of entities for a report of its own; smaller communities are covered by their "
        "parent's report",
    )
    write: bool = Field(
        default=True,
        description="Write community reports while indexing; if false, the method rollup writes those that a question "
        "needs",
    )


class StoreSettings(Section):
    """What an index's folder keeps."""

    snapshots: int = Field(default=5, ge=1, description="Number of snapshots kept, including the current one")
    corrections: str = Field(
        default="", description="File of corrections; if empty, corrections.toml in the index folder"
    )


class GlobalSettings(Section):
    """Answers from the reports of a whole level (GraphRAG §3.1.6)."""

    level: Annotated[int, Field(ge=0)] | Literal["auto"] | None = Field(
        default=None,
        description="Community level to answer from; auto chooses reports from the root down by relevance (dynamic "
        "community selection); if not set, chosen by the number of its reports",
    )


class AnswerSettings(Section):
    """What answers are written from, and how."""

    context_tokens: int = Field(
        default=8000,
        ge=500,
        description="Size of the context in tokens that an answer is written from; for map-reduce, of each map step",
    )
    response: str = Field(
        default="multiple paragraphs", description="Length and format of an answer (language models only)"
    )
    general_knowledge: bool = Field(
        default=False, description="Let the model add general knowledge, marked as such and without citations"
    )


class SearchSettings(Section):
    """Ranking of chunks."""

    k: int = Field(default=5, ge=1, description="Number of chunks to return")


class RerankSettings(Section):
    """A second look at the best chunks of any ranking (`--rerank`)."""

    by: str = Field(
        default="none",
        description="Reranker: none, local, local:FOLDER, model (the language model), PROVIDER/NAME or the URL of a "
        "rerank server",
    )

    @model_validator(mode="after")
    def _address_holds_no_password(self) -> RerankSettings:
        _check_no_password("by", self.by)
        return self

    @property
    def enabled(self) -> bool:
        """Whether a reranker is named."""
        return self.by != "none"

    @model_validator(mode="after")
    def _names_a_reranker(self) -> RerankSettings:
        if self.by not in ("none", "local", "model") and not self.by.startswith("local:") and "/" not in self.by:
            raise ValueError(
                f"there is no reranker {self.by!r}; by takes none, local, local:FOLDER, model, PROVIDER/NAME, and "
                "the URL of a server"
            )
        return self


class VectorSettings(Section):
    """Vectors of chunks and sentences, for the methods that compare meanings."""

    embedder: str = Field(
        default="none",
        description="Embedding model: none, local, local:FOLDER or PROVIDER/NAME; questions use that of the index",
    )
    query_prefix: str | None = Field(
        default=None,
        description='Text that the embedding model expects before a question, e.g. "query: "; if not set, known by '
        "the model's name",
    )
    passage_prefix: str | None = Field(
        default=None,
        description='Text that the embedding model expects before a passage, e.g. "passage: "; if not set, known '
        "by the model's name",
    )


class HippoSettings(Section):
    """Ranking of chunks by PageRank over noun phrases from what a question names (HippoRAG)."""

    variant: Literal["hipporag", "hipporag2", "combined"] = Field(
        default="combined",
        description="Version: hipporag, hipporag2 (chunks are nodes, questions are matched to triples), or combined "
        "(graph of hipporag2, seeds of hipporag)",
    )
    damping: float = Field(
        default=0.5,
        ge=0,
        lt=1,
        description="Damping factor of Personalized PageRank: probability of following an edge",
    )


class IrcotSettings(Section):
    """Retrieval interleaved with a chain of thought (IRCoT)."""

    retriever: str = Field(default="bm25", description="Retrieval method of each step")
    steps: int = Field(default=3, ge=1, description="Maximum number of reasoning steps")


class TogSettings(Section):
    """A search along the graph with its texts (Think-on-Graph 2)."""

    width: int = Field(
        default=3, ge=1, description="Beam width W: relations kept per entity, and entities kept per round"
    )
    depth: int = Field(default=3, ge=1, description="Maximum number of rounds D")


class DriftSettings(Section):
    """Answers by way of follow-up questions, from a first answer over reports (DRIFT)."""

    depth: int = Field(default=2, ge=0, description="Number of steps of follow-up questions")


class ModelSettings(Section):
    """How language models are asked (only with a `model` other than extractive)."""

    tasks: dict[str, str] = Field(
        default={}, description='Models for single tasks, e.g. { ExtractGraph = "openai/gpt-4.1-nano" }'
    )
    base_url: str = Field(
        default="", description="Base URL of an OpenAI-compatible server, instead of the provider's own"
    )
    embedder_base_url: str = Field(
        default="", description="Base URL of an OpenAI-compatible server for the embedding model"
    )
    prompts: str = Field(default="", description="Folder of prompts that replace the built-in ones, file by file")
    concurrency: int = Field(default=25, ge=1, description="Maximum number of concurrent calls")
    requests_per_minute: int | None = Field(default=None, ge=1, description="Rate limit in calls per minute")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="Rate limit in tokens per minute")
    timeout: float = Field(default=300.0, gt=0, description="Seconds to wait for a response")
    attempts: int = Field(default=6, ge=1, description="Maximum number of attempts per call")
    temperature: float | None = Field(
        default=0.0, ge=0, description="Sampling temperature; if not set, the server's default"
    )
    max_tokens: int | None = Field(default=None, ge=1, description="Maximum tokens of a response")
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = Field(
        default=None, description="Reasoning effort of a reasoning model"
    )
    context_window: int = Field(
        default=16384, ge=1024, description="Context window that Ollama is asked for, in tokens"
    )
    budget: float | None = Field(
        default=None,
        ge=0,
        description="Maximum spend of one run in US dollars; without max_tokens a reply has room for as "
        "many tokens as the longest of its task so far, at least 4,096, and twice as many once it was cut off by that",
    )
    budget_tokens: int | None = Field(
        default=None, ge=0, description="Maximum tokens of one run, prompts and responses together"
    )
    index_budget: float | None = Field(
        default=None,
        ge=0,
        description="Maximum spend in US dollars of all runs on one index together, by what its response cache records",
    )
    index_budget_tokens: int | None = Field(
        default=None, ge=0, description="Maximum tokens of all runs on one index together, prompts and responses"
    )
    trace: str = Field(default="", description="File to which every model call is appended as a line of JSON")
    trace_texts: bool = Field(default=False, description="Also write prompts and responses to the trace file")

    @model_validator(mode="after")
    def _addresses_hold_no_password(self) -> ModelSettings:
        _check_no_password("base_url", self.base_url)
        _check_no_password("embedder_base_url", self.embedder_base_url)
        return self


class Price(Section):
    """What a model costs in US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(default=0.0, ge=0)


class Settings(Section):
    """All settings, by stage and method; each name is a table of `conspectus.toml`."""

    read: ReadSettings = ReadSettings()
    chunk: ChunkSettings = ChunkSettings()
    extract: ExtractSettings = ExtractSettings()
    resolve: ResolveSettings = ResolveSettings()
    communities: CommunitySettings = CommunitySettings()
    reports: ReportSettings = ReportSettings()
    store: StoreSettings = StoreSettings()
    global_: GlobalSettings = Field(
        default=GlobalSettings(), validation_alias="global", serialization_alias="global"
    )
    answer: AnswerSettings = AnswerSettings()
    search: SearchSettings = SearchSettings()
    rerank: RerankSettings = RerankSettings()
    vectors: VectorSettings = VectorSettings()
    hippo: HippoSettings = HippoSettings()
    ircot: IrcotSettings = IrcotSettings()
    tog: TogSettings = TogSettings()
    drift: DriftSettings = DriftSettings()
    llm: ModelSettings = ModelSettings()
    model: str = Field(
        default="extractive",
        description="Language model, e.g. openai/gpt-4.1-mini or ollama/qwen3; extractive needs no key and no server",
    )
    language: str = Field(
        default="auto", min_length=2, description="Language of the corpus as a two-letter code; auto detects it"
    )
    prices: dict[str, Price] = Field(
        default={},
        description='Prices in US dollars per million tokens, e.g. { "openai/gpt-4.1-mini" = '
        "{ input = 0.4, output = 1.6 } }; other models have the prices published by the package genai-prices, local "
        "ones are free",
    )
