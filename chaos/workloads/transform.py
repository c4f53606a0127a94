"""Transform: several workers of one group consume, transform and produce exactly once."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from random import Random
from typing import cast

from chaos.values.operations import AddOffsets, CommitInTransaction, Membership
from chaos.values.protocols import (
    Abort,
    Begin,
    ClientSettings,
    Commit,
    Completion,
    Crash,
    GroupProtocol,
    GroupSettings,
    Isolation,
    Leave,
    Operation,
    Outcome,
    Poll,
    Send,
    Subscribe,
    TopicSpec,
)
from chaos.workloads.lives import Life, first_crashes
from chaos.workloads.reading import final_reads
from chaos.workloads.sending import send_for_ever
from chaos.workloads.values import values_of

TRANSACTIONS_PER_LIFE = 60
"""The number of transactions in one membership, unless it ends before by time (`Life`)."""
WORKER_LIFE_S = 4.0, 12.0
"""The shortest and the longest life of a worker. A crash in a rebalance holds up all workers, and
three of them have little time to work if they live no longer than other members."""
ADDED_SHARE = 0.7
"""The share of aborted transactions that contain offsets."""


class _Memory:
    """Remembers a worker's last commits: of its current membership and of the previous one."""

    def __init__(self, transactional_id: str) -> None:
        self._transactional_id = transactional_id
        self._last: CommitInTransaction | None = None
        self.zombie: CommitInTransaction | None = None
        """The last commit of the previous membership, to be repeated by a zombie. It has the offset
        that is committed already, so that accepting it does no harm if the coordinator cannot know
        better."""

    def noting(
        self, steps: Generator[Operation, Completion, Completion]
    ) -> Generator[Operation, Completion, Completion]:
        """Yield the operations of `steps`, and return its result. Remember the offsets of an
        acknowledged commit, and forget the earlier ones at every commit."""
        operation = next(steps)
        while True:
            completion = yield operation
            if isinstance(operation, Commit):
                self._note(completion)
            try:
                operation = steps.send(completion)
            except StopIteration as ended:
                return cast("Completion", ended.value)

    def _note(self, completion: Completion) -> None:
        """Remember the offsets that were committed, in place of earlier ones. Remember none after
        an outcome other than OK, since repeating an older commit would rightly set the group
        back."""
        self._last = None
        for row in completion.more_rows if completion.outcome is Outcome.OK else ():
            if row.get("member_id") and row.get("generation") is not None:
                member = Membership(row["member_id"], row["generation"])
                self._last = CommitInTransaction(
                    row["group"],
                    row["topic"],
                    row["partition"],
                    row["offset"],
                    member,
                    self._transactional_id,
                )

    def die(self) -> None:
        """Note that the membership ends: its last commit becomes the one that a zombie may
        repeat."""
        self.zombie, self._last = self._last or self.zombie, None


class Transform:
    """Let workers of one group read inputs, write outputs, and commit both in one transaction
    (KIP-447).

    One transaction in ten is aborted and its inputs are read again. Workers leave, or crash in the
    middle of a transaction, and return under their transactional id, which fences the zombie.
    Aborted transactions contain offsets, too. Now and then a worker commits once more under its
    previous membership, in a transaction with another id: the coordinator must refuse the old
    generation (TxnOffsetCommit, KIP-447), or inputs would be processed twice.
    """

    name = "transform"
    config: Mapping[str, str] = {}
    judged_by: tuple[str, ...] = (
        "lost_writes",
        "duplicates",
        "inconsistent_offsets",
        "phantom_records",
        "append_order",
        "poll_order",
        "poll_skips",
        "aborted_reads",
        "group_delivery",
        "exactly_once",
    )
    inputs, outputs = "transform-inputs", "transform-outputs"
    partitions = 4
    producers = 2
    workers = 3
    processes = producers + workers
    nodes_min = 1
    abort_share = 0.1
    crash_share = 0.4
    zombie_share = 0.15

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.inputs, self.partitions), TopicSpec(self.outputs, self.partitions))

    def settings(self, process: int) -> ClientSettings:
        if process < self.producers:
            return ClientSettings(acks=-1, idempotent=True)
        group = GroupSettings("transformers", GroupProtocol.CLASSIC, "range", auto_commit=False)
        return ClientSettings(transactional=True, isolation=Isolation.READ_COMMITTED, group=group)

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first processes send inputs and the others be workers."""
        if process < self.producers:
            return send_for_ever(self.inputs, self.partitions, process, rng)
        return self._work_for_ever(process, rng)

    def _work_for_ever(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        values = values_of(process)
        memory = _Memory(f"{self.name}-zombie-{process}")
        crashes = first_crashes(process)
        while True:
            left = rng.randint(TRANSACTIONS_PER_LIFE // 2, TRANSACTIONS_PER_LIFE * 3 // 2)
            life, next_crashes = Life(rng, crashes, WORKER_LIFE_S), rng.random() < self.crash_share
            completion = yield Subscribe((self.inputs,))
            life.begin(completion)
            while left > 0 and not completion.broken:
                left = 0 if life.is_over(completion.now_s) else left - 1
                transform = self._transform(values, rng, life, is_last=left == 0)
                completion = yield from memory.noting(transform)
                if rng.random() < self.zombie_share and memory.zombie is not None:
                    yield memory.zombie
            memory.die()
            if not completion.broken:
                if not crashes:
                    yield Leave()
                crashes = next_crashes

    def _transform(
        self, values: Iterator[int], rng: Random, life: Life, is_last: bool
    ) -> Generator[Operation, Completion, Completion]:
        """Perform one transaction: poll, send one output per input, end it. Return the completion
        of its end, or of the operation after which it could not go on (a failed Begin, or a broken
        client). is_last: whether the membership ends with it. If by a crash, abandon the client
        before the end; the next one, under the same transactional id, ends the transaction when it
        begins."""
        # Drawn before anything happens, so that a failure does not shift later choices.
        aborts, partition = rng.random() < self.abort_share, rng.randrange(self.partitions)
        adds_offsets = rng.random() < ADDED_SHARE
        completion = yield Begin()
        if completion.outcome is not Outcome.OK:
            return completion
        completion = yield Poll()
        life.note(completion)
        has_read = completion.outcome is Outcome.OK and len(completion.records) > 0
        if has_read:
            outputs = tuple(islice(values, len(completion.records)))
            completion = yield Send(self.outputs, partition, outputs)
        if is_last and life.crashes and not completion.broken:
            return (yield Crash())
        if has_read and completion.outcome is Outcome.OK and not aborts:
            completion = yield Commit()
            if completion.outcome is Outcome.OK:
                return completion
        if has_read and completion.outcome is Outcome.OK and aborts and adds_offsets:
            completion = yield AddOffsets()
        if completion.broken:
            return completion
        return (yield Abort())

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        return final_reads(self.topics(), Isolation.READ_COMMITTED)
