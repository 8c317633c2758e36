"""GraphRAG, Table 5: one question, the answers of C2 and SS to it, and the judgements on them.

The paper prints one example in full. This script prints the first question that both answered. Without vectors, TS
replaces SS; without judgements, there is no assessment.
"""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, Run, Table, main
from p1 import Experiment, add_dataset

from conspectus.errors import UsageError
from conspectus.evaluation import comparison


def table_5(run: Run) -> Iterator[Table]:
    experiment = Experiment(run)
    asked = experiment.answers(("C2", "C0", "TS", "SS"))
    if run.asks and not experiment.given:
        experiment.judgements()
    study = comparison.study_in(experiment.folder)
    texts = {
        (row.condition, row.question): row.text for row in comparison.answers_in(study.folder).rows.values()
    }
    names = {condition for condition, _ in texts}
    graph = next((name for name in ("C2", "C1", "C0") if name in names and name in asked), "")
    base = next((name for name in ("SS", "TS") if name in names and name in asked), "")
    shared = [q for q in study.questions if (graph, q.id) in texts and (base, q.id) in texts]
    if not shared:
        raise UsageError("no question has answers of both a level of reports and SS or TS")
    question = shared[0]
    rows = [("question", OURS, [question.text, ""])]
    rows += [(name, OURS, [" ".join(texts[name, question.id].split()), ""]) for name in (graph, base)]
    for row in comparison.judgements_in(study.folder).rows.values():
        if row.question == question.id and {row.first, row.second} == {graph, base} and row.replicate == 1:
            winner = ("tie", row.first, row.second)[row.winner]
            rows.append((row.criterion, OURS, [f"{row.reasoning} (Answer 1 is {row.first}.)", winner]))
    if base == "TS" or graph != "C2":
        run.note(f"Shown are {graph} and {base}, as far as there are answers; the paper shows C2 and SS.")
    yield Table(f"GraphRAG, Table 5 ({experiment.corpus.name})", ("text", "winner"), rows)


if __name__ == "__main__":
    main(table_5, __doc__, add_dataset)
