"""Think-on-Graph 2: a search along the graph, held against the texts at every step (ToG-2)."""

from conspectus.retrieval.tog.answer import answer, answer_on_graph, rank, rank_with
from conspectus.retrieval.tog.explore import Explored, explore

__all__ = ["Explored", "answer", "answer_on_graph", "explore", "rank", "rank_with"]
