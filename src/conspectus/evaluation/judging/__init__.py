"""Head to head: a model holds answers against each other, and what its verdicts amount to (GraphRAG §4.1, F, G)."""
