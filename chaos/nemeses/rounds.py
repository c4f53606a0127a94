"""The most common schedule: a fault, held for a while, then a heal, over and over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from chaos.values.faults import Fault, Heal

Seconds = tuple[float, float]
"""A range of seconds as (least, most)."""


def rounds(
    rng: Random, blow: Callable[[], Fault], calm: Seconds, hold: Seconds
) -> Iterator[tuple[float, Fault]]:
    """Yield rounds without end: after a random number of seconds within `calm` the next fault that
    `blow` returns, and after one within `hold` a heal."""
    while True:
        yield rng.uniform(*calm), blow()
        yield rng.uniform(*hold), Heal()
