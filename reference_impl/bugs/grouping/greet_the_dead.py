"""The coordinator accepts heartbeats of a member that it has removed."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules


class GreetTheDead(Rules):
    """Real-world kin: coordinators that look for the group of a heartbeat, and not for the member.

    Breaks:     a member that was removed must learn it from its next heartbeat, so that it joins
                again (KIP-62; UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION).
    Caught by:  the conformance cases of SyncGroup. A client library soon commits, and gets that
                error then.
    Within:     one examination.
    """

    def __init__(self) -> None:
        self._known: dict[str, Member] = {}

    def check_speaker(
        self, group: ClassicGroup, member_id: str, instance_id: str | None, generation: int
    ) -> Member:
        """Return the member even if it was removed or its generation is old. Raise Refused only if
        it never spoke correctly before."""
        try:
            member = super().check_speaker(group, member_id, instance_id, generation)
        except Refused:
            if member_id not in self._known:
                raise
            return self._known[member_id]
        self._known[member_id] = member
        return member
