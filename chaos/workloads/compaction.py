"""Compaction: keys are written repeatedly and deleted while the log is compacted."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from random import Random

from chaos.values.protocols import ClientSettings, Completion, Operation, Record, Send, TopicSpec
from chaos.workloads.reading import everything, final_reads, poll_for_ever
from chaos.workloads.removed import nothing_cleaned
from chaos.workloads.values import values_of

DRESSED_SHARE, FILLING_MAX = 0.5, 100
QUICK_CLEANING = {
    # Segments last a second, and the cleaner looks twice a second and cleans even if it frees
    # little. So a run of half a minute sees dozens of cleanings.
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "2000",
}


class Compaction:
    """Write keys repeatedly and delete some while the log is compacted: the last record of each key
    must be kept.

    Spec: docs, design#compaction. Tombstones are kept for delete.retention.ms, which is longer than
    a run.
    """

    name = topic = "compaction"
    config: Mapping[str, str] = {"log.cleaner.backoff.ms": "500"}
    judged_by: tuple[str, ...] = (
        "compaction",
        "lost_writes",
        "inconsistent_offsets",
        "phantom_records",
        "poll_order",
        "poll_skips",
        "append_order",
    )
    partitions = 4
    producers = 4
    pollers = 2
    processes = producers + pollers
    nodes_min = 1
    records_per_send_max = 4
    keys = 12
    cold_keys = 2_000
    cold_share = 0.1
    """The share of records with one of many rarely written keys. The last value of such a key moves
    into the closed segments, which are cleaned, while that of a frequent key is in the active
    segment."""
    tombstone_share = 0.1

    def topics(self) -> Sequence[TopicSpec]:
        settings = {"cleanup.policy": "compact", **QUICK_CLEANING}
        return (TopicSpec(self.topic, self.partitions, settings),)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Return the operations of a producer for the first processes, and of a polling consumer
        for the others."""
        if process >= self.producers:
            return poll_for_ever(everything(self.topics()), rng)
        return self._send_for_ever(process, rng)

    def _send_for_ever(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        values = values_of(process)
        while True:
            yield self._next_send(rng.randrange(self.partitions), values, rng)

    def _next_send(self, partition: int, values: Iterator[int], rng: Random) -> Send:
        """Return a send of a few records with random keys, some of them tombstones."""
        batch = tuple(islice(values, rng.randint(1, self.records_per_send_max)))
        keys = tuple(self._key(rng) for _ in batch)
        tombstones = tuple(rng.random() < self.tombstone_share for _ in batch)
        # Filling comes with headers, all of which a record must keep when the cleaner copies it.
        filling = tuple(rng.randrange(FILLING_MAX) for _ in batch)
        dressed = filling if rng.random() < DRESSED_SHARE else ()
        return Send(self.topic, partition, batch, keys, tombstones, filling=dressed)

    def _key(self, rng: Random) -> str:
        if rng.random() < self.cold_share:
            return f"cold-{rng.randrange(self.cold_keys)}"
        return f"key-{rng.randrange(self.keys)}"

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        return final_reads(self.topics())

    def why_nothing_shown(self, records: Sequence[Record]) -> str | None:
        return nothing_cleaned(records)
