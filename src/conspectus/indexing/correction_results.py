"""What corrections come to, when all of them are applied: rows between `correct` and what follows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conspectus.corrections import STAGE, Entry
from conspectus.indexing.resolve import Names
from conspectus.rows import AliasDecision, Failure, Span


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a correction; `why` says why it was not applied, or not wholly."""

    entry: Entry
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a person added, between two entities by their keys and names."""

    entry: Entry
    ends: tuple[str, str]
    names: tuple[str, str]
    description: str
    strength: float
    quoted: Span | None = None
    """Where a document says it; None for what a person alone says."""
    chunk_id: str = ""


@dataclass(frozen=True)
class CorrectionResult:
    """What corrections come to."""

    names: Names
    joins: Sequence[AliasDecision]
    outcomes: tuple[Outcome, ...] = ()
    facts: tuple[Fact, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    """The types of entities that are not those of their instances, by their keys."""
    gone: frozenset[str] = frozenset()
    """The keys of names that stand for nothing now."""

    @property
    def failures(self) -> list[Failure]:
        """The corrections that were not applied."""
        return [Failure(f"{STAGE} {o.entry.number}", f"{o.entry.correction}: {o.why}") for o in self.outcomes if o.why]
