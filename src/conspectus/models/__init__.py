"""Who performs language tasks: an extractive model that needs no language model, chat models, scripted ones."""
