"""A follower as its leader knows it.

Source: Replica.java, ReplicaState.java.
"""

from __future__ import annotations

from dataclasses import dataclass

NEVER_FETCHED = -1
"""The log end of a follower that this leader has not heard of yet."""
NEVER_MS = -(1 << 62)


@dataclass(slots=True)
class FollowerState:
    """The log end of one follower and the times of its fetches, since this leadership began. Times
    are on the clock that never jumps."""

    log_end_offset: int = NEVER_FETCHED
    caught_up_ms: int = NEVER_MS
    """The last time at which the follower had the whole log of the leader."""
    broker_epoch: int = -1
    """The incarnation that fetches (KIP-903), -1 if unknown."""
    log_start_offset: int = NEVER_FETCHED
    """The start of the follower's log, as its last fetch has told."""
    _fetched_ms: int = NEVER_MS
    _leader_end_offset: int = 0

    def fetched(self, offset: int, leader_end_offset: int, now_ms: int, broker_epoch: int) -> None:
        """Note a fetch; `offset` is the end of the follower's log. A follower that has reached the
        leader's log end is caught up now. One that has reached the log end that the leader had at
        the fetch before was caught up at the time of that fetch, although the leader has appended
        meanwhile."""
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self._leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self._fetched_ms)
        self.log_end_offset, self.broker_epoch = offset, broker_epoch
        self._leader_end_offset, self._fetched_ms = leader_end_offset, now_ms

    def left_behind(self, heard_ms: int) -> None:
        """Note that the leader is about to append, while the follower has the whole log. heard_ms:
        when the follower's broker last sent any Fetch, since in a fetch session a Fetch does not
        name partitions that have not changed."""
        self.caught_up_ms = max(self.caught_up_ms, heard_ms)
