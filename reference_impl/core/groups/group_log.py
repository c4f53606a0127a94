"""Store the state of groups in `__consumer_offsets`, in Kafka's own records.

Source: GroupCoordinatorRecordHelpers.java, GroupCoordinator (partitionFor); record definitions
OffsetCommitKey/Value (type 1) and GroupMetadataKey/Value (type 2); those of consumer groups are in
consumer/records.py. One log partition holds
everything of one group; the newest record of a key is what counts, and a null value ends the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer.model.records import KeyValue
from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.wire import (
    TRANSACTIONAL_BIT,
    ErrorCode,
    Malformed,
    Record,
    RecordBatch,
    Struct,
    definition,
    encode_record,
    read_header,
)

TOPIC = "__consumer_offsets"
VERSIONS = {"OffsetCommitKey": 4, "GroupMetadataKey": 4}
"""The highest version of the value of each record type, by the name of its key; values of consumer
groups have version 0."""
EXPIRING = 1
"""The version of the value for a commit that carries its own expiry time
(newOffsetCommitRecord)."""
Entry = KeyValue | Record
"""A record of the log, encoded or not."""


class GroupLog:
    """Appends the records of one coordinator to its partition of `__consumer_offsets`."""

    def __init__(self, topic: KeyedTopic, partition: Callable[[], Partition]) -> None:
        """Create a log. partition: returns the partition, or raises Refused when it is not led any
        more."""
        self._topic, self._partition = topic, partition

    def append(self, records: Sequence[Entry], writer: tuple[int, int] | None = None) -> int:
        """Write records as one batch and return the first one's offset, or the log end if there are
        no records. Raise Refused if the batch was not written. `writer` is the producer id and
        epoch of a transaction."""
        partition = self._partition()
        if not records:
            return partition.log.log_end_offset
        encoded = _encoded(records)
        self.check_size(
            sum(len(record.key or b"") + len(record.value or b"") for record in encoded)
        )
        batch = RecordBatch(encoded, base_timestamp=self._topic.now_ms)
        if writer is not None:
            batch.producer_id, batch.producer_epoch = writer
            batch.attributes = TRANSACTIONAL_BIT
        data = bytearray(batch.encode())
        header = read_header(data)
        self.check_size(header.size)
        return self._topic.append(partition, data, header)

    def check_size(self, size: int) -> None:
        """Raise Refused(INVALID_COMMIT_OFFSET_SIZE) if a batch with this many bytes of records
        would exceed max.message.bytes."""
        if size > self._partition().config.max_message_bytes:
            raise Refused(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)


def encoded_commit(group_id: str, commit: tuple[TopicPartition, CommittedOffset]) -> Record:
    """Return the record of one commit. Raise Refused if its names are too long for a record."""
    return _encoded([offset_record(group_id, *commit)])[0]


def _encoded(records: Sequence[Entry]) -> list[Record]:
    """Encode the records. Raise Refused for names over 32 kB, which a request may hold but a record
    may not."""
    try:
        return [each if isinstance(each, Record) else _record(*each) for each in records]
    except Malformed as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from None


def _record(key: Struct, value: Struct | None) -> Record:
    version = VERSIONS.get(type(key).__name__, 0)
    if value is not None and getattr(value, "expire_timestamp", -1) != -1:
        version = EXPIRING  # newer ones have no place for it
    key_bytes, value_bytes = encode_record(key, value, version)
    return Record(value_bytes, key_bytes)


def offset_record(
    group_id: str, key: TopicPartition, committed: CommittedOffset | None
) -> KeyValue:
    """Return the record of a commit or, for None, the tombstone that deletes it."""
    record_key = definition("OffsetCommitKey").new(group=group_id, topic=key[0], partition=key[1])
    if committed is None:
        return record_key, None
    return record_key, definition("OffsetCommitValue").new(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp_ms,
        topic_id=committed.topic_id,
        expire_timestamp=committed.expire_timestamp_ms,
    )


def committed_from(value: Struct, log_offset: int) -> CommittedOffset:
    """Return the commit that a record's value describes. log_offset: the offset of that record."""
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.topic_id,
        log_offset,
        value.expire_timestamp,
    )


def group_tombstone(group_id: str) -> KeyValue:
    """Return the tombstone that deletes the record of a classic group."""
    return definition("GroupMetadataKey").new(group=group_id), None


def group_record(group: ClassicGroup) -> KeyValue:
    """Return the record of a group as it is now, with the generation's assignment."""
    of = definition("GroupMetadataValue")
    value = of.new(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.state_timestamp_ms,
        members=[
            of.struct(
                "MemberMetadata",
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.protocols.get(group.protocol or "", b""),
                assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )
    return definition("GroupMetadataKey").new(group=group.group_id), value


def group_from(group_id: str, value: Struct) -> ClassicGroup:
    """Return the group that a record describes: in state STABLE if it has members, else EMPTY."""
    group = ClassicGroup(
        group_id,
        State.STABLE if value.members else State.EMPTY,
        value.generation,
        value.protocol_type or None,
        value.protocol,
        value.leader,
        state_timestamp_ms=value.current_state_timestamp,
    )
    for row in value.members:
        group.add(
            Member(
                row.member_id,
                row.group_instance_id,
                row.client_id,
                row.client_host,
                row.session_timeout,
                row.rebalance_timeout if row.rebalance_timeout >= 0 else row.session_timeout,
                value.protocol_type,
                {value.protocol or "": bytes(row.subscription)},
                bytes(row.assignment),
            )
        )
    group.leader = value.leader
    return group
