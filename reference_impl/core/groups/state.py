"""Groups and committed offsets, as they result from the records of one partition of
`__consumer_offsets`.

Source: GroupMetadataManager.java and OffsetMetadataManager.java (replay). A new leader reads the
log back through the same functions that follow each append.
"""

from __future__ import annotations

from reference_impl.core.groups import group_log
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.offsets import Offsets
from reference_impl.core.groups.pending_offsets import Commit, PendingOffsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.core.shards.shard import Shard
from reference_impl.wire import ControlRecordType, RecordBatch, Struct, control_type, decode_record

Group = ClassicGroup | ConsumerGroup


class GroupState(Shard):
    """The state of one partition of `__consumer_offsets`: groups by id, their committed offsets,
    and those of open transactions."""

    def __init__(self, topic: KeyedTopic, partition: Partition, rules: Rules) -> None:
        super().__init__(topic, partition, rules)
        self.groups: dict[str, Group] = {}
        self.offsets = Offsets()
        self.pending_offsets = PendingOffsets()

    def replay(self, batch: RecordBatch) -> None:
        """Apply one batch of the log. Offsets of a transaction stay pending until its marker is
        applied."""
        if batch.is_control:
            kinds = [control_type(record) for record in batch.records]
            if kinds and kinds[0] in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
                self.transaction_ended(batch.producer_id, kinds[0] is ControlRecordType.COMMIT)
            return
        for log_offset, record in batch.offsets():
            if record.key is None:
                continue
            key, value = decode_record(record.key, record.value)
            if batch.is_transactional and value is not None:
                committed = group_log.committed_from(value, log_offset)
                commit = (key.group, (key.topic, key.partition), committed)
                self.note_pending(batch.producer_id, [commit])
            else:
                self._apply(key, value, log_offset)

    def _apply(self, key: Struct, value: Struct | None, log_offset: int) -> None:
        """Apply one record of the log."""
        kind = type(key).__name__
        if kind == "OffsetCommitKey":
            where = (key.topic, key.partition)
            if value is None:
                self.forget_offset(key.group, where)
            else:
                self.offsets.put(key.group, where, group_log.committed_from(value, log_offset))
                self.groups.setdefault(key.group, ClassicGroup(key.group))
        elif kind == "GroupMetadataKey":
            if value is not None:
                self.groups[key.group] = self.rules.loaded_group(key.group, value)
            elif isinstance(self.groups.get(key.group), ClassicGroup):
                self._end(key.group)
        elif records.is_of_consumer_group(key):
            self._apply_to_consumer_group(key, value)

    def _apply_to_consumer_group(self, key: Struct, value: Struct | None) -> None:
        group = self.groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return  # a tombstone of a group that is gone already
            group = self.groups[key.group_id] = ConsumerGroup(key.group_id)
        records.apply(group, key, value)
        if records.ends_group(key, value):
            self._end(key.group_id)

    def _end(self, group_id: str) -> None:
        """Remove a group whose records were deleted. If it has committed offsets left, put an empty
        classic group in its place."""
        self.groups.pop(group_id, None)
        if self.offsets.of(group_id):
            self.groups[group_id] = ClassicGroup(group_id)

    # --- offsets --------------------------------------------------------------------------------

    def note_pending(self, producer_id: int, commits: list[Commit]) -> None:
        """Store offsets as pending: they take effect if their transaction is committed. Create an
        empty group for them if there is none."""
        for group_id, key, commit in commits:
            pending = self.pending_offsets.get(producer_id, group_id, key)
            counts = self.rules.newer_pending(pending, commit)
            self.pending_offsets.put(producer_id, (group_id, key, counts))
            self.groups.setdefault(group_id, ClassicGroup(group_id))

    def transaction_ended(self, producer_id: int, committed: bool) -> None:
        """Apply or drop the pending offsets of a transaction whose marker is in the log."""
        for group_id, key, offset in self.pending_offsets.end(producer_id):
            known = self.offsets.of(group_id).get(key)
            in_force = self.rules.offset_in_force(known, offset, committed=committed)
            if in_force is not None:
                self.offsets.put(group_id, key, in_force)

    def forget_offset(self, group_id: str, key: TopicPartition) -> None:
        """Forget the offset that a group has committed for a partition, including pending ones of
        open transactions."""
        self.offsets.remove(group_id, key)
        self.pending_offsets.remove(group_id, key)
