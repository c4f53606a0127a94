"""Membership in a consumer group (KIP-848): the coordinator assigns, the member follows.

Source: KIP-848, "Rebalance Process" and "Consumer"; KIP-1082 (the member makes its own id); KIP-345
(static members); ConsumerMembershipManager.java.

The order of a change prevents two members from reading one partition: partitions that are not in
the new assignment are given up (committed, reported to the application, released), new ones are
taken, and then a heartbeat reports the partitions held. Only after that heartbeat does the
coordinator give the released partitions to other members.

As in the classic protocol a change begins only inside a poll: an application never loses a
partition while it works on records that an earlier poll has given it.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from uuid import UUID

from reference_impl.client.cluster.coordinators import Coordinators
from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.cluster.network import Network
from reference_impl.client.cluster.topic_ids import TopicIds
from reference_impl.client.config import Config
from reference_impl.client.errors import ClientError, Refusal
from reference_impl.client.group.consumer.heartbeats import (
    HELD,
    REGEX,
    ConsumerHeartbeats,
    HeartbeatFields,
)
from reference_impl.client.group.consumer.states import KNOWN, Move, State, next_state
from reference_impl.client.group.handover import Then
from reference_impl.client.group.member import POLL, GroupMember
from reference_impl.client.group.subscription import Mode, Subscription
from reference_impl.client.kernel import Chance, Kernel
from reference_impl.client.values import ConsumerGroupMetadata, TopicPartition
from reference_impl.wire import ErrorCode, Struct

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
"""The special values of MemberEpoch in a heartbeat (ConsumerGroupHeartbeatRequest.java)."""
NO_EPOCH = -1
"""The epoch in a commit by a consumer that is no member (OffsetCommitRequest.json,
GenerationIdOrMemberEpoch)."""
FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
"""Errors that mean that the group has removed this member: other members may have its
partitions."""
UUID_BYTES = 16

Held = dict[TopicPartition, UUID]
"""Partition -> the id of its topic, since a topic that is created again gets another id."""


def new_member_id(chance: Chance) -> str:
    """Return a UUID as Kafka writes it: base64 without padding (Uuid.java)."""
    data = bytes(chance.randrange(256) for _ in range(UUID_BYTES))
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class ConsumerMembership(GroupMember):
    """One consumer as a member of a consumer group (KIP-848): it joins, moves to what the
    coordinator assigns, sends heartbeats, and leaves."""

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
        self._metadata = metadata
        self._topic_ids = TopicIds(kernel, network, config, metadata)
        self._heartbeats = ConsumerHeartbeats(kernel, network, config, coordinators, self._key)
        self._heartbeats.attach(
            self._identity, self._heartbeat_fields, self._answered, self._refused, self._fail
        )
        self.state = State.UNSUBSCRIBED
        # The same as long as the consumer lives, so that a join whose answer was lost leaves no
        # ghost behind.
        self._member_id = new_member_id(kernel.chance)
        self._epoch = JOIN_EPOCH
        self._part: set[tuple[UUID, int]] = set()
        """The partitions that the coordinator has assigned to this member."""
        self._held: Held = {}
        self._incoming: Held | None = None
        """The partitions that the change in progress will add; None while there is none."""

    # --- who we are ---------------------------------------------------------------------------

    def group_metadata(self) -> ConsumerGroupMetadata:
        group_id = self._key[1]
        if self._epoch <= JOIN_EPOCH:
            return ConsumerGroupMetadata(group_id, NO_EPOCH, "", self._instance_id)
        return ConsumerGroupMetadata(group_id, self._epoch, self._member_id, self._instance_id)

    def _identity(self) -> ConsumerGroupMetadata:
        """Return our identity for heartbeats, also while we are about to join."""
        return ConsumerGroupMetadata(self._key[1], self._epoch, self._member_id, self._instance_id)

    def _heartbeat_fields(self) -> HeartbeatFields:
        """Return the fields of our heartbeat. The owned partitions include those that we are just
        taking; otherwise the coordinator could give them to others."""
        heartbeat_fields: dict[str, object] = {
            "rebalance_timeout_ms": self._config["max.poll.interval.ms"],
            "subscribed_topic_names": sorted(self._subscription.topics),
            "server_assignor": self._config["group.remote.assignor"],
            HELD: self._told_of({**self._held, **(self._incoming or {})}),
        }
        if self._subscription.pattern is not None:
            heartbeat_fields[REGEX] = self._subscription.pattern
        return heartbeat_fields

    @staticmethod
    def _told_of(held: Held) -> set[tuple[UUID, int]]:
        return {(topic_id, each.partition) for each, topic_id in held.items()}

    @property
    def is_known(self) -> bool:
        return self.state in KNOWN

    @property
    def may_read(self) -> bool:
        return self.state in KNOWN and not self._handover.is_under_way

    # --- what the consumer tells us -----------------------------------------------------------

    def subscribed(self) -> None:
        if self.state in KNOWN:
            self._heartbeats.soon()

    def _is_silent(self) -> None:
        self._heartbeats.leave(self._farewell(), lambda: None)
        self._forget(Move.FALLS_SILENT)

    def metadata_changed(self) -> None:
        """Do nothing: the coordinator sees by itself when a topic has more partitions."""

    def evicted(self, code: int) -> None:
        """React to an answer about offsets that denies our membership: the next heartbeat will say
        what to do."""
        if self.state in KNOWN:
            self._heartbeats.soon()

    # --- what goes on by itself ---------------------------------------------------------------

    def run(self, is_polling: bool) -> None:
        is_over = self.error is not None and self.error.fatal
        if is_over or self._subscription.mode is not Mode.GROUP or self._handover.is_under_way:
            return
        if self.state is State.RECONCILING:
            self._look_up_names()
        if not is_polling:
            return
        if self.state in (State.FENCED, State.STALE):
            self._handover.lose(self._join)
        elif self.state is State.UNSUBSCRIBED:
            self._join()
        elif self.state is State.RECONCILING and not self._heartbeats.is_telling(HELD):
            self._reconcile()

    def _join(self) -> None:
        self._epoch = JOIN_EPOCH
        self._move(Move.JOINS)
        self._heartbeats.start()

    def _look_up_names(self) -> None:
        unknown = {each for each, _ in self._part if self._topic_ids.name(each) is None}
        if unknown:
            self._topic_ids.learn(sorted(unknown))

    # --- a change of what we hold -------------------------------------------------------------

    def _named_part(self) -> Held:
        """Return the assigned partitions whose topic names are known; the others wait for
        metadata."""
        names = {topic_id: self._topic_ids.name(topic_id) for topic_id, _ in self._part}
        return {
            TopicPartition(name, index): topic_id
            for topic_id, index in self._part
            if (name := names[topic_id]) is not None
        }

    def _reconcile(self) -> None:
        """Take the next step towards the assignment: give partitions up, take new ones, and report
        that to the coordinator. Do nothing if all that is missing are names of topics."""
        part = self._named_part()
        gone = dict(self._held.items() - part.items())
        new = dict(part.items() - self._held.items())
        if not gone and not new:
            return  # the names of the missing topics are not known yet
        self._incoming = new

        def given_up() -> None:
            if self._incoming is new:  # else the member was fenced or has left meanwhile
                self._take(part, new)

        if gone:
            self._handover.give_up(gone, self.is_member, given_up)
        else:
            given_up()

    def _take(self, part: Held, new: Held) -> None:
        self._held, self._incoming = part, None
        self._metadata.want(*{each.topic for each in part})
        self._move(Move.CHANGED)
        self._heartbeats.soon()
        self._handover.take(part, new)

    # --- what the coordinator says ------------------------------------------------------------

    def _answered(self, answer: Struct) -> None:
        self._member_id = answer.member_id or self._member_id
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self._part = {
                (row.topic_id, index)
                for row in answer.assignment.topic_partitions
                for index in row.partitions
            }
        if self.state is State.LEAVING or self._incoming is not None:
            return  # another change is in progress
        held = self._told_of(self._held)
        if held != self._part:
            if self.state is not State.RECONCILING:
                self._move(Move.MUST_CHANGE)
        elif self.state is not State.STABLE and self._heartbeats.has_told(HELD, held):
            self._move(Move.ARRIVES)

    def _refused(self, code: int, message: str) -> None:
        error = Refusal(code, "being a member of the group", detail=message)
        if code in FENCED:
            self._forget(Move.FENCED)
        elif code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self.error = error  # heartbeats go on, since it may be granted later
        else:
            self._fail(error)

    def _fail(self, error: ClientError) -> None:
        self.error = error
        error.fatal = True
        self._forget(Move.FAILS)

    # --- leaving ------------------------------------------------------------------------------

    def leave(self, then: Then) -> None:
        has_lost = self.state in (State.FENCED, State.STALE, State.FATAL)
        was_known = self.state in KNOWN or self.state is State.LEAVING
        self._move(Move.LEAVES)
        self._incoming = None

        def gone() -> None:
            if self.state is not State.LEAVING:
                then()  # the member has left already
                return
            farewell = self._farewell() if was_known else None
            self._forget(Move.IS_GONE)
            if farewell is None:
                then()
            else:
                self._heartbeats.leave(farewell, then)

        self._handover.drop()
        if has_lost:
            self._handover.lose(gone)
        else:
            self._handover.give_up(self._subscription.partitions, was_known, gone)

    def _farewell(self) -> ConsumerGroupMetadata:
        epoch = LEAVE_EPOCH if self._instance_id is None else LEAVE_STATIC_EPOCH
        return ConsumerGroupMetadata(self._key[1], epoch, self._member_id, self._instance_id)

    def _forget(self, move: Move) -> None:
        """Forget our membership; the next poll gives up the partitions that we hold."""
        self._heartbeats.stop()
        self._kernel.cancel(POLL)
        self._epoch, self._part = JOIN_EPOCH, set()
        self._held, self._incoming = {}, None
        if self.state is not State.LEAVING or move is Move.IS_GONE:
            self._move(move)

    def _move(self, move: Move) -> None:
        self.state = next_state(self.state, move)
