"""Sequences: idempotent producers whose sequence numbers wrap, which resend acknowledged batches,
and which name the sequence numbers of an older batch for a new one."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from random import Random

from chaos.values.operations import RawSend
from chaos.values.protocols import ClientSettings, Completion, Crash, Operation
from chaos.workloads.appends import Appends
from chaos.workloads.values import values_of

SEQUENCES = 1 << 31
RECORDS_BEFORE_WRAP_MAX = 10
AGAIN_SHARE, REPEATED_SHARE = 0.4, 0.2
BEFORE_SHARE, OVERLAP_SHARE = 0.2, 0.05
"""The shares of sends before which the last batch is sent again, and of new batches that name
sequence numbers of the one before."""
BACK_MAX = 4
CRASH_SHARE = 0.01
"""The share of sends after which the producer is replaced by another one with a new producer id."""


class Sequences(Appends):
    """Append with raw producers whose sequence numbers soon wrap; resend batches, up to the fifth
    last.

    A leader knows a producer's last five batches by their sequence numbers and answers each
    duplicate as it did the first time; 2,147,483,647 is followed by 0. A batch is a duplicate only
    if its first and last sequence numbers are the same; any other batch with old numbers must be
    refused. A producer that a leader does not know may begin with any sequence number. Producers
    crash, and the next ones get producer ids that nobody had before. Spec: KIP-98;
    ProducerStateEntry; DefaultRecordBatch, incrementSequence.
    """

    name = topic = "sequences"
    judged_by = (*Appends.judged_by, "idempotence")
    partitions = 4

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(raw=process < self.producers)

    def send(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield sends for ever, with sequence numbers that wrap in each partition, and now and then
        a crash, after which a new producer starts again below the wrap."""
        values = values_of(process)
        firsts = [
            SEQUENCES - rng.randint(1, RECORDS_BEFORE_WRAP_MAX) for _ in range(self.partitions)
        ]
        while True:
            batch = tuple(islice(values, rng.randint(1, 4)))
            again = (rng.randint(0, BACK_MAX),) if rng.random() < AGAIN_SHARE else ()
            partition = rng.randrange(self.partitions)
            yield RawSend(
                self.topic,
                partition,
                batch,
                again=again,
                is_repeated=rng.random() < REPEATED_SHARE,
                first_sequence=firsts[partition],
                resends_first=rng.random() < BEFORE_SHARE,
                overlaps=rng.random() < OVERLAP_SHARE,
            )
            if rng.random() < CRASH_SHARE:
                yield Crash()
