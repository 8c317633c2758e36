"""How well methods answer questions whose answers are known: readers of published sets, EM and F1, runs."""
