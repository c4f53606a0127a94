"""A coordinator that loads a group forgets the members' instance ids."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.rules import Rules
from reference_impl.wire import Struct


class ForgetInstances(Rules):
    """Real-world kin: records whose newer fields are written, but not read back.

    Breaks:     static members must keep their places when the coordinator changes (KIP-345;
                GroupMetadataValue.json, GroupInstanceId). With this bug each of them is told that
                it is unknown, and joins again beside what is left of it.
    Caught by:  the conformance cases that restart the coordinator of static members. Members that
                join again within a rebalance time-out break no promise that a history shows.
    Within:     one examination.
    """

    def loaded_group(self, group_id: str, value: Struct) -> ClassicGroup:
        """Return the group with dynamic members only."""
        group = super().loaded_group(group_id, value)
        for member in group.members.values():
            member.instance_id = None
        group.static_members.clear()
        return group
