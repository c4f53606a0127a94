"""Raise `kraft.version` from 0 to 1 while the quorum works: from then on its log names the voters,
and they can change (KIP-853).

Source: LeaderState.java (maybeAppendUpgradedKRaftVersion), UpdateVoterHandler.java. The
configuration names no directories. So each voter reports its own, and the levels that it supports,
once to each leader (UpdateRaftVoter); the leader needs all of them for the first VotersRecord.
"""

from __future__ import annotations

from reference_impl.core.quorum.quorum import Quorum


def reason_against_upgrade(quorum: Quorum, level: int) -> str | None:
    """As the leader, return why the quorum cannot work at this level of `kraft.version`, or None if
    it can."""
    assert quorum.leadership is not None
    told = quorum.leadership.told_voters.values()
    if quorum.rules.may_raise_version(level, (voter.kraft_versions for voter in told)):
        return None
    missing = ", ".join(str(voter.node_id) for voter in told if voter.kraft_versions[1] < level)
    return (
        f"Invalid upgrade of kraft.version to {level} because not all of the voters support it, or"
        f" have reported to this leader: {missing}"
    )


def upgrade(quorum: Quorum, level: int) -> None:
    """As the leader, write the new level and the voters as they have reported themselves, which are
    in force at once. Raise StorageError if the disk fails."""
    assert quorum.leadership is not None
    quorum.change_voters(quorum.leadership.told_voters, level)
