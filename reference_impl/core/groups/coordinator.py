"""The group coordinator: every group of the cluster, since one node coordinates them all.

Source: GroupCoordinatorService.java, GroupMetadataManager.java, OffsetMetadataManager.java. What
must survive a restart is in `__consumer_offsets` before it is answered (group_log.py). Groups are
of two kinds: classic ones, whose members work out the assignment, and consumer groups (consumer/),
for which the broker does it (KIP-848).

Not modelled: share and streams groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from reference_impl.core.configs.group import group_setting
from reference_impl.core.configs.keys import split_list
from reference_impl.core.controller.metadata_image import MetadataImage
from reference_impl.core.controller.topic_changes import create_topic
from reference_impl.core.effects import Effect, Report
from reference_impl.core.events import TimerKey
from reference_impl.core.groups import expiry, group_log
from reference_impl.core.groups.classic import rebalance, timers
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import Move, State
from reference_impl.core.groups.consumer import leaving, records
from reference_impl.core.groups.consumer import timers as consumer_timers
from reference_impl.core.groups.consumer.draft import Draft
from reference_impl.core.groups.consumer.group import ConsumerGroup
from reference_impl.core.groups.consumer.states import MemberState
from reference_impl.core.groups.group_log import KeyValue
from reference_impl.core.groups.offsets import CommittedOffset, Offsets, TopicPartition
from reference_impl.core.groups.pending_offsets import Commit, PendingOffsets
from reference_impl.core.log.replaying import replaying
from reference_impl.core.refused import Refused
from reference_impl.wire import (
    ControlRecordType,
    ErrorCode,
    Record,
    RecordBatch,
    Struct,
    control_type,
    decode_record,
)

if TYPE_CHECKING:
    from reference_impl.core.broker import Broker

TIMER = timers.TIMER
Group = ClassicGroup | ConsumerGroup
Committed = tuple[TopicPartition, CommittedOffset]


class GroupCoordinator:
    """Groups by id, and their committed offsets."""

    def __init__(self, broker: Broker) -> None:
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.pending_offsets = PendingOffsets()
        self.log = group_log.GroupLog(broker)
        self.initial_delay_ms = broker.config.number("group.initial.rebalance.delay.ms")
        self.group_size_max = broker.config.number("group.max.size")
        self.newest_topic_version = broker.metadata.end_offset
        """When a topic was created last, as far as this process knows."""
        self.broker = broker
        for log_index, batch in self.log.replay():
            directory = f"{broker.logs.path}/{group_log.TOPIC}-{log_index}"
            with replaying(directory, batch.base_offset):
                self._apply_batch(log_index, batch)

    @property
    def now_ms(self) -> int:
        """The wall clock of the current event."""
        return self.broker.now_ms

    @property
    def image(self) -> MetadataImage:
        """The topics that exist."""
        return self.broker.image

    @property
    def metadata_version(self) -> int:
        """A number that changes with the image."""
        return self.broker.metadata.end_offset

    @property
    def migration_policy(self) -> str:
        """Which groups may change their protocol while they have members
        (group.consumer.migration.policy)."""
        return self.broker.config.text("group.consumer.migration.policy").lower()

    @property
    def serves_consumer_groups(self) -> bool:
        """Return whether the consumer protocol is enabled
        (group.coordinator.rebalance.protocols)."""
        return "consumer" in split_list(
            self.broker.config.text("group.coordinator.rebalance.protocols")
        )

    @property
    def consumer_assignors(self) -> list[str]:
        """The assignors of consumer groups, the default first."""
        return split_list(self.broker.config.text("group.consumer.assignors"))

    def consumer_setting(self, group_id: str, name: str) -> int:
        """Return a numeric setting of consumer groups."""
        overrides = self.image.group_configs.get(group_id, {})
        return group_setting(self.broker.config, overrides, f"consumer.{name}")

    def topics_were_created(self) -> None:
        """Note that patterns may match more topics now."""
        self.newest_topic_version = self.metadata_version

    def random_uuid(self) -> UUID:
        """Return a random UUID, for member ids."""
        return self.broker.random_uuid()

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
            if value is not None:
                self.groups[key.group] = group_log.group_from(key.group, value)
            elif isinstance(self.groups.get(key.group), ClassicGroup):
                self._end(key.group)
        elif records.is_of_consumer_group(key):
            self._apply_to_consumer_group(key, value)

    def _apply_to_consumer_group(self, key: Struct, value: Struct | None) -> None:
        group = self.groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return  # the end of something that is over already
            group = self.groups[key.group_id] = ConsumerGroup(key.group_id)
        records.apply(group, key, value)
        if records.ends_group(key, value):
            self._end(key.group_id)

    def _end(self, group_id: str) -> None:
        """End a group whose records are gone; if it has offsets left, keep it as a mere name for
        them."""
        self.groups.pop(group_id, None)
        if self.offsets.of(group_id):
            self.groups[group_id] = ClassicGroup(group_id)

    def start(self) -> Iterator[Effect]:
        """Start the session timeouts of members from before a restart."""
        for group in self.groups.values():
            if isinstance(group, ConsumerGroup):
                yield from self._start_consumer_group(group)
            else:
                yield from self._start_classic_group(group)
        yield expiry.next_round(self)

    def _start_classic_group(self, group: ClassicGroup) -> Iterator[Effect]:
        for member in group.members.values():
            yield from timers.expect_heartbeat(group, member)
        if len(group.members) > self.group_size_max:
            # The limit was lowered meanwhile: who joins again finds room, or does not (KIP-389).
            yield from rebalance.prepare(self, group)

    def _start_consumer_group(self, group: ConsumerGroup) -> Iterator[Effect]:
        timeout_ms = self.consumer_setting(group.group_id, "session.timeout.ms")
        for member in group.members.values():
            yield from consumer_timers.expect_heartbeat(group.group_id, member, timeout_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                yield from consumer_timers.expect_revocation(group.group_id, member)

    # --- to the log ---------------------------------------------------------------------------

    def save_group(self, group: ClassicGroup) -> None:
        """Append the group's current state to the log, or raise Refused."""
        self.log.append(group.group_id, [group_log.group_record(group)])

    def try_to_save(self, group: ClassicGroup) -> Iterator[Effect]:
        """Write the group where nobody waits for an answer: a failure is reported, no more."""
        try:
            self.save_group(group)
        except Refused as refused:
            yield Report(f"group {group.group_id} could not be saved: {refused}")

    def write(self, draft: Draft) -> Iterator[Effect]:
        """Append a change of a consumer group to the log, then apply it. Raise Refused if the
        append fails."""
        self.log.append(draft.group.group_id, draft.records)
        self.groups[draft.group.group_id] = draft.group
        yield from draft.consequences()

    def commit(
        self, group_id: str, commits: Sequence[Committed], records: Sequence[Record]
    ) -> None:
        """Append offsets to the log, then apply them. Raise Refused if the append fails."""
        first = self.broker.rules.write_commits(self.log, group_id, records, None)
        for log_offset, (key, row) in enumerate(commits, first):
            commit = replace(row, log_offset=log_offset)
            known = self.offsets.of(group_id).get(key)
            self.offsets.put(group_id, key, self.broker.rules.newer_commit(known, commit))
        if commits:
            self.groups.setdefault(group_id, ClassicGroup(group_id))

    def commit_in_transaction(
        self,
        group_id: str,
        commits: Sequence[Committed],
        records: Sequence[Record],
        producer_id: int,
        producer_epoch: int,
    ) -> None:
        """Append offsets that count once their transaction commits, or raise Refused."""
        partition = self.log.partition_of(group_id)
        self.broker.rules.check_offset_writer(partition, producer_id, producer_epoch)
        writer = producer_id, producer_epoch
        first = self.broker.rules.write_commits(self.log, group_id, records, writer)
        self._note_pending(
            partition.index,
            producer_id,
            [
                (group_id, key, replace(row, log_offset=log_offset))
                for log_offset, (key, row) in enumerate(commits, first)
            ],
        )

    def _note_pending(self, log_index: int, producer_id: int, commits: list[Commit]) -> None:
        for commit in commits:
            self.pending_offsets.put(log_index, producer_id, commit)
            self.groups.setdefault(commit[0], ClassicGroup(commit[0]))

    def transaction_ended(self, log_index: int, producer_id: int, committed: bool) -> None:
        """Apply or drop the pending offsets of a transaction whose marker is in a partition of the
        log."""
        for group_id, key, offset in self.pending_offsets.end(log_index, producer_id):
            known = self.offsets.of(group_id).get(key)
            in_force = self.broker.rules.offset_in_force(known, offset, committed=committed)
            if in_force is not None:
                self.offsets.put(group_id, key, in_force)

    def _forget_offset(self, group_id: str, key: TopicPartition) -> None:
        self.offsets.remove(group_id, key)
        self.pending_offsets.remove(group_id, key)

    def delete_offsets(self, group_id: str, keys: Sequence[TopicPartition]) -> None:
        """Append the tombstones of these commits to the log, then forget them. Raise Refused if the
        append fails."""
        held = {*self.offsets.of(group_id), *self.pending_offsets.of(group_id)}
        known = [key for key in keys if key in held]
        tombstones = [group_log.offset_record(group_id, key, None) for key in known]
        self.broker.rules.write_deletions(self.log, group_id, tombstones)
        for key in known:
            self._forget_offset(group_id, key)

    def delete_group(self, group: Group) -> None:
        """End a group with everything that it committed, or raise Refused."""
        keys = list(self.offsets.of(group.group_id))
        keys += [key for key in self.pending_offsets.of(group.group_id) if key not in keys]
        offsets: list[KeyValue] = [
            group_log.offset_record(group.group_id, key, None) for key in keys
        ]
        tombstones = [*offsets, *self._tombstones(group)]
        self.broker.rules.write_deletions(self.log, group.group_id, tombstones)
        for key in keys:
            self._forget_offset(group.group_id, key)
        if isinstance(group, ClassicGroup):
            group.move(Move.GROUP_DELETED)
        del self.groups[group.group_id]

    def _tombstones(self, group: Group) -> list[KeyValue]:
        if isinstance(group, ConsumerGroup):
            return records.group_tombstones(group)
        return [group_log.group_tombstone(group.group_id)]

    def forget_topic(self, name: str) -> None:
        """Delete everything that was committed for a deleted topic."""
        by_group: dict[str, list[TopicPartition]] = {}
        for group_id, key in self.broker.rules.positions_of_deleted(self.offsets, name):
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
        """Create `__consumer_offsets` if it does not exist, or raise Refused."""
        if group_log.TOPIC in self.broker.image.topics:
            return
        config = self.broker.config
        create_topic(
            self.broker,
            group_log.TOPIC,
            config.number("offsets.topic.num.partitions"),
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": config.text("offsets.topic.segment.bytes"),
            },
        )

    def group(self, group_id: str) -> Group | None:
        """Return an existing group or None. Raise Refused if this broker does not coordinate it."""
        self.log.partition_of(group_id)
        return self.groups.get(group_id)

    def known_group(self, group_id: str) -> Group:
        """Return the group of a member's request, or raise Refused if there is none."""
        if not group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        group = self.group(group_id)
        if group is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    def group_to_join(self, group_id: str, member_id: str) -> ClassicGroup:
        """Return the group, which a new member may create, or raise Refused."""
        group = self.group(group_id)
        if isinstance(group, ClassicGroup):
            return group
        if member_id:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if group is not None:
            # An empty consumer group makes room.
            self.log.append(group_id, records.group_tombstones(group))
        classic = self.groups[group_id] = ClassicGroup(group_id)
        return classic

    def group_to_commit(self, group_id: str, generation: int, version: int) -> Group:
        """Return the group, which a commit without a generation may create, or raise Refused."""
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
        """Forget a group that was made only for a member that was then refused."""
        group = self.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return
        if group.generation > 0 or self.offsets.of(group_id):
            return
        if not group.members and not group.pending_members:
            del self.groups[group_id]

    # --- time ---------------------------------------------------------------------------------

    def timer_fired(self, key: TimerKey) -> Iterator[Effect]:
        """Handle a timer: a member was not heard of in time, or a delay is over."""
        _, what, *rest = key
        if what == expiry.EXPIRY:
            yield from expiry.expire_offsets(self)
            return
        group_id, *rest = rest
        group = self.groups.get(str(group_id))
        if isinstance(group, ConsumerGroup):
            if what in consumer_timers.KINDS:
                yield from leaving.timer_fired(self, group, str(what), str(rest[0]))
        elif group is not None and group.state is not State.DEAD:
            yield from rebalance.timer_fired(self, group, str(what), rest)
