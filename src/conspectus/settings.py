"""One small class of settings for each stage and method; `configuration` says where their values come from."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """The base of every class of settings: frozen, and no key is taken that is not known.

    A class variable is a constant of its stage or method that was a setting once: `configuration` says so.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


def _check_no_password(name: str, address: str) -> None:
    """Raise ValueError where an address holds a password: settings are stored with an index, and keys never are.

    A query may hold a key as well, and could not stay behind an address that the path of a call is added to.
    """
    for held, where in (("a password", r"://[^/\s]*@"), ("a query (what follows the ?)", r"://[^#]*\?")):
        if re.search(where, address):
            raise ValueError(f"{name} holds {held}; leave it out, keys come from the environment alone")


class ReadSettings(Section):
    """How files become documents."""

    text_field: str = Field(default="text", description="Field of JSON and CSV records that holds the text")
    title_field: str = Field(default="title", description="Field of JSON and CSV records that holds the title")
    max_megabytes: float = Field(
        default=200.0, gt=0, description="Maximum size of a file in megabytes, also after unpacking"
    )
    seconds_per_file: float = Field(
        default=60.0, gt=0, description="Maximum seconds to parse one PDF, office, web or mail file"
    )
    password_file: str = Field(default="", description="File with passwords for encrypted documents, one per line")
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
    encoding: Literal["cl100k_base", "o200k_base"] = Field(
        default="cl100k_base", description="Tokenizer (tiktoken encoding) that counts tokens"
    )
    mode: Literal["tokens", "sentence"] = Field(
        default="tokens", description="Where chunks end: after a number of tokens, or at the end of a sentence"
    )
    strict: bool = Field(default=False, description="Keep a last chunk that adds no more tokens than the overlap")

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


class DescribeSettings(Section):
    """How the descriptions of an element become one (GraphRAG §3.1.3)."""

    context_tokens: int = Field(
        default=8000, ge=500, description="Maximum tokens of descriptions that are summarised at once"
    )


class CommunitySettings(Section):
    """How the graph is divided (GraphRAG §3.1.4)."""

    max_size: int = Field(
        default=10, ge=2, description="Maximum number of entities of a community; larger ones are split if they can be"
    )
    resolution: float = Field(
        default=1.0, gt=0, description="Resolution of Leiden modularity; higher values give smaller communities"
    )
    seed: int = Field(default=42, ge=0, description="Random seed for Leiden")


class ReportSettings(Section):
    """What a report is written from (GraphRAG §3.1.5)."""

    context_tokens: int = Field(default=8000, ge=500, description="Maximum tokens of context for one community report")
    min_report_entities: int = Field(
        default=3,
        ge=1,
        description="Minimum number of entities for a report of its own; smaller communities are covered by their "
        "parent's report",
    )
    write: bool = Field(
        default=True,
        description="Write community reports while indexing; if false, --method rollup writes those that a question "
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

    level: int | None = Field(
        default=None, ge=0, description="Community level to answer from; if not set, chosen by the size of its reports"
    )
    context_tokens: int = Field(
        default=8000, ge=500, description="Size of the context window of each map step in tokens"
    )
    seed: int = Field(default=42, ge=0, description="Random seed of the order in which reports are packed into windows")
    descend: bool = Field(
        default=False,
        description="Dynamic community selection: choose reports from the root down by relevance (--level auto)",
    )
    relevance: ClassVar[int] = 1
    """Minimum relevance rating, 0 to 5, of a report whose children are read (dynamic community selection)."""
    map_reply: Literal["answer", "points"] = Field(
        default="answer",
        description="What the map step asks each window for: one scored answer, or a list of scored points",
    )


class AnswerSettings(Section):
    """How answers are written (language models only)."""

    response: str = Field(default="multiple paragraphs", description="Length and format of an answer")
    general_knowledge: bool = Field(
        default=False, description="Let the model add general knowledge, marked as such and without citations"
    )


class LocalSettings(Section):
    """Answers from the neighbourhood of the entities that a question names."""

    context_tokens: int = Field(
        default=8000,
        ge=500,
        description="Size of the context in tokens: entities, relationships, reports, claims and chunks",
    )
    entities: int = Field(default=10, ge=1, description="Maximum number of entities to start from")
    entity_share: ClassVar[float] = 0.15
    """Share of the context for entities; chunks have what all shares leave."""
    relationship_share: ClassVar[float] = 0.2
    """Share of the context for relationships."""
    report_share: ClassVar[float] = 0.15
    """Share of the context for community reports."""
    claim_share: ClassVar[float] = 0.1
    """Share of the context for claims."""


class SearchSettings(Section):
    """Ranking of chunks."""

    k: int = Field(default=5, ge=1, description="Number of chunks to return")
    k1: float = Field(default=1.2, ge=0, description="BM25 parameter k1: how fast repeated words stop counting")
    b: float = Field(
        default=0.75, ge=0, le=1, description="BM25 parameter b: how much long chunks are penalised, 0 to 1"
    )


class RerankSettings(Section):
    """A second look at the best chunks of any ranking (`--rerank`)."""

    by: str = Field(
        default="none",
        description="Reranker: none, local, local:FOLDER, model (the language model), PROVIDER/NAME or the URL of a "
        "rerank server",
    )
    depth: int = Field(default=20, ge=1, description="Number of top-ranked chunks that are reranked")

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


class WalkSettings(Section):
    """Ranking of chunks by a walk between sentences and the names in them."""

    extent: Literal["auto", "full", "local"] = Field(
        default="auto",
        description="Extent of the walk: all sentences (full), those around the best matches (local), or by the size "
        "of the index (auto)",
    )
    vectors: bool = Field(default=True, description="Use the embeddings of the index, if it has any")
    damping: float = Field(
        default=0.87, ge=0, lt=1, description="Damping factor of the walk: probability of going on at each step"
    )
    steps: int = Field(default=9, ge=1, description="Number of steps of the walk")


class HippoSettings(Section):
    """Ranking of chunks by PageRank over noun phrases from what a question names (HippoRAG)."""

    variant: Literal["hipporag", "hipporag2", "combined"] = Field(
        default="combined",
        description="Version: hipporag, hipporag2 (chunks are nodes, questions are matched to triples), or combined "
        "(graph of hipporag2, seeds of hipporag)",
    )
    damping: float = Field(
        default=0.5, ge=0, lt=1, description="Damping factor of Personalized PageRank: probability of following an edge"
    )
    synonyms: ClassVar[float] = 0.8
    """Minimum similarity of two noun phrases for a synonymy edge, as in HippoRAG."""
    specificity: bool = Field(
        default=True, description="Node specificity: weight names higher that occur in few chunks (hipporag)"
    )
    chunk_weight: float = Field(
        default=0.05, ge=0, description="Weight of chunk similarity in the restart vector (hipporag2)"
    )
    triples: ClassVar[int] = 5
    """Number of nearest triples, and of their phrases, that are seeds of hipporag2, as in HippoRAG 2."""


class IrcotSettings(Section):
    """Retrieval interleaved with a chain of thought (IRCoT)."""

    retriever: str = Field(default="bm25", description="Retrieval method of each step")
    steps: int = Field(default=3, ge=1, description="Maximum number of reasoning steps")


class TogSettings(Section):
    """A search along the graph with its texts (Think-on-Graph 2)."""

    width: int = Field(
        default=3, ge=1, description="Beam width W: relations kept per entity, and entities kept per round"
    )
    chunks: int = Field(default=10, ge=1, description="Number of top chunks K whose scores count for their entities")
    evidence: int = Field(default=5, ge=1, description="Number of chunks L that are read to answer, at most K")
    decay: ClassVar[float] = 0.4
    """Decay alpha of a chunk's score with its rank, as in ToG-2."""
    depth: int = Field(default=3, ge=1, description="Maximum number of rounds D")
    samples: int = Field(default=5, ge=1, description="Number of sampled chains of thought that vote (cot-sc)")


class RollupSettings(Section):
    """Answers from the reports of what a question matches, written when it needs them (GraphRAG §6, future work)."""

    matches: ClassVar[int] = 100
    """Number of entities, relationships, claims and reports that are matched to the question."""
    reports: int = Field(
        default=12,
        ge=1,
        description="Maximum number of reports to answer from; beyond it, parent communities replace their children",
    )
    share: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="Share of a community that must match before its report replaces those of its children",
    )


class DrilldownSettings(Section):
    """Answers from the communities that reports lead down to (GraphRAG §6); the window is that of local."""

    width: int = Field(default=3, ge=1, description="Number of reports per level that are followed down")
    relevance: ClassVar[int] = 1
    """Minimum relevance rating, 0 to 5, of a report that is followed down."""


class DriftSettings(Section):
    """Answers by way of follow-up questions, from a first answer over reports (DRIFT)."""

    reports: int = Field(default=5, ge=1, description="Number of reports for the first answer")
    follow_ups: int = Field(default=3, ge=1, description="Number of follow-up questions per step")
    depth: int = Field(default=2, ge=0, description="Number of steps of follow-up questions")


class RaptorSettings(Section):
    """A tree of summaries over the chunks (RAPTOR)."""

    cluster: int = Field(
        default=8, ge=2, description="Approximate number of chunks or summaries that are summarised together"
    )
    levels: int = Field(default=3, ge=1, description="Maximum number of summary levels")
    summary_tokens: ClassVar[int] = 150
    """Approximate length of a summary in tokens."""


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
    reply_format: Literal["json", "tuples"] = Field(
        default="json",
        description="Format of extraction responses: JSON, or the delimited tuples of the GraphRAG paper",
    )
    prompts: str = Field(default="", description="Folder of prompts that replace the built-in ones, file by file")
    concurrency: int = Field(default=25, ge=1, description="Maximum number of concurrent calls")
    requests_per_minute: int | None = Field(default=None, ge=1, description="Rate limit in calls per minute")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="Rate limit in tokens per minute")
    timeout: float = Field(default=300.0, gt=0, description="Seconds to wait for a response")
    attempts: int = Field(default=6, ge=1, description="Maximum number of attempts per call")
    retry_seconds: float = Field(
        default=1.0, ge=0, description="Backoff in seconds before the second attempt; doubles with each further one"
    )
    temperature: float | None = Field(
        default=0.0, ge=0, description="Sampling temperature; if not set, the server's default"
    )
    max_tokens: int | None = Field(default=None, ge=1, description="Maximum tokens of a response")
    seed: int | None = Field(default=None, ge=0, description="Random seed for sampling, if the server supports one")
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
    describe: DescribeSettings = DescribeSettings()
    communities: CommunitySettings = CommunitySettings()
    reports: ReportSettings = ReportSettings()
    store: StoreSettings = StoreSettings()
    global_: GlobalSettings = Field(default=GlobalSettings(), validation_alias="global", serialization_alias="global")
    answer: AnswerSettings = AnswerSettings()
    local: LocalSettings = LocalSettings()
    search: SearchSettings = SearchSettings()
    rerank: RerankSettings = RerankSettings()
    vectors: VectorSettings = VectorSettings()
    walk: WalkSettings = WalkSettings()
    hippo: HippoSettings = HippoSettings()
    ircot: IrcotSettings = IrcotSettings()
    tog: TogSettings = TogSettings()
    raptor: RaptorSettings = RaptorSettings()
    rollup: RollupSettings = RollupSettings()
    drilldown: DrilldownSettings = DrilldownSettings()
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
