"""The papers' tables, and beside their figures what can be measured here, as Markdown.

    python benchmarks/paper_tables.py [--tables p1-2 p2-4] [--data DIR] [--work DIR] [--json FILE]

GraphRAG is *From Local to Global*, Graph RAG *Graph RAG: Efficient and Powerful LLM Enhancement Systems*. No
language model is
asked, so that only tables are here that need none: what the levels of a hierarchy read (GraphRAG Table 2), and
retrieval (Graph RAG
Table IV). Claims and clusters (GraphRAG Tables 3 and 4) are those of extractive answers, counted by rules, which is
another
thing than the papers' and says so. Indexes are built in the work folder, or found there. Figures that a model must
write (claims as the paper counts them, win rates, EM and F1, Hits@1) come from `conspectus eval` with `--model`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from retrieval import PAPER as TABLE_IV
from retrieval import SETS

from conspectus import api, evaluation
from conspectus.errors import IndexMissing
from conspectus.evaluation.statistics import Measured
from conspectus.index import Index
from conspectus.interchange.graphrag import read_graphrag
from conspectus.storage import store

SHARED = Path(__file__).parents[1] / "../shared/data"
CONDITIONS = ("C0", "C1", "C2", "C3", "TS")
TABLE_2 = {
    "Podcast": {
        "units": (34, 367, 969, 1310, 1669),
        "tokens": (26657, 225756, 565720, 746100, 1014611),
        "%": (2.6, 22.2, 55.8, 73.5, 100.0),
    },
    "News": {
        "units": (55, 555, 1797, 2142, 3197),
        "tokens": (39770, 352641, 980898, 1140266, 1707694),
        "%": (2.3, 20.7, 57.4, 66.8, 100.0),
    },
}
TABLE_3 = {
    "Podcast": (32.21, 32.20, 32.46, 32.28, 31.39, 26.50),
    "News": (34.18, 32.50, 31.62, 33.14, 32.89, 25.23),
}
"""Claims an answer, of C0 to C3, TS and SS."""
TABLE_4 = {
    "Podcast": {
        0.5: (23.16, 22.62, 22.52, 21.93, 21.14, 18.55),
        0.8: (19.26, 18.77, 18.46, 17.89, 16.66, 15.07),
    },
    "News": {
        0.5: (23.42, 21.85, 21.90, 22.13, 21.80, 17.92),
        0.8: (18.86, 17.78, 17.82, 17.79, 17.30, 14.80),
    },
}
"""Clusters an answer by the threshold of the distance, as far as we have them."""
METHODS = ("bm25", "walk", "ircot")


@dataclass(frozen=True)
class Table:
    """A table of a paper: rows of a label, whose figures they are, and a cell for each column."""

    name: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[str]]]
    notes: Sequence[str] = ()

    def markdown(self) -> Iterator[str]:
        yield f"## {self.name}\n"
        yield f"| | figures | {' | '.join(self.columns)} |"
        yield f"|---|---|{'---:|' * len(self.columns)}"
        for label, whose, cells in self.rows:
            yield f"| {label} | {whose} | {' | '.join(cells)} |"
        yield from ("\n" + note for note in self.notes)
        yield ""


def table_2(data: Path, work: Path) -> Table:
    """What a global answer reads at each level: the paper's two corpora, and two indexes of ours."""
    rows: list[tuple[str, str, Sequence[str]]] = []
    for corpus, figures in TABLE_2.items():
        rows += [
            (f"{corpus}, {name}", "the paper's", [f"{n:,}" for n in values])
            for name, values in figures.items()
        ]
    podcast = _built(data / "podcast" / "input", work / "podcast")
    rows += _of_index("Podcast", "here, reports without a model", podcast)
    carol = _imported(data / "graphrag-index" / "christmas-carol", work / "christmas-carol")
    rows += _of_index("A Christmas Carol", "here, reports of GPT-4.1 (imported)", carol)
    return Table(
        "GraphRAG, Table 2: units and tokens of each condition, and % of the tokens of TS",
        CONDITIONS,
        rows,
        (
            "A community that has no parts at a level stands for itself there; communities of fewer than three "
            "entities have no report of their own. Reports without a model quote and are short; those of a model on a "
            "book of 42 chunks are longer than the book.",
            f"The hierarchy of the podcasts has {len(podcast.levels)} levels here, of which the first four are shown.",
        ),
    )


def _of_index(corpus: str, whose: str, index: Index) -> Iterator[tuple[str, str, Sequence[str]]]:
    found = {row.condition: row for row in evaluation.units_read(index)}
    shown = [found.get(name) for name in CONDITIONS]
    yield f"{corpus}, units", whose, [f"{row.units:,}" if row else "-" for row in shown]
    yield f"{corpus}, tokens", whose, [f"{row.tokens:,}" if row else "-" for row in shown]
    yield f"{corpus}, %", whose, [f"{100 * row.share:.1f}" if row else "-" for row in shown]


def _built(corpus: Path, folder: Path) -> Index:
    try:
        return api.open_index(folder)
    except IndexMissing:
        return api.build(corpus, folder, settings={}).index


def _imported(source: Path, folder: Path) -> Index:
    index = read_graphrag(source).index
    with store.writing(folder):
        store.commit(folder, index, settings=index.settings, usage={})
    return api.open_index(folder)


def tables_3_and_4(data: Path, work: Path) -> Table:
    """Claims and clusters an answer: the paper's, and those of extractive answers to its 125 questions, by rules."""
    rows: list[tuple[str, str, Sequence[str]]] = []
    for corpus, means in TABLE_3.items():
        rows.append((f"{corpus}, claims", "the paper's", [f"{mean:.2f}" for mean in means]))
        for threshold, values in TABLE_4[corpus].items():
            rows.append(
                (f"{corpus}, clusters at {threshold}", "the paper's", [f"{mean:.2f}" for mean in values])
            )
    _built(data / "podcast" / "input", work / "podcast")
    study = work / "podcast-study"
    answered = evaluation.answer_questions(
        data / "podcast" / "questions.csv",
        work / "podcast",
        study,
        conditions=CONDITIONS,
        settings={},
    )
    counted = {one.condition: one for one in evaluation.extract_claims(study, settings={}).value.conditions}
    found = [counted.get(name) for name in (*CONDITIONS, "SS")]
    for measure in ("claims", "clusters at 0.5", "clusters at 0.6", "clusters at 0.7", "clusters at 0.8"):
        cells = [f"{one.averages[measure].mean:.2f}" if one and one.averages else "-" for one in found]
        rows.append((f"Podcast, {measure}", "here, extractive answers, by rules: not comparable", cells))
    return Table(
        "GraphRAG, Tables 3 and 4: claims and clusters an answer",
        (*CONDITIONS, "SS"),
        rows,
        (
            "The rows of this program are of another thing than the paper's, and stand here to show what it is: its "
            "answers are written by a model and taken apart into simple claims by a model; ours are quotations, and a "
            "claim is a sentence of them as it stands, where it names something or gives a number. So fewer claims say "
            "nothing of comprehensiveness, and nearly as many clusters as claims are what quotations are like. "
            f"{answered.value.questions} questions; SS needs vectors. `conspectus eval claims --model` counts as the "
            "paper does.",
        ),
    )


def table_iv(data: Path, work: Path) -> Table:
    """Recall of the gold passages among the first two and five, without a language model or vectors."""
    rows: list[tuple[str, str, Sequence[str]]] = [
        (method, "the paper's", cells) for method, cells in TABLE_IV.items()
    ]
    found = {
        name: evaluation.evaluate_retrieval(
            data / "docqa" / name, METHODS, index_folder=work / name, settings={}
        )
        for name in SETS
    }
    questions = ", ".join(f"{measured[METHODS[0]].queries} of {name}" for name, measured in found.items())
    for method in METHODS:
        rows.append((method, "here, no model, no vectors", [_recalls(found[name][method]) for name in SETS]))
    cells = [_hippo(data, work) if name == "musique" else "-" for name in SETS]
    rows.append(("hippo", "here, triples by GPT-3.5, no vectors", cells))
    return Table(
        "Graph RAG, Table IV: R@2/R@5 in percent",
        SETS,
        rows,
        (
            f"Here on the questions that we have ({questions}), of 1,000 each in the paper. The corpus of 2wiki is the "
            "paper's; those of musique and hotpotqa are smaller than its, and so easier. Triples that a model took out "
            "are there for musique alone.",
        ),
    )


def _recalls(measured: Measured) -> str:
    row = measured.as_row()
    return f"{100 * row['R@2']:.1f}/{100 * row['R@5']:.1f}"


def _hippo(data: Path, work: Path) -> str:
    """Return what HippoRAG finds in musique over the triples of a language model that come with it."""
    source, folder = data / "docqa" / "musique", work / "musique-openie"
    evaluation.evaluate_retrieval(source, ["bm25"], index_folder=folder, settings={})
    if not len(api.open_index(folder).triples):
        api.import_openie(source / "openie-gpt-3.5.jsonl", folder, settings={})
    return _recalls(
        evaluation.evaluate_retrieval(source, ["hippo"], index_folder=folder, settings={})["hippo"]
    )


TABLES: dict[str, Callable[[Path, Path], Table]] = {"p1-2": table_2, "p1-3": tables_3_and_4, "p2-4": table_iv}
ABSENT = {
    "GraphRAG, Figure 2 and Table 6": "win rates of answers that a language model wrote and judged: `conspectus eval "
    "answers` and `eval judge`, with `--model`",
    "GraphRAG, Figure 3 and appendix C": "entity references by gleaning, and answers by window: "
    "`conspectus eval ablate "
    "chunks` and `eval ablate window`, with `--model`",
    "Graph RAG, Tables II and III": "answers of a language model to WebQSP, AdvHotpotQA, QALD-10, "
    "FEVER, Creak and Zero-Shot "
    "RE. None of these sets is here; `conspectus eval qa FILE --methods direct,cot,cot-sc,tog --model` takes "
    "them as JSON lines of question and answers",
    "Graph RAG, Table V": "EM and F1 of short answers, which a language model gives: `conspectus "
    "eval qa FOLDER --methods "
    "walk,hippo,ircot --model`",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "conspectus-benchmark")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    made = {name: TABLES[name](arguments.data, arguments.work) for name in arguments.tables}
    print("\n".join(line for table in made.values() for line in table.markdown()))
    print("## Not here\n\n" + "\n".join(f"- {name}: {why}." for name, why in ABSENT.items()))
    if arguments.json:
        tables = {name: asdict(table) for name, table in made.items()}
        arguments.json.write_text(
            json.dumps({"tables": tables, "absent": ABSENT}, indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
