"""What the methods share: packing of contexts, map-reduce, and the final task with its checked citations."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Any, TypeVar

from conspectus import tokens
from conspectus.algorithms.ranking import Floats, highest
from conspectus.content import content_of
from conspectus.errors import ModelError, NotSupported
from conspectus.index import BoundedCache, Index
from conspectus.index_models import vectors_if_read
from conspectus.messages import wording
from conspectus.models.base import Model, writes
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.search import Searcher
from conspectus.name_lookup import entity_of_key, question_language, search_terms
from conspectus.references import (
    TABLES,
    Reference,
    between,
    find,
    removed_by_model,
    rewrite,
    strip,
    without_numbers,
)
from conspectus.rows import (
    Answer,
    Chunk,
    Citation,
    Claim,
    Entity,
    Hit,
    Relationship,
    Report,
    Source,
    Span,
    column,
)
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import AnswerFromContext, MapAnswer, PartialAnswer, ReduceAnswer, Task
from conspectus.tasks.base import Context, Row, render
from conspectus.text.language import ENGLISH, gives_instructions
from conspectus.text.question import read_question
from conspectus.text.words import CJK, UNSPACED, is_unspaced, name_key

NOTHING = wording(ENGLISH).nothing


async def finish(task: Task[str], draft: Answer, index: Index, model: Model) -> Answer:
    """Perform the final task, and return the draft of the answer with its text, citations and notices."""
    lost_before: list[int] = []  # numbers of references that the model removed
    token = removed_by_model.set(lost_before)
    try:
        reply = await model.perform(task)
    finally:
        removed_by_model.reset(token)
    if model.generative:
        sufficient, clue, reply = AnswerFromContext.parts(reply)
        draft = replace(draft, sufficient=sufficient, clues=(clue,) if clue else ())
    text, citations, removed = cite(reply, index)
    words = wording(question_language(draft.question, index))
    if not text.strip():
        return replace(empty_answer(draft, index), notices=())
    notices = draft.notices
    if writes(model, type(task)):
        notices = (*notices, words.written if citations else words.uncited)
    if any(_gives_instructions(row, index) for row in _read_by(task, reply, index)):
        notices = (*notices, words.instructs)
    return replace(
        draft,
        text=text.strip(),
        citations=citations,
        removed_references=removed + sum(lost_before),
        notices=notices,
    )


def _read_by(task: Task[str], reply: str, index: Index) -> Iterator[Chunk | Report]:
    """Yield the chunks that a final task shows, and the chunks and reports that the reply to it cites."""
    yield from getattr(task, "context", Context()).sources
    cited = (row_of(reference, index) for reference in find(reply))
    yield from (row for row in cited if isinstance(row, Chunk | Report))


def _gives_instructions(row: Chunk | Report, index: Index) -> bool:
    """Return whether a chunk gives instructions to language models, or a report says that its sources do."""
    if isinstance(row, Chunk):
        return gives_instructions(row.text)
    return any(wording(code).instructs in row.text for code in index.languages)


def empty_answer(draft: Answer, index: Index) -> Answer:
    """Return the draft as an answer that says that nothing was found, and cites nothing."""
    return replace(draft, text=wording(question_language(draft.question, index)).nothing, sufficient=False)


async def map_reduce(
    draft: Answer, windows: Sequence[Context], index: Index, model: Model, settings: AnswerSettings
) -> Answer:
    """Answer the question of a draft from each window, and write one answer from the best-scored partial answers.

    Raises ModelError if no window could be answered.
    """
    replies = await model.perform_all([MapAnswer(draft.question, window) for window in windows])
    failed = [reply for reply in replies if isinstance(reply, ModelError)]
    if failed and len(failed) == len(replies):
        raise failed[0]
    partial = [reply for reply in replies if not isinstance(reply, ModelError) and reply.score > 0]
    if failed:
        notice = f"{len(failed)} of {len(windows)} windows could not be read: {failed[0]}"
        draft = replace(draft, notices=(*draft.notices, notice))
    if not partial:
        return empty_answer(draft, index)
    return await reduce(partial, draft, index, model, settings)


async def reduce(
    answers: Sequence[PartialAnswer], draft: Answer, index: Index, model: Model, settings: AnswerSettings
) -> Answer:
    """Write one answer from partial answers: those with the highest scores that fit a window, at least one."""
    fitting: list[PartialAnswer] = []
    used = 0
    for partial in sorted(answers, key=lambda partial: -partial.score):
        used += tokens.count(partial.text)
        if fitting and used > settings.context_tokens:
            break
        fitting.append(partial)
    return await finish(ReduceAnswer(draft.question, tuple(fitting)), draft, index, model)


SHARES: Mapping[str, float] = {"reports": 0.15, "entities": 0.15, "relationships": 0.2, "claims": 0.1}
"""Maximum share of a window around entities for each table; chunks get the rest, at least 0.4."""
ROW_TOKENS, HEADING_TOKENS = 5, 16
"""Maximum tokens of a chunk's number and blank lines, and of a table's headings."""
SHORT_CHUNK = 20
"""Tokens of a short chunk, one sentence, with its number. As many chunks are ranked as a window holds of this size."""


def most_chunks(settings: AnswerSettings) -> int:
    """Return the number of chunks to rank so that they fill a window."""
    return settings.context_tokens // SHORT_CHUNK


def overfull(chunks: Iterable[Chunk], settings: AnswerSettings) -> bool:
    """Return whether chunks alone exceed a window, whatever else it contains."""
    return sum(chunk.n_tokens + ROW_TOKENS for chunk in chunks) > settings.context_tokens


def first_chunks(numbers: Iterable[int], index: Index, settings: AnswerSettings) -> tuple[Chunk, ...]:
    """Return the first chunks of a ranking, given by number, up to and including the one that overfills a window."""
    chunks: list[Chunk] = []
    for number in numbers:
        chunks.append(index.chunks[number])
        if overfull(chunks, settings):
            break
    return tuple(chunks)


def pack(rows: Context, limit: int) -> Context:
    """Return the first rows of each table that fit into a window of `limit` tokens, with at least one chunk.

    A table gets at most its share of the window; its first row may exceed the share, up to half of the window. Chunks
    get what the other tables leave, and what chunks leave goes to the other tables in their order. The window records
    how many rows of each table were available.
    """
    shares = rows.shares or SHARES
    room = limit - HEADING_TOKENS * sum(1 for _ in rows.tables())
    fitting: dict[str, Sequence[Row]] = {}
    for name, table in rows.tables():
        if name in shares:
            choices = _fit(table, shares[name] * limit), _fit(table[:1], min(room, limit / 2))
            fitting[name], used = max(choices, key=lambda fit: len(fit[0]))
            room -= used
    fitting["sources"], used = _fit(rows.sources, room, at_least=1)
    room -= used
    for name, table in rows.tables():
        more, used = _fit(table[len(fitting[name]) :], room)
        fitting[name] = (*fitting[name], *more)
        room -= used
    available = {name: max(len(table), rows.available.get(name, 0)) for name, table in rows.tables()}
    return replace(rows, **fitting, available=available)


def _fit(rows: Iterable[Row], room: float, at_least: int = 0) -> tuple[list[Row], int]:
    """Return the first rows that fit into `room` tokens, and the tokens that they take."""
    fitting: list[Row] = []
    used = 0
    for row in rows:
        size = row.n_tokens + ROW_TOKENS if isinstance(row, Chunk) else tokens.count(render(row, 100))
        if len(fitting) >= at_least and used + size > room:
            break
        fitting.append(row)
        used += size
    return fitting, used


async def answer_within(
    rows: Context, draft: Answer, index: Index, model: Model, settings: Settings
) -> Answer:
    """Answer the question of a draft from one window, packed with the first of the rows."""
    context = pack(rows, settings.answer.context_tokens)
    if not context.sources:
        return empty_answer(draft, index)
    if not model.generative and draft.method != "bm25":  # bm25 compares words alone
        context = replace(context, vectors=vectors_if_read([draft.question], index, settings))
    draft = replace(draft, context_tokens=tokens.count(context.text), read=context.read)
    return await finish(AnswerFromContext(draft.question, context), draft, index, model)


ALIKE = 0.8
"""Minimum similarity of an unknown name to a known word (ratio of difflib, 0 to 1) to be taken for a misspelling."""


def unknown_names(question: str, index: Index) -> list[str]:
    """Return the capitalised words of a question that occur neither in the documents nor in the graph."""
    vocabulary = index.number_of_word
    return [
        name
        for name in read_question(question, *index.languages).written_names
        if (own := search_terms(name, index))  # "Per" is a stopword, which no index has
        and not any(term in vocabulary for term in own)
        and entity_of_key(name_key(name), index) is None
        and name_key(name) not in index.derive(_words_of_names)
    ]


def _words_of_names(index: Index) -> dict[str, str]:
    """Return the words of entity names by their normalised spelling: Kovač by kovac."""
    words = {name_key(word): word for name in column(index.entities, "name") for word in name.split()}
    words.pop("", None)
    return words


def unknown_name_notice(question: str, index: Index) -> Iterator[str]:
    """Yield a notice that lists the unknown names, if any, each with the most similar known word."""
    if absent := unknown_names(question, index):
        words = index.derive(_words_of_names)
        shown: list[str] = []
        for name in absent:
            near = difflib.get_close_matches(name_key(name), words, n=1, cutoff=ALIKE)
            bare = name.removesuffix(".").removesuffix("'s").removesuffix("’s")
            shown.append(f"{bare} ({words[near[0]]}?)" if near else bare)
        texts = wording(question_language(question, index))
        yield texts.absent.format(texts.comma.join(shown))


T = TypeVar("T")


def run_ready(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits; raise NotSupported if it does."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise NotSupported("a ranking cannot wait for a language model here: use the method's asynchronous form")


def extractive(index: Index) -> Model:
    """Return the extractive model of an open index, which all questions to the index share, also across threads."""
    return index.derive(ExtractiveModel.of_index)


def hit(chunk: int, score: float, index: Index) -> Hit:
    """Return a chunk as a hit of a ranking."""
    row = index.chunks[chunk]
    document = index.document_of[row.document_id]
    where = document.place(row.start, row.end)
    return Hit(document.path, document.title, row.id, row.start, row.end, score, row.text, where)


def hits_of(scores: Floats, index: Index, k: int) -> list[Hit]:
    """Return the `k` chunks with the highest scores above 0."""
    return [hit(int(i), float(scores[i]), index) for i in highest(scores, k) if scores[i] > 0]


async def answer_from(
    hits: Sequence[Hit], question: str, index: Index, model: Model, settings: Settings, *, method: str
) -> Answer:
    """Answer from the chunks of a ranking by any method: as many of the best as a window holds."""
    chunks = tuple(index.chunk_of[hit.chunk] for hit in hits)
    rows = Context(sources=chunks, available={"sources": len(index.chunks)})
    return await answer_within(rows, Answer(question, "", method), index, model, settings)


# Citations: every reference in an answer is followed to characters of a document, or removed and counted. The chain is:
# report, the references of its findings, entities, relationships and claims, their spans, the document. Where an answer
# quotes, the chain ends at exactly the quoted characters.

MOST_SOURCES = 5
"""Maximum number of sources of a citation that quotes nothing."""
_KINDS: dict[str, str] = dict(
    zip(TABLES, ("report", "source", "entity", "relationship", "claim"), strict=True)
)
_QUOTED = re.compile(rf"[\"“]([^\"”]{{15,}}|(?=[^\"”]*{CJK.pattern})[^\"”]{{6,}})[\"”]")
_WHOLE = re.compile(rf"[\"“](.{{15,}}|(?=.*{CJK.pattern}).{{6,}})[\"”]", re.DOTALL)
"""From the first quotation mark to the last: a quotation may contain another."""

_OPENED = re.compile(r"^(?:(?:[-*>#]+|\d+[.)])\s+)+")
"""The markers of list items and headings: "2." is one, but not the 2 of "2 February"."""
_NUMBERED = re.compile(r"(?:[^/]*:)?(?:memory#)?\d+")
"""The path of a document from memory, perhaps after the name of its index: it means nothing to a reader."""
FEW, LONGEST = 5, 60
"""Maximum words and characters of a short statement, which is cited by the sentence that contains it."""
UNSPACED_LEAST = 5
"""Characters of a quotation in a script without spaces; one of so many or fewer is too short to be located."""
_INSIDE_UNSPACED = re.compile(rf"(?<={UNSPACED.pattern})(?={UNSPACED.pattern})")
_NEIGHBOUR = rf"(?!{UNSPACED.pattern})[^\W_]"


def cite(text: str, index: Index) -> tuple[str, tuple[Citation, ...], int]:
    """Return the text with `[1]` for each citation, the citations, and the number of references that led nowhere.
    References to the same passages share one number.
    """
    key, cited = (text, len(index.further_reports)), index.derive(_cited)
    return cited.get(key) or cited.setdefault(key, _cite(text, index))


def _cited(index: Index) -> BoundedCache[tuple[str, int], tuple[str, tuple[Citation, ...], int]]:
    """Return a cache of texts with their citations: an answer needs its own while it is written and at its end."""
    return BoundedCache(16)


def _cite(text: str, index: Index) -> tuple[str, tuple[Citation, ...], int]:
    markers: dict[tuple[Source, ...], int] = {}
    citations: list[Citation] = []
    removed = 0
    # for each block of references, the text between the preceding block or line break and the block
    statements = (part.rsplit("\n", 1)[-1].strip() for part in between(text)[:-1])

    def block(references: list[Reference]) -> str:
        nonlocal removed
        statement = next(statements)
        written: list[str] = []
        for reference in dict.fromkeys(references):
            row = row_of(reference, index)
            sources = tuple(sources_of(reference, statement, index)) if row is not None else ()
            if row is None or not sources:
                removed += 1
                continue
            if sources not in markers:
                marker = markers[sources] = len(markers) + 1
                citations.append(
                    Citation(marker, _KINDS[reference.table], row.id, _title(row, index), sources)
                )
            written.append(f"[{markers[sources]}]")
        return "".join(dict.fromkeys(written))

    return rewrite(without_numbers(text), block), tuple(citations), removed


def row_of(reference: Reference, index: Index) -> Row | None:
    """Return the row that a reference names, or None if there is no such row."""
    if reference.table == "Reports" and reference.number in index.further_reports:
        return index.further_reports[reference.number]
    rows: Sequence[Row] = getattr(
        index, "chunks" if reference.table == "Sources" else reference.table.lower()
    )
    return rows[reference.number] if 0 <= reference.number < len(rows) else None


def sources_of(reference: Reference, statement: str, index: Index) -> list[Source]:
    """Return the sources of a reference: the quoted characters if the statement quotes, else the spans of the row."""
    is_heading = reference.table == "Reports" and statement.startswith("#")  # a heading quotes nothing
    most = 4 * MOST_SOURCES if is_heading else None  # spans recur
    spans = list(dict.fromkeys(islice(_spans(reference, statement, index, frozenset()), most)))
    # a quotation may go on after its chunk
    if reference.table == "Sources" and "sentences.document" in index.arrays:
        text, (chunk,) = statement.removeprefix("- "), spans
        wider = chunk._replace(end=chunk.end + 2 * len(text))
        spans = [index.derive(Searcher).passages.span_quoted(text, wider) or chunk]
    locations = (_locate_quotations(statement, span, index) for span in spans if not is_heading)
    quoted = list(chain.from_iterable(locations))
    if reference.table == "Sources" and not quoted:
        quoted = list(filter(None, [_sentence_with(statement, spans[0], index)]))
    return [_source(span, index) for span in list(dict.fromkeys(quoted)) or spans[:MOST_SOURCES]]


def _spans(
    reference: Reference,
    statement: str,
    index: Index,
    seen: frozenset[Reference],
    holds: Callable[[str], bool] | None = None,
) -> Iterator[Span]:
    """Yield the spans of a row; for a report, those of the findings with the statement, or else of all findings.
    Spans of a report are limited to documents that its community `holds`: in an index union, an entity may have spans
    in several indexes, but the report was written from one.
    """
    row = row_of(reference, index)
    match row:
        case Chunk():
            yield row.span
        case Report():
            if reference not in seen:
                words = _bare(statement)
                texts = [_report_text(text) for text in (row.summary, *(f.explanation for f in row.findings))]
                holding = [r for bare, references in texts if words and words in bare for r in references]
                named = holding or [r for _, references in texts for r in references]
                holds = holds or _documents_of(row, index)
                for inner in dict.fromkeys(named):
                    yield from _spans(inner, statement, index, seen | {reference}, holds)
        case Entity() | Relationship() | Claim():
            own = (span for span in row.spans if not holds or holds(span.document_id))
            of_chunks = (index.chunk_of[chunk].span for chunk in row.chunk_ids)
            inside = (span for span in of_chunks if not holds or holds(span.document_id))
            first = next(own, None)
            yield from islice(inside, MOST_SOURCES) if first is None else chain([first], own)
        case None:
            return


def _documents_of(report: Report, index: Index) -> Callable[[str], bool] | None:
    """Return a function that decides whether a report's community has chunks of a document; None if that is unknown."""
    if not 0 <= report.community < len(index.communities):
        return None
    if not (chunks := frozenset(index.communities[report.community].chunk_ids)):
        return None

    @cache
    def holds(document: str) -> bool:
        own = index.listed("chunk", index.number_of_document[document])
        return any(index.chunks[chunk].id in chunks for chunk in own)

    return holds


def _bare(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


@lru_cache(maxsize=4_096)  # 6 MB; answers cite the same reports often
def _report_text(text: str) -> tuple[str, tuple[Reference, ...]]:
    """Return a text of a report as bare words, and its references."""
    return _bare(strip(text)), tuple(find(text))


def _locate_quotations(statement: str, span: Span, index: Index) -> list[Span]:
    """Return the spans, within a span, of what a statement quotes, or of the whole statement if it is a quotation."""
    for quotations in _quotations(statement):
        if locations := [location for words in quotations if (location := _search(words, span, index))]:
            return locations
    return []


@lru_cache(maxsize=256)  # a statement is searched for in some 50 passages
def _quotations(statement: str) -> tuple[list[list[str]], ...]:
    """Return alternative readings of what a statement quotes, as words; the first that occurs rules out the others."""
    whole = _WHOLE.search(statement)
    readings = [
        [statement.removeprefix("- ")],  # inner quotation marks may belong to it
        [_OPENED.sub("", statement)],
        [whole[1]] if whole else [],
        [match[1] for match in _QUOTED.finditer(statement)],
    ]
    return tuple([text.split() for text in texts if _is_long(text)] for texts in readings)


def _is_long(text: str) -> bool:
    """Return whether a text is long enough to occur in few places only."""
    return len(text.split()) >= 3 or (is_unspaced(text) and len(text) > UNSPACED_LEAST)


def _search(words: Sequence[str], span: Span, index: Index) -> Span | None:
    """Return the span of consecutive words within a span, whatever the white space and case; None if they do not occur.
    A few words have to match as whole words; a long quotation may end inside a word.
    """
    few = len(words) <= FEW
    literal = " ".join(words)
    content = content_of(index.document_of[span.document_id])
    text, (first, last) = content.text, (content.at(span.start), content.at(span.end))
    start = -1 if few else text.find(literal, first, last)
    if start >= 0:  # true of most quotations, and faster than a pattern
        return Span(span.document_id, *content.span(start, start + len(literal)))
    match = _pattern(literal, few=few).search(text, first, last)
    return Span(span.document_id, *content.span(*match.span())) if match else None


@lru_cache(maxsize=256)
def _pattern(words: str, *, few: bool) -> re.Pattern[str]:
    joined = _INSIDE_UNSPACED.sub(r"\\s*", r"\s+".join(map(re.escape, words.split(" "))))
    before = rf"(?<!{_NEIGHBOUR})" if few and words[0].isalnum() else ""
    after = rf"(?!{_NEIGHBOUR})" if few and words[-1].isalnum() else ""
    return re.compile(before + joined + after, re.IGNORECASE)


def _sentence_with(statement: str, span: Span, index: Index) -> Span | None:
    """Return the first sentence within a span that contains a statement of a few words, e.g. a name or a date."""
    # Unchanged first: "2. Februar" is no list item.
    texts = dict.fromkeys((statement, _OPENED.sub("", statement)))
    short = [words for text in texts if 0 < len(words := text.strip(" *_.,;:").split()) <= FEW]
    matches = (_search(words, span, index) for words in short if sum(map(len, words)) <= LONGEST)
    passages = index.derive(Searcher).passages
    inside = ((passages.span(s), match) for match in filter(None, matches) for s in passages.within(span))
    return next((s for s, match in inside if s.start <= match.start and match.end <= s.end), None)


def _source(span: Span, index: Index) -> Source:
    document = index.document_of[span.document_id]
    text = document.text[span.start : span.end]
    where = document.place(span.start, span.end)
    if not where and document.title and _NUMBERED.fullmatch(document.path):
        where = f"“{document.title}”"
    return Source(document.path, span.start, span.end, text, where)


def _title(row: Row, index: Index) -> str:
    match row:
        case Report():
            return row.title
        case Chunk():
            return index.document_of[row.document_id].title
        case Entity():
            return row.name
        case Relationship():
            return f"{row.source} - {row.target}"
        case Claim():
            return row.subject
