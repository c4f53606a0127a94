"""Seeks: readers that jump back to offsets and times of records that they know."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from random import Random

from chaos.values.operations import Seek, SeekToTime
from chaos.values.protocols import (
    Assign,
    ClientSettings,
    Completion,
    Operation,
    Outcome,
    Poll,
    Record,
    Send,
)
from chaos.workloads.appends import Appends
from chaos.workloads.reading import everything

Known = tuple[str, int, int, int]
"""A record that was read: (topic, partition, offset, timestamp)."""
KNOWN_MAX = 400
FETCH_BYTES = (None, 1, 700)
"""The fetch sizes in bytes of the readers, in turn. With one byte, each batch comes in a response
of its own (KIP-74: a response always has one batch)."""


class Seeks(Appends):
    """Append records, and poll them with readers that seek to offsets and times of records which
    they have read.

    Segments last a second and the indexes have an entry for every few records, so that most
    look-ups end in a closed segment. Records have keys and headers; some senders set their own
    timestamps, out of order. Spec: KIP-79 (the first record at or after a time), KIP-74.
    """

    name = topic = "seeks"
    topic_config: Mapping[str, str] = {"segment.ms": "1000", "index.interval.bytes": "64"}
    partitions = 4
    producers = 4
    pollers = 3
    processes = producers + pollers
    seek_share = 0.25
    by_time_share = 0.5
    polls_per_session = 150
    filling_max = 200

    def settings(self, process: int) -> ClientSettings:
        """Return the client settings: every other producer makes one batch per record, and each
        reader has the next of FETCH_BYTES."""
        if process < self.producers:
            return ClientSettings(batches_of_one=process % 2 == 0)
        return ClientSettings(fetch_bytes=FETCH_BYTES[process % len(FETCH_BYTES)])

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Return the operations of a producer for the first processes, and of a consumer that seeks
        for the others."""
        if process < self.producers:
            return self._send_dressed(process, rng)
        return self._seek_for_ever(rng)

    def _send_dressed(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        sends = self.send(process, rng)
        operation = next(sends)
        while True:
            assert isinstance(operation, Send)
            filling = tuple(rng.randrange(self.filling_max) for _ in operation.values)
            dressed = Send(operation.topic, operation.partition, operation.values, filling=filling)
            operation = sends.send((yield dressed))

    def _seek_for_ever(self, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield sessions of polls over half of the partitions, with seeks between the polls."""
        partitions = everything(self.topics())
        while True:
            chosen = sorted(rng.sample(partitions, len(partitions) // 2))
            completion = yield Assign(tuple(chosen))
            known: list[Known] = []
            for _ in range(rng.randint(self.polls_per_session // 2, self.polls_per_session)):
                if completion.outcome is not Outcome.OK:
                    break
                completion = yield Poll(timeout_s=0.2)
                known += _known(completion)
                rng.shuffle(known)
                del known[KNOWN_MAX:]
                if known and rng.random() < self.seek_share:
                    completion = yield self._seek(known[-1], rng)

    def _seek(self, known: Known, rng: Random) -> Operation:
        """Return a seek to the record, to the offset after it, to its timestamp, or to a
        millisecond before or after that."""
        topic, partition, offset, timestamp_ms = known
        if rng.random() < self.by_time_share:
            return SeekToTime(topic, partition, timestamp_ms + rng.choice((-1, 0, 0, 0, 1)))
        return Seek(topic, partition, offset + rng.choice((0, 0, 0, 1)))


def _known(completion: Completion) -> Iterator[Known]:
    for record in completion.records:
        if record.offset is not None and _timestamp_of(record) >= 0:
            yield record.topic, record.partition, record.offset, _timestamp_of(record)


def _timestamp_of(record: Record) -> int:
    timestamp_ms = record.extra.get("timestamp_ms")
    return -1 if timestamp_ms is None else int(timestamp_ms)
