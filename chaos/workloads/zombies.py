"""Zombies: producers that continue to work although a successor has fenced them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

from chaos.values.operations import (
    CommitAsFormer,
    Idle,
    JoinAsStranger,
    RawSend,
    RejoinAsFormer,
    SendOldMarker,
    Supersede,
)
from chaos.values.protocols import (
    Abort,
    Begin,
    ClientSettings,
    Commit,
    Completion,
    Outcome,
    TopicSpec,
)
from chaos.workloads.transacting import ByTransactions, Steps
from chaos.workloads.values import values_of

TIMEOUT_MS, SWEEP_MS = 2_000, 500
PAST_TIMEOUT_S = (TIMEOUT_MS + 2 * SWEEP_MS) / 1000
FENCED_SHARE, ABORT_SHARE, LATE_SHARE = 0.15, 0.15, 0.02
REPEATED_SHARE = 0.3
UNJOINED_SHARE = 0.1
"""The share of transactions in which a batch is sent to a partition that was not added to the
transaction."""
STRANGER_SHARE = 0.02
"""The share of transactions after which a request names the producer id of another
transactional id."""
JOINS_SHARE = 0.5
"""The share of a fenced producer's sends that first send AddPartitionsToTxn, which the coordinator
must refuse; with the others, the leader must refuse the batch."""
BACK_MAX = 4
"""The greatest number of batches between a resent batch and the newest one: the leader knows the
last five batches of a producer, this one and four before it."""


class Zombies(ByTransactions):
    """Run transactions of raw producers that continue to write and commit after a successor has
    fenced them.

    A client library would stop by itself; here the broker must refuse the fenced producer's writes
    to partitions of its old transaction and to others, its commit, and any batch for a partition
    that was not added to a transaction. Some producers request a commit after the coordinator has
    aborted the transaction at its time-out. Acknowledged batches are sent again and must not be
    stored twice. A marker with the fenced epoch arrives late and must be refused. So must an
    InitProducerId from the fenced producer, and one that names another producer's id. Spec: KIP-98,
    "Transactional Guarantees"; KIP-360; KIP-890.
    """

    name = topic = "zombies"
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
        "fencing",
    )
    partitions = 4
    producers = 4
    pollers = 2
    processes = producers + pollers
    nodes_min = 1
    sends_max = 3
    records_per_send_max = 4

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.topic, self.partitions),)

    def settings(self, process: int) -> ClientSettings:
        settings = super().settings(process)
        is_raw = process < self.producers
        return replace(settings, raw=is_raw, transaction_timeout_ms=TIMEOUT_MS)

    def transact_for_ever(self, process: int, rng: Random) -> Steps:
        values = values_of(process)

        def send(partition: int, as_former: bool = False) -> RawSend:
            batch = tuple(islice(values, rng.randint(1, self.records_per_send_max)))
            again = tuple(rng.randint(0, BACK_MAX) for _ in range(rng.randint(0, 2)))
            repeated = rng.random() < REPEATED_SHARE
            joins = rng.random() < JOINS_SHARE
            if as_former:
                return RawSend(self.topic, partition, batch, as_former=True, joins=joins)
            return RawSend(self.topic, partition, batch, again=again, is_repeated=repeated)

        while True:
            # Drawn before anything happens, so that a failure does not shift later choices.
            chance = rng.random()
            partitions = rng.sample(range(self.partitions), rng.randint(1, self.sends_max))
            strange = rng.randrange(self.partitions)
            sends = [send(partition) for partition in partitions]
            own = send(strange)
            left = [each for each in range(self.partitions) if each not in partitions]
            if left and rng.random() < UNJOINED_SHARE:
                batch = tuple(islice(values, 1))
                sends.append(RawSend(self.topic, rng.choice(left), batch, joins=False))
            late_sends = [send(partition, as_former=True) for partition in (partitions[0], strange)]
            completion = yield Begin()
            for each in sends:
                if completion.outcome is Outcome.OK:
                    completion = yield each
            if not sends[-1].joins and not completion.broken:
                completion = Completion(Outcome.OK)  # the leader must refuse it
            if completion.outcome is Outcome.OK:
                yield from _ended(chance, late_sends, own)
            elif not completion.broken:
                yield Abort()
            if rng.random() < STRANGER_SHARE:
                yield JoinAsStranger(f"{self.name}-stranger-{process}")


def _ended(chance: float, late_sends: Sequence[RawSend], own: RawSend) -> Steps:
    """End the transaction in one of four ways: fenced by a successor and continued, aborted, timed
    out, or committed. chance: a random number from 0 to 1, which chooses the way. late_sends: what
    the fenced producer still sends. own: what its successor may send."""
    completion = Completion(Outcome.OK)
    if chance < FENCED_SHARE:
        if (yield Supersede()).outcome is Outcome.OK:
            for late in late_sends:
                completion = yield late
            if not completion.broken:
                yield from _ended_by_the_former(own, is_open=chance < FENCED_SHARE / 2)
    elif chance < FENCED_SHARE + ABORT_SHARE:
        yield Abort()
    else:
        if chance > 1 - LATE_SHARE:
            yield Idle(PAST_TIMEOUT_S)
        completion = yield Commit()
        if completion.outcome is not Outcome.OK and not completion.broken:
            yield Abort()


def _ended_by_the_former(own: RawSend, is_open: bool) -> Steps:
    """Let the fenced producer request a commit: if is_open, while its successor has a transaction
    open, which the successor ends afterwards, and after an old marker; else after the fenced
    producer's InitProducerId, and before another successor begins."""
    completion = Completion(Outcome.OK)
    if is_open:
        completion = yield Begin()
        if completion.outcome is Outcome.OK:
            completion = yield own
    if completion.broken:
        return
    # If a transaction is open, Kafka aborts it before it checks the epoch.
    yield SendOldMarker(own.topic, own.partition) if is_open else RejoinAsFormer()
    yield CommitAsFormer()
    if not is_open:
        yield Supersede()
    elif completion.outcome is Outcome.OK:
        yield Commit()
    else:
        yield Abort()
