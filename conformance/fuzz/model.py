"""A model of one partition and two groups: operations of producers, transactions and group members,
and the results that a broker must give.

`Play` sends each operation, predicts its result from a model of a few fields, and raises Deviation
where the target differs. Its public methods are the operations: their arguments are small integers
that choose among what exists, so that every sequence can be played, also after one operation was
left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.case import expect, expect_that
from conformance.clients.members import NOT_YET, Member, group_connection
from conformance.clients.transactions import READ_COMMITTED, Producer, committed_values
from conformance.wire import Connection, Wire, batch, eventually, part
from reference_impl.wire import ErrorCode, RecordBatch, Struct

KEPT_BATCHES = 5
"""The number of a producer's batches that a partition recognises (KIP-98, ProducerStateEntry)."""
FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})


@dataclass
class Idempotent:
    """An idempotent producer: its next sequence number, and what it sent as (first sequence, base
    offset, number of records)."""

    producer_id: int
    next: int = 0
    sent: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass
class Transactional:
    """A transactional producer, and the model of its transaction."""

    producer: Producer
    state: str = "Empty"
    first_offset: int = -1
    values: list[int] = field(default_factory=list)
    """The offsets of the open transaction's records."""
    stale_epoch: int = -1


@dataclass
class Group:
    """A group of at most one member, and the offset that it has committed. is_synced: whether the
    member has sent the assignment of its generation."""

    name: str
    connection: Connection
    member: Member | None = None
    is_synced: bool = False
    generation: int = 0
    committed: int = -1


class Play:
    """One sequence of operations on a partition of a topic that it creates, compared with the model
    step by step."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.topic = wire.create_topic()
        self.log: list[bytes | None] = []
        """The value at each offset; None stands for a marker."""
        self.aborted: set[int] = set()
        """The offsets of aborted records."""
        self._idempotent: dict[int, Idempotent] = {}
        self._transactional: dict[int, Transactional] = {}
        self._groups: dict[int, Group] = {}
        self._values = 0

    # --- what is checked after each operation -----------------------------------------------------

    def check(self) -> None:
        """Raise Deviation unless the partition is as the model says: every value, the committed
        ones, the high watermark and the last stable offset."""
        row = self.wire.fetch(self.topic, 0, isolation_level=READ_COMMITTED)
        expect(row.high_watermark, len(self.log), "high watermark")
        expect(row.last_stable_offset, self._stable(), "last stable offset")
        plain = [value for value in self.log if value is not None]
        expect(self.wire.values(self.topic), plain, "values of the partition")
        committed = [
            value
            for offset, value in enumerate(self.log[: self._stable()])
            if value is not None and offset not in self.aborted
        ]
        expect(committed_values(self.wire, self.topic), committed, "committed values")

    def _stable(self) -> int:
        """Return the last stable offset: where the oldest open transaction begins."""
        begun = [t.first_offset for t in self._transactional.values() if t.values]
        return min(begun, default=len(self.log))

    # --- plain and idempotent produce -------------------------------------------------------------

    def append(self, records: int) -> None:
        """Produce one batch without a producer id: it is appended."""
        values = self._new_values(records)
        self._appended(self.wire.produce(self.topic, batch(*values).encode()), values)

    def send(self, number: int, records: int) -> None:
        """Produce the next batch of an idempotent producer: it is appended."""
        producer, values = self._producer(number), self._new_values(records)
        row = self._produce(producer, producer.next, values)
        producer.sent.append((producer.next, len(self.log), len(values)))
        producer.next += len(values)
        self._appended(row, values)

    def send_again(self, number: int, back: int) -> None:
        """Produce one of the last five batches again: it gets its first offset, and nothing is
        appended."""
        producer = self._producer(number)
        if not producer.sent:
            self.send(number, 1)
        recent = producer.sent[-KEPT_BATCHES:]
        sequence, offset, size = recent[-1 - back % len(recent)]
        row = self._produce(producer, sequence, [b"again"] * size)
        expect(row.error_code, ErrorCode.NONE, "error of a retried batch")
        expect(row.base_offset, offset, "base offset of a retried batch")

    def send_forgotten(self, number: int) -> None:
        """Produce a batch older than the last five again, which must be refused; first send as many
        batches as are missing for that."""
        producer = self._producer(number)
        while len(producer.sent) <= KEPT_BATCHES:
            self.send(number, 1)
        sequence, _, size = producer.sent[0]
        row = self._produce(producer, sequence, [b"again"] * size)
        refused = {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
        expect(row.error_code, refused, "error of a retry of a batch older than the last five")

    def send_gap(self, number: int, gap: int) -> None:
        """Produce a batch that leaves out sequence numbers: it is refused."""
        producer = self._producer(number)
        if not producer.sent:
            self.send(number, 1)
        row = self._produce(producer, producer.next + gap, [b"gap"])
        code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        expect(row.error_code, code, "error of a batch after a gap in the sequence")

    def _producer(self, number: int) -> Idempotent:
        if number not in self._idempotent:
            answer = eventually(
                lambda: self.wire.call(
                    "InitProducerId", transactional_id=None, transaction_timeout_ms=60_000
                ),
                lambda a: a.error_code not in NOT_YET,
                "InitProducerId is served",
            )
            expect(answer.error_code, ErrorCode.NONE, "InitProducerId error")
            self._idempotent[number] = Idempotent(answer.producer_id)
        return self._idempotent[number]

    def _produce(self, producer: Idempotent, sequence: int, values: list[bytes]) -> Struct:
        records: RecordBatch = batch(
            *values, producer_id=producer.producer_id, producer_epoch=0, base_sequence=sequence
        )
        return self.wire.produce(self.topic, records.encode())

    def _appended(self, row: Struct, values: list[bytes]) -> None:
        expect(row.error_code, ErrorCode.NONE, "Produce error")
        expect(row.base_offset, len(self.log), "base offset")
        self.log += values

    def _new_values(self, records: int) -> list[bytes]:
        self._values += records
        return [b"%d" % n for n in range(self._values - records, self._values)]

    # --- transactions -----------------------------------------------------------------------------

    def init(self, number: int) -> None:
        """Send InitProducerId with a transactional id: the epoch rises, and an open transaction is
        aborted."""
        if number not in self._transactional:
            self._transactional[number] = Transactional(Producer.ready(self.wire))
            return
        found = self._transactional[number]
        before = found.producer.producer_id, found.producer.epoch
        found.producer.init()
        after = found.producer.producer_id, found.producer.epoch
        expect_that(
            after[0] != before[0] or after[1] > before[1],
            "producer id and epoch of a second InitProducerId",
            f"an epoch above {before[1]}",
            after,
        )
        found.stale_epoch = before[1] if after[0] == before[0] else -1
        if found.state == "Ongoing":
            self._end(found, commit=False)
        found.state = "Empty"

    def transact(self, number: int, records: int) -> None:
        """Produce one batch in the open transaction. Begin one if there is none; leave it open."""
        found = self._of_transaction(number)
        if found.state != "Ongoing":
            found.producer.add(self.topic)
            found.state, found.first_offset = "Ongoing", -1
        values = self._new_values(records)
        found.producer.send(self.topic, *values)
        if not found.values:
            found.first_offset = len(self.log)
        found.values += range(len(self.log), len(self.log) + records)
        self.log += values

    def end(self, number: int, commit: int) -> None:
        """Send EndTxn. Only an ongoing transaction, or the same end again, is accepted."""
        found, wanted = self._of_transaction(number), bool(commit % 2)
        error = found.producer.try_to_end(wanted).error_code
        again = found.state == ("CompleteCommit" if wanted else "CompleteAbort")
        legal = found.state == "Ongoing" or again
        code = ErrorCode.NONE if legal else ErrorCode.INVALID_TXN_STATE
        expect(error, code, f"error of EndTxn in state {found.state}")
        if found.state == "Ongoing":
            self._end(found, wanted)
            found.state = "CompleteCommit" if wanted else "CompleteAbort"

    def end_stale(self, number: int) -> None:
        """Send EndTxn with the epoch from before the last InitProducerId: it is fenced."""
        found = self._of_transaction(number)
        if found.stale_epoch < 0:
            self.init(number)
        answer = found.producer.try_to_end(True, producer_epoch=found.stale_epoch)
        expect(answer.error_code, FENCED, "error of EndTxn with an old epoch")

    def transact_stale(self, number: int) -> None:
        """Add a partition with the epoch from before the last InitProducerId: it is fenced."""
        found = self._of_transaction(number)
        if found.stale_epoch < 0:
            self.init(number)
        errors = found.producer.try_to_add(self.topic, 0, producer_epoch=found.stale_epoch)
        expect(errors[0], FENCED, "error of AddPartitionsToTxn with an old epoch")

    def _of_transaction(self, number: int) -> Transactional:
        if number not in self._transactional:
            self.init(number)
        return self._transactional[number]

    def _end(self, found: Transactional, commit: bool) -> None:
        """Update the model for a decided transaction: append its marker, once the target has
        written it, and count its records as aborted if it was not committed. Raise Deviation if the
        target does not write the marker in time."""
        if not commit:
            self.aborted.update(found.values)
        found.values.clear()
        self.log.append(None)
        eventually(
            lambda: self.wire.end_offset(self.topic),
            lambda end: end >= len(self.log),
            "the marker is written",
        )

    # --- groups -----------------------------------------------------------------------------------

    def join(self, number: int) -> None:
        """Let the member of a group join: a new member if there is none. The generation must rise,
        unless the member joins again before it has sent the assignment."""
        group = self._group(number)
        rises = group.is_synced or group.member is None
        if group.member is None:
            group.member = Member.of(self.wire, group.name)
        group.member.join()
        expect_that(
            group.member.generation - group.generation >= 1
            if rises
            else group.member.generation == group.generation,
            "generation after JoinGroup",
            f"{'above ' if rises else ''}{group.generation}",
            group.member.generation,
        )
        group.generation, group.is_synced = group.member.generation, False

    def sync(self, number: int) -> None:
        """Let the member, as leader, send SyncGroup with its own assignment, which it gets back."""
        group, member = self._with_member(number)
        mine = member.sync({member.member_id: b"mine"})
        expect(mine, b"mine", "assignment of the only member")
        group.is_synced = True

    def heartbeat(self, number: int, behind: int) -> None:
        """Send a heartbeat of this generation, accepted if the assignment is known, or of an older
        one, which is refused."""
        group, member = self._with_member(number)
        error = member.heartbeat(generation_id=group.generation - behind)
        if behind:
            expect(error, ErrorCode.ILLEGAL_GENERATION, "error of a Heartbeat of an old generation")
        elif group.is_synced:
            expect(error, ErrorCode.NONE, "Heartbeat error")

    def heartbeat_of_stranger(self, number: int) -> None:
        """Send a heartbeat of a member that does not exist: it is refused."""
        _, member = self._with_member(number)
        error = member.heartbeat(member_id="nobody")
        expect(error, ErrorCode.UNKNOWN_MEMBER_ID, "error of a Heartbeat of an unknown member")

    def commit(self, number: int, offset: int, behind: int) -> None:
        """Commit an offset as the member of this group, `behind` generations late, or without a
        member id if it has no member. Fail unless the target answers as the model: a late commit is
        refused, and one before the assignment is known. Then check the committed offset."""
        group = self._group(number)
        member_id = group.member.member_id if group.member else ""
        generation = group.generation - behind if group.member else -1
        error = self._commit(group, offset, member_id, generation)
        if group.member is None:
            wanted = ErrorCode.NONE
        elif behind:
            wanted = ErrorCode.ILLEGAL_GENERATION
        elif not group.is_synced:
            wanted = ErrorCode.REBALANCE_IN_PROGRESS
        else:
            wanted = ErrorCode.NONE
        expect(error, wanted, "OffsetCommit error")
        if wanted is ErrorCode.NONE:
            group.committed = offset
        self._check_committed(group)

    def commit_of_stranger(self, number: int) -> None:
        """Commit an offset without a member id to a group that has a member: it is refused."""
        group, _ = self._with_member(number)
        error = self._commit(group, 1_000, "", -1)
        expect(error, ErrorCode.UNKNOWN_MEMBER_ID, "error of a commit without a member id")
        self._check_committed(group)

    def leave(self, number: int) -> None:
        """Let the member leave: its group is empty, and keeps its offset."""
        group, member = self._with_member(number)
        expect(member.leave().error_code, ErrorCode.NONE, "LeaveGroup error")
        member.wait_for_state("Empty")
        group.member, group.is_synced = None, False
        self._check_committed(group)

    def _with_member(self, number: int) -> tuple[Group, Member]:
        group = self._group(number)
        if group.member is None:
            self.join(number)
        assert group.member is not None
        return group, group.member

    def _group(self, number: int) -> Group:
        if number not in self._groups:
            name = self.wire.new_name("group")
            self._groups[number] = Group(name, group_connection(self.wire, name))
        return self._groups[number]

    def _commit(self, group: Group, offset: int, member_id: str, generation: int) -> int:
        partition = part(
            "OffsetCommit",
            "OffsetCommitRequestPartition",
            partition_index=0,
            committed_offset=offset,
        )
        topic = part(
            "OffsetCommit", "OffsetCommitRequestTopic", name=self.topic.name, partitions=[partition]
        )
        version = self.wire.version("OffsetCommit", 0, 9)  # later ones do not name the topic
        answer = group.connection.call(
            "OffsetCommit",
            version,
            group_id=group.name,
            member_id=member_id,
            generation_id_or_member_epoch=generation,
            topics=[topic],
        )
        return int(answer.topics[0].partitions[0].error_code)

    def _check_committed(self, group: Group) -> None:
        topic = part(
            "OffsetFetch", "OffsetFetchRequestTopic", name=self.topic.name, partition_indexes=[0]
        )
        version = self.wire.version("OffsetFetch", 1, 7)
        answer = group.connection.call(
            "OffsetFetch", version, group_id=group.name, topics=[topic], require_stable=False
        )
        row = answer.topics[0].partitions[0]
        expect(row.error_code, ErrorCode.NONE, "OffsetFetch error")
        expect(row.committed_offset, group.committed, "committed offset")


def play(wire: Wire, steps: str) -> None:
    """Play a sequence written as "send 0 2; send_again 0 1"; raise Deviation where the target
    differs from the model, ValueError for an unknown operation."""
    game = Play(wire)
    for step in [words.split() for words in steps.split(";") if words.strip()]:
        perform(game, step[0], *map(int, step[1:]))


def perform(game: Play, operation: str, *arguments: int) -> None:
    """Play one operation, then compare the partition with the model. Raise Deviation where they
    differ, and ValueError for an unknown operation."""
    method = getattr(game, operation, None) if not operation.startswith("_") else None
    if method is None:
        raise ValueError(f"there is no operation {operation!r}")
    method(*arguments)
    game.check()
