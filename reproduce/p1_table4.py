"""GraphRAG, Table 4: number of clusters of similar claims in an answer, by the distance threshold."""

from __future__ import annotations

from functools import partial

from common import main
from p1 import add_dataset
from p1_table3 import tables_3_and_4

if __name__ == "__main__":
    main(partial(tables_3_and_4, tables=(4,)), __doc__, add_dataset)
