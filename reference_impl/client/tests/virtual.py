"""Clients and one reference broker in one thread, on a network and a clock that are numbers.

The network keeps the order of each connection and loses connections when told: before the request
arrives, or after the broker has acted on it. The same seed gives the same run.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from reference_impl.client.calls import Call
from reference_impl.client.effects import Complete, Fail, PartitionsChanged, WakeAt
from reference_impl.client.errors import ClientError
from reference_impl.client.events import Answered, Called, ConnectionLost, Event, Woken
from reference_impl.client.machine import Machine
from reference_impl.core import effects as broker_effects
from reference_impl.core import events as broker_events
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import of_internal_topics
from reference_impl.core.node import Node
from reference_impl.core.rules import Rules
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import MemoryStorage
from reference_impl.links.effects import Ask, Destination, Effect, HangUp
from reference_impl.wire import decode_request, decode_response, encode_request, encode_response

HOST, PORT = "broker", 9092
BOOTSTRAP = f"{HOST}:{PORT}"
START_MS = 1_700_000_000_000
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "metadata.max.idle.interval.ms": "0",  # so that no offset depends on how long a test waits
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "num.partitions": "3",
    **of_internal_topics(1),
}
PENDING = object()


@dataclass(eq=False)
class Connection:
    """One connection; the broker works on one of its requests at a time."""

    number: int
    client: Client
    destination: Destination
    waiting: deque[Ask] = field(default_factory=deque)
    at_work: Ask | None = None
    is_open: bool = True


class Client:
    """One machine, its connections and its calls."""

    def __init__(self, world: VirtualWorld, machine: Machine) -> None:
        self._world = world
        self._machine = machine
        self._ids = count(1)
        self._wake_at_ms: int | None = None
        self.connections: dict[Destination, Connection] = {}
        self.results: dict[int, Any] = {}
        self.changes: list[PartitionsChanged] = []
        self.asked: list[Ask] = []

    def call(self, call: Call) -> int:
        """Make a call; its result will lie in `results` under this number."""
        call_id = next(self._ids)
        self.results[call_id] = PENDING
        self.step(Called(*self._world.clocks(), call_id, call))
        return call_id

    def do(self, call: Call, limit_ms: int = 300_000) -> Any:
        """Make a call and let time pass until it is answered. Raises what it fails with."""
        call_id = self.call(call)
        self._world.run_until(lambda: self.results[call_id] is not PENDING, limit_ms)
        result = self.results.pop(call_id)
        if isinstance(result, ClientError):
            raise result
        return result

    def step(self, event: Event) -> None:
        for effect in self._machine.step(event):
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Ask():
                self.asked.append(effect)
                self._world.transmit(self, effect)
            case HangUp(destination=destination):
                connection = self.connections.pop(destination, None)
                if connection is not None:
                    self._world.forget(connection)
            case WakeAt(monotonic_ms=at_ms):
                self._wake_at_ms = at_ms
                self._world.at(at_ms, lambda: self._wake(at_ms))
            case Complete(call_id=call_id, value=value):
                self.results[call_id] = value
            case Fail(call_id=call_id, error=error):
                self.results[call_id] = error
            case PartitionsChanged():
                self.changes.append(effect)

    def _wake(self, at_ms: int) -> None:
        if self._wake_at_ms == at_ms:
            self._wake_at_ms = None
            self.step(Woken(*self._world.clocks()))


class VirtualWorld:
    """The broker, the network and the clock."""

    def __init__(
        self,
        seed: int = 0,
        *,
        loss: float = 0.0,
        config: Mapping[str, str] | None = None,
        rules: type[Rules] = Rules,
    ) -> None:
        self.random = Random(seed)
        self.loss = loss
        """The probability that a request loses its connection, before or after it is performed."""
        self.now_ms = 0
        self._order = count()
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._connection_numbers = count(1)
        self._connections: dict[int, Connection] = {}
        self._storage = MemoryStorage()
        self._config = BrokerConfig.of({**SETTINGS, **(config or {})})
        self._rules = rules
        self._timers: dict[broker_events.TimerKey, int] = {}
        self._boot()

    def clocks(self) -> tuple[int, int]:
        """Return (wall clock, monotonic clock)."""
        return START_MS + self.now_ms, self.now_ms

    # --- time ---------------------------------------------------------------------------------

    def at(self, at_ms: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (max(at_ms, self.now_ms), next(self._order), action))

    def run_until(self, condition: Callable[[], bool], limit_ms: int = 300_000) -> None:
        """Let things happen until the condition holds; fails when the time is up."""
        end_ms = self.now_ms + limit_ms
        while not condition():
            assert self._agenda and self._agenda[0][0] <= end_ms, "nothing led to it in time"
            self.now_ms, _, action = heapq.heappop(self._agenda)
            action()

    def run_for(self, ms: int) -> None:
        """Let time pass."""
        end_ms = self.now_ms + ms
        self.at(end_ms, lambda: None)
        self.run_until(lambda: self.now_ms >= end_ms, ms)

    # --- network ------------------------------------------------------------------------------

    def transmit(self, client: Client, ask: Ask) -> None:
        connection = client.connections.get(ask.destination)
        if connection is None:
            connection = Connection(next(self._connection_numbers), client, ask.destination)
            client.connections[ask.destination] = connection
            self._connections[connection.number] = connection
        frame = encode_request(
            ask.api_key, ask.api_version, ask.request_id, ask.client_id, ask.body
        )
        found = connection
        self.at(self.now_ms + 1, lambda: self._arrive(found, ask, frame))
        if not ask.expects_answer:
            self.at(
                self.now_ms, lambda: client.step(Answered(*self.clocks(), ask.request_id, None))
            )

    def _arrive(self, connection: Connection, ask: Ask, frame: bytes) -> None:
        if not connection.is_open:
            return
        if self.random.random() < self.loss / 2:
            self.break_connection(connection)
            return
        connection.waiting.append(ask)
        self._frames[connection.number, ask.request_id] = bytearray(frame[4:])
        self._hand_over(connection)

    def _hand_over(self, connection: Connection) -> None:
        if connection.at_work is not None or not connection.waiting or not connection.is_open:
            return
        ask = connection.at_work = connection.waiting.popleft()
        frame = self._frames.pop((connection.number, ask.request_id))
        header, body = decode_request(frame)
        request = broker_events.Request(
            connection.number,
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            "/1.2.3.4",
            body,
        )
        self._step(broker_events.RequestArrived(*self._broker_clock(), request))

    def _respond(self, effect: broker_effects.Respond) -> None:
        request = effect.request
        connection = self._connections.get(request.connection)
        if connection is None:
            return
        connection.at_work = None
        version = request.api_version if effect.version is None else effect.version
        frame = encode_response(request.api_key, version, request.correlation_id, effect.body)
        if self.random.random() < self.loss / 2:
            self.break_connection(connection)
            return
        body = decode_response(bytearray(frame[4:]), request.api_key, version)[1]

        def deliver() -> None:
            if connection.is_open:
                connection.client.step(Answered(*self.clocks(), request.correlation_id, body))

        self.at(self.now_ms + 1, deliver)
        self.at(self.now_ms, lambda: self._hand_over(connection))

    def break_connection(self, connection: Connection) -> None:
        """Break a connection; both sides learn of it, sooner or later."""
        self.forget(connection)
        client, destination = connection.client, connection.destination
        if client.connections.get(destination) is connection:
            del client.connections[destination]
            lost = "the virtual network has cut it"
            self.at(
                self.now_ms + 1,
                lambda: client.step(ConnectionLost(*self.clocks(), destination, lost)),
            )

    def forget(self, connection: Connection) -> None:
        """Forget a connection."""
        if self._connections.pop(connection.number, None) is not None:
            connection.is_open = False
            self.at(
                self.now_ms,
                lambda: self._step(
                    broker_events.ConnectionClosed(*self._broker_clock(), connection.number)
                ),
            )

    # --- broker -------------------------------------------------------------------------------

    def _boot(self) -> None:
        self._timers.clear()
        self._frames: dict[tuple[int, int], bytearray] = {}
        self._node = Node(self._config, self._storage, "data", Endpoint(HOST, PORT), self._rules())
        self._step(broker_events.Started(*self._broker_clock()))

    def kill_broker(self) -> None:
        """Kill -9 the broker, and start a new process over what the operating system has."""
        self._disconnect_all()
        self._storage.kill()
        self._boot()

    def lose_power(self) -> None:
        """Drop what was not synced, and start a new process over what is left."""
        self._disconnect_all()
        self._storage.crash()
        self._boot()

    def _disconnect_all(self) -> None:
        for connection in list(self._connections.values()):
            self.break_connection(connection)

    def _broker_clock(self) -> tuple[int, int, bytes]:
        return START_MS + self.now_ms, self.now_ms, self.random.randbytes(16)

    def _step(self, event: broker_events.Event) -> None:
        for effect in self._node.step(event):
            match effect:
                case broker_effects.Respond():
                    self._respond(effect)
                case broker_effects.Failed(error=error):
                    raise error
                case broker_effects.Release(request=request):
                    connection = self._connections.get(request.connection)
                    if connection is not None:
                        connection.at_work = None
                        self._hand_over_later(connection)
                case broker_effects.CloseConnection(connection=number):
                    if number in self._connections:
                        self.break_connection(self._connections[number])
                case broker_effects.SetTimer(key=key, delay_ms=delay_ms):
                    self._set_timer(key, self.now_ms + delay_ms)
                case broker_effects.CancelTimer(key=key):
                    self._timers.pop(key, None)

    def _hand_over_later(self, connection: Connection) -> None:
        self.at(self.now_ms, lambda: self._hand_over(connection))

    def _set_timer(self, key: broker_events.TimerKey, at_ms: int) -> None:
        self._timers[key] = at_ms

        def fire() -> None:
            if self._timers.get(key) == at_ms:
                del self._timers[key]
                self._step(broker_events.TimerFired(*self._broker_clock(), key))

        self.at(at_ms, fire)
