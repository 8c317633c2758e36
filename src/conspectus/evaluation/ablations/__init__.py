"""Ablations: one thing is varied, all else stays, and what it changes is measured. One file for each thing."""
