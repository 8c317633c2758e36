"""What every ablation can do: say how much of it is left, what that will cost, do it, and tell what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from conspectus.costs.estimate import Estimate
from conspectus.evaluate.ablations.found import Ablation
from conspectus.index.pipeline import Progress
from conspectus.models.base import Model
from conspectus.models.opening import Session
from conspectus.settings import Settings


class Experiment(Protocol):
    """An ablation that is laid out; nothing was asked yet."""

    @property
    def settings(self) -> Settings: ...

    @property
    def folder(self) -> Path:
        """Where what is found is kept, with the replies of a model."""
        ...

    @property
    def cells(self) -> int:
        """Pieces of work in all."""
        ...

    @property
    def left(self) -> int:
        """Those that are not kept, failed, or were done with something else."""
        ...

    async def estimates(self, session: Session) -> dict[str, Estimate]:
        """Return what the pieces that are left will ask of a language model, by what is varied."""
        ...

    async def run(self, session: Session | None, model: Model | None, progress: Progress) -> None:
        """Do what is left, and keep each piece as soon as it is done.

        A session's model performs, or else the one that is given, or else the extractive one. Raises Unusable where
        nothing more can be asked of the model.
        """
        ...

    def told(self) -> Ablation:
        """Return what all that is kept amounts to."""
        ...
