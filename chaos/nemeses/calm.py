"""Inject no fault: a workload on a healthy cluster is the baseline for all others."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import Fault


class NoFaults:
    """Inject no fault."""

    name = "none"
    faults: frozenset[type[Fault]] = frozenset()
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield nothing."""
        return iter(())
