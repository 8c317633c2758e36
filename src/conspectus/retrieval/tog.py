"""Think-on-Graph 2: explore the graph from the entities of a question, and check every step against the texts (ToG-2).

Each round chooses relations, scores the entities that they lead to by the chunks that mention them, and asks whether
the evidence suffices to answer. `tog1` is Think-on-Graph: the same search without reading any text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp

import numpy as np

from conspectus.algorithms.ranking import Floats, highest, products
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.index_models import has_vectors, question_vectors
from conspectus.messages import wording
from conspectus.models.base import Model, writes
from conspectus.name_lookup import question_language, search_terms
from conspectus.relation_paths import likeness, root, roots_of_label
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_within, empty_answer, hit, most_chunks, pack
from conspectus.retrieval.bm25 import scores_of
from conspectus.rows import Answer, Hit, ReasoningPath, Triple
from conspectus.settings import Settings
from conspectus.tasks import ChooseRelations, DraftAnswer, Edge, ExamineEvidence, NameEntities, Topic
from conspectus.tasks.base import Context
from conspectus.text.words import STOPWORDS, WORD, fold, is_content, name_key, terms
from conspectus.triple_graph import Step, TripleGraph

SCORED_CHUNKS, READ_CHUNKS = 10, 5
"""Number of top chunks that score entities (K), and number of chunks examined in each round (L), as in ToG-2."""
DECAY = 0.4
"""Decay alpha of the score of a chunk with its rank, as in ToG-2."""
LINKED = 0.8
"""Minimum cosine to link a name in a question to a name of the graph, if none has the same spelling. Of 30 names in
MuSiQue's questions that GPT-3.5's triples spell differently, 12 of 16 above it are right, and 4 of 14 below."""
MOST_EDGES = 60
"""Maximum number of an entity's relations to choose from: those of the most triples."""
UNTYPED = "related to"
"""Name of a relation that leads to an entity without a type."""
MOST_PRUNED = 2000
"""Maximum number of candidates that are scored in one round; those that end at entities of lower degree come first."""
RERANKED = 4
"""Number of chunks that the second stage scores, as a multiple of K."""
MOST_SHOWN = 20
"""Maximum number of answers listed in the text; `short` contains all."""


async def rank(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that the search ranks highest; the extractive model prunes by similarity."""
    exploration = await explore(question, index, model, settings)
    return [hit(chunk, score, index) for chunk, score in exploration.chunks[: settings.search.k]]


@method(
    "tog",
    help="explores the graph and reads texts in turns (Think-on-Graph 2)",
    reads={"graph", "chunks"},
    rank=rank,
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer by ToG-2, over the graph and the chunks of the index.

    Raises UsageError if the index has no graph.
    """
    return await _answer(question, index, model, settings, "tog")


@method(
    "tog1",
    help="explores the graph alone (Think-on-Graph)",
    reads={"graph"},
    no_preview="tog1 explores the graph step by step: there is no context to show before the answer",
)
async def answer_on_graph(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer by Think-on-Graph, over the graph alone."""
    return await _answer(question, index, model, settings, "tog1")


async def _answer(question: str, index: Index, model: Model, settings: Settings, method: str) -> Answer:
    graph = TripleGraph.of(index)
    if not len(graph):
        raise UsageError(f"{method} needs a graph, and this index has no triples and no relationships")
    exploration = await explore(question, index, model, settings, texts=method == "tog")
    if not exploration.paths:
        return empty_answer(Answer(question, "", method), index)
    answers = exploration.answers
    words = wording(question_language(question, index))
    context = Context()
    if method == "tog":
        context = pack(_rows(question, exploration, index, settings), settings.answer.context_tokens)
    if context.sources:
        result = await answer_within(context, Answer(question, "", method), index, model, settings)
        if graph.given and not writes(model, DraftAnswer):
            if answers and _graph_says_more(result, exploration.paths[0]):
                text = _listed(exploration)
                if result.citations:
                    text = f"{text}\n\n{result.text}"
                result = replace(result, text=text, notices=(*result.notices, words.selected))
            else:
                answers = ()
    else:
        notice = words.uncited if writes(model, DraftAnswer) else words.selected
        result = Answer(question, _listed(exploration), method, notices=(notice,))
    short = answers
    if not answers and writes(model, DraftAnswer):
        reply = await model.perform(DraftAnswer(question, paths=exploration.paths, context=context))
        short = (reply.answer,)
        if not context.sources:
            result = replace(result, text=f"- {reply.answer}")
    plural = "s" * (exploration.rounds != 1)
    why = f"{exploration.rounds} round{plural} from {exploration.paths[0].start}"
    if not answers:
        why += "; its facts were not found to be complete"
    return replace(result, short=short, reasoning_paths=exploration.paths, why=why)


def _graph_says_more(quoted: Answer, path: ReasoningPath) -> bool:
    """Return whether the relations of a path in a given graph match as much of the question as any quoted passage.

    Without a language model, nothing decides which of the two answers the question. Since a search always ends
    somewhere in the graph, the documents take precedence if they match more.
    """
    query_terms = [term for term in terms(quoted.question) if term not in terms(path.start)]
    texts = [{*terms(source.text)} for citation in quoted.citations for source in citation.sources]
    in_texts = max((sum(term in text for term in query_terms) for text in texts), default=0)
    labels = {label for triple in path.triples for label in roots_of_label(triple.relation)}
    on_path = 0.0
    for term in query_terms:
        on_path += max((likeness(root(term), label) for label in labels), default=0.0)
    return in_texts <= on_path


def _listed(exploration: Exploration) -> str:
    """Return the answers, one on each line, then the paths to them."""
    names = exploration.answers[:MOST_SHOWN] or tuple(path.end for path in exploration.paths)
    more = len(exploration.answers) - MOST_SHOWN
    lines = [f"- {name}" for name in names] + ([f"- and {more} more"] if more > 0 else [])
    lines += ["", "Paths:", ""]
    for path in exploration.paths:
        steps: list[str] = []
        for t in path.triples:
            relation = t.relation.partition("\n")[0].replace("_", " ")
            steps.append(f"{t.head} – {relation} – {t.tail}")
        lines.append("- " + "; ".join(steps))
    return "\n".join(lines)


def _rows(question: str, exploration: Exploration, index: Index, settings: Settings) -> Context:
    """Return the relationships on a search's paths and its chunks, the best first, then other chunks by words."""
    others = highest(scores_of(question, index), most_chunks(settings.answer)).tolist()
    chunks = dict.fromkeys((*(chunk for chunk, _ in exploration.chunks), *others))
    pairs = {frozenset((t.head, t.tail)) for path in exploration.paths for t in path.triples}
    names = {name for pair in pairs for name in pair} & index.entity_of_name.keys()
    numbers = {number for name in names for number in index.edges_of(index.entity_of_name[name])}
    rows = [index.relationships[number] for number in sorted(numbers)]
    on_path = tuple(row for row in rows if frozenset((row.source, row.target)) in pairs)
    sources = tuple(index.chunks[chunk] for chunk in chunks)
    return Context(relationships=on_path, sources=sources, available={"sources": len(index.chunks)})


# The search


@dataclass(frozen=True)
class Exploration:
    """The result of a search: answers, the best first (none if the facts did not suffice), and the paths to them."""

    answers: tuple[str, ...]
    paths: tuple[ReasoningPath, ...]
    """The paths of the last round that extended any, the best first."""
    chunks: tuple[tuple[int, float], ...]
    """Numbers of chunks with their best scores over the rounds, the best first."""
    rounds: int


async def explore(
    question: str, index: Index, model: Model, settings: Settings, *, texts: bool = True
) -> Exploration:
    """Search from the entities of a question, at most D rounds; without `texts`, read no chunk (Think-on-Graph)."""
    graph, tog = TripleGraph.of(index), settings.tog
    named = await model.perform(NameEntities(question)) if writes(model, NameEntities) else ()
    topic_names = topic_entities(question, graph, tog.width, named) or _nearest_names(named, index, settings)
    paths = [ReasoningPath(graph.names[n]) for n in topic_names[: tog.width]]
    relation_of = RelationTypes(index, graph, typed=writes(model, ChooseRelations))
    scorer = Scorer(question, index, graph, settings, texts)
    linked = scorer.linked_chunks([path.start for path in paths])
    seen = dict(linked)
    clue_of: dict[ReasoningPath, str] = {}
    clues: tuple[str, ...] = ()
    reached: tuple[ReasoningPath, ...] = ()
    for round_ in range(1, tog.depth + 1):
        topics = tuple(topic for path in paths if (topic := Topic(path, relation_of.edges(path))).edges)
        chosen: Sequence[Sequence[int]] = [(0,)] * len(topics)  # if there is nothing to choose
        if not model.generative or any(len(topic.edges) > 1 for topic in topics):
            chosen = await model.perform(ChooseRelations(question, topics, tog.width, clues))
        paths, chunks = prune(_candidates(topics, chosen, relation_of, tog.width), scorer, clue_of, tog.width)
        if not paths:
            return Exploration((), reached, _ranked(seen), round_ - 1)
        for chunk, score in chunks.items():
            seen[chunk] = max(score, seen.get(chunk, 0.0))
        reached = tuple(paths)
        shown = _ranked(linked | chunks)[:READ_CHUNKS]
        context = Context(sources=tuple(index.chunks[chunk] for chunk, _ in shown))
        examined = await model.perform(ExamineEvidence(question, reached, context, clues))
        if examined.answers:
            answering = sorted(paths, key=lambda path: path.end not in examined.answers)
            return Exploration(examined.answers, tuple(answering), _ranked(seen), round_)
        clue_of = dict(zip(paths, examined.clues, strict=False))
        clues = tuple(dict.fromkeys((*clues, *filter(None, examined.clues))))
    return Exploration((), reached, _ranked(seen), tog.depth)


def _ranked(scores: Mapping[int, float]) -> tuple[tuple[int, float], ...]:
    return tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


class RelationTypes:
    """The relations around an entity to choose from or, if these are descriptions, types of the entities they lead to.

    Without a language model, descriptions are used in any case, since only their words can be compared.
    """

    def __init__(self, index: Index, graph: TripleGraph, *, typed: bool) -> None:
        self.graph = graph
        self._index = index
        self._typed = typed and not len(index.triples)

    def of(self, step: Step) -> tuple[str, bool]:
        """Return the relation of a step as shown to the model, and whether it is followed against its direction."""
        if not self._typed:
            return self.graph.relations[step.relation], step.inverse
        number = self._index.entity_of_name.get(self.graph.names[step.to])
        return (self._index.entities[number].type if number is not None else "") or UNTYPED, False

    def edges(self, path: ReasoningPath) -> tuple[Edge, ...]:
        """Return the relations around the end of a path, those of the most triples first, then in table order."""
        counts = Counter(self.of(step) for step in _steps_onward(path, self.graph))
        most = sorted(counts, key=lambda edge: -counts[edge])[:MOST_EDGES]
        return tuple(Edge(*edge, counts[edge]) for edge in most)


def _steps_onward(path: ReasoningPath, graph: TripleGraph) -> list[Step]:
    """Return the steps from the end of a path to names that the path has not visited."""
    visited = {graph.number_of[name] for name in path.names}
    return [step for step in graph.steps(graph.number_of[path.end]) if step.to not in visited]


def _candidates(
    topics: Sequence[Topic], chosen: Sequence[Sequence[int]], relation_of: RelationTypes, width: int
) -> list[ReasoningPath]:
    """Return the paths extended by the chosen edges of each topic."""
    graph, candidates = relation_of.graph, list[ReasoningPath]()
    for topic, numbers in zip(topics, chosen, strict=False):
        edges = [topic.edges[n] for n in numbers[:width] if 0 <= n < len(topic.edges)]
        directions = {(edge.relation, edge.inverse) for edge in edges}
        for step in _steps_onward(topic.path, graph) if directions else ():
            if relation_of.of(step) in directions:
                head = graph.names[int(graph.heads[step.triple])]
                tail = graph.names[int(graph.tails[step.triple])]
                relation = graph.relations[step.relation]
                triple = Triple(str(step.triple), step.triple, head, relation, tail)
                candidates.append(ReasoningPath(topic.path.start, (*topic.path.triples, triple)))
    return candidates


def _nearest_names(named: Sequence[str], index: Index, settings: Settings) -> list[int]:
    """Return the name of the graph with the vector nearest to each name; none without vectors of names."""
    graph, vectors = TripleGraph.of(index), index.arrays.get("vectors.names")
    if vectors is None or len(vectors) != len(graph.names) or not named:
        return []
    cosines = products(vectors, question_vectors(named, index, settings).T)
    best = cosines.argmax(axis=0).tolist()
    return list(dict.fromkeys(n for column, n in enumerate(best) if cosines[n, column] >= LINKED))


def topic_entities(question: str, graph: TripleGraph, most: int, named: Sequence[str] = ()) -> list[int]:
    """Return the names of a graph that occur in a question, the longest and rarest first, at most `most`.

    `named` are names that a model recognized in it; without any, all are looked up in it. Of names that differ in case
    alone, those spelt as in the question are chosen. Names in lower case count only if there are no others.
    """
    candidates: dict[int, tuple[int, int]] = {}
    for name in named:
        for number in _spelt_as_in(name, name_key(name), graph):
            candidates.setdefault(number, (0, name_key(name).count(" ")))
    if not candidates:
        candidates = _names_in(question, graph)
    return sorted(candidates, key=lambda n: (*candidates[n], graph.degree(n), n))[:most]


def _names_in(question: str, graph: TripleGraph) -> dict[int, tuple[int, int]]:
    """Return the names in a question, each with its sort key: 1 if in lower case, else 0; then minus its word count.

    Words of a name with capitals are not part of a shorter name. Names in lower case count only if there are no others.
    """
    words = name_key(question).split()
    taken: set[int] = set()
    candidates: dict[int, tuple[int, int]] = {}
    sizes = range(min(len(words), graph.longest_key), 0, -1)
    for start, end in [(a, a + size) for size in sizes for a in range(len(words) - size + 1)]:
        key = " ".join(words[start:end])
        is_stopword = end - start == 1 and key in STOPWORDS
        if key not in graph.numbers_of_key or taken & {*range(start, end)} or is_stopword:
            continue
        for number in _spelt_as_in(question, key, graph):
            lower_case = graph.names[number].islower() or graph.names[number] not in question
            candidates[number] = int(lower_case), start - end
        names = [graph.names[number] for number in graph.numbers_of_key[key]]
        if any(name in question and not name.islower() for name in names):
            taken |= {*range(start, end)}
    least = min((lower_case for lower_case, _ in candidates.values()), default=0)
    return {number: order for number, order in candidates.items() if order[0] == least}


def _spelt_as_in(text: str, key: str, graph: TripleGraph) -> list[int]:
    """Return the names of a key: those spelt as in the text, if any, else all."""
    numbers = graph.numbers_of_key.get(key, [])
    return [n for n in numbers if graph.names[n] in text] or numbers


class Scorer:
    """Scores how relevant a text is to a question, the clue of a topic, and the triple that led from it (ToG-2: F).

    There are two stages: BM25 over all chunks, then, for the best, the cosine of vectors if the index has them, else
    the share of the words of all three that the chunk contains. A graph without text is scored by its triples.
    """

    def __init__(
        self, question: str, index: Index, graph: TripleGraph, settings: Settings, texts: bool
    ) -> None:
        self.question = question
        self.graph = graph
        self.texts = texts and len(index.chunks) > 0
        self._index = index
        self._settings = settings
        self._words = [root(w) for w in WORD.findall(fold(question)) if is_content(w)]

    def chunks(
        self, candidates: Sequence[ReasoningPath], clue_of: Mapping[ReasoningPath, str], most: int
    ) -> list[tuple[int, int, float]]:
        """Return position of the candidate, chunk, and score, 0 to 1, of the best chunks of all candidates.

        A chunk is compared with the question, the clue of the topic that led to the candidate, and the triple.
        """
        queries: list[str] = []
        pairs: list[tuple[float, int, int]] = []
        asked: dict[str, Floats] = {}
        for position, candidate in enumerate(candidates):
            topic = ReasoningPath(candidate.start, candidate.triples[:-1])
            query = " ".join(filter(None, (self.question, clue_of.get(topic))))
            if query not in asked:
                asked[query] = scores_of(query, self._index)
            triple = candidate.triples[-1]
            triple_text = f"{triple.head} {triple.relation} {triple.tail}"
            scores = asked[query] + scores_of(triple_text, self._index)
            queries.append(f"{query} {triple_text}")
            pairs += [(float(scores[chunk]), position, chunk) for chunk in self._chunks_of(candidate)]
        return self._best(pairs, queries, most)

    def linked_chunks(self, names: Sequence[str]) -> dict[int, float]:
        """Return the scores of the best chunks linked to names of a given graph; its triples do not lead to them."""
        if not self.texts or not self.graph.given:
            return {}
        base = scores_of(self.question, self._index)
        linked = {chunk for name in names for chunk in self._linked(name)}
        pairs = [(float(base[chunk]), 0, chunk) for chunk in linked]
        best = self._best(pairs, [self.question], SCORED_CHUNKS)
        return {chunk: score for _, chunk, score in best}

    def _best(
        self, pairs: list[tuple[float, int, int]], queries: Sequence[str], most: int
    ) -> list[tuple[int, int, float]]:
        """Return candidate, chunk and score, 0 to 1, of the best chunks, given with their BM25 scores (`pairs`).

        `queries` are the texts that chunks are compared with, by candidate.
        """
        top = sorted(pairs, key=lambda p: (-p[0], p[1], p[2]))[: RERANKED * most]
        highest = top[0][0] if top else 1.0
        second = self._second_scores([(queries[at], chunk) for _, at, chunk in top])
        firsts = (score / (highest or 1.0) for score, _, _ in top)
        scored = [(at, chunk, (a + b) / 2) for (_, at, chunk), a, b in zip(top, firsts, second, strict=True)]
        return sorted(scored, key=lambda s: (-s[2], s[0], s[1]))[:most]

    def _chunks_of(self, candidate: ReasoningPath) -> set[int]:
        """Return the chunks of all triples around a candidate's end or, if these have none, the chunks linked to it."""
        chunks = set(self.graph.chunks[candidate.triples[-1].number])
        for step in self.graph.steps(self.graph.number_of[candidate.end]):
            chunks.update(self.graph.chunks[step.triple])
        return chunks or self._linked(candidate.end)

    def _linked(self, name: str) -> set[int]:
        number = self._index.entity_of_name.get(name)
        ids = self._index.entities[number].chunk_ids if number is not None else ()
        return {self._index.number_of_chunk[c] for c in ids}

    def _second_scores(self, pairs: Sequence[tuple[str, int]]) -> list[float]:
        """Return the similarity of each pair's query and chunk, 0 to 1."""
        queries, chunks = dict.fromkeys(query for query, _ in pairs), [chunk for _, chunk in pairs]
        if pairs and has_vectors(self._index):
            row_of = {query: row for row, query in enumerate(queries)}
            vectors = question_vectors(list(queries), self._index, self._settings)
            compared = vectors[[row_of[query] for query, _ in pairs]]
            cosines = (self._index.slices["vectors.chunks"][chunks] * compared).sum(axis=1)
            return np.maximum(cosines, 0).tolist()
        terms_of = {query: {*search_terms(query, self._index)} for query in queries}
        in_chunk = {c: {*search_terms(self._index.chunks[c].text, self._index)} for c in chunks}
        return [len(terms_of[q] & in_chunk[chunk]) / (len(terms_of[q]) or 1) for q, chunk in pairs]

    def triple(self, candidate: ReasoningPath) -> float:
        """Return the share of the question that a triple and the relations around its end match, 0 to 1."""
        steps = self.graph.steps(self.graph.number_of[candidate.end])
        labels = {self.graph.relations[step.relation] for step in steps}
        labels.add(candidate.triples[-1].relation)
        parts = {part for label in labels for part in roots_of_label(label)}
        parts |= {root(w) for w in WORD.findall(fold(candidate.end))}
        best = (max((likeness(w, part) for part in parts), default=0.0) for w in self._words)
        return sum(best) / (len(self._words) or 1)


def prune(
    candidates: Sequence[ReasoningPath], scorer: Scorer, clue_of: Mapping[ReasoningPath, str], width: int
) -> tuple[list[ReasoningPath], dict[int, float]]:
    """Return the W best candidates, one for each name that they lead to, and the scores of the best chunks of all.

    The score of a candidate is the sum over its chunks among the top K of s * exp(-alpha * rank) or, without texts, s
    of its triple. In a given graph it is the sum of both, since most candidates may have no text.
    """
    graph = scorer.graph
    if len(candidates) > MOST_PRUNED:
        degrees = {end: graph.degree(graph.number_of[end]) for end in {c.end for c in candidates}}
        rarest = sorted(candidates, key=lambda c: (degrees[c.end], c.triples[-1].number))
        candidates = rarest[:MOST_PRUNED]
    ranked = scorer.chunks(candidates, clue_of, SCORED_CHUNKS) if scorer.texts else []
    scores = [0.0] * len(candidates)
    chunks: dict[int, float] = {}
    for rank, (position, chunk, score) in enumerate(ranked):
        scores[position] += score * exp(-DECAY * rank)
        chunks[chunk] = max(score, chunks.get(chunk, 0.0))
    if graph.given or not scorer.texts:
        scores = [score + scorer.triple(c) for score, c in zip(scores, candidates, strict=True)]
    best: dict[str, ReasoningPath] = {}
    for i in sorted(range(len(candidates)), key=lambda i: (-scores[i], i)):
        best.setdefault(candidates[i].end, candidates[i])
    return list(best.values())[:width], chunks
