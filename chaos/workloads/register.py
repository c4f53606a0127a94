"""Register: each partition of a compacted topic is a register that one process writes and others
read."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from random import Random

from chaos.values.operations import ReadLatest
from chaos.values.protocols import ClientSettings, Completion, Operation, Outcome, Send, TopicSpec
from chaos.workloads.compaction import QUICK_CLEANING
from chaos.workloads.reading import final_reads
from chaos.workloads.values import values_of

KEY = "register"


class Register:
    """Let one writer per register compare and set, and let other processes read the last value.

    The writer reads, compares with its last write, and only then writes the next value. Every read
    must return the last write, for every reader, in real time (linearizability). A leader that does
    not know yet that it was replaced may return an older value; faults that cut leaders off may
    reveal that. Source: KIP-207; design#replication; design#compaction.
    """

    name = topic = "register"
    config: Mapping[str, str] = {"log.cleaner.backoff.ms": "500"}
    judged_by: tuple[str, ...] = (
        "register (porcupine)",
        "compaction",
        "lost_writes",
        "inconsistent_offsets",
        "phantom_records",
        "append_order",
    )
    partitions = 3
    writers = partitions
    readers = 3
    processes = writers + readers
    nodes_min = 1

    def topics(self) -> Sequence[TopicSpec]:
        settings = {"cleanup.policy": "compact", **QUICK_CLEANING}
        return (TopicSpec(self.topic, self.partitions, settings),)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first processes write, each to its own register, and let the others read."""
        if process < self.writers:
            return self._write_for_ever(process)
        return self._read_for_ever(rng)

    def _write_for_ever(self, process: int) -> Generator[Operation, Completion, None]:
        """Yield reads and writes for ever: read until the value is one that may be there, then
        write the next. After a write of unknown outcome, its value and all that were possible
        before it may be there."""
        may_be: set[int | None] = {None}
        for value in values_of(process):
            while True:
                read = yield ReadLatest(self.topic, process)
                found = read.records[0].value if read.records else None
                if read.outcome is Outcome.OK and found in may_be:
                    break
            written = yield Send(self.topic, process, (value,), (KEY,))
            may_be = {value} if written.outcome is Outcome.OK else {*may_be, value}

    def _read_for_ever(self, rng: Random) -> Generator[Operation, Completion, None]:
        while True:
            yield ReadLatest(self.topic, rng.randrange(self.partitions))

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        for partition in range(self.partitions):
            yield ClientSettings(), ReadLatest(self.topic, partition)
        yield from final_reads(self.topics())
