"""Language models that are talked to: tasks become prompts, and replies what the tasks promise."""
