"""The rows of every table of an index, and the results of queries.

Ids derive from content, so that the same corpus gives the same ids. `number` is a row's index in its table within
one snapshot: references in texts use it (`[Data: Entities (5, 7)]`), and other tools call it the human-readable id.
Spans count characters of the stored text of a document, in which every newline is `\\n`.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from hashlib import sha256
from html import escape
from operator import add, itemgetter, sub
from typing import Any, ClassVar, NamedTuple

from conspectus.messages import wording


def content_id(*parts: str) -> str:
    """Return an id of 32 hexadecimal digits that depends only on the parts and their order."""
    return sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def snippet(text: str, most: int = 60) -> str:
    """Return the start of a text on one line, at most `most` characters, cut between words if possible."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    end = most - 1
    if line[end] != " ":
        end = max(line.rfind(" ", 0, end), most // 2)
    return f"{line[:end].rstrip(' ,;:-–—')}…"


def column(rows: Sequence[Any], name: str) -> Sequence[Any]:
    """Return one attribute of all rows; for a stored table only that column is read, and no row is created."""
    read: Callable[[str], Sequence[Any]] | None = getattr(rows, "column", None)
    return [getattr(row, name) for row in rows] if read is None else read(name)


def counted(n: int, noun: str) -> str:
    """Return `1 document`, `1,669 documents`."""
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun, by rules that suffice for the nouns we count."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def rows_read(read: Mapping[str, tuple[int, int]]) -> str:
    """Return how many rows of each table were read, as `17 of 43 chunks, 3 of 3 entities`."""
    nouns = {
        name: "chunk" if name == "sources" else re.sub("ies$", "y", name).removesuffix("s") for name in read
    }
    return ", ".join(f"{n:,} of {counted(of, nouns[name])}" for name, (n, of) in read.items())


class Row:
    """A base class whose `repr` shows some of the fields on one line, each shortened."""

    __slots__ = ()
    _shows: ClassVar[str] = ""

    def __init_subclass__(cls, shows: str = "") -> None:
        cls._shows = shows or cls._shows

    def __repr__(self) -> str:
        values = (getattr(self, name) for name in self._shows.split())
        shown = (f"{value:.3g}" if isinstance(value, float) else snippet(str(value)) for value in values)
        return f"<{type(self).__name__} {', '.join(shown)}>"


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of one document."""

    document_id: str
    start: int
    end: int


class Place(NamedTuple):
    """A page, slide, sheet, chapter, section or time: `p. 4`, `slide 2`, `“Methods”`, `0:12:40`.
    It covers the text of its document from character `start` to the start of the next place.
    """

    start: int
    name: str


_DAY = re.compile(r"(?<!\d)[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?!\d)")
_MONTH = r"(?:1[5-9]|20)\d\d(?:[-_]Q[1-4]|-(?:0[1-9]|1[0-2]))(?![^\W_])"
_YEAR = r"(?:1[5-9]|20)\d\d(?=[-_ ]+[^\W\d_])"
_YEAR_OR_MONTH = re.compile(rf"(?<![^\W_]){_MONTH}|^{_YEAR}")
"""A month, or a year that opens the name before words: the number in `page-1999.html` or `1999.txt` may be no year."""


def language_of(metadata: Mapping[str, str]) -> str:
    """Return the language code in the metadata of a document; English by default."""
    return metadata.get("language", "en").partition("-")[0].lower()


@dataclass(frozen=True, slots=True, repr=False)
class Document(Row, shows="number path"):
    id: str
    number: int
    title: str
    text: str
    path: str
    """The path of a file as given to `build`, `path#n` for a record of a file, or the name of a text from memory."""
    date: str | None = None
    """The date that the document itself states, if any."""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    places: tuple[Place, ...] = ()
    """In order of their starts; empty if the document has no pages or sections."""
    omitted: tuple[int, ...] = ()
    """The ranges of boilerplate (`readers.cleaning`), as ascending starts and ends of characters."""

    @property
    def language(self) -> str:
        """The language of the document, as a code of two letters; see `text.language.with_languages`."""
        return language_of(self.metadata)

    @property
    def file(self) -> str:
        """The path of the document's file: `path` without the `#n` of a record."""
        return re.sub(r"#\d+$", "", self.path)

    @property
    def day(self) -> str:
        """The date that the document states, else the day, month or quarter in its file name, or the year that opens
        the file name (`2021-09-09-minutes.txt`, `calls-2019-Q3.txt`, `1961_kennedy.txt`); "" if there is none.
        """
        name = self.file.replace("\\", "/").rpartition("/")[2]
        of_name = _DAY.search(name) or _YEAR_OR_MONTH.search(name)
        return self.date or (of_name[0] if of_name else "")

    @property
    def label(self) -> str:
        """The label of the document in prompts: its day, if it has one, and the start of its title."""
        day = self.day[:10]
        title = self.title.replace(f"{day}-", "") if day else self.title
        return f"{day} {snippet(title, 40)}".strip()

    def place(self, start: int, end: int) -> str:
        """Return the page or section of characters `start` to `end`: `p. 4`, `pp. 4-5`, or "" if none is known."""
        if not self.places:
            return ""
        first = bisect_right(self.places, start, key=itemgetter(0)) - 1
        last = bisect_left(self.places, max(start + 1, end), key=itemgetter(0)) - 1
        names = list(dict.fromkeys(self.places[i].name for i in (first, last) if i >= 0))
        if len(names) == 2 and all(name.startswith("p. ") for name in names):
            return f"p{names[0]}-{names[1].removeprefix('p. ')}"
        return " to ".join(names)


@dataclass(frozen=True, slots=True, repr=False)
class Chunk(Row, shows="number text"):
    id: str
    number: int
    document_id: str
    start: int
    end: int
    text: str
    n_tokens: int

    @property
    def span(self) -> Span:
        return Span(self.document_id, self.start, self.end)


@dataclass(frozen=True, slots=True, repr=False)
class Entity(Row, shows="number name type degree"):
    id: str
    number: int
    name: str
    type: str
    description: str
    chunk_ids: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    """The passages that mention the entity, the most informative first."""
    aliases: tuple[str, ...] = ()
    degree: int = 0

    @property
    def frequency(self) -> int:
        """The number of chunks in which the entity occurs."""
        return len(self.chunk_ids)


@dataclass(frozen=True, slots=True, repr=False)
class Relationship(Row, shows="number source target weight"):
    """An undirected edge; `source` and `target` are entity names, in alphabetical order."""

    id: str
    number: int
    source: str
    target: str
    description: str
    weight: float = 1.0
    """The number of distinct instances (distinct source spans) of the relationship."""
    strength: float = 1.0
    """The mean strength that the model assigned to the instances, 1 to 10."""
    chunk_ids: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    combined_degree: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    id: str
    number: int
    subject: str
    object: str
    type: str
    status: str
    description: str
    chunk_ids: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    start_date: str | None = None
    end_date: str | None = None


@dataclass(frozen=True, slots=True)
class Community:
    """A set of entities on one level of the hierarchy; level 0 is the root.
    A community that is not split further (`children` is empty) also belongs to the partition of every deeper level.
    """

    id: str
    number: int
    level: int
    parent: int
    """The number of the parent community, -1 at level 0."""
    children: tuple[int, ...]
    entity_numbers: tuple[int, ...]
    relationship_numbers: tuple[int, ...] = ()
    """The relationships with both ends in the community."""
    chunk_ids: tuple[str, ...] = ()
    unsplit: str = ""
    """Why a leaf with more entities than allowed was not split; empty for other communities."""

    @property
    def size(self) -> int:
        return len(self.entity_numbers)


@dataclass(frozen=True, slots=True)
class Finding:
    summary: str
    explanation: str
    """Text that ends with references, `[Data: Entities (5, 7); Relationships (23)]`."""


@dataclass(frozen=True, slots=True, repr=False)
class Report(Row, shows="number title level rating"):
    id: str
    number: int
    """The index in the table of reports, which `[Data: Reports (3)]` refers to."""
    community: int
    level: int
    parent: int
    children: tuple[int, ...]
    title: str
    summary: str
    rating: float
    """The importance of the community, 0 to 10."""
    rating_explanation: str
    findings: tuple[Finding, ...]
    size: int
    n_tokens: int = 0
    """Tokens of `text`."""

    @property
    def brief(self) -> bool:
        """Whether the report only repeats the descriptions of its elements: no model was asked, or the call failed."""
        return not (self.findings or self.rating)

    @property
    def text(self) -> str:
        """The report as Markdown, as models read it."""
        findings = "\n\n".join(f"## {f.summary}\n\n{f.explanation}" for f in self.findings)
        return f"# {self.title}\n\n{self.summary}\n\n{findings}".rstrip() + "\n"

    def __str__(self) -> str:
        """Return the report as Markdown, without control characters."""
        return plain(self.text)

    def _repr_markdown_(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Triple:
    """A single directed statement, from head to tail, with its relation in words.
    Two names may have several triples, while a `Relationship` combines all statements about a pair of entities.
    `head` and `tail` are names of entities, or noun phrases that are not entities of the index.
    """

    id: str
    number: int
    head: str
    relation: str
    tail: str
    chunk_ids: tuple[str, ...] = ()
    """The chunks that state the triple; empty in a graph that was imported without text."""


@dataclass(frozen=True, slots=True)
class ReasoningPath:
    """A path through the graph: from `start` along each triple to its other end, regardless of direction."""

    start: str
    triples: tuple[Triple, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names along the path, including the first and the last."""
        names = [self.start]
        for triple in self.triples:
            names.append(triple.tail if triple.head == names[-1] else triple.head)
        return tuple(names)

    @property
    def end(self) -> str:
        """The last name of the path."""
        return self.names[-1]


@dataclass(frozen=True, slots=True)
class AliasDecision:
    """A decision that `name` is an alias of the entity `into`; `evidence` is the reason, in words."""

    name: str
    into: str
    rule: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure in one part of a build or import, which did not stop the rest."""

    stage: str
    error: str
    document: str = ""
    """The path of the document concerned, if there is one."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that was not read.

    `kind` is the kind of reason: `format` (unsupported file format), `link`, `special` (for example a device),
    `empty`, or one of those left out on purpose: `own` (written by Conspectus), `tools` (installed packages, caches),
    `hidden`, `ignored` (by .gitignore or .conspectusignore), `excluded` (by `read.exclude` and `read.include`).
    """

    document: str
    reason: str
    kind: str = ""


OMITTED_KINDS = {
    "own": "written by Conspectus",
    "tools": "with installed packages or caches",
    "hidden": "hidden",
    "ignored": "by .gitignore or .conspectusignore",
    "excluded": "by patterns (read.exclude, read.include)",
}
"""The kinds of `Skipped` that are left out on purpose, each with the words that follow its count in a message."""


def count_omitted(skipped: Iterable[Skipped]) -> dict[str, int]:
    """Return the number of files and folders that were left out on purpose, by kind."""
    counts = Counter(row.kind for row in skipped)
    return {kind: counts[kind] for kind in OMITTED_KINDS if counts[kind]}


@dataclass(frozen=True, slots=True)
class EncodingWarning:
    """A file whose encoding had to be guessed, or that contains bytes which are invalid in its encoding."""

    document: str
    encoding: str
    invalid_bytes: int = 0
    """The number of invalid bytes, which were read as U+FFFD."""
    first_offset: int = -1
    """The offset of the first invalid byte, from the start of the file; -1 if there is none."""


# Results of queries


def located(document: str, place: str = "") -> str:
    """Return the path of a document and a place in it; an absolute path in the working directory becomes relative."""
    if os.path.isabs(document):
        relative = os.path.relpath(document)
        document = document if relative.startswith("..") else relative
    return f"{document}, {place}" if place else document


@dataclass(frozen=True, slots=True, repr=False)
class Hit(Row, shows="score where text"):
    """One chunk of a ranking; `score` grows with relevance and is comparable only within the ranking."""

    document: str
    title: str
    chunk: str
    start: int
    end: int
    score: float
    text: str
    place: str = ""
    """The page, slide, sheet or section of the chunk, `p. 4`; empty if the document has none."""

    @property
    def where(self) -> str:
        """The document and the page or section in it."""
        return located(self.document, self.place)


@dataclass(frozen=True, slots=True, repr=False)
class Source(Row, shows="where start end text"):
    """Characters of a document that support a statement."""

    document: str
    start: int
    end: int
    text: str
    place: str = ""
    """The page, slide, sheet or section of the characters, `p. 4`; empty if the document has none."""

    @property
    def where(self) -> str:
        """The document and the page or section in it."""
        return located(self.document, self.place)


@dataclass(frozen=True, slots=True, repr=False)
class Citation(Row, shows="marker kind title sources"):
    """`marker` is the number that the reader sees; `kind` and `id` name the cited row, `sources` its source text."""

    marker: int
    kind: str
    id: str
    title: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """The calls, tokens and cost (US dollars) of a piece of work; all zero if no language model was used."""

    calls: int = 0
    cached_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*map(sub, astuple(self), astuple(other)))

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Answer:
    question: str
    text: str
    """Markdown, with `[1]` for a citation."""
    method: str
    citations: tuple[Citation, ...] = ()
    level: int | None = None
    why: str = ""
    """Why this method (and level) was used, if the question decided it."""
    context_tokens: int = 0
    read: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """For each table, how many rows were in the context that the answer was written from, and how many there were."""
    sufficient: bool = True
    """Whether the evidence was sufficient according to a language model; without one, whether anything was quoted."""
    rounds: int = 1
    """The number of retrieval rounds: `auto` retrieves again if the evidence is not sufficient."""
    clues: tuple[str, ...] = ()
    """The clue queries: what was missing in each round, and what the next round (if any) searched for."""
    removed_references: int = 0
    """The number of references written by a model that lead to no row; they were removed from the text."""
    notices: tuple[str, ...] = ()
    """What the reader should know about how the answer was produced, one line each."""
    usage: Usage = Usage()
    seconds: float = 0.0
    short: tuple[str, ...] = ()
    """Short answers (names, dates, yes or no), the best first, if the method gives any."""
    reasoning_paths: tuple[ReasoningPath, ...] = ()
    """The paths of triples that support the answer, if the method follows a graph."""
    language: str = "en"
    """The language of headings and notices: that of the question or, if it cannot be determined, of the corpus."""

    def __str__(self) -> str:
        """Return the text with its sources and notices."""
        return _answer_shown(self, one_line, "{}")

    def __repr__(self) -> str:
        """Return the method and the start of the text on one line."""
        cited = counted(len(self.citations), "citation")
        text = _PREAMBLE.sub("", self.text, count=1) if _PREAMBLE.match(self.text) else self.text
        return f"<Answer by {self.method}: {snippet(text)!r}, {cited}>"

    def _repr_markdown_(self) -> str:
        return _answer_shown(self, escaped, "**{}**", "- ")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as dictionaries and lists that `json.dumps` accepts."""
        return asdict(self)


# Representations of answers

_PREAMBLE = re.compile(r"(?:\*[^*\n]+\*\n+|#+ [^\n]*\n+|[-*] )+")
"""Notices, headings and list markers, which may precede the first sentence of an answer."""


SNIPPET = 160
"""Maximum characters of a source that are shown: two lines of a terminal."""
SHOWN_SOURCES = 2
"""Maximum number of sources that are shown for one citation."""
_CONTROLS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, the cursor
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS … with their payload
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"  # also line separators and marks of text direction
)
_MARKDOWN = re.compile(r"([\\`*_\[\]|#~$])")


def plain(text: str) -> str:
    """Return a text without control characters and escape sequences: documents must not control the terminal."""
    return _CONTROLS.sub(lambda match: " " if match[0].isspace() else "", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return a text on one line, without control characters: for names, titles and file names."""
    return " ".join(plain(text).split())


def escaped(text: str) -> str:
    """Return a text of a document on one line, escaped so that Markdown shows it literally."""
    return _MARKDOWN.sub(r"\\\1", escape(one_line(text), quote=False))


def passage(
    source: Source, shown: Callable[[str], str] = one_line, language: str = "en", excerpt: str = ""
) -> str:
    """Return two lines: the location of a source, and the start of `excerpt` or, without one, of the source."""
    where = wording(language).where(located(source.document), source.place, source.start, source.end)
    return f"{shown(where)}\n    “{shown(snippet(plain(excerpt or source.text), SNIPPET))}”"


def source_lines(
    citations: Sequence[Citation],
    language: str,
    shown: Callable[[str], str] = one_line,
    excerpt: Callable[[int, Source], str] = lambda marker, source: source.text,
) -> Iterator[str]:
    """Yield the sources of citations: the location of each, and below it the quotation. shown: sanitises a text from
    a document. excerpt: returns the text to show, given the marker of the citation and the source.
    """
    words = wording(language)
    for citation, sources in distinct_sources(citations):
        head = shown(f"[{citation.marker}]") + " "
        if len(citation.sources) > 1:  # the citation is a row with all its sources, not a quotation
            yield head + shown(words.label.format(words.kind(citation.kind), citation.title))
            head = "    "
        most = 1 if citation.kind == "report" else SHOWN_SOURCES
        for source in sources[:most]:
            yield head + passage(source, shown, language, excerpt(citation.marker, source))
            head = "    "
        if len(sources) > most and citation.kind != "report":
            yield f"    … (+{len(sources) - most})"


def _answer_shown(answer: Answer, shown: Callable[[str], str], heading: str, item: str = "") -> str:
    """Return an answer with its sources and notices; `item` is put before each source."""
    lines = [plain(answer.text)]
    if answer.citations:
        lines += ["", heading.format(wording(answer.language).sources), ""]
    for line in source_lines(answer.citations, answer.language, shown):
        lines.append(line if line.startswith(" ") else item + line)
    lines += [text for notice in answer.notices for text in ("", shown(notice))]
    if removed := removed_references(answer):
        lines += ["", removed]
    return "\n".join(lines)


def removed_references(answer: Answer) -> str:
    """Return a sentence with the number of references that were removed from an answer; empty if there were none."""
    count = answer.removed_references
    verb = "was" if count == 1 else "were"
    return f"{counted(count, 'reference')} in it led nowhere, and {verb} removed." if count else ""


def distinct_sources(citations: Sequence[Citation]) -> Iterator[tuple[Citation, tuple[Source, ...]]]:
    """Yield each citation with its sources, except those shown with other citations; if all are, with the first one.

    A source is shown with the citation whose only source it is, or else with the first citation that has it.
    """
    shown = {c.sources[0] for c in citations if len(c.sources) == 1}
    for citation in citations:
        new = tuple(s for s in citation.sources if s not in shown)
        yield citation, new or citation.sources[:1]
        shown.update(citation.sources)
