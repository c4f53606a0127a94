"""A consumer group (KIP-848): its members, their target, and the three epochs.

Source: ConsumerGroup.java, ModernGroup.java. This file holds the state, and functions that only
read it. Every change is a record of the log. `records.apply` applies it both in the broker that
wrote it and in a broker that reads the log after a restart, so log and memory cannot differ.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.groups.consumer.assignors import MemberSpec
from reference_impl.core.groups.consumer.model.member import ConsumerMember, TopicIdPartition
from reference_impl.core.groups.consumer.model.states import GroupState
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode

FIRST_EPOCH = 1
"""The epoch of a new group, and of its empty target (TargetAssignmentMetadata)."""
NEVER_HASHED = -1


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics whose names matched a regular expression at some moment."""

    topics: frozenset[str]
    version: int
    """The end offset of the metadata log at that moment."""
    timestamp_ms: int


def common(names: frozenset[str], among: Set[str]) -> Set[str]:
    """Return what two sets of names have in common. Go through the smaller one, since a member may
    subscribe to a hundred thousand topics that do not exist."""
    fewer, more = (names, among) if len(names) < len(among) else (among, names)
    return {name for name in fewer if name in more}


class ConsumerGroup:
    """One group of the consumer protocol (KIP-848), for which the broker computes the
    assignment."""

    kind: ClassVar[str] = "consumer"
    """The name of the group's type in ListGroups."""
    protocol_type: ClassVar[str] = "consumer"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        """The hash of the subscribed topics when the epoch was last bumped."""
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        """Static members: group.instance.id -> member id."""
        self.target: dict[str, frozenset[TopicIdPartition]] = {}
        self.owners: dict[TopicIdPartition, str] = {}
        """Partition -> the member that may be reading it now: it is assigned to the member, or the
        member has not reported yet that it stopped."""
        self.regexes: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata = False
        """Whether the log has a record of the type ConsumerGroupPartitionMetadata, which Kafka
        wrote before 4.1; it is deleted by a tombstone."""
        self.hashed_at_version = NEVER_HASHED
        """The metadata version at which `metadata_hash` was last compared with the topics; kept in
        memory only."""
        self.awaited_joins: set[str] = set()
        """The classic members that were asked to join again; kept in memory only."""

    def draft(self) -> ConsumerGroup:
        """Return a copy on which changes can be tried. Members and assignments are immutable, so
        the copy shares them."""
        twin = copy.copy(self)
        for name in ("members", "static_members", "target", "owners", "regexes"):
            setattr(twin, name, dict(getattr(self, name)))
        twin.awaited_joins = set(self.awaited_joins)
        return twin

    @property
    def state(self) -> GroupState:
        """Return the state that follows from the epochs (ConsumerGroup.maybeUpdateGroupState)."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(member.has_arrived_at(self.assignment_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        """Return whether the group has no members, so that it may be deleted."""
        return not self.members

    # --- members, as the log says -------------------------------------------------------------

    def put(self, member: ConsumerMember) -> None:
        """Store a new member, or the new version of a known one, and note which partitions it
        owns."""
        self._release(member.member_id)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for partition in member.owned:
            self.owners[partition] = member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member, if it is known, and release its partitions. Its target stays."""
        self._release(member_id)
        member = self.members.pop(member_id, None)
        # A replacement with the same instance id may be there already.
        instance_id = member.instance_id if member is not None else None
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def _release(self, member_id: str) -> None:
        member = self.members.get(member_id)
        for partition in member.owned if member is not None else ():
            if self.owners.get(partition) == member_id:
                del self.owners[partition]

    # --- questions ----------------------------------------------------------------------------

    def member(self, member_id: str) -> ConsumerMember:
        """Return a known member. Raise Refused(UNKNOWN_MEMBER_ID) if it is unknown."""
        found = self.members.get(member_id)
        if found is None:
            raise Refused(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return found

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """Return the member that has this group.instance.id now, or None."""
        member_id = self.static_members.get(instance_id or "")
        return self.members.get(member_id) if member_id is not None else None

    def speaking_member(self, member_id: str, instance_id: str | None) -> ConsumerMember:
        """Return the member that sent the request. Raise Refused if it is unknown or was replaced
        (KIP-345)."""
        if instance_id is None:
            return self.member(member_id)
        member = self.static_member(instance_id)
        if member is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise Refused(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member"
                f" {member.member_id}.",
            )
        return member

    def part_of(self, member_id: str) -> frozenset[TopicIdPartition]:
        """Return the partitions of one member in the target assignment, or none if it has no part
        in it."""
        return self.target.get(member_id, frozenset())

    def topics_of(self, member: ConsumerMember, among: Set[str]) -> Set[str]:
        """Return those of these topics that a member subscribes to, by name or by pattern; a
        pattern that is not resolved yet matches none."""
        resolved = self.regexes.get(member.topic_regex)
        named = common(member.topic_names, among)
        return named if resolved is None else named | common(resolved.topics, among)

    def topic_ids_of(self, member: ConsumerMember, image: MetadataImage) -> frozenset[UUID]:
        """Return the ids of the topics that exist and to which a member subscribes, by name or by
        pattern."""
        names = self.topics_of(member, image.topics.keys())
        return frozenset(image.topics[name].topic_id for name in names)

    def topics_read(self, among: Set[str]) -> Set[str]:
        """Return those of these topics to which any member subscribes."""
        return set[str]().union(*(self.topics_of(each, among) for each in self.members.values()))

    def subscribers_of_regex(self, regex: str) -> int:
        """Return the number of members that use a pattern."""
        return sum(member.topic_regex == regex for member in self.members.values())

    def preferred_assignor(self, assignors: Sequence[str]) -> str:
        """Return which of these assignors most members ask for; if several have equally many votes,
        or none has any, the first of them in the broker's order. (Kafka takes the first in the
        order of a HashMap, which happens to be `uniform`.)"""
        votes = Counter(member.server_assignor for member in self.members.values())
        return max(assignors, key=lambda name: votes[name])

    def specs(self, image: MetadataImage) -> list[MemberSpec]:
        """Return the members in the form that assignors take as input."""
        return [
            MemberSpec(
                member.member_id,
                member.instance_id,
                self.topic_ids_of(member, image),
                self.part_of(member.member_id),
            )
            for member in self.members.values()
        ]

    def is_waiting_for_others(self, member: ConsumerMember) -> bool:
        """Return whether another member still holds a partition of this member's target."""
        missing = self.part_of(member.member_id) - member.assigned.keys()
        return any(self.owners.get(key, member.member_id) != member.member_id for key in missing)

    def supports_protocols(self, protocol_type: str, protocols: Mapping[str, bytes]) -> bool:
        """Return whether every classic member of the group supports one and the same of these
        protocols. Return False for a protocol type other than "consumer"."""
        if protocol_type != "consumer" or not protocols:
            return False
        common = set(protocols)
        for member in self.members.values():
            if member.classic is not None and common:
                known = dict(member.classic.protocols)
                common = {name for name in common if name in known}
        return bool(common)

    def hash_of_metadata(self, image: MetadataImage) -> int:
        """Return a hash that changes with the subscribed topics that exist: ids, names, numbers of
        partitions. Return 0 if there are none. Kafka hashes the same facts by XXH3
        (Utils.computeGroupHash). The hash need not be the same, since only the group's own
        coordinator compares it, and a difference costs no more than one rebalance."""
        facts = [
            (name, image.topics[name].topic_id.hex, len(image.topics[name].partitions))
            for name in sorted(self.topics_read(image.topics.keys()))
        ]
        if not facts:
            return 0
        digest = hashlib.blake2b(repr(facts).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)
