"""Requests from handlers to other nodes, over the same kind of links that our client uses.

Source: NodeToControllerChannelManager, InterBrokerSendThread.java: a connection for each purpose to
each node, so that a request that waits long delays only its own connection (`Lane`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference_impl.core.effects import CancelTimer, Effect, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.moment import Moment
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.waiting.waits import Answer, Unanswered
from reference_impl.links.effects import Destination, Lane
from reference_impl.links.link import Failure, Link, Links, Query, Settings
from reference_impl.wire import ErrorCode, Struct

TIMER = "peers"
SETUP_TIMEOUT_MS, RECONNECT_BACKOFF_MS, RECONNECT_BACKOFF_MAX_MS = 10_000, 50, 1_000
"""Kafka's defaults for connections between brokers."""
VERSION_MAX = 1 << 15


class PeerKernel:
    """The time, the timers and the randomness that the links use; each of their timers is a timer
    of the node."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._actions: dict[TimerKey, Callable[[], None]] = {}
        self.effects: list[Effect] = []
        """The effects that the links have requested since the last call of `taken`."""

    @property
    def monotonic_ms(self) -> int:
        """The milliseconds of the clock that never jumps, at the current event."""
        return self._moment.monotonic_ms

    def emit(self, effect: Effect) -> None:
        """Add an effect, which the host performs after the step."""
        self.effects.append(effect)

    def after(self, delay_ms: int, key: TimerKey, action: Callable[[], None]) -> None:
        """Run the action after a delay, replacing a timer with the same key."""
        self._actions[key] = action
        self.emit(SetTimer((TIMER, *key), delay_ms))

    def cancel(self, key: TimerKey) -> None:
        """Cancel the timer with this key, if there is one."""
        if self._actions.pop(key, None) is not None:
            self.emit(CancelTimer((TIMER, *key)))

    def fired(self, key: TimerKey) -> None:
        """Run the action of a timer once. Do nothing if it was cancelled. `key` begins with
        TIMER."""
        action = self._actions.pop(key[1:], None)
        if action is not None:
            action()

    def jittered(self, delay_ms: int) -> int:
        """Return the delay with up to a fifth more or less, at random (KIP-580)."""
        chance = int.from_bytes(self._moment.random_bytes(4), "big") / (1 << 32)
        return int(delay_ms * (0.8 + 0.4 * chance))


class Peers:
    """The links of one node to the others, and the answers that handlers wait for."""

    def __init__(
        self,
        moment: Moment,
        node_id: int,
        address_of: Callable[[int, Lane], Endpoint | None],
        tell: Callable[[int, Any], None],
    ) -> None:
        """Create no link yet. tell: a function to call with the number of each wait that is over,
        and its outcome."""
        self._kernel = PeerKernel(moment)
        self._address_of = address_of
        self._tell = tell
        settings = Settings(
            f"broker-{node_id}", SETUP_TIMEOUT_MS, RECONNECT_BACKOFF_MS, RECONNECT_BACKOFF_MAX_MS
        )
        self._links = Links(self._kernel, settings)
        self._asked: dict[int, tuple[Link, Query]] = {}

    def ask(self, number: int, wait: Answer) -> list[Effect]:
        """Send a request to another node, and return the effects for the host. If the node's
        address is unknown, fail the wait with BROKER_NOT_AVAILABLE."""
        address = self._address_of(wait.node, wait.lane)
        if address is None:
            reason = f"the address of node {wait.node} is unknown"
            self._tell(number, Unanswered(ErrorCode.BROKER_NOT_AVAILABLE, reason, was_sent=False))
            return []
        query = Query(
            wait.api_key,
            wait.body,
            lambda body: self._tell(number, body),
            lambda failure: self._tell(number, unanswered(failure)),
            wait.timeout_ms,
            VERSION_MAX,
        )
        link = self._links.to(Destination(address.host, address.port, wait.lane))
        self._asked[number] = link, query
        link.ask(query)
        return self._taken()

    def withdraw(self, number: int) -> None:
        """Drop the request of a wait that is over. If it was not sent yet, do not send it. Do
        nothing for a wait that has no request."""
        link, query = self._asked.pop(number, (None, None))
        if link is not None and query is not None:
            link.withdraw(query)

    def answered(self, request_id: int, body: Struct | None) -> list[Effect]:
        """Pass a response (None: the request has none, and the host has accepted it) to the link
        that waits for it. Return the effects for the host."""
        self._links.answered(request_id, body)
        return self._taken()

    def connection_lost(self, destination: Destination, reason: str) -> list[Effect]:
        """Fail the requests of a connection that the host has lost. Return the effects for the
        host."""
        self._links.connection_lost(destination, reason)
        return self._taken()

    def timer_fired(self, key: TimerKey) -> list[Effect]:
        """Run the action of a link's timer, such as a time-out or a back-off. Return the effects
        for the host."""
        self._kernel.fired(key)
        return self._taken()

    def _taken(self) -> list[Effect]:
        effects, self._kernel.effects = self._kernel.effects, []
        return effects


def unanswered(failure: Failure) -> Unanswered:
    """Return the exception that a handler gets for a request that failed."""
    code = ErrorCode.UNSUPPORTED_VERSION if failure.is_unsupported else ErrorCode.NETWORK_EXCEPTION
    return Unanswered(code, failure.reason, was_sent=failure.was_sent)
