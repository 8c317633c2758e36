"""IRCoT: the queries of its steps, when it stops, and which scores count."""

from __future__ import annotations

from scripted import ScriptedModel

from conspectus.index import Index
from conspectus.indexing.pipeline import index_passages
from conspectus.indexing.read import read_texts
from conspectus.models.base import Model
from conspectus.retrieval import RANKINGS, ircot
from conspectus.rows import Hit
from conspectus.settings import IrcotSettings, SearchSettings, Settings
from conspectus.tasks import NextThought

CHOSEN = Settings(ircot=IrcotSettings(steps=3), search=SearchSettings(k=3))


def an_index() -> Index:
    texts = ["Rook was built for Ada Byrne.", "Ada Byrne was born at Lune.", "Owls hoot."]
    documents = [{"id": f"p{i}", "title": "", "text": text} for i, text in enumerate(texts)]
    return index_passages(read_texts(documents, Settings().read)[0], Settings())


async def test_each_thought_is_retrieved_with_until_one_states_the_answer():
    index, asked = an_index(), list[str]()
    model = ScriptedModel({NextThought: ["Rook was Ada Byrne's.", "So the answer is: Lune."]})

    async def ranker(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
        asked.append(question)
        return RANKINGS["bm25"](question, index, settings)

    hits, thoughts = await ircot.steps("Who had Rook?", index, model, CHOSEN, ranker)

    assert asked == ["Who had Rook?", "Rook was Ada Byrne's."]
    assert thoughts == ("Rook was Ada Byrne's.", "So the answer is: Lune.")
    assert [hit.document for hit in hits] == ["p0", "p1"]
    assert model.all_seen(NextThought)[1].thoughts == ("Rook was Ada Byrne's.",)


async def test_the_steps_are_bounded_and_the_best_score_over_them_counts():
    index = an_index()
    model = ScriptedModel({NextThought: lambda task: f"Thought {len(task.thoughts)}."})
    scores = {"Q": (1.0, 0.4), "Thought 0.": (0.5, 1.0), "Thought 1.": (0.5, 1.0), "Thought 2.": (0.1, 0.2)}

    async def ranker(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
        return [Hit(f"p{i}", "", index.chunks[i].id, 0, 1, s, "") for i, s in enumerate(scores[question])]

    hits, thoughts = await ircot.steps("Q", index, model, CHOSEN, ranker)

    assert len(thoughts) == 3
    assert [(hit.document, hit.score) for hit in hits] == [("p0", 1.0), ("p1", 1.0)]


def test_without_a_language_model_a_thought_is_a_sentence_that_names_the_next_thing():
    hits = RANKINGS["ircot"]("For whom was Rook built?", an_index(), CHOSEN)

    assert [hit.document for hit in hits] == ["p0", "p1"]
