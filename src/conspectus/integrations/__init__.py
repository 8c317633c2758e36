"""Retrievers for other frameworks, over the Python API; each needs the extra of its name."""
