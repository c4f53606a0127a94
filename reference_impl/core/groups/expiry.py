"""Expire committed offsets that were unused for `offsets.retention.minutes`.

Source: KIP-211; OffsetMetadataManager.java (cleanupExpiredOffsets), GroupCoordinatorShard.java
(cleanupGroupMetadata), OffsetExpirationConditionImpl.java, ClassicGroup.java and ConsumerGroup.java
(offsetExpirationCondition). A group that is empty and has no offsets left ends with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reference_impl.core.effects import Effect, Report, SetTimer
from reference_impl.core.groups.classic.group import CONSUMER_PROTOCOL, ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.classic.timers import TIMER
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.refused import Refused

EXPIRY = "expiry"
UnusedSince = Callable[[CommittedOffset], int]
"""A function from a committed offset to the time when its retention began, in milliseconds of the
wall clock."""


def next_round(coordinator: GroupCoordinator) -> Effect:
    """Return the timer effect that starts the next round of expiry after
    `offsets.retention.check.interval.ms`."""
    interval_ms = coordinator.settings.number("offsets.retention.check.interval.ms")
    return SetTimer((TIMER, EXPIRY, coordinator.index), interval_ms)


def expire_offsets(coordinator: GroupCoordinator) -> Iterator[Effect]:
    """Expire offsets in all groups once; report a failure, and let the next round try again."""
    for group in list(coordinator.groups.values()):
        try:
            _expire(coordinator, group)
        except Refused as refused:
            yield Report(f"offsets of group {group.group_id} could not expire: {refused}")
    yield next_round(coordinator)


def _expire(coordinator: GroupCoordinator, group: ClassicGroup | ConsumerGroup) -> None:
    unused_since = retention_begins(group)
    if unused_since is None:
        return
    group_id = group.group_id
    minutes = coordinator.settings.number("offsets.retention.minutes")
    retention_ms = coordinator.rules.offsets_retention_ms(minutes)
    offsets = coordinator.offsets.of(group_id)
    pending = set(coordinator.pending_offsets.of(group_id))

    def ends_ms(committed: CommittedOffset) -> int:
        """Return the time at which an offset expires, in milliseconds of the wall clock: the expiry
        time in its commit, or else the end of the common retention after its last use."""
        if committed.expire_timestamp_ms != -1:
            return committed.expire_timestamp_ms
        return unused_since(committed) + retention_ms

    expired: list[TopicPartition] = [
        key
        for key, committed in offsets.items()
        if coordinator.now_ms >= ends_ms(committed) and key not in pending
    ]
    read = group.topics_read({topic for topic, _ in expired})
    expired = [key for key in expired if key[0] not in read]
    is_awaited = isinstance(group, ClassicGroup) and group.pending_members
    is_over = len(expired) == len(offsets) and not pending and not group.members
    if is_over and not is_awaited:
        coordinator.delete_group(group)
    elif expired:
        coordinator.delete_offsets(group_id, expired)


def retention_begins(group: ClassicGroup | ConsumerGroup) -> UnusedSince | None:
    """Return a function from a commit to the time since which it is unused. Return None while no
    offset of the group may expire. While the group has members, only offsets of topics that no
    member reads expire (`topics_read`), counted from their last commit. When the last member
    of a classic group leaves, the time starts again for all its offsets."""
    if isinstance(group, ConsumerGroup) or group.protocol_type is None:
        return lambda committed: committed.commit_timestamp_ms
    if group.state is State.EMPTY:
        since_ms = group.state_timestamp_ms
        return lambda committed: since_ms if since_ms >= 0 else committed.commit_timestamp_ms
    knows_topics = (
        group.protocol_type == CONSUMER_PROTOCOL and group.subscribed_topics() is not None
    )
    if group.state is State.STABLE and knows_topics:
        return lambda committed: committed.commit_timestamp_ms
    return None
