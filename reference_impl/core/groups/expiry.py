"""Expire committed offsets that were unused for `offsets.retention.minutes`.

Source: KIP-211; OffsetMetadataManager.java (cleanupExpiredOffsets), GroupCoordinatorShard.java
(cleanupGroupMetadata), OffsetExpirationConditionImpl.java, ClassicGroup.java and ConsumerGroup.java
(offsetExpirationCondition). A group that is empty and has no offsets left ends with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reference_impl.core.effects import Effect, Report, SetTimer
from reference_impl.core.groups.classic.group import CONSUMER_PROTOCOL, ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.classic.timers import TIMER
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.refused import Refused
from reference_impl.core.waiting.waits import Pause

EXPIRY = "expiry"
AT_ONCE = 1000
"""The number of offsets of a group that one step looks at, and deletes by one batch."""
UnusedSince = Callable[[CommittedOffset], int]
"""A function from a committed offset to the time when its retention began, in milliseconds of the
wall clock."""


def next_round(coordinator: GroupCoordinator) -> Effect:
    """Return the timer effect that starts the next round of expiry after
    `offsets.retention.check.interval.ms`."""
    interval_ms = coordinator.settings.number("offsets.retention.check.interval.ms")
    return SetTimer((TIMER, EXPIRY, coordinator.index), interval_ms)


def expire_offsets(coordinator: GroupCoordinator) -> Iterator[Effect]:
    """Expire offsets in all groups once, then set the timer of the next round, unless the
    coordinator is closed meanwhile. Report a failure, and let the next round try again. Others have
    their turn after each group, and after AT_ONCE offsets of a group."""
    for group_id in list(coordinator.groups):
        try:
            yield from _expire(coordinator, group_id)
        except Refused as refused:
            if not coordinator.is_closed:
                yield Report(f"offsets of group {group_id} could not expire: {refused}")
        yield Pause()
        if coordinator.is_closed:
            return
    yield next_round(coordinator)


def _expire(coordinator: GroupCoordinator, group_id: str) -> Iterator[Effect]:
    """Delete the offsets of a group that have expired, then the group if nothing of it is left.
    Raise Refused if the deletion cannot be written."""
    keys = list(coordinator.offsets.of(group_id))
    for first in range(0, len(keys), AT_ONCE):
        expired = _expired(coordinator, group_id, keys[first : first + AT_ONCE])
        coordinator.delete_offsets(group_id, expired)
        yield Pause()
    group = coordinator.group(group_id)
    if group is None or group.members or retention_begins(group) is None:
        return
    is_awaited = isinstance(group, ClassicGroup) and group.pending_members
    has_offsets = coordinator.offsets.of(group_id) or coordinator.pending_offsets.of(group_id)
    if not is_awaited and not has_offsets:
        coordinator.delete_group(group)


def _expired(
    coordinator: GroupCoordinator, group_id: str, keys: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """Return those of these partitions whose committed offsets have expired: their time is over, no
    transaction is pending for them, and no member reads their topics. Return none while no offset
    of the group may expire."""
    group = coordinator.groups.get(group_id)
    unused_since = retention_begins(group) if group is not None else None
    if group is None or unused_since is None:
        return []
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

    late = [
        key
        for key in keys
        if key in offsets and coordinator.now_ms >= ends_ms(offsets[key]) and key not in pending
    ]
    read = group.topics_read({topic for topic, _ in late}) if late else ()
    return [key for key in late if key[0] not in read]


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
    if group.state is State.STABLE and group.protocol_type == CONSUMER_PROTOCOL:
        return lambda committed: committed.commit_timestamp_ms
    return None
