"""A classic consumer group: its members, its generation, and the choices it makes.

Source: ClassicGroup.java, ClassicGroupMember.java; KIP-345 (static members: `group.instance.id`
outlives the member id). This file holds data and pure decisions; `rebalance.py` uses them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import ClassVar

from reference_impl.core.events import Request
from reference_impl.core.groups.classic.states import Move, State, next_state
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Malformed, decode_versioned, definition

CONSUMER_PROTOCOL = "consumer"


@dataclass(slots=True)
class Member:
    """One member of one classic group. awaiting_join and awaiting_sync are its requests that wait
    for their answer, or None."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: dict[str, bytes]
    """Assignor names in order of preference, each with the subscription in that assignor's
    format."""
    assignment: bytes = b""
    awaiting_join: Request | None = None
    awaiting_sync: Request | None = None
    is_new: bool = False
    """Whether the member does not know its member id yet, so that it cannot send heartbeats."""

    def vote(self, candidates: set[str]) -> str:
        """Return the first of the member's protocols that is a candidate. At least one must be."""
        return next(filter(candidates.__contains__, self.protocols))


@dataclass(slots=True)
class ClassicGroup:
    """One classic group. Members are kept in the order in which they joined."""

    kind: ClassVar[str] = "classic"
    """The group's type in ListGroups."""
    group_id: str
    state: State = State.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """group.instance.id -> member id."""
    pending_members: set[str] = field(default_factory=set)
    """Member ids that were given to clients but not used yet (KIP-394)."""
    pending_syncs: set[str] = field(default_factory=set)
    """The members that got the new generation and have not come for the assignment yet."""
    new_member_added: bool = False
    """Whether a member joined during the initial delay, so that it may be extended (KIP-134)."""
    is_initial_rebalance: bool = False
    state_timestamp_ms: int = -1
    _supporters: dict[str, int] = field(default_factory=dict)
    """Protocol -> the number of members that support it. Otherwise each join would have to count
    the protocols of all members again."""

    @property
    def is_empty(self) -> bool:
        """Return whether the group has no members, so that it may be deleted."""
        return self.state is State.EMPTY

    def move(self, what: Move) -> None:
        """Move the group to the state that the table names. Raise ValueError for a move that it
        lacks."""
        self.state = next_state(self.state, what)

    # --- members ------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """Add a member, which leads if no member does. The first one sets the protocol type of the
        group."""
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._count(member.protocols, 1)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member, or an id that was only pending; do nothing if it is unknown. If it was
        the leader, the member that was added first among the rest becomes the leader, or None if
        none is left."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count(member.protocols, -1)
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        self.pending_members.discard(member_id)
        self.pending_syncs.discard(member_id)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def replace_static(self, instance_id: str, new_member_id: str) -> Member:
        """Replace a static member's id by the new id of its restarted process, and return the
        member (KIP-345)."""
        old_member_id = self.static_members[instance_id]
        member = self.members[old_member_id]
        member.member_id = new_member_id
        self.members = {each.member_id: each for each in self.members.values()}
        self.static_members[instance_id] = new_member_id
        if self.leader == old_member_id:
            self.leader = new_member_id
        if old_member_id in self.pending_syncs:
            self.pending_syncs = self.pending_syncs - {old_member_id} | {new_member_id}
        return member

    def checked_member(self, member_id: str, instance_id: str | None) -> Member:
        """Return the member that sent the request. Raise Refused if it is unknown or was replaced
        (KIP-345)."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def has_all_joined(self) -> bool:
        """Return whether every member waits for the next generation, and no new member must still
        join again with its id."""
        return not self.pending_members and all(
            member.awaiting_join for member in self.members.values()
        )

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined the next generation, else make the first member that has
        joined it the leader. Return False if no member has joined it."""
        if self.leader is None:
            return False
        if self.members[self.leader].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader = member.member_id
                return True
        return False

    def rebalance_timeout_ms(self) -> int:
        """Return the longest rebalance timeout that any member asked for, or 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # --- protocols ----------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: dict[str, bytes]) -> bool:
        """Return whether a client with these protocols may be a member: in an empty group if it
        names any, else if the type is the group's and all members support one of them."""
        if not self.members:
            return bool(protocol_type) and bool(protocols)
        size, supporters = len(self.members), self._supporters
        return protocol_type == self.protocol_type and any(
            supporters.get(name) == size for name in protocols
        )

    def common_protocols(self) -> set[str]:
        """Return the names of the protocols that every member supports."""
        return {name for name, count in self._supporters.items() if count == len(self.members)}

    def change_protocols(self, member: Member, protocols: dict[str, bytes]) -> None:
        """Store which protocols a member supports from now on."""
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)

    def _count(self, protocols: Iterable[str], change: int) -> None:
        supporters = self._supporters
        for name in protocols:
            count = supporters.get(name, 0) + change
            if count:
                supporters[name] = count
            else:
                del supporters[name]

    def select_protocol(self) -> str:
        """Return the protocol with the most votes; each member votes for the first of its own that
        all members support."""
        candidates = self.common_protocols()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def subscribed_topics(self) -> set[str] | None:
        """Return the topics to which the members of this generation subscribe. Return None if that
        cannot be known: the group has no protocol, another type than consumers, or a malformed
        subscription."""
        if self.protocol_type != CONSUMER_PROTOCOL or self.protocol is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            if self.protocol not in member.protocols:
                continue  # joined after the protocol was chosen: not in this generation
            try:
                _, subscription = decode_versioned(
                    definition("ConsumerProtocolSubscription"), member.protocols[self.protocol]
                )
            except Malformed:
                return None
            topics.update(subscription.topics)
        return topics

    def topics_read(self, among: Set[str]) -> Set[str]:
        """Return those of these topics that a member may be reading: all of them if consumers are
        members whose subscriptions cannot be known."""
        topics = self.subscribed_topics()
        if topics is not None:
            return among & topics
        return among if self.members and self.protocol_type == CONSUMER_PROTOCOL else frozenset()
