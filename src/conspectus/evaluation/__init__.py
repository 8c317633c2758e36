"""Measuring: how well methods retrieve and answer, with how sure one can be of it."""
