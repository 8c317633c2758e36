"""Who performs language tasks: an extractive model that needs no language model, and chat models."""
