"""The states of a node in the quorum of the metadata log, as a table. Nothing else changes a state.

Source: QuorumState.java (its comment lists the same moves); KIP-595 (Raft over Kafka's records),
KIP-996 (pre-vote: PROSPECTIVE asks who would vote for it, and raises no epoch by asking).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    """The part that a node plays in the current epoch."""

    UNATTACHED = "knows no leader"
    PROSPECTIVE = "asks for pre-votes, in its old epoch"
    CANDIDATE = "asks for votes, in an epoch of its own"
    LEADER = "writes the log"
    FOLLOWER = "fetches the log from the leader"
    RESIGNED = "was the leader of this epoch, and leads no more"


class Move(Enum):
    """An event that changes the state of a node."""

    TIMED_OUT = 1
    """For a follower: no fetch has succeeded for `controller.quorum.fetch.timeout.ms`. In an
    election: it has found no leader in time."""
    MAJORITY_GRANTED = 2
    ELECTION_LOST = 3
    LEADER_FOUND = 4
    """The leader of this epoch or of a newer one."""
    NEWER_EPOCH = 5
    """Another node is in a newer epoch, and has not named its leader; or a node that may not stand
    has not found the leader, or has not heard from it, in time."""
    QUORUM_LOST = 6
    """Too few voters have fetched from this leader for 1.5 fetch time-outs, or it shuts down, or it
    is no longer a voter."""


_HEARS = {Move.NEWER_EPOCH: State.UNATTACHED, Move.LEADER_FOUND: State.FOLLOWER}
"""The moves that are possible in every state, since any message may come from a newer epoch."""

RAFT: Mapping[State, Mapping[Move, State]] = {
    State.UNATTACHED: {Move.TIMED_OUT: State.PROSPECTIVE, **_HEARS},
    State.PROSPECTIVE: {
        Move.MAJORITY_GRANTED: State.CANDIDATE,
        Move.ELECTION_LOST: State.UNATTACHED,
        **_HEARS,
    },
    State.CANDIDATE: {
        Move.MAJORITY_GRANTED: State.LEADER,
        Move.TIMED_OUT: State.PROSPECTIVE,
        **_HEARS,
    },
    State.LEADER: {Move.QUORUM_LOST: State.RESIGNED, **_HEARS},
    State.FOLLOWER: {Move.TIMED_OUT: State.PROSPECTIVE, **_HEARS},
    State.RESIGNED: {Move.TIMED_OUT: State.UNATTACHED, **_HEARS},
}
