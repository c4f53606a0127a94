"""The group coordinator: every group of the cluster, since one node coordinates them all.

Source: GroupCoordinatorService.java, GroupMetadataManager.java, OffsetMetadataManager.java. What
must survive a restart is in `__consumer_offsets` before it is answered (group_log.py).

Not modelled: offset expiry (KIP-211), consumer groups of KIP-848, share and streams groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from reference_impl.core.controller.topic_changes import create_topic
from reference_impl.core.effects import Effect, Report
from reference_impl.core.events import TimerKey
from reference_impl.core.groups import group_log, rebalance, timers
from reference_impl.core.groups.classic_group import ClassicGroup
from reference_impl.core.groups.group_log import KeyValue
from reference_impl.core.groups.offsets import CommittedOffset, Offsets, TopicPartition
from reference_impl.core.groups.pending_offsets import Commit, PendingOffsets
from reference_impl.core.groups.states import Move, State
from reference_impl.core.refused import Refused
from reference_impl.wire import (
    ControlRecordType,
    ErrorCode,
    RecordBatch,
    Struct,
    control_type,
    decode_record,
)

if TYPE_CHECKING:
    from reference_impl.core.broker import Broker

TIMER = timers.TIMER


class GroupCoordinator:
    """Groups by id, and their committed offsets."""

    def __init__(self, broker: Broker) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = Offsets()
        self.pending_offsets = PendingOffsets()
        self.log = group_log.GroupLog(broker)
        self.initial_delay_ms = broker.config.number("group.initial.rebalance.delay.ms")
        self.group_size_max = broker.config.number("group.max.size")
        self._broker = broker
        for log_index, batch in self.log.replay():
            self._apply_batch(log_index, batch)

    @property
    def now_ms(self) -> int:
        """The wall clock of the current event."""
        return self._broker.now_ms

    def random_uuid(self) -> UUID:
        """For member ids."""
        return self._broker.random_uuid()

    # --- from the log -------------------------------------------------------------------------

    def _apply_batch(self, log_index: int, batch: RecordBatch) -> None:
        """Take one batch of the log into account."""
        if batch.is_control:
            kinds = [control_type(record) for record in batch.records]
            if kinds and kinds[0] in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
                self.transaction_ended(
                    log_index, batch.producer_id, kinds[0] is ControlRecordType.COMMIT
                )
            return
        for log_offset, record in batch.offsets():
            if record.key is None:
                continue
            key, value = decode_record(record.key, record.value)
            if batch.is_transactional and value is not None:
                committed = group_log.committed_from(value, log_offset)
                commit = (key.group, (key.topic, key.partition), committed)
                self._note_pending(log_index, batch.producer_id, [commit])
            else:
                self._apply(key, value, log_offset)

    def _apply(self, key: Struct, value: Struct | None, log_offset: int) -> None:
        """Take one record of the log into account."""
        kind = type(key).__name__
        if kind == "OffsetCommitKey":
            where = (key.topic, key.partition)
            if value is None:
                self._forget_offset(key.group, where)
            else:
                self.offsets.put(key.group, where, group_log.committed_from(value, log_offset))
                self.groups.setdefault(key.group, ClassicGroup(key.group))
        elif kind == "GroupMetadataKey":
            if value is None:
                self.groups.pop(key.group, None)
            else:
                self.groups[key.group] = group_log.group_from(key.group, value)

    def start(self) -> Iterator[Effect]:
        """Members from before a restart have their session timeout to show that they live."""
        for group in self.groups.values():
            for member in group.members.values():
                yield from timers.expect_heartbeat(group, member)

    # --- to the log ---------------------------------------------------------------------------

    def save_group(self, group: ClassicGroup) -> None:
        """Write the group as it is; raises Refused."""
        self.log.append(group.group_id, [group_log.group_record(group)])

    def try_to_save(self, group: ClassicGroup) -> Iterator[Effect]:
        """Write the group where nobody waits for an answer: a failure is reported, no more."""
        try:
            self.save_group(group)
        except Refused as refused:
            yield Report(f"group {group.group_id} could not be saved: {refused}")

    def commit(
        self, group_id: str, commits: Sequence[tuple[TopicPartition, CommittedOffset]]
    ) -> None:
        """Write offsets, then know them; raises Refused."""
        first = self._write_commits(group_id, commits)
        for log_offset, (key, row) in enumerate(commits, first):
            self.offsets.put(group_id, key, replace(row, log_offset=log_offset))
        if commits:
            self.groups.setdefault(group_id, ClassicGroup(group_id))

    def commit_in_transaction(
        self,
        group_id: str,
        commits: Sequence[tuple[TopicPartition, CommittedOffset]],
        producer_id: int,
        producer_epoch: int,
    ) -> None:
        """Write offsets that count once their transaction is committed; raises Refused."""
        partition = self.log.partition_of(group_id)
        self._broker.rules.check_offset_writer(partition, producer_id, producer_epoch)
        first = self._write_commits(group_id, commits, (producer_id, producer_epoch))
        self._note_pending(
            partition.index,
            producer_id,
            [
                (group_id, key, replace(row, log_offset=log_offset))
                for log_offset, (key, row) in enumerate(commits, first)
            ],
        )

    def _write_commits(
        self,
        group_id: str,
        commits: Sequence[tuple[TopicPartition, CommittedOffset]],
        writer: tuple[int, int] | None = None,
    ) -> int:
        records = [group_log.offset_record(group_id, key, row) for key, row in commits]
        return self.log.append(group_id, records, writer)

    def _note_pending(self, log_index: int, producer_id: int, commits: list[Commit]) -> None:
        for commit in commits:
            self.pending_offsets.put(log_index, producer_id, commit)
            self.groups.setdefault(commit[0], ClassicGroup(commit[0]))

    def transaction_ended(self, log_index: int, producer_id: int, committed: bool) -> None:
        """A marker is in a partition of the log: what was pending there counts now, or never."""
        for group_id, key, offset in self.pending_offsets.end(log_index, producer_id):
            known = self.offsets.of(group_id).get(key)
            if committed and (known is None or known.log_offset < offset.log_offset):
                self.offsets.put(group_id, key, offset)

    def _forget_offset(self, group_id: str, key: TopicPartition) -> None:
        self.offsets.remove(group_id, key)
        self.pending_offsets.remove(group_id, key)

    def delete_offsets(self, group_id: str, keys: Sequence[TopicPartition]) -> None:
        """Write that these commits are no more, then forget them; raises Refused."""
        held = {*self.offsets.of(group_id), *self.pending_offsets.of(group_id)}
        known = [key for key in keys if key in held]
        self.log.append(group_id, [group_log.offset_record(group_id, key, None) for key in known])
        for key in known:
            self._forget_offset(group_id, key)

    def delete_group(self, group: ClassicGroup) -> None:
        """End a group with everything that it committed; raises Refused."""
        keys = list(self.offsets.of(group.group_id))
        keys += [key for key in self.pending_offsets.of(group.group_id) if key not in keys]
        records: list[KeyValue] = [
            group_log.offset_record(group.group_id, key, None) for key in keys
        ]
        self.log.append(group.group_id, [*records, group_log.group_tombstone(group.group_id)])
        for key in keys:
            self._forget_offset(group.group_id, key)
        group.move(Move.GROUP_DELETED)
        del self.groups[group.group_id]

    def forget_topic(self, name: str) -> None:
        """A topic is gone, and what was committed for it."""
        by_group: dict[str, list[TopicPartition]] = {}
        for group_id, key in self.offsets.groups_with(name):
            by_group.setdefault(group_id, []).append(key)
        for group_id, keys in by_group.items():
            try:
                self.delete_offsets(group_id, keys)
            except Refused:
                # The log of the group cannot be written now; a commit for a topic id that no
                # longer exists is not answered to anybody (see handlers/offset_fetch.py).
                continue

    # --- groups -------------------------------------------------------------------------------

    def ensure_topic(self) -> None:
        """Make `__consumer_offsets`, if it is not there; raises Refused."""
        if group_log.TOPIC in self._broker.image.topics:
            return
        config = self._broker.config
        create_topic(
            self._broker,
            group_log.TOPIC,
            config.number("offsets.topic.num.partitions"),
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": config.text("offsets.topic.segment.bytes"),
            },
        )

    def group(self, group_id: str) -> ClassicGroup | None:
        """A group that exists; raises Refused if this broker does not coordinate it."""
        self.log.partition_of(group_id)
        return self.groups.get(group_id)

    def known_group(self, group_id: str) -> ClassicGroup:
        """A group that a member speaks of; raises Refused if there is none."""
        if not group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        group = self.group(group_id)
        if group is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    def group_to_join(self, group_id: str, member_id: str) -> ClassicGroup:
        """The group, which a new member may create; raises Refused."""
        group = self.group(group_id)
        if group is None:
            if member_id:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
            group = self.groups[group_id] = ClassicGroup(group_id)
        return group

    def group_to_commit(self, group_id: str, generation: int, version: int) -> ClassicGroup:
        """The group, which a commit without a generation may create; raises Refused."""
        group = self.group(group_id)
        if group is None:
            if generation >= 0:
                # [Modified in v9: KIP-848]
                raise Refused(
                    ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
                )
            group = ClassicGroup(group_id)  # exists once something is committed
        return group

    def forget_if_unused(self, group_id: str) -> None:
        """A group that was made for a member who was then turned away."""
        group = self.groups.get(group_id)
        if group is None or group.generation > 0 or self.offsets.of(group_id):
            return
        if not group.members and not group.pending_members:
            del self.groups[group_id]

    # --- time ---------------------------------------------------------------------------------

    def timer_fired(self, key: TimerKey) -> Iterator[Effect]:
        """Somebody was waited for in vain, or a delay is over."""
        _, what, group_id, *rest = key
        group = self.groups.get(str(group_id))
        if group is None or group.state is State.DEAD:
            return
        match what:
            case timers.SESSION:
                yield from rebalance.session_timed_out(self, group, str(rest[0]))
            case timers.PENDING_MEMBER:
                group.pending_members.discard(str(rest[0]))
                if group.state is State.PREPARING_REBALANCE and not group.is_initial_rebalance:
                    yield from rebalance.complete_or_wait(self, group)
            case timers.JOIN:
                yield from rebalance.complete_join(self, group)
            case timers.INITIAL_JOIN:
                yield from rebalance.initial_delay_is_over(self, group, int(rest[0]), int(rest[1]))
            case timers.SYNC:
                yield from rebalance.syncs_timed_out(self, group)
