"""The sender that workloads share: it sends new values for ever, to random partitions of one
topic."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from random import Random

from chaos.values.protocols import Completion, Operation, Send
from chaos.workloads.values import values_of

RECORDS_PER_SEND_MAX = 4


def send_for_ever(
    topic: str, partitions: int, process: int, rng: Random
) -> Generator[Operation, Completion, None]:
    """Yield sends of one to four new values to random partitions. Send each value only once,
    whatever the outcome: only the client library may retry."""
    values = values_of(process)
    while True:
        batch = tuple(islice(values, rng.randint(1, RECORDS_PER_SEND_MAX)))
        yield Send(topic, rng.randrange(partitions), batch)
