"""Appends: idempotent producers, acks=all; at the end the whole log is read."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from chaos.protocols import (
    ClientSettings,
    Completion,
    Isolation,
    Operation,
    ReadAll,
    Send,
    TopicSpec,
)
from chaos.workloads.reading import poll_for_ever
from chaos.workloads.values import values_of


class Appends:
    """Send distinct values with acks=all, poll them meanwhile; at the end read everything."""

    name = "appends"
    config: Mapping[str, str] = {}
    judged_by: tuple[str, ...] = (
        "lost_writes", "duplicates", "inconsistent_offsets", "phantom_records", "poll_order",
        "poll_skips", "append_order",
    )  # fmt: skip
    topic = "appends"
    partitions = 8
    producers = 6
    pollers = 2
    processes = producers + pollers
    records_per_send_max = 4

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.topic, self.partitions),)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """The first processes send, the others poll."""
        if process >= self.producers:
            return poll_for_ever(self._everything(), rng)
        return self._send_for_ever(process, rng)

    def _send_for_ever(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """A value is sent once only, whatever becomes of it: the client alone may retry."""
        values = values_of(process)
        while True:
            batch = tuple(islice(values, rng.randint(1, self.records_per_send_max)))
            yield Send(self.topic, rng.randrange(self.partitions), batch)

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        """The batches as they lie on the leaders, then what a consumer is given."""
        yield ClientSettings(), ReadAll(self._everything(), raw=True)
        yield ClientSettings(), ReadAll(self._everything(), Isolation.READ_UNCOMMITTED)

    def _everything(self) -> tuple[tuple[str, int], ...]:
        return tuple((self.topic, partition) for partition in range(self.partitions))
