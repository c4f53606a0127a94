"""The abilities that only some clusters have: faults that strike later, and virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from chaos.values.protocols import Performed


@runtime_checkable
class StrikesLater(Protocol):
    """A cluster some of whose faults strike later than they are set: a failed sync strikes when the
    node syncs."""

    def take_struck(self) -> Sequence[tuple[int, Performed]]:
        """Return the delayed faults that have struck a node since the last call, with the time of
        each in nanoseconds of the run's clock."""
        ...


@runtime_checkable
class TakesTime(Protocol):
    """A cluster in virtual time: `perform` returns before a clean shutdown is over, since only its
    caller can let time pass."""

    def is_shutting_down(self) -> bool:
        """Return whether a node that was shut down has not ended yet."""
        ...
