"""GraphRAG, Table 1: users, tasks and questions that a model generates from a description of a corpus.

The paper prints examples. This script prints the first question of each persona among those that other scripts ask.
"""

from __future__ import annotations

from collections.abc import Iterator

from common import OURS, Run, Table, main
from p1 import Experiment, add_dataset

from conspectus.evaluation.comparison import read_list


def table_1(run: Run) -> Iterator[Table]:
    experiment = Experiment(run)
    if not experiment.given:
        experiment.questions()
    questions = read_list(experiment.folder / "questions.json")
    first = {question.persona: question for question in reversed(questions)}
    rows = [
        (question.persona.partition(":")[0] or "(no user)", OURS, [question.task, question.text])
        for question in reversed(first.values())
    ]
    users = f"{len(first)} users" if any(first) else "no user that is known"
    differs = [f"{len(questions)} questions of {users}, of which the first each is shown; the paper has 125."]
    yield Table("GraphRAG, Table 1: users, tasks and questions", ("task", "question"), rows, differs)


if __name__ == "__main__":
    main(table_1, __doc__, add_dataset)
