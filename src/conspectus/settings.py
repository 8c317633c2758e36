"""One small class of settings for each stage and method; `configuration` says where their values come from."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

EXTRACTIVE = "extractive"
"""The name of the extractive model, which selects from the sources by rules."""


class Section(BaseModel):
    """The base of every class of settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


def setting(default: Any, description: str, **bounds: Any) -> Any:
    """Return a field with its default, its description in `conspectus config`, and the bounds of its values."""
    return Field(default=default, description=description, **bounds)


def _check_no_password(name: str, address: str) -> None:
    """Raise ValueError if a URL contains a password or a query, which may contain a key: settings are stored."""
    patterns = {"a password": r"://[^/\s]*@", "a query (what follows the ?)": r"://[^#]*\?"}
    for part, pattern in patterns.items():
        if re.search(pattern, address):
            raise ValueError(f"{name} contains {part}; leave it out: keys are read only from the environment")


class ReadSettings(Section):
    """How files become documents."""

    text_field: str = setting("text", "Field of JSON and CSV with the text")
    title_field: str = setting("title", "Field of JSON and CSV with the title")
    max_megabytes: float = setting(200.0, "Maximum size of a file in megabytes, packed and unpacked", gt=0)
    follow_symlinks: bool = setting(False, "Follow symbolic links out of a folder")
    include: tuple[str, ...] = setting((), 'Files to read, e.g. "docs/**"')
    exclude: tuple[str, ...] = setting((), 'Files to leave out, e.g. "drafts/"')
    gitignore: bool = setting(True, "Leave out what .gitignore excludes")
    cleaning: bool = setting(True, "Leave markup, menus and references out of chunks and sentences")


class ChunkSettings(Section):
    """How documents are split (GraphRAG §4.1.2: 600 tokens, 100 of them shared with the chunk before)."""

    tokens: int = setting(600, "Size of a chunk in tokens", ge=10, le=10**9)
    overlap: int = setting(100, "Tokens that neighbouring chunks share", ge=0)

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> ChunkSettings:
        if self.overlap >= self.tokens:
            raise ValueError(f"overlap ({self.overlap}) must be smaller than tokens ({self.tokens})")
        return self


TypeName = Annotated[str, StringConstraints(to_lower=True, strip_whitespace=True, min_length=1)]
"""The name of a type of entity, in lower case."""


class EntityType(Section):
    """A type of entity: a description, and known names."""

    description: str = ""
    names: tuple[str, ...] = ()


class Relation(Section):
    """A relation that entities of two types may have."""

    source: TypeName
    relation: str
    target: TypeName


class GraphSchema(Section):
    """The schema of a graph: `entities` by type, `relations` between types; `strict` excludes everything else."""

    entities: dict[TypeName, EntityType] = Field(min_length=1)
    relations: tuple[Relation, ...] = ()
    strict: bool = False

    @classmethod
    def read(cls, given: Any) -> GraphSchema:
        """Return a schema from its values or from the path of a TOML file; raise ValueError if it is invalid."""
        if isinstance(given, str):
            try:
                given = tomllib.loads(Path(given).expanduser().read_text("utf-8"))
            except OSError as error:
                raise ValueError(f"{Path(given).name} cannot be read: {error.strerror}") from None
        schema = cls.model_validate(given, strict=False)
        unknown = {end for r in schema.relations for end in (r.source, r.target)} - schema.entities.keys()
        if unknown:
            raise ValueError(f"relations name types that [entities] lacks: {', '.join(sorted(unknown))}")
        return schema


class ExtractSettings(Section):
    """What is extracted from each chunk."""

    entity_types: tuple[str, ...] = setting(
        ("person", "organization", "location", "event", "date", "work", "object", "concept"),
        "Entity types to extract",
    )
    graph_schema: GraphSchema | None = setting(
        None,
        "TOML file with types of entity, their descriptions, known names, and relations; in place of entity_types",
    )
    max_gleanings: int = setting(
        1, "Maximum number of passes for missed entities (gleanings); needs a model", ge=0
    )
    style: Literal["graph", "triples", "both"] = setting(
        "graph", "What to extract: graph, triples (open triples of HippoRAG; needs a model), or both"
    )
    claims: bool = setting(False, "Also extract claims; needs a model")
    strict: bool = setting(False, "Ask for named entities and open triples as in the HippoRAG paper")

    @field_validator("graph_schema", mode="before")
    @classmethod
    def _read_schema(cls, given: Any) -> GraphSchema | None:
        return GraphSchema.read(given) if given else None

    @property
    def types(self) -> tuple[str, ...]:
        """The types of entity that a model has to extract."""
        return tuple(self.graph_schema.entities) if self.graph_schema else self.entity_types

    @property
    def types_by_rules(self) -> tuple[str, ...]:
        """The types that rules extract; for names that a schema lists, the type in the schema takes precedence."""
        return ExtractSettings().entity_types if self.graph_schema else self.entity_types

    @property
    def type_of_name(self) -> dict[str, str]:
        """The names that a schema lists, which rules also look for, with the type of each."""
        types = self.graph_schema.entities if self.graph_schema else {}
        return {name: type_ for type_, listed in types.items() for name in listed.names}


class ResolveSettings(Section):
    """Which names are merged into one entity."""

    resolve: Literal["exact", "aliases", "model"] = setting(
        "aliases",
        "Names to merge: exact (equal ones), aliases (also acronyms, last names), or model (also similar ones that the"
        " model confirms)",
    )


class CommunitySettings(Section):
    """How the graph is divided (GraphRAG §3.1.4)."""

    max_size: int = setting(10, "Maximum number of entities of a community", ge=2)
    seed: int = setting(42, "Random seed for Leiden", ge=0, le=2**63)


class ReportSettings(Section):
    """What a report is written from (GraphRAG §3.1.5)."""

    context_tokens: int = setting(8000, "Tokens of context for a report", ge=500)
    min_report_entities: int = setting(3, "Minimum number of entities for a report of its own", ge=1)
    write: bool = setting(True, "Write reports while indexing")
    strict: bool = setting(False, "Describe each element in a separate call, as in the GraphRAG paper")


class StoreSettings(Section):
    """What the folder of an index contains."""

    snapshots: int = setting(5, "Snapshots to keep, the current one included", ge=1)


class GlobalSettings(Section):
    """Answers from the reports of a whole level (GraphRAG §3.1.6)."""

    level: Annotated[int, Field(ge=0)] | Literal["auto"] | None = setting(
        None, "Community level to answer from (0 is the root); auto follows relevant reports"
    )


class AnswerSettings(Section):
    """What answers are written from, and how."""

    context_tokens: int = setting(
        8000,
        "Tokens of evidence for an answer, including row numbers; the prompt adds about 300",
        ge=500,
        le=10**9,
    )
    response: str = setting(
        "multiple paragraphs", "Length and format of an answer; without a model only 'short answer' differs"
    )
    general_knowledge: bool = setting(False, "Let the model add general knowledge, marked as such")


class AutoSettings(Section):
    """How the method `auto` answers."""

    rounds: int = setting(
        2, "Maximum number of rounds of retrieving and answering in all; needs a model", ge=1
    )


class SearchSettings(Section):
    """Ranking of chunks."""

    k: int = setting(5, "Number of chunks a search returns; answers fill the context", ge=1)


class RerankSettings(Section):
    """Reranking of the best chunks of any method (`--rerank`)."""

    by: str = setting("none", "Reranker: none, local, local:FOLDER, model, PROVIDER/NAME or a URL")

    @property
    def enabled(self) -> bool:
        """Whether a reranker is named."""
        return self.by != "none"

    @model_validator(mode="after")
    def _names_a_reranker(self) -> RerankSettings:
        _check_no_password("by", self.by)
        known = self.by in ("none", "local", "model") or self.by.startswith("local:")
        if not known and "/" not in self.by:
            reason = "by takes none, local, local:FOLDER, model, PROVIDER/NAME, and the URL of a server"
            raise ValueError(f"there is no reranker {self.by!r}; {reason}")
        return self


class VectorSettings(Section):
    """Vectors of chunks and sentences, for the methods that compare meanings."""

    embedder: str = setting("none", "Embedding model: none, local, local:FOLDER or PROVIDER/NAME")


class HippoSettings(Section):
    """Ranking of chunks by PageRank over noun phrases (the methods hipporag, hipporag2 and combined)."""

    damping: float = setting(0.5, "Probability of following an edge", ge=0, lt=1)


class IrcotSettings(Section):
    """Retrieval interleaved with a chain of thought (IRCoT)."""

    retriever: str = setting("bm25", "Retrieval method of each step")
    steps: int = setting(3, "Maximum number of reasoning steps", ge=1)


class TogSettings(Section):
    """A search along the graph with its texts (Think-on-Graph 2)."""

    width: int = setting(3, "Beam width W of relations and entities", ge=1)
    depth: int = setting(3, "Maximum number of rounds D", ge=1)


class DriftSettings(Section):
    """Answers by way of follow-up questions, from a first answer over reports (DRIFT)."""

    depth: int = setting(2, "Number of steps of follow-up questions", ge=0)


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class ModelSettings(Section):
    """How language models are called (only with a `model` other than extractive)."""

    tasks: dict[str, str] = setting(
        {}, 'Models by task, e.g. { ExtractGraph = "extractive", WriteReport = "ollama/qwen3" }'
    )
    base_url: str = setting("", "Base URL of an OpenAI-compatible server")
    embedder_base_url: str = setting("", "Base URL for the embedding model")
    prompts: str = setting("", "Folder of prompts to use instead of the built-in ones")
    concurrency: int = setting(25, "Maximum number of concurrent calls", ge=1)
    requests_per_minute: int | None = setting(None, "Maximum calls per minute", ge=1)
    tokens_per_minute: int | None = setting(None, "Maximum tokens per minute", ge=1)
    timeout: float = setting(300.0, "Seconds to wait for a response", gt=0)
    attempts: int = setting(6, "Maximum number of attempts per call", ge=1)
    temperature: float | None = setting(0.0, "Sampling temperature", ge=0)
    max_tokens: int | None = setting(None, "Maximum tokens of a response", ge=1)
    reasoning_effort: Effort | None = setting(None, "Reasoning effort of a reasoning model")
    context_window: int = setting(16384, "Context window in tokens to request from Ollama", ge=1024)
    budget: float | None = setting(None, "Maximum US dollars of one run", ge=0)
    budget_tokens: int | None = setting(None, "Maximum tokens of one run", ge=0)
    index_budget: float | None = setting(None, "Maximum US dollars of all runs on the index", ge=0)
    index_budget_tokens: int | None = setting(None, "Maximum tokens of all runs on the index", ge=0)
    batch: bool = setting(False, "Index with the provider's batch API: half price, up to 24 hours a stage")
    trace: str = setting("", "File to which each model call is appended as a line of JSON")
    trace_texts: bool = setting(False, "Also trace prompts and responses")

    @model_validator(mode="after")
    def _addresses_hold_no_password(self) -> ModelSettings:
        _check_no_password("base_url", self.base_url)
        _check_no_password("embedder_base_url", self.embedder_base_url)
        return self


class Price(Section):
    """The price of a model in US dollars per million tokens."""

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
    auto: AutoSettings = AutoSettings()
    search: SearchSettings = SearchSettings()
    rerank: RerankSettings = RerankSettings()
    vectors: VectorSettings = VectorSettings()
    hippo: HippoSettings = HippoSettings()
    ircot: IrcotSettings = IrcotSettings()
    tog: TogSettings = TogSettings()
    drift: DriftSettings = DriftSettings()
    llm: ModelSettings = ModelSettings()
    model: str = setting(EXTRACTIVE, "Language model, e.g. ollama/qwen3; extractive needs none")
    language: str = setting("auto", "Language of the corpus: a two-letter code, or auto", min_length=2)
    prices: dict[str, Price] = setting(
        {}, 'US dollars per million tokens, e.g. { "a/b" = { input = 0.4, output = 1.6 } }'
    )

    def model_of(self, task: str) -> str:
        """Return the name of the model that performs a task, given by name."""
        return self.llm.tasks.get(task, self.model)

    @property
    def language_models(self) -> tuple[str, ...]:
        """The distinct language models in use; empty if the extractive model performs every task."""
        names = dict.fromkeys((self.model, *self.llm.tasks.values()))
        return tuple(name for name in names if name != EXTRACTIVE)
