"""Fetch sessions: after a first full request, later ones name only the changes (KIP-227).

Source: KIP-227, KIP-516 (topic ids); FetchSessionHandler.java.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from reference_impl.client.values import TopicPartition

INITIAL_EPOCH = 0
"""The session epoch of a full request that asks for a session."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wish of a fetch session for one partition: the offset from which to read, the leader
    epoch, and the most bytes to return."""

    topic_id: UUID
    offset: int
    leader_epoch: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session fields and partitions of one Fetch request."""

    session_id: int
    epoch: int
    to_send: dict[TopicPartition, Wanted]
    to_forget: dict[TopicPartition, UUID]


class FetchSession:
    """The fetch session that one broker keeps for us."""

    def __init__(self) -> None:
        self._id = 0
        self._epoch = INITIAL_EPOCH
        self.partitions: dict[TopicPartition, Wanted] = {}
        """Partition -> the values that the broker's session has for it after the last request."""

    def next_request(self, wanted: dict[TopicPartition, Wanted]) -> SessionRequest:
        """Return a request with the partitions to fetch, reduced to the difference from those that
        the broker remembers, and note that it will remember them."""
        if self._epoch == INITIAL_EPOCH:
            self.partitions = dict(wanted)
            return SessionRequest(0, INITIAL_EPOCH, dict(wanted), {})
        before, self.partitions = self.partitions, dict(wanted)
        changed = {each: what for each, what in wanted.items() if before.get(each) != what}
        # A topic that was created again has another id: forget the old one, and add the new one.
        gone = {
            each: what.topic_id
            for each, what in before.items()
            if each not in wanted or wanted[each].topic_id != what.topic_id
        }
        return SessionRequest(self._id, self._epoch, changed, gone)

    def answered(self, session_id: int) -> None:
        """Note an accepted request; session id 0, or another than ours, means that the broker does
        not keep our session."""
        if session_id == 0:
            self.reset()
        elif self._epoch == INITIAL_EPOCH or session_id == self._id:
            self._id = session_id
            self._epoch = 1 if self._epoch == (1 << 31) - 1 else self._epoch + 1
        else:
            self.reset()

    def reset(self) -> None:
        """Start again without a session, because the broker does not know it, or may not know
        it."""
        self._id, self._epoch = 0, INITIAL_EPOCH
        self.partitions = {}
