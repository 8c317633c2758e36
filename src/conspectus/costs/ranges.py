"""Figures of which only the bounds are known."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, sqrt
from typing import NamedTuple

OF_AT_MOST = 0.3
"""What is taken of a range that begins at nothing, by its end: rounds of gleaning took 0.3 to 0.6 of the tokens of
prompts that they may take, and 0.07 to 0.2 of those of replies, on six corpora (see docs/estimates.md)."""


class Range(NamedTuple):
    """From `low` to `high`; what is known has both alike."""

    low: float
    high: float

    def times(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def plus(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def positive(self) -> Range:
        return Range(max(0, self.low), max(0, self.high))

    def within(self, other: Range) -> Range:
        """Return the part of it that another range has; where there is none, its end that is nearer to it."""
        low = min(max(self.low, other.low), max(self.high, other.low))
        return Range(low, max(low, min(self.high, other.high)))

    def whole(self) -> Range:
        """Return the nearest whole numbers that it lies between."""
        return Range(floor(round(self.low, 6)), ceil(round(self.high, 6)))

    @property
    def likely(self) -> float:
        """The number to count on: as many times its low end as its high end is of it."""
        return sqrt(self.low * self.high) if self.low else OF_AT_MOST * self.high

    def told(self, digits: int = 0) -> str:
        """Return `12`, or `12 to 15`."""
        low, high = (f"{number:,.{digits}f}" for number in self)
        return low if low == high else f"{low} to {high}"


NONE = Range(0, 0)


def exactly(number: float) -> Range:
    """Return what is known."""
    return Range(number, number)


def share(number: float, of: Range) -> Range:
    """Return a number by the bounds of its factor."""
    return Range(number * of.low, number * of.high)


def total(ranges: Iterable[Range]) -> Range:
    """Return the sum of ranges."""
    summed = NONE
    for part in ranges:
        summed = summed.plus(part)
    return summed
