"""How well methods rank passages: data in the BEIR layout, measures, runs."""
