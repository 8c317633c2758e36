"""One small class of settings for each stage and method; `configuration` says where their values come from."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """The base of every class of settings: frozen, and no key is taken that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


def _check_no_password(name: str, address: str) -> None:
    """Raise ValueError where an address holds a password: settings are stored with an index, and keys never are."""
    if re.search(r"://[^/\s]*@", address):
        raise ValueError(f"{name} holds a password; leave it out, keys come from the environment alone")


class ReadSettings(Section):
    """How files become documents."""

    text_field: str = Field(default="text", description="field of a JSON or CSV record that holds its text")
    title_field: str = Field(default="title", description="field of a JSON or CSV record that holds its title")
    max_megabytes: float = Field(
        default=200.0, gt=0, description="size of a file at the most, and of what is unpacked from it"
    )
    seconds_per_file: float = Field(
        default=60.0, gt=0, description="time to parse one PDF, office, web or mail file at the most"
    )
    password_file: str = Field(
        default="", description="file of passwords to try on encrypted documents, one on each line"
    )
    follow_symlinks: bool = Field(
        default=False, description="read what links lead to outside of the folder that holds them"
    )


class ChunkSettings(Section):
    """How documents are cut (P1 4.1.2: 600 tokens, 100 of them shared with the chunk before)."""

    tokens: int = Field(default=600, ge=10, description="tokens in a chunk")
    overlap: int = Field(default=100, ge=0, description="tokens shared by neighbouring chunks")
    encoding: Literal["cl100k_base", "o200k_base"] = Field(
        default="cl100k_base", description="the vocabulary that counts tokens"
    )
    mode: Literal["tokens", "sentence"] = Field(
        default="tokens", description="end chunks anywhere, or at the end of a sentence"
    )
    strict: bool = Field(default=False, description="keep a last chunk that adds no more tokens than the overlap")

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> ChunkSettings:
        if self.overlap >= self.tokens:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than tokens ({self.tokens})")
        return self


class ExtractSettings(Section):
    """What is taken out of each chunk."""

    entity_types: tuple[str, ...] = Field(
        default=("person", "organization", "location", "event", "date", "work", "concept"),
        description="the types of entity to look for",
    )
    max_gleanings: int = Field(
        default=1, ge=0, description="rounds of looking again for what was missed (language models only)"
    )
    style: Literal["graph", "triples"] = Field(
        default="graph",
        description="entities and relationships of the given types, or open triples (HippoRAG; language models only)",
    )
    claims: bool = Field(
        default=False, description="also take out what is claimed of the entities (language models only)"
    )


class ResolveSettings(Section):
    """Which names are taken to be one entity."""

    resolve: Literal["exact", "aliases"] = Field(
        default="aliases",
        description="join equal names only, or also acronyms, last names and honorifics where unambiguous",
    )


class DescribeSettings(Section):
    """How the descriptions of an element become one (P1 3.1.3)."""

    context_tokens: int = Field(default=8000, ge=500, description="tokens of descriptions read at once")


class CommunitySettings(Section):
    """How the graph is divided (P1 3.1.4)."""

    max_size: int = Field(
        default=10, ge=2, description="split a community that has more entities than this, where it splits"
    )
    resolution: float = Field(default=1.0, gt=0, description="of modularity; higher gives smaller communities")
    seed: int = Field(default=42, ge=0, description="of Leiden's order of moves")


class ReportSettings(Section):
    """What a report is written from (P1 3.1.5)."""

    context_tokens: int = Field(default=8000, ge=500, description="tokens of evidence for one report")
    min_report_entities: int = Field(
        default=3, ge=1, description="communities smaller than this live in their parents' reports"
    )
    write: bool = Field(
        default=True, description="write reports while indexing; without, rollup writes those that a question needs"
    )


class StoreSettings(Section):
    """What an index's folder keeps."""

    snapshots: int = Field(default=5, ge=1, description="snapshots that are kept, the current one among them")
    corrections: str = Field(
        default="", description="file of what people corrected; corrections.toml in the folder where not given"
    )


class GlobalSettings(Section):
    """Answers from the reports of a whole level (P1 3.1.6)."""

    level: int | None = Field(
        default=None, ge=0, description="level of the hierarchy to answer from; chosen where not given"
    )
    context_tokens: int = Field(default=8000, ge=500, description="tokens in a window of reports")
    seed: int = Field(default=42, ge=0, description="of the order in which reports are packed into windows")
    descend: bool = Field(
        default=False, description="choose the reports from the root down by their relevance (`--level auto`)"
    )
    relevance: int = Field(
        default=1, ge=1, le=5, description="rating from which on a report is descended into, of 0 to 5"
    )
    map_reply: Literal["answer", "points"] = Field(
        default="answer", description="ask each window for one scored answer, or for scored points"
    )


class AnswerSettings(Section):
    """How answers are written (language models only)."""

    response: str = Field(default="multiple paragraphs", description="length and format of an answer")
    general_knowledge: bool = Field(
        default=False, description="let the model add what it knows, marked as such and without reference"
    )


class LocalSettings(Section):
    """Answers from the neighbourhood of the entities that a question names."""

    context_tokens: int = Field(
        default=8000, ge=500, description="tokens of entities, relationships, reports, claims and chunks"
    )
    entities: int = Field(default=10, ge=1, description="entities to start from at the most")
    entity_share: float = Field(default=0.15, ge=0, le=1, description="part of the window that entities may fill")
    relationship_share: float = Field(default=0.2, ge=0, le=1, description="the same for relationships")
    report_share: float = Field(default=0.15, ge=0, le=1, description="the same for reports")
    claim_share: float = Field(
        default=0.1, ge=0, le=1, description="the same for claims, where there are any; chunks have the rest"
    )

    @model_validator(mode="after")
    def _shares_leave_room(self) -> LocalSettings:
        if self.entity_share + self.relationship_share + self.report_share + self.claim_share > 1:
            raise ValueError("entity_share, relationship_share, report_share and claim_share together are above 1")
        return self


class SearchSettings(Section):
    """Ranking of chunks."""

    k: int = Field(default=5, ge=1, description="number of chunks")
    k1: float = Field(default=1.2, ge=0, description="BM25: how fast repeating a word stops counting")
    b: float = Field(default=0.75, ge=0, le=1, description="BM25: how much long chunks are held back")


class RerankSettings(Section):
    """A second look at the best chunks of any ranking (`--rerank`)."""

    by: str = Field(
        default="none",
        description="who scores them: none, local, local:FOLDER, provider/model, the address of a server, or model, "
        "the language model",
    )
    depth: int = Field(default=20, ge=1, description="chunks of the ranking that are looked at, the best first")

    @model_validator(mode="after")
    def _address_holds_no_password(self) -> RerankSettings:
        _check_no_password("by", self.by)
        return self

    @model_validator(mode="after")
    def _names_a_reranker(self) -> RerankSettings:
        if self.by not in ("none", "local", "model") and not self.by.startswith("local:") and "/" not in self.by:
            raise ValueError(
                f"by = {self.by!r} names no reranker; there are none, local, local:FOLDER, model, PROVIDER/NAME, and "
                "the URL of a server"
            )
        return self


class VectorSettings(Section):
    """Vectors of chunks and sentences, for the methods that compare meanings."""

    embedder: str = Field(
        default="none",
        description="who makes vectors: none, local, local:FOLDER or provider/model; asking takes the index's own",
    )
    query_prefix: str | None = Field(
        default=None, description='what its model wants before a question, as "query: "; left out: known by its name'
    )
    passage_prefix: str | None = Field(
        default=None, description="the same before a passage; what stands in an index is used for its questions"
    )


class WalkSettings(Section):
    """Ranking of chunks by a walk between sentences and the names in them."""

    form: Literal["auto", "full", "local"] = Field(
        default="auto", description="walk over all sentences, or over those around the best; auto goes by their number"
    )
    vectors: bool = Field(default=True, description="use the vectors of an index that has them")
    damping: float = Field(default=0.87, ge=0, lt=1, description="how likely the walk goes on at each step")
    steps: int = Field(default=9, ge=1, description="steps of the walk")


class HippoSettings(Section):
    """Ranking of chunks by PageRank over noun phrases from what a question names (HippoRAG, P2 IV-B)."""

    form: Literal["1", "2", "joined"] = Field(
        default="joined",
        description="as first published; HippoRAG 2, where chunks are nodes and the question is matched to triples; "
        "or the graph of 2 from the names of 1",
    )
    damping: float = Field(default=0.5, ge=0, lt=1, description="how likely an edge is followed at each step")
    synonyms: float = Field(
        default=0.8, gt=0, le=1, description="likeness of two noun phrases above which an edge joins them"
    )
    specificity: bool = Field(default=True, description="give names that few chunks hold more weight (form 1)")
    chunk_weight: float = Field(default=0.05, ge=0, description="weight of likeness to chunks among the seeds (form 2)")
    triples: int = Field(default=5, ge=1, description="nearest triples, and phrases of them, that are seeds (form 2)")


class IrcotSettings(Section):
    """Retrieval interleaved with a chain of thought (IRCoT)."""

    retriever: str = Field(default="bm25", description="the method that ranks at each step")
    steps: int = Field(default=3, ge=1, description="steps of thought at the most")


class TogSettings(Section):
    """A search along the graph with its texts (Think-on-Graph 2, P2 IV-A)."""

    width: int = Field(
        default=3, ge=1, description="relations of an entity, and entities of a round, that are kept (W)"
    )
    chunks: int = Field(default=10, ge=1, description="chunks whose scores count for the entities they are of (K)")
    evidence: int = Field(default=5, ge=1, description="chunks that are read to answer, no more than K (L)")
    decay: float = Field(default=0.4, ge=0, description="how fast the score of a chunk falls with its rank (alpha)")
    depth: int = Field(default=3, ge=1, description="rounds at the most (D)")
    samples: int = Field(default=5, ge=1, description="chains of thought that vote (cot-sc)")


class RollupSettings(Section):
    """Answers from the reports of what a question matches, written when it needs them (P1, future work)."""

    matches: int = Field(default=100, ge=1, description="entities, relationships, claims and reports that are matched")
    reports: int = Field(
        default=12, ge=1, description="reports to answer from; where more are matched, parts give way to their wholes"
    )
    share: float = Field(
        default=0.5, gt=0, le=1, description="part of a community that must match for its report to replace its parts'"
    )


class DrilldownSettings(Section):
    """Answers from the communities that reports lead down to (P1, future work); the window is that of local."""

    width: int = Field(default=3, ge=1, description="reports of a level that are followed down")
    relevance: int = Field(default=1, ge=1, le=5, description="rating from which on a report is followed, of 0 to 5")


class DriftSettings(Section):
    """Answers by way of follow-up questions, from a first answer over reports (DRIFT)."""

    reports: int = Field(default=5, ge=1, description="reports that the first answer is made from")
    follow_ups: int = Field(default=3, ge=1, description="follow-up questions that are asked at each step")
    depth: int = Field(default=2, ge=0, description="steps of follow-up questions")


class RaptorSettings(Section):
    """A tree of summaries over the chunks (RAPTOR)."""

    cluster: int = Field(default=8, ge=2, description="chunks or summaries that are summarised together, about")
    levels: int = Field(default=3, ge=1, description="levels of summaries at the most")
    summary_tokens: int = Field(default=150, ge=20, description="tokens of a summary, about")


class ModelSettings(Section):
    """How language models are asked (only with a `model` other than extractive)."""

    tasks: dict[str, str] = Field(
        default={}, description='other models for single tasks, as { ExtractGraph = "openai/gpt-4.1-nano" }'
    )
    base_url: str = Field(default="", description="address of an OpenAI-compatible server, in place of the model's own")
    embedder_base_url: str = Field(default="", description="the same for the embedder")
    reply_format: Literal["json", "tuples"] = Field(
        default="json", description="how entities, relationships and claims are asked for"
    )
    prompts: str = Field(default="", description="folder of prompts to use in place of ours, file by file")
    concurrency: int = Field(default=25, ge=1, description="calls under way at once at the most")
    requests_per_minute: int | None = Field(default=None, ge=1, description="calls begun in any minute")
    tokens_per_minute: int | None = Field(default=None, ge=1, description="tokens of calls begun in any minute")
    timeout: float = Field(default=300.0, gt=0, description="seconds to wait for a reply")
    attempts: int = Field(default=6, ge=1, description="times to ask before a call counts as failed")
    retry_seconds: float = Field(
        default=1.0, ge=0, description="pause before the second attempt; it doubles with each further one"
    )
    temperature: float | None = Field(default=0.0, ge=0, description="of sampling; left to the server if not set")
    max_tokens: int | None = Field(default=None, ge=1, description="tokens of a reply at the most")
    seed: int | None = Field(default=None, ge=0, description="of sampling, where the server takes one")
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = Field(
        default=None, description="how long a reasoning model thinks"
    )
    context_window: int = Field(default=16384, ge=1024, description="tokens of context that Ollama is told to hold")
    budget: float | None = Field(
        default=None,
        ge=0,
        description="maximum spend of one run in US dollars; without max_tokens a reply has room for as "
        "many tokens as the longest of its task so far, at least 4,096, and twice as many once it was cut off by that",
    )
    budget_tokens: int | None = Field(
        default=None, ge=0, description="maximum tokens of one run, prompts and replies together"
    )
    index_budget: float | None = Field(
        default=None,
        ge=0,
        description="maximum spend in US dollars of all runs on one index together, by what its response cache records",
    )
    index_budget_tokens: int | None = Field(
        default=None, ge=0, description="maximum tokens of all runs on one index together, prompts and replies"
    )
    trace: str = Field(default="", description="file to write every call to, as JSON lines")
    trace_texts: bool = Field(default=False, description="write the texts of calls to it too")

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
    model: str = Field(default="extractive", description="who performs the language tasks; extractive needs no key")
    language: str = Field(
        default="auto", min_length=2, description="of the corpus, as a code of two letters; auto detects it"
    )
    prices: dict[str, Price] = Field(
        default={},
        description='US dollars for a million tokens, as { "openai/gpt-4.1-mini" = { input = 0.4, output = 1.6 } }; '
        "models that are not named here have the prices that the package genai-prices publishes, local ones are free",
    )
