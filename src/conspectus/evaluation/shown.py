"""Figures as the paper prints them."""

from __future__ import annotations


def figure(value: float | None, digits: int = 2) -> str:
    """Return a figure with so many digits, `-` for none."""
    return "-" if value is None else f"{value:.{digits}f}"


def probability(p: float | None) -> str:
    """Return a p value as the paper prints it."""
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else "1" if p >= 0.9995 else f"{p:.3f}"
