"""The readers that workloads share: during the run, and at its end."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from random import Random

from chaos.values.protocols import (
    Assign,
    ClientSettings,
    Completion,
    Isolation,
    Operation,
    Outcome,
    Poll,
    ReadAll,
    TopicSpec,
)

POLLS_PER_SESSION = 250
"""The number of polls in a session: enough to see the order of records, and few enough that a run
has several sessions that start at offset 0."""


def everything(topics: Sequence[TopicSpec]) -> tuple[tuple[str, int], ...]:
    """Return (topic, partition) for all partitions of these topics, including those that a topic
    gets only later."""
    return tuple((topic.name, number) for topic in topics for number in range(topic.partitions))


def poll_for_ever(
    partitions: Sequence[tuple[str, int]], rng: Random, from_log_start: bool = False
) -> Generator[Operation, Completion, None]:
    """Yield sessions of polls over a random half of the partitions, each starting at offset 0, or
    at the log start if from_log_start. A failed poll ends the session, since its position is
    unknown."""
    half = max(1, len(partitions) // 2)
    while True:
        yield Assign(tuple(sorted(rng.sample(list(partitions), half))), from_log_start)
        for _ in range(rng.randint(POLLS_PER_SESSION // 2, POLLS_PER_SESSION * 3 // 2)):
            completion = yield Poll()
            if completion.broken or completion.outcome is not Outcome.OK:
                break


def final_reads(
    topics: Sequence[TopicSpec], isolation: Isolation = Isolation.READ_UNCOMMITTED
) -> Iterator[tuple[ClientSettings, Operation]]:
    """Yield a raw read of the batches on all replicas, then a read by an ordinary consumer with
    this isolation, each of all partitions."""
    yield ClientSettings(), ReadAll(everything(topics), raw=True)
    yield ClientSettings(isolation=isolation), ReadAll(everything(topics), isolation)
