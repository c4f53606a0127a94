"""No fault at all: what a workload shows on a healthy cluster is the measure of the others."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from chaos.values.faults import Fault


class NoFaults:
    """Leave the cluster alone."""

    name = "none"
    faults: frozenset[type[Fault]] = frozenset()
    nodes_min = 1

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Schedule nothing, ever."""
        return iter(())
