"""Membership in a classic group: join, sync, send heartbeats, and give up partitions that others
are to get.

Source: AbstractCoordinator.java, ConsumerCoordinator.java; KIP-62 (poll interval), KIP-345 (static
members), KIP-394 (a member id first), KIP-429 (cooperative), KIP-814 (skip_assignment).

A rebalance begins only inside a poll: an application never loses a partition while it works on
records that an earlier poll has given it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reference_impl.client.cluster.coordinators import Coordinators
from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.cluster.network import Network
from reference_impl.client.config import Config
from reference_impl.client.errors import COORDINATOR_MOVED, ClientError, Refusal, is_retriable
from reference_impl.client.group.classic.assignors import (
    ASSIGNORS,
    Assignor,
    MemberSubscription,
    decode_assignment,
    encode_subscription,
)
from reference_impl.client.group.classic.assignors.protocol import NO_GENERATION
from reference_impl.client.group.classic.heartbeats import Heartbeats
from reference_impl.client.group.classic.leadership import Leadership
from reference_impl.client.group.classic.states import Move, State, next_state
from reference_impl.client.group.handover import Then
from reference_impl.client.group.member import POLL, GroupMember
from reference_impl.client.group.requests import join_group, leave_group, sync_group
from reference_impl.client.group.subscription import Mode, Subscription
from reference_impl.client.kernel import Kernel
from reference_impl.client.values import ConsumerGroupMetadata, TopicPartition
from reference_impl.links.effects import Lane
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure
from reference_impl.wire import ApiKey, ErrorCode, Struct

JOIN_GRACE_MS = 5_000
"""The milliseconds beyond the rebalance time-out that an answer to JoinGroup may take
(AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE)."""
EVICTED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
"""Errors that mean that the group has removed this member or moved on: other members may have its
partitions."""


class ClassicMembership(GroupMember):
    """One consumer as a member of a classic group: it joins, takes part in rebalances, sends
    heartbeats, and leaves."""

    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        metadata: Metadata,
        config: Config,
        subscription: Subscription,
        coordinators: Coordinators,
    ) -> None:
        super().__init__(kernel, config, subscription, coordinators)
        self._network = network
        self._metadata = metadata
        self._assignors: dict[str, Assignor] = {}
        for name in config["partition.assignment.strategy"]:
            assignor = ASSIGNORS[name]()
            self._assignors[assignor.name] = assignor
        # The protocol which all of them can do (ConsumerCoordinator's constructor).
        self.is_cooperative = all(each.is_cooperative for each in self._assignors.values())
        self._leadership = Leadership(metadata, self._assignors)
        self._heartbeats = Heartbeats(
            kernel, config, coordinators, self._key, self.group_metadata, self._heartbeat_refused
        )
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self.state = State.UNJOINED
        self._member_id = ""
        self._generation = NO_GENERATION
        self._must_join = True
        self._has_lost = False
        """Whether the group has taken this member's partitions away, so that nothing can be
        committed for them."""
        self._is_busy = False
        """Whether a step of a rebalance is in progress, or waits to be repeated."""
        self._eager_owned: tuple[TopicPartition, ...] = ()

    def group_metadata(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(
            self._key[1], self._generation, self._member_id, self._instance_id
        )

    @property
    def is_known(self) -> bool:
        return bool(self._member_id)

    # --- what the consumer tells us -----------------------------------------------------------

    def subscribed(self) -> None:
        self._must_join = True

    def metadata_changed(self) -> None:
        """Note that this member must join again if it leads and the number of partitions has
        changed, so that they are assigned again. The next poll begins that."""
        if self._leadership.is_outdated:
            self._must_join = True

    def evicted(self, code: int) -> None:
        if code in EVICTED:
            self._forget_generation()
        elif code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._must_join = True
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self.error = Refusal(code, "being a member of the group", fatal=True)
            self._stop()

    def take_error(self) -> ClientError | None:
        error = super().take_error()
        if error is not None and not error.fatal:
            self._must_join = True
        return error

    def _heartbeat_refused(self, code: int) -> None:
        if self.state is State.STABLE or code in EVICTED:  # else SyncGroup's answer has the error
            self.evicted(code)

    # --- rebalance ----------------------------------------------------------------------------

    @property
    def may_read(self) -> bool:
        """Return whether the held partitions belong to this member. Eager members hold none while
        they join."""
        is_lost = self._has_lost and self._must_join
        return not self._handover.is_with_application and not is_lost

    def run(self, is_polling: bool) -> None:
        """Continue a rebalance, or begin one if it is needed and the application is polling."""
        if self._subscription.mode is not Mode.GROUP or self.error is not None:
            return
        if self._leadership.can_assign:
            self._sync(*self._leadership.assign())
        is_idle = not (self._is_busy or self._handover.is_under_way)
        is_at_rest = self.state in (State.UNJOINED, State.STABLE)
        if self._must_join and is_polling and is_idle and is_at_rest:
            self._begin_rebalance()

    def _begin_rebalance(self) -> None:
        """Commit and give up what the protocol demands (ConsumerCoordinator.onJoinPrepare), or
        report the partitions as lost if they are, then join."""
        self._is_busy = True
        self._must_join = False
        held = set(self._subscription.partitions)
        topics = self._subscription.topics
        if self._has_lost:
            self._lose(self._join)
        elif self.is_cooperative:
            self._give_up({each for each in held if each.topic not in topics}, self._join)
        else:
            self._give_up(held, self._join)

    def _give_up(self, partitions: Iterable[TopicPartition], then: Then) -> None:
        self._handover.give_up(partitions, bool(self._member_id), then)

    def _lose(self, then: Then) -> None:
        self._has_lost = False
        self._handover.lose(then)

    def _join(self) -> None:
        if self._has_lost:  # evicted meanwhile
            self._lose(self._join)
            return
        self._is_busy, self._must_join = True, False
        self._move(Move.JOINS)
        self._heartbeats.stop()
        owned = tuple(self._subscription.partitions)
        # An eager member owns nothing now, but a sticky assignor needs what it owned before.
        last_owned = owned if self.is_cooperative else self._eager_owned
        protocols = {
            name: encode_subscription(
                MemberSubscription(
                    self._subscription.topics,
                    owned,
                    self._generation,
                    assignor.user_data(last_owned, self._generation),
                )
            )
            for name, assignor in self._assignors.items()
        }
        body = join_group(self.group_metadata(), self._config, protocols)
        rebalance_timeout_ms = self._config["max.poll.interval.ms"]
        timeout_ms = max(self._config["request.timeout.ms"], rebalance_timeout_ms + JOIN_GRACE_MS)
        self._ask(ApiKey.JOIN_GROUP, body, self._join_answered, timeout_ms)

    def _join_answered(self, answer: Struct) -> None:
        code = answer.error_code
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id  # KIP-394: come again with it, so that a lost
            self._again(0)  # answer leaves no ghost behind
            return
        if not self._is_good(code, "joining the group"):
            return
        self._move(Move.JOINED)
        self._member_id, self._generation = answer.member_id, answer.generation_id
        self._leadership.end()
        self._heartbeats.start()
        if answer.leader != answer.member_id or answer.skip_assignment:
            self._sync(answer.protocol_name, {})
            return
        self._leadership.begin(answer)  # a later step assigns, once the metadata is there

    def _sync(self, protocol_name: str, assignments: dict[str, bytes]) -> None:
        body = sync_group(self.group_metadata(), protocol_name, assignments)
        timeout_ms = self._config["max.poll.interval.ms"] + JOIN_GRACE_MS
        self._ask(ApiKey.SYNC_GROUP, body, self._sync_answered, timeout_ms)

    # --- the assignment -----------------------------------------------------------------------

    def _sync_answered(self, answer: Struct) -> None:
        if not self._is_good(answer.error_code, "getting the assignment of the group"):
            return
        self._move(Move.SYNCED)
        self._is_busy = False
        self._backoff.succeed()
        assigned = set(decode_assignment(answer.assignment))
        self._metadata.want(*{partition.topic for partition in assigned})
        held = set(self._subscription.partitions)
        gone = held - assigned
        if gone:
            self._must_join = True  # what we give up can now be assigned to somebody (KIP-429)
        self._give_up(gone, lambda: self._take(assigned, assigned - held))

    def _take(self, assigned: set[TopicPartition], new: set[TopicPartition]) -> None:
        if self._has_lost:
            return  # evicted during the application's callback
        self._eager_owned = tuple(sorted(assigned))
        self._handover.take(assigned, new)

    # --- leaving ------------------------------------------------------------------------------

    def _is_silent(self) -> None:
        self._send_leave("the application has not polled for max.poll.interval.ms", lambda: None)
        self._forget_generation()
        self._stop()

    def leave(self, then: Then) -> None:
        """Give everything up, leave, and call `then`. A static member stays in the group, since it
        may come back (KIP-345)."""

        def gone() -> None:
            self._send_leave("the consumer is being closed or unsubscribed", then)
            self._forget_generation()
            self._has_lost = self._must_join = False
            self._stop()

        self._handover.drop()
        if self._has_lost:
            self._lose(gone)
        else:
            self._give_up(self._subscription.partitions, gone)

    def _send_leave(self, reason: str, then: Then) -> None:
        """Send LeaveGroup, and call `then` after the answer or a failure: if the request gets lost,
        the session times out. A static member, or one without an id or a known coordinator, sends
        nothing."""
        node = self._coordinators.known(self._key)
        if self._instance_id is not None or not self._member_id or node is None:
            then()
            return
        self._network.ask(
            node,
            ApiKey.LEAVE_GROUP,
            leave_group(self.group_metadata(), reason),
            lambda _: then(),
            lambda _: then(),
            lane=Lane.COORDINATOR,
        )

    def _stop(self) -> None:
        self._heartbeats.stop()
        self._kernel.cancel(POLL)

    # --- asking -------------------------------------------------------------------------------

    def _move(self, move: Move) -> None:
        self.state = next_state(self.state, move)

    def _forget_generation(self) -> None:
        self._member_id, self._generation = "", NO_GENERATION
        self._has_lost = bool(self._subscription.partitions)
        self._eager_owned = ()
        self._must_join = True
        self._leadership.end()
        self._is_busy = False
        self._heartbeats.stop()
        self._move(Move.MUST_JOIN_AGAIN)

    def _again(self, delay_ms: int) -> None:
        """Join again after this delay, without giving up partitions: that was done before the first
        attempt."""
        self._move(Move.MUST_JOIN_AGAIN)
        self._is_busy = True

        def join() -> None:
            if self._is_busy and self.state is State.UNJOINED:
                self._join()

        if delay_ms:
            self._kernel.after(delay_ms, ("join",), join)
        else:
            join()

    def _is_good(self, code: int, doing: str) -> bool:
        """Return True if an answer to JoinGroup or SyncGroup has no error. Otherwise return False
        after arranging to join again or, if that is useless, setting `error`."""
        if code == ErrorCode.NONE:
            return True
        if code in EVICTED:
            self._forget_generation()
        elif code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._again(0)
        elif code in COORDINATOR_MOVED:
            self._coordinators.forget(self._key)
            self._again(self._backoff.fail())
        elif is_retriable(code):
            self._again(self._backoff.fail())
        else:
            self._move(Move.MUST_JOIN_AGAIN)
            self._is_busy = False
            self.error = Refusal(code, doing)
        return False

    def _ask(
        self, api_key: ApiKey, body: Struct, on_answer: Callable[[Struct], None], timeout_ms: int
    ) -> None:
        state = self.state

        def answered(answer: Struct) -> None:
            if self.state is state and self._is_busy:
                on_answer(answer)

        def failed(failure: Failure) -> None:
            if self.state is not state or not self._is_busy:
                return
            if failure.is_unsupported:
                give_up(ClientError("UNSUPPORTED_VERSION", failure.reason))
            else:
                self._again(self._backoff.fail())

        def give_up(error: ClientError) -> None:
            self._move(Move.MUST_JOIN_AGAIN)
            self._is_busy = False
            self.error = error

        self._coordinators.ask(
            self._key, api_key, body, answered, failed, give_up, timeout_ms=timeout_ms
        )
