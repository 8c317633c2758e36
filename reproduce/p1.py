"""The steps of GraphRAG's experiment (*From Local to Global*, arXiv 2404.16130): an index, questions, answers by
conditions, judgements, claims. Each script runs the steps that its table or figure needs.

Figures of the paper that several scripts print are here, too.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from common import Corpus, Run

from conspectus import Index, evaluation
from conspectus.errors import UsageError
from conspectus.evaluation.claims import ClaimCheck, count
from conspectus.evaluation.comparison import Question, id_of, study_in
from conspectus.evaluation.judge import judged_in

CONDITIONS = ("C0", "C1", "C2", "C3", "TS", "SS")
PODCAST = Corpus(
    "Podcast",
    "podcast/input",
    "https://github.com/microsoft/graphrag-benchmarking-datasets"
    " (data/Kevin Scott Podcast Transcripts Input Text.zip)",
    "728ef164b7c411b0",
    questions="podcast/questions.csv",
)
NEWS = Corpus(
    "News",
    "news/corpus.json",
    "https://github.com/yixuantt/MultiHop-RAG (dataset/corpus.json)",
    settings={"read.text_field": "body", "extract.max_gleanings": 0},
    questions="news/questions.csv",
)
CORPORA = {"podcast": PODCAST, "news": NEWS}
ABOUT = {
    "podcast": "Transcripts of a podcast in which a technology executive talks with guests from technology and"
    " science about their work and its consequences.",
    "news": "News articles of 2023 in categories from entertainment, business and sports to technology, health and"
    " science.",
}
"""Our descriptions of the corpora, from which questions are generated: the paper does not print its own."""
SAMPLE_QUESTIONS = (
    "What are the main themes of these documents?",
    "Which concerns come up again and again over the years, and how do they change?",
    "What do people disagree about?",
)
"""Questions about our sample corpus, used if no model generates any."""
GRAPHS = {"podcast": (8_564, 20_691), "news": (15_754, 19_520)}
"""Numbers of nodes and edges of the paper's graphs (§4.1.3)."""


def add_dataset(parser: Any) -> None:
    """Add the option that names one of the paper's two corpora."""
    parser.add_argument(
        "--dataset", choices=list(CORPORA), default="podcast", help="one of the paper's corpora"
    )


class Experiment:
    """The experiment on one corpus; each step resumes what an earlier run began."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.name: str = run.arguments.dataset
        self.corpus = CORPORA[self.name]
        self.kind = "model" if run.asks else "extractive"
        self.folder = run.study(f"p1-{self.name}-{self.kind}-study")
        self.given = run.arguments.study is not None
        """Whether the answers come from an existing comparison (`--study`)."""
        if self.given:
            run.note(f"The answers, judgements and claims are those of {run.arguments.study}.")

    def settings(self) -> Any:
        """Return the paper's settings for this corpus."""
        return self.run.settings("graphrag-paper", self.corpus.settings)

    @cached_property
    def index(self) -> Index:
        """The index of the corpus."""
        documents = self.run.documents(self.corpus)
        if not self.run.asks:
            self.run.note("No language model: names are found, and reports and answers selected, by rules.")
        return self.run.index(documents, f"p1-{self.name}-{self.kind}", self.settings())

    def questions(self) -> int:
        """Store the questions in the folder: published ones, or ones that a model generates; return their number."""
        if not (self.folder / "questions.json").exists():
            published: Path = self.run.arguments.data / self.corpus.questions
            if published.exists() and not self.run.arguments.sample_corpus:
                return len(evaluation.list_questions(published, self.folder).questions)
            if self.run.arguments.sample_corpus and not self.run.asks:
                questions = [Question(id_of(text), text) for text in SAMPLE_QUESTIONS]
                return len(evaluation.list_questions(questions, self.folder).questions)
            if not self.run.asks:
                raise UsageError(f"there are no questions at {published}: name a --model that writes some")
            self.run.note("The questions are written by the model from a description of ours.")
            self.run.step(
                evaluation.generate_questions, ABOUT[self.name], self.folder, settings=self.settings()
            )
        return len(evaluation.list_questions(self.folder, self.folder).questions)

    def answers(self, conditions: tuple[str, ...] = CONDITIONS) -> list[str]:
        """Answer the questions by the conditions that the index supports, and return these conditions."""
        if self.given:
            return list(conditions)
        self.questions()
        levels = [f"C{level}" for level in self.index.levels]
        has = {*levels, "TS", *(["SS"] if "vectors.chunks" in self.index.arrays else [])}
        if missing := [name for name in conditions if name not in has]:
            vectors = ", SS without --embedder" if "SS" in missing else ""
            self.run.note(
                f"Left out: {', '.join(missing)} (the index has levels 0 to {len(levels) - 1}{vectors})."
            )
        asked = [name for name in conditions if name in has]
        self.run.step(
            evaluation.answer_questions, self.folder, self.index, self.folder, conditions=asked,
            sample=self.run.sample, settings=self.settings(),
        )  # fmt: skip
        return asked

    def judgements(self, pairs: tuple[str, ...] = ()) -> Any:
        """Have the answers judged, five times per pair, and return the comparison."""
        if not self.given:
            if not self.run.asks:
                raise UsageError(
                    "judging needs a language model: name one with --model, or a --study that has judgements"
                )
            self.answers(
                tuple(dict.fromkeys(name for pair in pairs for name in pair.split(":"))) or CONDITIONS
            )
            judge = self.run.arguments.judge or None
            self.run.step(
                evaluation.judge_answers, self.folder, pairs=pairs, sample=self.run.sample, judge_model=judge,
                settings=self.settings(),
            )  # fmt: skip
        comparison = evaluation.judge_statistics(self.folder)
        if not comparison.results:
            raise UsageError(
                f"no judgement in {self.folder} is of the answers there: they, or what a judge is shown, have changed"
                " since; judge them again with conspectus eval judge"
            )
        return comparison

    def claims(self) -> Any:
        """Extract the claims of the answers, and return their counts; with `--study`, count the existing claims."""
        if self.given:
            judged = judged_in(study_in(self.folder))
            rows = list(ClaimCheck.current(self.folder).values())
            return count(rows, judged.successful if judged else ())
        self.answers()
        if not self.run.asks:
            self.run.note(
                "Claims are sentences as they stand, told by rules, where no model took them apart."
            )
        return self.run.step(
            evaluation.extract_claims, self.folder, sample=self.run.sample, settings=self.settings()
        )
