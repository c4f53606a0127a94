"""The commonest schedule: one blow, held for a while, and a heal, over and over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from chaos.values.faults import Fault, Heal

Seconds = tuple[float, float]
"""From, to."""


def rounds(
    rng: Random, blow: Callable[[], Fault], calm: Seconds, hold: Seconds
) -> Iterator[tuple[float, Fault]]:
    """Schedule rounds: some calm, then a fault held for some time."""
    while True:
        yield rng.uniform(*calm), blow()
        yield rng.uniform(*hold), Heal()
