"""The assignors that a group's leader runs, by the names that members exchange.

Source: ConsumerPartitionAssignor.java; the names are part of the protocol (JoinGroupRequest.json,
field Protocols), so members written in any language must understand the same by them.
"""

from reference_impl.client.group.classic.assignors.protocol import (
    Assignment,
    Assignor,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from reference_impl.client.group.classic.assignors.range import RangeAssignor
from reference_impl.client.group.classic.assignors.round_robin import RoundRobinAssignor
from reference_impl.client.group.classic.assignors.sticky import (
    CooperativeStickyAssignor,
    StickyAssignor,
)

ASSIGNORS: dict[str, type[Assignor]] = {
    "RangeAssignor": RangeAssignor,
    "RoundRobinAssignor": RoundRobinAssignor,
    "StickyAssignor": StickyAssignor,
    "CooperativeStickyAssignor": CooperativeStickyAssignor,
}
"""Name of the Java class, as in `partition.assignment.strategy` -> the assignor."""

__all__ = [
    "ASSIGNORS",
    "Assignment",
    "Assignor",
    "CooperativeStickyAssignor",
    "MemberSubscription",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
    "decode_assignment",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
]
