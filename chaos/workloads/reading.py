"""The reader that every workload shares: take some partitions, poll them, now and then others."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from random import Random

from chaos.protocols import Assign, Completion, Operation, Outcome, Poll

POLLS_PER_SESSION = 250
"""Long enough to see order, short enough that a run has several sessions that start at offset 0."""


def poll_for_ever(
    partitions: Sequence[tuple[str, int]], rng: Random
) -> Generator[Operation, Completion, None]:
    """Sessions of polls over a random half of the partitions, each from offset 0.

    A failed poll ends the session: where its position stands is not known.
    """
    half = max(1, len(partitions) // 2)
    while True:
        yield Assign(tuple(sorted(rng.sample(list(partitions), half))))
        for _ in range(rng.randint(POLLS_PER_SESSION // 2, POLLS_PER_SESSION * 3 // 2)):
            completion = yield Poll()
            if completion.broken or completion.outcome is not Outcome.OK:
                break
