"""Shared code of the scripts for P2 (*Graph RAG: Efficient and Powerful LLM Enhancement Systems*): data sets, and
indexes of passages and of knowledge graphs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from common import Corpus, Run, cell

from conspectus import Index, configuration, evaluation
from conspectus.api import import_openie, open_index
from conspectus.configuration import Resolved
from conspectus.errors import IndexMissing, UsageError
from conspectus.evaluation.qa import read_questions
from conspectus.evaluation.statistics import Measured
from conspectus.indexing.estimate import Estimate
from conspectus.interchange import import_triples

HIPPORAG = "https://github.com/OSU-NLP-Group/HippoRAG (branch legacy, data/)"
PASSAGES = {
    "MuSiQue": Corpus("MuSiQue", "docqa/musique", HIPPORAG),
    "2Wiki": Corpus("2WikiMultiHopQA", "docqa/2wiki", HIPPORAG),
    "HotpotQA": Corpus("HotpotQA", "docqa/hotpotqa", HIPPORAG),
}
"""Passages and questions in the BEIR layout: `corpus.jsonl`, `queries.jsonl` with `answers`, `qrels/test.tsv`."""
SAMPLE = (
    ("Rook", "Rook is a barge. It was built for Ada Byrne in 1911.", ("Rook", "built for", "Ada Byrne")),
    ("Ada Byrne", "Ada Byrne kept a mill and was born at Lune.", ("Ada Byrne", "born at", "Lune")),
    ("Heron", "Heron is a barge that burnt at Kell.", ("Heron", "burnt at", "Kell")),
)
"""Our own passages, for `--sample-corpus`: title, text and one triple each."""
SAMPLE_QUESTION = "Where was the owner of the barge Rook born?", "Lune", ("Rook", "Ada Byrne")
OTHERS = 30
"""Number of other passages per question, in addition to its own, if only a sample of the questions is asked."""
OPENIE = "openie-gpt-3.5.jsonl"
"""Name of the file, beside the passages, with the triples by GPT-3.5 that HippoRAG's authors published."""
TOG = "https://github.com/IDEA-FinAI/ToG-2 (data/)"
GRAPH_SETS = {
    "WebQSP": "kgqa/webqsp.jsonl",
    "AdvHotpotQA": "kgqa/advhotpotqa.jsonl",
    "QALD-10-en": "kgqa/qald10.jsonl",
    "FEVER": "kgqa/fever.jsonl",
    "Creak": "kgqa/creak.jsonl",
    "Zero-Shot RE": "kgqa/zeroshot-re.jsonl",
}
"""Files of questions with answers: one JSON object per line (`question`, `answer` or `answers`)."""
METAQA = {f"MetaQA, {n} hop{'s' * (n > 1)}": f"kgqa/metaqa/questions-{n}hop.jsonl" for n in (1, 2, 3)}
"""Questions about a graph of films, `kgqa/metaqa/kb.txt`: a data set of neither paper, which needs neither Wikidata nor
a language model."""
WIKIDATA = "kgqa/wikidata"
"""Path of an index of Wikidata below `--data`: README.md explains how to make it."""


def passages(run: Run, settings: Resolved) -> dict[str, tuple[Path, Path]]:
    """Return the folder of passages and the folder of their index, for each data set that is available."""
    found: dict[str, tuple[Path, Path]] = {}
    for name, corpus in PASSAGES.items():
        try:
            folder = _sample(run) if run.arguments.sample_corpus else _part(run, run.documents(corpus))
        except UsageError as error:
            run.note(f"Left out: {error}.")
            continue
        vectors = "" if run.arguments.embedder == "none" else "-vectors"
        index = run.work / f"p2-{name}-{run.sample or 'all'}{vectors}"
        plain = without_model(settings)
        (measured,) = evaluation.evaluate_retrieval(
            folder, ["bm25"], index_folder=index, settings=plain
        ).values()
        run.note(
            f"{name}: {len(measured.values['R@5']):,} questions (the paper: 1,000) among"
            f" {len(open_index(index).documents):,} passages; the fewer these are, the easier the task."
        )
        triples = folder / OPENIE
        if not run.asks and triples.is_file() and not has_triples(index):
            import_openie(triples, index, settings=plain)
        found[name] = folder, index
    return found


def _sample(run: Run) -> Path:
    """Write the sample's passages in the format of the data sets, and return their folder."""
    run.note("The passages are three of ours, and not the paper's: nothing compares.")
    folder = run.work / "p2-sample-passages"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    rows = [{"_id": title, "title": title, "text": text} for title, text, _ in SAMPLE]
    triples = [{"_id": title, "entities": [title], "triples": [list(triple)]} for title, _, triple in SAMPLE]
    (question, answer, relevant) = SAMPLE_QUESTION
    judgements = ["query-id\tcorpus-id\tscore", *(f"q\t{title}\t1" for title in relevant)]
    queries = [{"_id": "q", "text": question, "answers": [answer]}]
    for name, lines in (("corpus.jsonl", rows), ("queries.jsonl", queries), (OPENIE, triples)):
        (folder / name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("\n".join(judgements), encoding="utf-8")
    return folder


def _part(run: Run, folder: Path) -> Path:
    """Return a folder with the first `--sample` questions, their passages, and `OTHERS` more passages per question."""
    if run.sample is None:
        return folder
    run.note(
        f"A sample is ranked among its own passages and {OTHERS} others for each question: an easier task."
    )
    part = run.work / f"p2-{folder.name}-{run.sample}"
    (part / "qrels").mkdir(parents=True, exist_ok=True)
    queries = (folder / "queries.jsonl").read_text("utf-8").splitlines()[: run.sample]
    ids = {str(json.loads(line)["_id"]) for line in queries}
    head, *judgements = (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()
    judgements = [line for line in judgements if line.split("\t")[0] in ids]
    relevant = {line.split("\t")[1] for line in judgements}
    others = OTHERS * run.sample

    def chosen(name: str) -> list[str]:
        lines = (folder / name).read_text("utf-8").splitlines()
        near = (n < others or str(json.loads(line)["_id"]) in relevant for n, line in enumerate(lines))
        return [line for line, is_near in zip(lines, near, strict=True) if is_near]

    (part / "queries.jsonl").write_text("\n".join(queries), "utf-8")
    (part / "qrels" / "test.tsv").write_text("\n".join((head, *judgements)), "utf-8")
    for name in ("corpus.jsonl", OPENIE):
        if (folder / name).is_file():
            (part / name).write_text("\n".join(chosen(name)), "utf-8")
    return part


def without_model(settings: Resolved) -> Resolved:
    """Return the settings for indexing passages: without a language model."""
    return configuration.completed(settings, {"model": "extractive"}, "given")


def has_triples(index: Path | Index) -> bool:
    """Return whether an index has open triples."""
    return len((index if isinstance(index, Index) else open_index(index)).triples) > 0


def ranked(run: Run, method: str, folder: Path, index: Path, settings: Resolved) -> Measured | None:
    """Return the measures of a ranking; None if it needs triples that the index does not have."""
    if method == "hipporag" and not run.asks and not has_triples(index):
        return None
    settings = run.within_budget(settings)
    agree = agreeing(run, f"{method} on {folder.name}", settings)
    found = evaluation.evaluate_retrieval(
        folder, [method], index_folder=index, settings=settings, agree=agree
    )[method]
    run.spent += found.usage
    return found


def agreeing(run: Run, name: str, settings: Resolved) -> Callable[[Estimate], None]:
    """Return a function that shows the estimate of a step and asks whether to go on."""
    return lambda estimate: run.agree(name, estimate, settings) if estimate.tasks else None


def answered(
    run: Run, method: str, questions: Path, index: Path | Index, settings: Resolved, variant: str = ""
) -> Measured | None:
    """Return the measures of short answers; None if the method needs a model or triples that are missing.

    `variant` distinguishes answers by the same method with different settings.
    """
    around = settings.settings.ircot.retriever if method == "ircot" else method
    closed = method in ("direct", "cot", "cot-sc")
    if around == "hipporag" and run.asks and isinstance(index, Path) and not has_triples(index):
        ranked(run, "hipporag", questions, index, settings)  # the model extracts the triples
    if (closed and not run.asks) or (around == "hipporag" and not has_triples(index)):
        return None
    name = f"{questions.parent.name}-{questions.stem}-{method}{variant}-{around}-{run.arguments.model}.jsonl"
    file = run.work / "p2-answers" / name.replace("/", "_")
    file.parent.mkdir(parents=True, exist_ok=True)
    settings = run.within_budget(settings)
    found = evaluation.evaluate_answers(
        questions, index, [method], settings=settings, limit=run.sample, answers=file,
        agree=agreeing(run, f"{method} on {questions.stem}", settings),
    )[0]  # fmt: skip
    run.spent += found.usage
    return found


def share(measured: Measured | None, measure: str) -> str:
    """Return a mean in percent with its 95 % interval as text; `-` if nothing was measured."""
    if measured is None or not measured.values.get(measure):
        return "-"
    return cell([100 * figure for figure in measured.interval(measure)], 1)


def films(run: Run) -> tuple[Index, dict[str, Path]] | None:
    """Return the index of MetaQA's graph and its question files; None if the data is missing."""
    data: Path = run.arguments.data
    index, found = run.work / "p2-metaqa", {name: data / path for name, path in METAQA.items()}
    if run.arguments.sample_corpus:
        found = {"three triples of ours": run.work / "p2-sample-questions.jsonl"}
        question, answer, _ = SAMPLE_QUESTION
        run.work.mkdir(parents=True, exist_ok=True)
        row = json.dumps({"question": question, "answers": [answer]})
        found["three triples of ours"].write_text(row, encoding="utf-8")
        graph = run.work / "p2-sample-graph.txt"
        graph.write_text("\n".join("|".join(triple) for _, _, triple in SAMPLE), encoding="utf-8")
    else:
        graph = data / "kgqa/metaqa/kb.txt"
    if not all(path.is_file() for path in (graph, *found.values())):
        run.note(f"MetaQA is not in {data}: put kb.txt and questions-1hop.jsonl to 3hop at {graph.parent}.")
        return None
    if not index.exists():
        import_triples(graph, index)
    note_sizes(run, found)
    return open_index(index), found


def note_sizes(run: Run, question_sets: Mapping[str, Path]) -> None:
    """Add the number of questions asked of each data set to the notes."""
    sizes = (f"{name} {len(read_questions(path)[: run.sample]):,}" for name, path in question_sets.items())
    run.note(f"Questions: {', '.join(sizes)}.")


def questions_of(run: Run) -> dict[str, Path]:
    """Return the available files of questions about a knowledge graph; note the missing ones."""
    data: Path = run.arguments.data
    found = {name: data / path for name, path in GRAPH_SETS.items() if (data / path).is_file()}
    if found:
        note_sizes(run, found)
    for name in (name for name in GRAPH_SETS if name not in found):
        run.note(f"{name} is not in {data}: get it from {TOG}, as {GRAPH_SETS[name]}.")
    return found


def wikidata(run: Run) -> Path | None:
    """Return the folder of the index of Wikidata; None if there is none."""
    folder = run.arguments.data / WIKIDATA
    try:
        open_index(folder)
    except IndexMissing:
        run.note(f"There is no index of Wikidata at {folder}: see reproduce/README.md for how to make it.")
        return None
    return folder
