"""The brokers' sessions with the active controller: when each was last heard from, and
how far it has read the metadata log.

Only the active controller keeps them, in memory: the next one begins with all of them fresh.

Source: BrokerHeartbeatManager.java, BrokerHeartbeatTracker.java; KIP-631.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from reference_impl.core.rules import Rules

NEVER = 1 << 63
"""A number above every offset: the value of `controlled_shutdown_at` for a broker that is not
stopping."""


@dataclass(slots=True)
class Session:
    """The last contact with one broker, and how far it had read the metadata log then."""

    heard_at_ms: int | None = None
    """The time of the last heartbeat, by the clock that never jumps; None before the first one."""
    metadata_offset: int = -1
    """The offset up to which the broker has read the metadata log."""
    controlled_shutdown_at: int = NEVER
    """The offset of the newest metadata record when the broker last led a partition while it was
    stopping."""
    is_placed: bool = False
    """Whether this controller has let the broker, since it was unfenced, lead whatever had no
    leader."""


class BrokerSessions:
    """The session of each broker that the active controller has heard from."""

    def __init__(self, rules: Rules, monotonic_ms: Callable[[], int]) -> None:
        self._rules, self._monotonic_ms = rules, monotonic_ms
        self._by_id: dict[int, Session] = {}

    def begin(self, brokers: Iterable[int]) -> None:
        """Discard all sessions, and begin a new one for each of these brokers, as if it had just
        sent a heartbeat."""
        now_ms = self._monotonic_ms()
        self._by_id = {broker: Session(now_ms) for broker in brokers}

    def of(self, broker: int) -> Session:
        """Return the session of a broker; begin one that was never heard from if there is none."""
        return self._by_id.setdefault(broker, Session())

    def renew(self, broker: int, metadata_offset: int) -> None:
        """Note that a broker was heard from now, and how far it has read the metadata log."""
        session = self.of(broker)
        session.heard_at_ms = self._monotonic_ms()
        session.metadata_offset = metadata_offset

    def prolong(self, late_ms: int) -> None:
        """Prolong all sessions by the time for which this node has stood still: it has yet to read
        the heartbeats that came meanwhile. Kafka's controller need not do so, since no broker
        shares its thread."""
        for session in self._by_id.values():
            if session.heard_at_ms is not None:
                session.heard_at_ms += late_ms

    def forget(self, broker: int) -> None:
        """Drop the session of an incarnation that is no longer registered."""
        self._by_id.pop(broker, None)

    def is_valid(self, broker: int, timeout_ms: int) -> bool:
        """Return whether the broker's session is not over: its last heartbeat, or the new session
        that `begin` gave it, is at most timeout_ms ago. A broker with neither has no session."""
        session = self._by_id.get(broker)
        if session is None or session.heard_at_ms is None:
            return False
        silent_ms = self._monotonic_ms() - session.heard_at_ms
        return not self._rules.session_is_over(silent_ms, timeout_ms)

    def silent(self, brokers: Iterable[int], timeout_ms: int) -> Iterator[int]:
        """Yield those of the brokers whose session is over."""
        for broker in brokers:
            if not self.is_valid(broker, timeout_ms):
                yield broker

    def lowest_offset(self, brokers: Iterable[int]) -> int:
        """Return the lowest metadata offset that any of these brokers has reached: -1 if one was
        not heard from, NEVER if there are no brokers."""
        return min((self.of(broker).metadata_offset for broker in brokers), default=NEVER)
