"""Transactions over several partitions, some of them aborted, with read_committed readers at the
same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, islice
from random import Random

from chaos.values.operations import LeaveOpen
from chaos.values.protocols import ClientSettings, Send, TopicSpec
from chaos.workloads.asking import ask_for_ever
from chaos.workloads.transacting import ByTransactions, End, Steps, transaction
from chaos.workloads.values import values_of

TIMEOUT_MS, SWEEP_MS = 3_000, 500
PAST_TIMEOUT_S = (TIMEOUT_MS + 2 * SWEEP_MS) / 1000
PAST_DOUBT_S = TIMEOUT_MS / 1000 + 16.5
"""The seconds to wait before a late commit: after the timeout, the interval of Kafka's own check
(10 s) and 5 s more, every judge agrees that the transaction should have ended."""
PATIENT_S = 0.75 * TIMEOUT_MS / 1000
"""The seconds to wait before a commit that must be accepted: most of the time-out, and long enough
to see a coordinator that aborts too early."""
BETWEEN_SENDS_S = 0.8 * TIMEOUT_MS / 1000
"""The seconds between two sends of a slow transaction. With all partitions it lasts longer than
PAST_DOUBT_S."""
OFTEN_LATE = 2
"""The number of writers whose commits are late early and often, so that a run of a few seconds
contains some. The other writers keep the records flowing."""
FIRST_LATE_MAX, BETWEEN_LATE, SELDOM_LATE = 4, (8, 20), (60, 200)
"""The number of the first late transaction at most, and the number of transactions between two late
ones, for writers that are late often or seldom."""
OUTLIVED_SHARE = 0.2
"""The share of crashes after which the next client waits until the coordinator has ended the
transaction."""


REFUSED_MS = (4_102_444_800_000,)
"""A timestamp in the year 2100: brokers that keep CreateTime refuse it (KIP-937)."""
PATIENT, PATIENT_SHARE = OFTEN_LATE + 1, 0.1
"""The writer that often commits after most of the time-out, and its share of such commits."""
OPENS, BETWEEN_OPEN = OFTEN_LATE, (10, 40)
"""The writer that leaves some transactions open for ever, and the number of its other transactions
between two of those. Under kills it completes some dozens in half a minute."""


class Transactions(ByTransactions):
    """Begin, send to several partitions, and commit, abort or crash, while others read with
    read_committed.

    A crashed client is replaced by one with the same transactional id, which fences it, at once or
    after the coordinator has ended the open transaction. Now and then a commit comes too late,
    after `transaction.timeout.ms` and the coordinator's check for expired transactions, so that it
    must be refused, also if partitions have joined the transaction all the time; or after most of
    the time-out, so that it must succeed; or a send is refused, and the client must then refuse to
    commit. Spec: KIP-98.
    """

    name = "transactions"
    config: Mapping[str, str] = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(SWEEP_MS)
    }
    judged_by: tuple[str, ...] = (
        "lost_writes",
        "duplicates",
        "inconsistent_offsets",
        "phantom_records",
        "poll_order",
        "poll_skips",
        "append_order",
        "aborted_reads",
        "high_watermark",
    )
    topic = "transactions"
    partitions = 8
    producers = 6
    pollers = 2
    processes = producers + pollers + 1
    nodes_min = 1
    abort_share, crash_share, despite_share = 0.2, 0.05, 0.03
    sends_max = 4
    records_per_send_max = 6

    def settings(self, process: int) -> ClientSettings:
        settings = super().settings(process)
        return replace(settings, transaction_timeout_ms=TIMEOUT_MS)

    def operations(self, process: int, rng: Random) -> Steps:
        """Let the last process request the ends of the logs, and let the others run transactions
        and poll."""
        if process == self.processes - 1:
            return ask_for_ever(self.topic, self.partitions)
        return super().operations(process, rng)

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.topic, self.partitions),)

    def transact_for_ever(self, process: int, rng: Random) -> Steps:
        values, numbers = values_of(process), count(1)
        is_often = is_first = process < OFTEN_LATE
        until_open = rng.randint(1, FIRST_LATE_MAX)
        until_late = rng.randint(1, FIRST_LATE_MAX) if is_often else rng.randint(*SELDOM_LATE)
        while True:
            # Drawn before anything happens, so that a failure does not shift later choices.
            end, idle_s = self._end(rng)
            if process == PATIENT and end is End.COMMIT and rng.random() < PATIENT_SHARE:
                end, idle_s = End.PATIENT, PATIENT_S
            until_late -= 1
            count_of_sends = rng.randint(2, self.sends_max)
            if until_late == 0:
                end, idle_s = End.LATE, PAST_TIMEOUT_S
                if is_first and process == 0:
                    idle_s = PAST_DOUBT_S
                elif is_first:
                    end, idle_s = End.SLOW, BETWEEN_SENDS_S
                    count_of_sends = self.partitions
                is_first = False
                until_late = rng.randint(*(BETWEEN_LATE if is_often else SELDOM_LATE))
            partitions = rng.sample(range(self.partitions), count_of_sends)
            sizes = [rng.randint(1, self.records_per_send_max) for _ in partitions]
            sends = (
                Send(self.topic, partition, tuple(islice(values, size)))
                for partition, size in zip(partitions, sizes, strict=True)
            )
            refused = (
                Send(self.topic, partition, (next(values),), timestamps=REFUSED_MS)
                for partition in partitions[: end is End.DESPITE]
            )
            yield from transaction(chain(sends, refused), end, idle_s)
            until_open -= process == OPENS
            if until_open == 0:
                until_open = rng.randint(*BETWEEN_OPEN)
                yield LeaveOpen(
                    self.topic,
                    partitions[0],
                    (next(values),),
                    transactional_id=f"{self.name}-open-{process}-{next(numbers)}",
                    timeout_ms=TIMEOUT_MS,
                )

    def _end(self, rng: Random) -> tuple[End, float]:
        chance, waits = rng.random(), rng.random() < OUTLIVED_SHARE
        if chance < self.crash_share:
            return End.CRASH, PAST_TIMEOUT_S if waits else 0.0
        if chance > 1 - self.despite_share:
            return End.DESPITE, 0.0
        return End.ABORT if chance < self.crash_share + self.abort_share else End.COMMIT, 0.0
