"""Extract the graph of a corpus: what sentences mention, alone and together; write descriptions and reports.

All consist of sentences of the sources. A report consists of central ones that together cover the community.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, combinations, product

from conspectus.lazy import cached_by_hash
from conspectus.messages import Wording, wording
from conspectus.models.base import performs
from conspectus.models.extractive.sentence_store import (
    TOO_ALIKE,
    SentenceStore,
    Statement,
    is_repeated,
    speaker_of,
    statements,
    words_of,
)
from conspectus.references import write
from conspectus.rows import Finding, Span, snippet
from conspectus.tasks import (
    AnyMissed,
    DescribeElement,
    Description,
    ExtractGraph,
    Extraction,
    FoundEntity,
    FoundRelationship,
    ReportDraft,
    WriteReport,
)
from conspectus.tasks.base import Context
from conspectus.text.language import language_of
from conspectus.text.mentions import units
from conspectus.text.question import question_pattern
from conspectus.text.sentences import quality
from conspectus.text.words import is_unspaced, name_key, unspaced_terms

STRENGTH = 8.0
"""Strength of every relationship, on the scale of 1 to 10 that language models use. It only orders those of equal
weight: no measured result changes with other values for entities of neighbouring sentences and for speakers."""
OPENS = 0.25
"""Score added to a sentence for the entity that it mentions first: "Rook Wherry is an old barge" describes it better
than who painted it. A quarter of the best quality; the sample's descriptions are as good without (F1 -0.05)."""


@performs(ExtractGraph)
def extract_graph(task: ExtractGraph, passages: SentenceStore | None) -> Extraction:
    """Extract the entities of a chunk, each with the sentence that describes it best, and their relationships.

    Two entities that co-occur more often than by chance are related if one sentence, or two neighbouring ones, mention
    both, or if one speaks about the other. A chunk that is not in `passages` is read by itself.
    """
    if passages is None or not passages.knows(task.chunk):
        passages = SentenceStore.of_chunk(task.chunk, task.entity_types)
    best: dict[int, tuple[float, int]] = {}
    # results from one sentence share its text and span objects, which stay in memory
    quoted, span_of = cache(passages.quoted), cache(passages.span)
    relationships: list[FoundRelationship] = []
    inside = passages.within(task.chunk)
    for sentence in inside:
        mentioned, speaker = passages.mentioned(sentence), passages.speaker_of(sentence)
        quality = passages.quality(sentence) if mentioned else 0.0
        merits = {entity: quality + OPENS * (rank == 0) for rank, entity in enumerate(mentioned)}
        if speaker >= 0:  # a sentence about a speaker is preferred to one by the speaker
            merits.setdefault(speaker, quality - 1)
        for entity, merit in merits.items():
            if entity not in best or merit > best[entity][0]:
                best[entity] = (merit, sentence)
        near = sentence > inside.start and passages.follows(sentence)
        before = passages.mentioned(sentence - 1) if near else []
        relationships += _pairs(sentence, mentioned, before, speaker, passages, quoted, span_of)
    names, types = passages.names, passages.types
    entities = (
        FoundEntity(names[entity], types[entity], quoted(sentence), span_of(sentence))
        for entity, (_, sentence) in best.items()
    )
    return Extraction(tuple(entities), tuple(relationships))


@performs(AnyMissed)
def any_missed(task: AnyMissed) -> bool:
    """Return False: the same rules would extract the same again."""
    return False


def _pairs(
    sentence: int,
    mentioned: list[int],
    before: list[int],
    speaker: int,
    passages: SentenceStore,
    quoted: Callable[[int], str],
    span_of: Callable[[int], Span],
) -> Iterator[FoundRelationship]:
    """Yield the relationships in one sentence, and those with the entities of the sentence before it (`before`)."""
    if not mentioned:
        return
    names, text, span = passages.names, quoted(sentence), span_of(sentence)
    spoken_of = mentioned if speaker >= 0 and speaker not in mentioned else []
    for one, other in chain(combinations(mentioned, 2), product([speaker], spoken_of)):
        if passages.are_related(one, other):
            yield FoundRelationship(names[one], names[other], text, STRENGTH, span)
    if before and set(mentioned).isdisjoint(before):
        both = f"{quoted(sentence - 1)}\n{text}"
        wide = Span(span.document_id, span_of(sentence - 1).start, span.end)
        for one, other in product(before, mentioned):
            if passages.are_related(one, other):
                yield FoundRelationship(names[one], names[other], both, STRENGTH, wide)


MOST_SENTENCES = {"entity": 3, "relationship": 2}
MOST_WORDS = 70
"""Most distinct words of a description, unless its first sentence has more. With half, the sample's descriptions share
less with those of a language model (F1 of their terms -4.1); with double 0.4 more, which is within chance."""


@performs(DescribeElement)
def describe_element(task: DescribeElement) -> Description:
    """Choose the few descriptions that read best and say something of their own, and return them in order of merit."""
    chosen: list[int] = []
    words: set[str] = set()
    length = 0
    texts, merits = task.descriptions, _merits(task)
    for i in sorted(range(len(texts)), key=merits.__getitem__, reverse=True):
        text = texts[i].lower()
        own = frozenset(unspaced_terms(text) if is_unspaced(text) else text.split())
        if chosen and (len(own & words) > 0.6 * len(own) or length + len(own) > MOST_WORDS):
            continue
        chosen.append(i)
        words |= own
        length += len(own)
        if len(chosen) == MOST_SENTENCES.get(task.kind, 2):
            break
    return Description("\n".join(texts[i] for i in chosen), tuple(chosen))


# a corpus of 11 million tokens has 200,000 distinct descriptions, which would take 50 MB
@cached_by_hash(1 << 16)
def _reading(description: str, language: str) -> float:
    """Return the quality of a description: the lowest of its lines, later ones counting a tenth less."""
    first, *others = description.splitlines() or [""]
    return min(quality(words_of(first), language), *(0.9 * _reading(line, language) for line in others), 1.0)


def _merits(task: DescribeElement) -> list[float]:
    """Return for each description a score of how well it reads and says what the element is."""
    name, small, defines = task.name, task.name.lower(), question_pattern(task.language, "defines")
    merits: list[float] = []
    for description in task.descriptions:
        first = description.partition("\n")[0]
        words = words_of(first)
        merit = _reading(description, task.language)
        if name == speaker_of(first):  # what somebody says is no description of them
            merit -= 1
        at = words.lower().find(small)
        if at >= 0:
            merit += 0.15 if at < 20 else 0.0
            if defines.match(words[at + len(name) :]):
                merit += 0.35
        merits.append(merit)
    return merits


# Reports

MOST_FINDINGS = 10
"""Most findings of a report; GraphRAG's prompt asks for 5 to 10. With 5, the terms of the sample's reports agree less
with those of a language model's (F1 -2.4); with 20, more (1.1), but reports are an eighth longer."""
MIN_QUALITY = 0.45
"""Least quality of a statement in a report, unless all are below it. With half, F1 gains 0.9, but reports are a
fourteenth longer; with double, it loses 5.8."""
LANGUAGE_SAMPLE = 4
"""Descriptions, and sub-reports, whose first lines tell a report's language: one in nine shows none. With eight, 4 of
13,106 reports on society, all in English, had titles in German or French, since references had more words."""


@dataclass(eq=False)
class _Candidate:
    """A statement, the topics it names, and its merit in a report."""

    statement: Statement
    named: tuple[str, ...]
    merit: float


@performs(WriteReport)
def write_report(task: WriteReport, multilingual: bool = False) -> ReportDraft:
    """Write the report of a community, with references by the index's numbers; if there are several languages, in that
    of its context.
    """
    context, language = task.context, task.language
    if multilingual:
        descriptions = (entity.description for entity in context.entities[:LANGUAGE_SAMPLE])
        summaries = (report.summary for report in context.reports[:LANGUAGE_SAMPLE])
        sample = (text.partition("\n")[0] for text in (*descriptions, *summaries))
        language = language_of(sample, [language])
    words = wording(language)
    names = context.topics or tuple(entity.name for entity in context.entities)
    topics = {name: 1 / (1 + rank) for rank, name in enumerate(names)}
    candidates = _ranked(statements(context, language), topics)
    chosen = _cover(candidates)
    headings: set[str] = set()
    # the best one opens the summary
    references = (filter(None, map(context.to_index, lead.statement.references)) for lead in chosen)
    cited = [
        (lead, f"{lead.statement.text} {write(r, more='')}")
        for lead, r in zip(chosen, references, strict=True)
    ]
    findings = tuple(_finding(lead, text, headings, words) for lead, text in cited[1:] or cited)
    rating, explanation = _rating(context, words)
    summary = _summary(f"{cited[0][1]} " if len(cited) > 1 else "", list(topics), words)
    title = words.title(*context.headline) if any(context.headline) else words.title(names[:3])
    return ReportDraft(title, summary, rating, explanation, findings)


def _ranked(rows: Sequence[Statement], topics: Mapping[str, float]) -> list[_Candidate]:
    """Return the statements, best first: those that share terms with many, name important topics, and read well."""
    frequency = Counter(chain.from_iterable(statement.terms for statement in rows))
    shared = {term: math.log(1 + count) for term, count in frequency.items()}
    by_first_word: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    names = [(tuple(units(name_key(name))), name) for name in topics]
    for words, name in sorted(names, key=lambda pair: -len(pair[0])):
        if words:
            by_first_word.setdefault(words[0], []).append((words, name))
    candidates: list[_Candidate] = []
    for statement in rows:
        named = tuple(sorted(_named(statement, by_first_word), key=topics.__getitem__, reverse=True))
        terms = statement.terms
        centrality = math.fsum(map(shared.__getitem__, terms)) / math.sqrt(8 + len(terms))
        speaker = speaker_of(statement.text)
        topic = math.fsum(topics[name] for name in named) + topics.get(speaker, 0.0)
        merit = (centrality + 2 * topic) * statement.quality * statement.weight if terms else 0.0
        candidates.append(_Candidate(statement, named, merit))
    return sorted(candidates, key=lambda c: (-c.merit, c.statement.text))


def _named(
    statement: Statement, by_first_word: Mapping[str, list[tuple[tuple[str, ...], str]]]
) -> tuple[str, ...]:
    """Return the topics that a statement names, in the order of its words, the longest name at each position."""
    words = _words(statement.text)
    named: dict[str, None] = {}
    end = 0
    for at, word in enumerate(words):
        if word not in by_first_word or at < end:
            continue
        for name_words, name in by_first_word[word]:
            if words[at : at + len(name_words)] == name_words:
                named[name] = None
                end = at + len(name_words)
                break
    return tuple(named)


@lru_cache(maxsize=1 << 12)
def _words(statement: str) -> tuple[str, ...]:
    return tuple(units(name_key.__wrapped__(words_of(statement))))


def _cover(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Choose statements from the top that do not repeat others, at first only those that name a new topic."""
    pool = [c for c in candidates if c.merit and c.statement.quality >= MIN_QUALITY]
    pool = pool or list(candidates[:3])
    chosen: list[_Candidate] = []
    covered: set[str] = set()
    used: list[frozenset[str]] = []
    for new_topics_only in (True, False):
        others: list[_Candidate] = []
        for candidate in pool:
            if len(chosen) > MOST_FINDINGS:
                return chosen
            if new_topics_only and covered.issuperset(candidate.named):
                others.append(candidate)
            elif not is_repeated(candidate.statement.terms, used, TOO_ALIKE):
                chosen.append(candidate)
                covered.update(candidate.named)
                used.append(candidate.statement.terms)
        pool = others
    return chosen


def _finding(lead: _Candidate, text: str, headings: set[str], words: Wording) -> Finding:
    """Return a statement as a finding; `text` is the statement with its references.

    The heading is its speaker and two of its topics (others if that heading is used already), or else its beginning.
    """
    speaker = speaker_of(lead.statement.text)
    names = [name for name in lead.named if name != speaker]
    pairs = (words.listed(pair) for pair in (names[:2], names[1:3]) if pair)
    subjects = (words.on.format(speaker, pair) if speaker else upper(pair) for pair in pairs)
    heading = next((subject for subject in subjects if subject not in headings), "")
    heading = heading or snippet(lead.statement.text)
    headings.add(heading)
    return Finding(heading, text)


def upper(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def _summary(opening: str, topics: Sequence[str], words: Wording) -> str:
    """Return a summary: the opening statement, then the most important topics of the community."""
    names = topics[:6]
    if len(names) < 2:
        return opening.strip() or words.mentions.format(names[0] if names else words.no_more)
    more = len(topics) - len(names)
    others = words.others.format(more) if more > 0 else ""
    return opening + words.links.format(words.listed(names) + others)


def _rating(context: Context, words: Wording) -> tuple[float, str]:
    """Rate a community by how often the sources state its relationships, on a logarithmic scale."""
    stated = sum(r.weight for r in context.relationships)
    below = max((report.rating for report in context.reports), default=0.0)
    rating = round(min(10.0, max(math.log2(1 + stated), below + 0.5 if below else 0.0)), 1)
    parts = words.rating_parts.format(len(context.reports)) if context.reports else ""
    counts = len(context.relationships), len(context.entities), int(stated)
    return rating, words.rating.format(*counts, parts)
