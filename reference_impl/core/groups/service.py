"""The group coordinators of this broker, each for one partition of `__consumer_offsets`: found by
the id of a group, begun, ended, and woken by their timers.

Source: GroupCoordinatorService.java; GroupMetadataManager.java (onLoaded, onUnloaded).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial

from reference_impl.core.effects import CancelTimer, Effect, SetTimer
from reference_impl.core.events import Request
from reference_impl.core.groups import expiry
from reference_impl.core.groups.classic import rebalance
from reference_impl.core.groups.classic import timers as classic_timers
from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer import leaving, timers
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.states import MemberState
from reference_impl.core.groups.coordinator import CommitsByGroup, GroupCoordinator
from reference_impl.core.groups.settings import Shared
from reference_impl.core.groups.state import Group
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.refused import Refused
from reference_impl.core.shards.shards import Shards
from reference_impl.core.waiting.waits import Outbox
from reference_impl.wire import ErrorCode


class GroupShard(GroupCoordinator):
    """A coordinator of groups that, once its log is loaded, continues from what the previous leader
    of the partition has written."""

    def loaded(self) -> Iterator[Effect]:
        """Start the session timeouts of the members found in the log, the revocation timers, and
        the timer of expiry. Rebalance a classic group with more members than group.max.size."""
        for group in self.groups.values():
            if isinstance(group, ConsumerGroup):
                yield from self._begin_consumer_group(group)
            else:
                yield from self._begin_classic_group(group)
        yield expiry.next_round(self)

    def _begin_classic_group(self, group: ClassicGroup) -> Iterator[Effect]:
        for member in self.rules.members_to_expect(group.members):
            yield from classic_timers.expect_heartbeat(group, member)
        if len(group.members) > self.settings.group_size_max:
            # The limit was lowered: let members join again until the group is full (KIP-389).
            yield from rebalance.prepare(self, group)

    def _begin_consumer_group(self, group: ConsumerGroup) -> Iterator[Effect]:
        timeout_ms = self.settings.of_group(group.group_id, "session.timeout.ms")
        for member in self.rules.members_to_expect(group.members):
            yield from timers.expect_heartbeat(group.group_id, member, timeout_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                yield from timers.expect_revocation(group.group_id, member)

    def unloaded(self) -> Iterator[Effect]:
        """Refuse the JoinGroups and SyncGroups that still wait, so that their members look for the
        next coordinator."""
        for group in self.groups.values():
            if isinstance(group, ClassicGroup):
                yield from rebalance.turn_all_away(group, ErrorCode.NOT_COORDINATOR)

    def timer_fired(self, what: str, rest: list[str | int]) -> Iterator[Effect]:
        """Handle a timer, named by these parts of its key: a member has missed its deadline, or a
        delay is over. Do nothing if its group is gone."""
        if what == expiry.EXPIRY:
            yield from expiry.expire_offsets(self)
            return
        group_id, *rest = rest
        group = self.groups.get(str(group_id))
        if isinstance(group, ConsumerGroup):
            if what in timers.KINDS:
                yield from leaving.timer_fired(self, group, what, str(rest[0]))
        elif group is not None and group.state is not State.DEAD:
            yield from rebalance.timer_fired(self, group, what, rest)


class GroupCoordinators(Shards[GroupShard]):
    """The coordinators of the partitions that this broker leads."""

    def __init__(self, topic: KeyedTopic, shared: Shared, outbox: Outbox) -> None:
        make = partial(GroupShard, topic, shared=shared)
        super().__init__(topic, shared.rules, outbox, make)
        self.settings = shared.settings
        self._to_forget: deque[tuple[GroupShard, CommitsByGroup]] = deque()
        """The commits for deleted topics that are still there."""

    def of_request(self, request: Request) -> GroupCoordinator:
        """Return the coordinator of the group that a member names. Raise Refused if the group id is
        empty, or if this broker does not coordinate the group or has not loaded it."""
        if not request.body.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        return self.of(request.body.group_id)

    def every(self) -> list[tuple[GroupCoordinator, Group]]:
        """Return each group of the loaded coordinators of this broker, with its coordinator."""
        return [(each, group) for each in self.active() for group in each.groups.values()]

    def forget_topic(self, name: str) -> None:
        """Delete the offsets that any group has committed for a topic that was deleted. Do it in
        the background, since these may be the offsets of many groups."""
        self._to_forget.extend((each, each.commits_to(name)) for each in self.active())
        self._outbox.post("forgotten offsets", self._forget())

    def _forget(self) -> Iterator[Effect]:
        while self._to_forget:
            coordinator, commits = self._to_forget.popleft()
            yield from coordinator.forget(commits)

    def own(self, timer: SetTimer | CancelTimer) -> None:
        """Register a timer with the coordinator of the group, or of the partition, that its key
        names, so that it ends with the coordinator. Do nothing if this broker does not have that
        coordinator."""
        whose = timer.key[2]
        index = whose if isinstance(whose, int) else self.topic.index_of(whose)
        if (shard := self.known(index)) is not None:
            shard.own(timer)
