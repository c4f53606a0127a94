"""The leader's work in a classic group: assign the partitions to all members.

Source: ConsumerCoordinator.java (onLeaderElected, performAssignment); KIP-814 (a static member that
comes back as the leader assigns nothing).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.group.classic.assignors import (
    Assignor,
    MemberSubscription,
    decode_subscription,
    encode_assignment,
)
from reference_impl.wire import Struct


class Leadership:
    """The work of a member while it leads a classic group: it assigns the partitions in each
    rebalance, and notices when their number has changed."""

    def __init__(self, metadata: Metadata, assignors: Mapping[str, Assignor]) -> None:
        self._metadata = metadata
        self._assignors = assignors
        self._protocol_name = ""
        self._members: dict[str, MemberSubscription] | None = None
        """The members that wait for an assignment until the metadata of all topics is known; else
        None."""
        self._counts: dict[str, int] = {}
        """Topic -> the number of its partitions in the last assignment."""

    def end(self) -> None:
        """Forget the members and the last assignment, since this member leads no more."""
        self._members, self._counts = None, {}

    def begin(self, answer: Struct) -> None:
        """Store the protocol, the members and their subscriptions from the leader's JoinGroup
        response, and ask for the metadata of their topics. Raise Malformed if a subscription cannot
        be decoded."""
        self._protocol_name = answer.protocol_name
        self._members = {
            row.member_id: decode_subscription(row.metadata, row.group_instance_id)
            for row in answer.members
        }
        self._metadata.want(*topics_of(self._members))

    @property
    def can_assign(self) -> bool:
        """Return whether members wait for an assignment and all topics are known."""
        topics = topics_of(self._members or {})
        return self._members is not None and all(map(self._metadata.topic, topics))

    def assign(self) -> tuple[str, dict[str, bytes]]:
        """Return the name of the protocol, and the encoded partitions of each waiting member, for
        SyncGroup. After that no member waits."""
        members, self._members = self._members or {}, None
        self._counts = self._partition_counts(sorted(topics_of(members)))
        existing = {topic: count for topic, count in self._counts.items() if count}
        assignment = self._assignors[self._protocol_name].assign(existing, members)
        return self._protocol_name, {
            member_id: encode_assignment(share) for member_id, share in assignment.items()
        }

    @property
    def is_outdated(self) -> bool:
        """Return whether the number of partitions of a topic has changed since this leader's last
        assignment, so that they must be assigned again. False if it has assigned none."""
        return self._counts != self._partition_counts(self._counts)

    def _partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        return {topic: len(self._metadata.partitions(topic)) for topic in topics}


def topics_of(members: Mapping[str, MemberSubscription]) -> set[str]:
    """Return the topics to which any of these members subscribes."""
    return {topic for member in members.values() for topic in member.topics}
