"""The command line: each command parses, calls the API and prints. Nothing heavy is imported before."""

from conspectus.cli.app import main

__all__ = ["main"]
