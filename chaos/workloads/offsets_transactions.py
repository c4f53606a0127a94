"""Offsets in transactions: group offsets that are committed, aborted, fenced, or left undecided."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from random import Random

from chaos.values.operations import (
    CommitAsFormer,
    FetchPositions,
    Idle,
    RawSend,
    SendOffsets,
    Supersede,
)
from chaos.values.protocols import (
    Abort,
    Begin,
    ClientSettings,
    Commit,
    Completion,
    Operation,
    Outcome,
)
from chaos.workloads.offsets import Offsets
from chaos.workloads.sending import send_for_ever
from chaos.workloads.values import values_of

TIMEOUT_MS, SWEEP_MS = 2_000, 500
PAST_TIMEOUT_S = (TIMEOUT_MS + 2 * SWEEP_MS) / 1000
ABORT_SHARE, FENCED_SHARE, LATE_SHARE = 0.25, 0.1, 0.03
HELD_SHARE, HELD_MAX_S = 0.2, 0.4
RECORD_SHARE = 0.6
"""The share of transactions that contain a record besides the offsets: both must be committed, or
both aborted."""
TWO_GROUPS_SHARE = 0.3
"""The share of transactions with offsets of a second group: both groups' offsets must be committed,
or both aborted."""
AGAIN_SHARE = 0.3
"""The share of transactions that send a smaller offset of the same partition afterwards: the last
one counts."""


class OffsetsInTransactions(Offsets):
    """Commit group offsets in transactions: committed offsets must take effect, aborted or fenced
    ones never.

    Some transactions are kept open while other processes fetch offsets (OffsetFetch,
    require_stable): no process may get an undecided offset. Some last longer than their time-out;
    some are fenced and request a commit nevertheless. Spec: KIP-98; KIP-447.
    """

    name = topic = "offsets-transactions"
    config: Mapping[str, str] = {
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(SWEEP_MS)
    }
    judged_by = (*Offsets.judged_by, "ends_honoured")
    groups = ("offsets-transactions-a", "offsets-transactions-b")
    rare_groups = ("offsets-transactions-rare",)

    def settings(self, process: int) -> ClientSettings:
        settings = super().settings(process)
        if process < self.producers or process >= self.processes:
            return settings
        return replace(settings, raw=True, transactional=True, transaction_timeout_ms=TIMEOUT_MS)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first process send, and let the others commit offsets in transactions and fetch
        them."""
        if process < self.producers:
            return send_for_ever(self.topic, self.partitions, process, rng)
        return self._transact_for_ever(process, rng)

    def _transact_for_ever(
        self, process: int, rng: Random
    ) -> Generator[Operation, Completion, None]:
        """Yield fetches of offsets, and transactions that commit some. A process never commits the
        same offset twice, so that a fetched offset identifies its commit."""
        offset, partition, values = process, process % self.partitions, values_of(process)
        while True:
            groups = self.rare_groups if rng.random() < self.rare_share else self.groups
            group, chance = rng.choice(groups), rng.random()
            others = [each for each in self.groups if each != group][:1]
            others = others if rng.random() < TWO_GROUPS_SHARE else []
            held_s = rng.uniform(0.0, HELD_MAX_S) if rng.random() < HELD_SHARE else 0.0
            if rng.random() < self.fetch_share:
                yield FetchPositions(group, self.topic, tuple(range(self.partitions)))
                continue
            offset += 2 * self.processes
            again = (offset - self.processes,) if rng.random() < AGAIN_SHARE else ()
            sent = [(each, offset) for each in (group, *others)]
            sent += [(group, smaller) for smaller in again]
            has_record = rng.random() < RECORD_SHARE
            completion = yield Begin()
            if completion.outcome is Outcome.OK and has_record:
                completion = yield RawSend(self.topic, partition, (next(values),))
            for each, position in sent:
                if completion.outcome is Outcome.OK:
                    completion = yield SendOffsets(each, self.topic, ((partition, position),))
            if completion.outcome is Outcome.OK:
                yield Idle(held_s)
                offset += 2 * self.processes
                positions = [((partition, offset - back * self.processes),) for back in (1, 0)]
                sends = [
                    SendOffsets(group, self.topic, at, as_former=former)
                    for at, former in zip(positions, (False, True), strict=True)
                ]
                yield from _ended(chance, sends)
            elif not completion.broken:
                yield Abort()


def _ended(chance: float, sends: Sequence[SendOffsets]) -> Generator[Operation, Completion, None]:
    """End the transaction in one of four ways: aborted, fenced, after its time-out, or committed.
    chance: a random number from 0 to 1, which chooses the way. sends: the offsets that a successor
    sends in its own transaction, and those that the fenced producer still sends then."""
    if chance < ABORT_SHARE:
        yield Abort()
    elif chance < ABORT_SHARE + FENCED_SHARE:
        if (yield Supersede()).outcome is not Outcome.OK:
            return
        successors, former = sends
        completion = yield Begin()
        if completion.outcome is Outcome.OK:
            completion = yield successors
        if completion.outcome is Outcome.OK:
            completion = yield Commit()
        if not completion.broken:
            yield former
            yield CommitAsFormer()
    else:
        if chance > 1 - LATE_SHARE:
            yield Idle(PAST_TIMEOUT_S)
        completion = yield Commit()
        if completion.outcome is not Outcome.OK and not completion.broken:
            yield Abort()
