"""The fetch session of a follower with one leader (KIP-227): each request names only the partitions
whose position has changed.

Source: FetchSessionHandler.java, RemoteLeaderEndPoint.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from reference_impl.core.partitions.fetch_sessions import EPOCH_MAX, INITIAL_EPOCH, NO_SESSION
from reference_impl.wire import ErrorCode, Struct, definition

REQUEST = definition("FetchRequest")
ReplicaKey = tuple[UUID, int]
"""Topic id and partition index."""


@dataclass(frozen=True, slots=True)
class Position:
    """The place at which a follower continues to read a partition."""

    topic: str
    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    """The epoch of the follower's last record, -1 if it has none."""
    log_start_offset: int


class FollowerSession:
    """The partitions that a follower fetches from one leader, and which of them the leader's
    session has."""

    def __init__(self) -> None:
        self.positions: dict[ReplicaKey, Position] = {}
        self._changed: dict[ReplicaKey, None] = {}
        self._forgotten: dict[ReplicaKey, str] = {}
        self._known: dict[ReplicaKey, None] = {}
        """The partitions that the leader's session has."""
        self._session_id, self._epoch = NO_SESSION, INITIAL_EPOCH

    def want(self, key: ReplicaKey, position: Position) -> None:
        """Fetch a partition from this position on; the next request names it if the position is
        new."""
        if self.positions.get(key) != position:
            self.positions[key] = position
            self._changed[key] = None
            self._forgotten.pop(key, None)

    def drop(self, key: ReplicaKey) -> None:
        """Fetch a partition no longer: the next request tells the leader to forget it. Do nothing
        for a partition that is not fetched."""
        position = self.positions.pop(key, None)
        self._changed.pop(key, None)
        if position is not None and key in self._known:
            self._forgotten[key] = position.topic

    def request(self, bytes_max: int, **fields: Any) -> Struct:
        """Return the next Fetch request, and count its changes as told to the leader; after a
        failure call `lost`. bytes_max: the most bytes to return for each partition. fields: the
        other fields of the request."""
        is_full = self._epoch == INITIAL_EPOCH
        keys = list(self.positions if is_full else self._changed)
        body = REQUEST.new(
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=self._rows(keys, bytes_max),
            forgotten_topics_data=[] if is_full else self._forgotten_rows(),
            **fields,
        )
        self._known = dict.fromkeys(keys) if is_full else {**self._known, **dict.fromkeys(keys)}
        for key in self._forgotten:
            self._known.pop(key, None)
        self._changed.clear()
        self._forgotten.clear()
        return body

    def _rows(self, keys: Iterable[ReplicaKey], bytes_max: int) -> list[Struct]:
        topics: dict[UUID, Struct] = {}
        for topic_id, index in keys:
            position = self.positions[topic_id, index]
            if topic_id not in topics:
                topics[topic_id] = REQUEST.struct(
                    "FetchTopic", topic=position.topic, topic_id=topic_id
                )
            row = REQUEST.struct(
                "FetchPartition",
                partition=index,
                current_leader_epoch=position.leader_epoch,
                fetch_offset=position.fetch_offset,
                last_fetched_epoch=position.last_fetched_epoch,
                log_start_offset=position.log_start_offset,
                partition_max_bytes=bytes_max,
            )
            topics[topic_id].partitions.append(row)
        return list(topics.values())

    def _forgotten_rows(self) -> list[Struct]:
        topics: dict[UUID, Struct] = {}
        for (topic_id, index), name in self._forgotten.items():
            if topic_id not in topics:
                topics[topic_id] = REQUEST.struct("ForgottenTopic", topic=name, topic_id=topic_id)
            topics[topic_id].partitions.append(index)
        return list(topics.values())

    def answered(self, body: Struct) -> bool:
        """Take the leader's answer into account, and return whether it is about partitions. Return
        False if it is an error of the session: the next request then begins another session."""
        if body.error_code != ErrorCode.NONE:
            if body.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._session_id = NO_SESSION
            self._epoch = INITIAL_EPOCH  # the leader then ends the session, if there is one
            return False
        if self._epoch == INITIAL_EPOCH:
            self._session_id = body.session_id
        if self._session_id != NO_SESSION:
            self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1
        return True

    def lost(self) -> None:
        """Begin another session with the next request, since it is unknown whether the leader has
        received the last one."""
        self._epoch = INITIAL_EPOCH
