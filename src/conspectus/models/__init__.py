"""Models that perform language tasks: an extractive model, which needs no language model, and chat models."""
