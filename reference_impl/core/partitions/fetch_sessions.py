"""Fetch sessions: a client names its partitions once, and later requests name only changes
(KIP-227).

Source: FetchManager.java, FetchSession.java, FetchContext.java, FetchMetadata.java; KIP-516 (topic
ids in sessions). A request is one of three things, by its session id and epoch:

    epoch -1            full, and no session is wanted (or the named one ends)
    epoch 0             full; a session is made, if there is room, when the answer goes out
    epoch n, id s       the n-th request of session s: changes to what is wanted, and the answer
                        holds only partitions with something new

A session knows which partitions may have something new (`Session.pending`), and only these are
read: the cost of a request grows with what has changed, not with the size of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from uuid import UUID

from reference_impl.core.events import Request
from reference_impl.core.partitions.purgatory import PartitionKey, Purgatory, Watch
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
EPOCH_MAX = 2**31 - 1
EVICTION_MS = 120_000
"""A new session may evict one that has been idle for so many milliseconds; a new session with more
partitions may also evict one that is this old
(ServerConfigs.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS)."""
TOPIC_IDS_SINCE = 13
CONSUMER, DEBUGGING_CONSUMER = -1, -2
"""The replica ids of readers that are no brokers; the second may read any replica to its log
end (FetchRequest.java)."""
PARTITIONS_MAX = 500_000
"""The most partitions that all sessions may have together, some hundred MiB. (Kafka limits only the
number of sessions.)"""

WantedKey = tuple[str, UUID, int]


@dataclass(slots=True)
class Wanted:
    """One partition that a client fetches, and the offsets in the last response."""

    topic: str
    topic_id: UUID
    params: Struct
    high_watermark: int = -1
    log_start_offset: int = -1
    place: int = 0
    """The partition's place in the order in which the session is read."""

    @property
    def key(self) -> WantedKey:
        """Return the partition's key: topic name, topic id and index. Of name and id, a request
        fills one in."""
        return self.topic, self.topic_id, self.params.partition

    def has_news(self, row: Struct) -> bool:
        """Return whether an incremental answer must hold this row (CachedPartition.java)."""
        return bool(
            row.records
            or row.error_code
            or row.high_watermark != self.high_watermark
            or row.log_start_offset != self.log_start_offset
            or row.diverging_epoch.epoch >= 0
            or row.preferred_read_replica >= 0
        )

    def note_sent(self, row: Struct) -> None:
        """Remember the offsets in this row, which the client now knows."""
        # After an error, send every offset again.
        self.high_watermark = -1 if row.error_code else row.high_watermark
        self.log_start_offset = row.log_start_offset


Row = tuple[Wanted, Struct]


Reader = tuple[int, int, int, int, int]
"""The fields of a request that decide the answer for a partition, or that tell the leader about a
follower: connection, version, isolation level, replica, broker epoch (KIP-903)."""


@dataclass(slots=True, eq=False)
class Session:
    """The partitions that one client fetches, kept between its requests."""

    session_id: int
    uses_topic_ids: bool
    wanted: dict[WantedKey, Wanted]
    created_ms: int
    last_used_ms: int
    is_follower: bool = False
    epoch: int = 1
    """The epoch of the next request."""
    reader: Reader | None = None
    pending: dict[WantedKey, Wanted] = field(default_factory=dict)
    """The partitions that the next request must read. All others have not changed since they were
    last read."""
    found: dict[PartitionKey, Wanted] = field(default_factory=dict)
    """The watched partitions, by topic name and index."""
    watch: Watch = field(default_factory=lambda: Watch({}, lasts=True))
    _places: count[int] = field(default_factory=count)

    def add(self, wanted: Wanted) -> None:
        """Add one partition to the session, last in its reading order, to be read by the next
        request."""
        self.to_end(wanted)
        self.wanted[wanted.key] = self.pending[wanted.key] = wanted

    def forget(self, key: WantedKey) -> None:
        """Remove a partition from the session. Its watch stays until the partition changes."""
        self.wanted.pop(key, None)
        self.pending.pop(key, None)

    def to_end(self, wanted: Wanted) -> None:
        """Move a partition to the end of the reading order, so that the others come first next
        time."""
        wanted.place = next(self._places)

    @property
    def worth(self) -> tuple[bool, int]:
        """Return what evicting the session would cost, to be compared: followers rank above
        consumers, and then sessions with more partitions above those with fewer
        (FetchSession.EvictableKey)."""
        return self.is_follower, len(self.wanted)


@dataclass(slots=True)
class FetchContext:
    """The partitions that one request fetches, and the form of its answer."""

    wanted: list[Wanted]
    session: Session | None = None
    """The session that this request continues, None for a full request. In a session only changed
    rows are sent."""
    epoch: int = 0
    """The epoch of the session after this request. A different epoch in the session shows that a
    later request has come."""
    creates: Callable[[Iterable[Wanted]], int] | None = None
    """For the first request of a session: a function that creates it, and returns its id, or 0 if
    there is no room."""

    def to_read(self, purgatory: Purgatory, denied: set[WantedKey]) -> list[Wanted]:
        """Return the partitions to read for this request, in the session's order: those that have
        changed or were not read yet, and the denied ones. Stop watching those that the session has
        forgotten. Without a session, return all that the request names."""
        session = self.session
        if session is None:
            return self.wanted
        for key in session.watch.take_noted():
            wanted = session.found[key]
            if session.wanted.get(wanted.key) is wanted:
                session.pending[wanted.key] = wanted
            else:
                del session.found[key]
                purgatory.remove_key(session.watch, key)
        for each in denied & session.wanted.keys():
            session.pending[each] = session.wanted[each]
        return sorted(session.pending.values(), key=attrgetter("place"))

    def was_read(self, purgatory: Purgatory, wanted: Wanted, key: PartitionKey) -> None:
        """Remember that the session has found this partition, and watch it from now on, so that the
        session reads it again when it changes. Do nothing without a session."""
        session = self.session
        if session is not None and session.found.get(key) is not wanted:
            session.found[key] = wanted
            purgatory.add_key(session.watch, key)

    def is_at_end(self, wanted: Wanted, row: Struct) -> None:
        """Note that the client knows all that is in this row, so that the partition is not read
        again before it changes. Do nothing if the row has news, without a session, or if a later
        request has come. The caller has found nothing to read after the client's position."""
        session = self.session
        if session is not None and session.epoch == self.epoch and not wanted.has_news(row):
            session.pending.pop(wanted.key, None)

    def to_send(self, rows: list[Row]) -> tuple[int, list[Row]]:
        """Return the session id and the rows to answer, given a row for each partition read. In a
        session only rows with news are answered, and partitions that returned records go to the end
        of the reading order. For a full request that wants a session, create it."""
        if self.session is None:
            for wanted, row in rows:
                wanted.note_sent(row)
            return (self.creates(self.wanted) if self.creates else NO_SESSION), rows
        news = [(wanted, row) for wanted, row in rows if wanted.has_news(row)]
        for wanted, row in news:
            wanted.note_sent(row)
            if row.records:
                self.session.to_end(wanted)
        return self.session.session_id, news


@dataclass
class FetchSessions:
    """The sessions of one broker, least recently used first."""

    slots: int
    renewed: Callable[[Wanted, Struct], Struct]
    """The rule that chooses between the stored request row of a partition and the one in this
    request."""
    purgatory: Purgatory
    _sessions: dict[int, Session] = field(default_factory=dict)

    def context(self, request: Request, now_ms: int, random_int: Callable[[], int]) -> FetchContext:
        """Return the partitions that a request fetches and the form of its answer; update, end or
        prepare its session. random_int: returns ids for new sessions. Raise Refused for a session
        id or epoch that does not match ours, or if the sessions together would have more than
        PARTITIONS_MAX partitions."""
        body = request.body
        asked = wanted_in(body)
        uses_topic_ids = request.api_version >= TOPIC_IDS_SINCE
        if body.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if body.session_id in self._sessions:
                self._end(self._sessions[body.session_id])  # a full request ends the session
            if body.session_epoch == FINAL_EPOCH:
                return FetchContext(asked)

            def create(wanted: Iterable[Wanted]) -> int:
                session = Session(NO_SESSION, uses_topic_ids, {}, now_ms, now_ms)
                for each in wanted:
                    session.add(each)
                session.is_follower = replica_of(body) >= 0
                return self._keep(session, now_ms, random_int)

            return FetchContext(asked, creates=create)
        session = self._checked(request, uses_topic_ids)
        self._update(session, asked, body.forgotten_topics_data)
        if asked and self._partitions() > PARTITIONS_MAX:
            self._end(session)  # the client goes on without a session
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if not session.wanted:
            self._end(session)
            return FetchContext([])
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        session.last_used_ms = now_ms
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)
        replica, epoch = replica_of(body), body.replica_state.replica_epoch
        reader = request.connection, request.api_version, body.isolation_level, replica, epoch
        if session.reader != reader:
            session.reader, session.pending = reader, dict(session.wanted)
        return FetchContext(list(session.wanted.values()), session, session.epoch)

    def _end(self, session: Session) -> None:
        del self._sessions[session.session_id]
        self.purgatory.end_watch(session.watch)

    def _checked(self, request: Request, uses_topic_ids: bool) -> Session:
        session = self._sessions.get(request.body.session_id)
        if session is None:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.body.session_epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        # [New in v13: KIP-516]
        if session.uses_topic_ids != uses_topic_ids:
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return session

    def _update(self, session: Session, asked: list[Wanted], forgotten: list[Struct]) -> None:
        for wanted in asked:
            known = session.wanted.get(wanted.key)
            if known is None:
                session.add(wanted)
            else:
                known.params = self.renewed(known, wanted.params)
                session.pending[known.key] = known
        for topic in forgotten:
            for index in topic.partitions:
                session.forget((topic.topic, topic.topic_id, index))

    def _keep(self, session: Session, now_ms: int, random_int: Callable[[], int]) -> int:
        """Store a new session and return its id, if there is room or another can be evicted; else
        return 0."""
        if len(self._sessions) >= self.slots and not self._evict_for(session, now_ms):
            return NO_SESSION
        if self._partitions() + len(session.wanted) > PARTITIONS_MAX:
            return NO_SESSION
        while session.session_id == NO_SESSION or session.session_id in self._sessions:
            session.session_id = random_int()
        self._sessions[session.session_id] = session
        return session.session_id

    def _partitions(self) -> int:
        return sum(len(session.wanted) for session in self._sessions.values())

    def _evict_for(self, newcomer: Session, now_ms: int) -> bool:
        """Evict a session to make room, and return whether one was evicted
        (FetchSessionCacheShard.tryEvict): the least recently used one if it was idle for more than
        two minutes; else the one worth least, if the newcomer is worth more and the session has
        served as long (or is a consumer's, and the newcomer a follower's). So sessions of the same
        size do not evict each other all the time."""
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.last_used_ms > EVICTION_MS:
            self._end(oldest)
            return True
        evictable = [
            each
            for each in self._sessions.values()
            if each.last_used_ms - each.created_ms > EVICTION_MS
            or (newcomer.is_follower and not each.is_follower)
        ]
        least = min(evictable, key=lambda each: each.worth, default=None)
        if least is None or newcomer.worth <= least.worth:
            return False
        self._end(least)
        return True


def wanted_in(body: Struct) -> list[Wanted]:
    """Return the partitions named in a request, in its order (KIP-74: the order is the client's).
    If a partition is named twice, use its last row, at the place of the first."""
    named = {
        # The number of an id is hashed without a call, and a request may name 30,000 partitions.
        (topic.topic, topic.topic_id.int, partition.partition): Wanted(
            topic.topic, topic.topic_id, partition
        )
        for topic in body.topics
        for partition in topic.partitions
    }
    return list(named.values())


def replica_of(body: Struct) -> int:
    """Return the node id of the follower that sends this Fetch, or CONSUMER or
    DEBUGGING_CONSUMER."""
    # [Modified in v15: KIP-903] A follower names itself in the replica state.
    old: int = body.replica_id
    new: int = body.replica_state.replica_id
    return new if old == CONSUMER else old
