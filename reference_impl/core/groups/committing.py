"""Decide who may commit, and what a request commits. Source: ClassicGroup.java
(validateOffsetCommit), OffsetMetadataManager.java; KIP-447."""

from __future__ import annotations

from reference_impl.core.broker import Broker
from reference_impl.core.configs.keys import LONG_MAX
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer import commits
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.offsets import CommittedOffset, Committer
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.wire import ErrorCode, Struct

WantedCommit = tuple[TopicImage, Struct, Struct]
"""The topic, the partition in the request, and its row in the answer."""


def check_commit(
    broker: Broker,
    group: ClassicGroup | ConsumerGroup,
    committer: Committer,
    wanted: list[WantedCommit],
) -> None:
    """Raise Refused if this member may not commit now."""
    if isinstance(group, ClassicGroup):
        check_classic_commit(broker.rules, group, committer)
        return
    partitions = [(image.topic_id, partition.partition_index) for image, partition, _ in wanted]
    commits.check_commit(broker.rules, group, committer, partitions)


def check_classic_commit(rules: Rules, group: ClassicGroup, committer: Committer) -> None:
    """Raise Refused if this member may not commit now. Accept a commit without a generation in an
    empty group and, in a transaction, one that names no member, as producers older than KIP-447
    send it."""
    if group.state is State.DEAD:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if committer.epoch < 0 and group.state is State.EMPTY:
        return  # a consumer that assigns partitions to itself, or an admin client
    if committer.is_nobody:
        rules.check_names_member(committer)
    else:
        rules.check_committing_member(group, committer)
        rules.check_generation(group, committer)
    if group.state is State.COMPLETING_REBALANCE and not committer.in_transaction:
        # The member knows the new generation, but not yet whether the partition is still its own.
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)


def commits_of(
    broker: Broker, wanted: list[WantedCommit], retention_ms: int = -1
) -> list[tuple[TopicPartition, CommittedOffset]]:
    """Return the commits of a request, with this moment as their time, to be written. For a
    partition whose topic was deleted in the meantime, or whose metadata is too long, set the error
    in the row of the answer instead. retention_ms: from OffsetCommit v2-4; -1 for the common
    retention."""
    # Java's sum wraps around, so that "for ever" would expire at once.
    expires_ms = -1 if retention_ms == -1 else min(broker.now_ms + retention_ms, LONG_MAX)
    found: list[tuple[TopicPartition, CommittedOffset]] = []
    longest = broker.config.number("offset.metadata.max.bytes")
    for image, partition, row in wanted:
        if broker.image.topics_by_id.get(image.topic_id) is not image:
            # The topic was deleted while other requests had their turn.
            row.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            continue
        metadata = partition.committed_metadata or ""
        if len(metadata) > longest:  # characters, as OffsetMetadataManager counts them, not bytes
            row.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            continue
        committed = CommittedOffset(
            partition.committed_offset,
            partition.committed_leader_epoch,
            metadata,
            broker.now_ms,
            image.topic_id,
            expire_timestamp_ms=expires_ms,
        )
        found.append(((image.name, partition.partition_index), committed))
    return found
