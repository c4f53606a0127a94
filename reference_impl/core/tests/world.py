"""A node without a network: requests go in as objects, answers come out; time is a number.

It performs effects as a host does, in the simplest way that keeps their meaning, so that a test
reads as a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from random import Random
from typing import Any

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import of_internal_topics
from reference_impl.core.effects import (
    CancelTimer,
    CloseConnection,
    Effect,
    Failed,
    GiveWay,
    Release,
    Report,
    Respond,
    SendToken,
    SetTimer,
)
from reference_impl.core.events import (
    ConnectionClosed,
    Event,
    GoOn,
    Request,
    RequestArrived,
    Started,
    Stopping,
    TimerFired,
    TimerKey,
)
from reference_impl.core.node import Node
from reference_impl.core.rules import Rules
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import MemoryStorage
from reference_impl.robustness.conversation import Conversation, end_of, values_in
from reference_impl.wire import ApiKey, Struct, request_definition

__all__ = ["NOTHING", "SETTINGS", "START_MS", "World", "end_of", "values_in"]

START_MS = 1_700_000_000_000
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "metadata.max.idle.interval.ms": "0",  # so that no offset depends on how long a test waits
    "offsets.topic.num.partitions": "2",
    **of_internal_topics(1),
}
NOTHING = object()


class World(Conversation):
    """One node over one disk in memory, and as many clients as a test names."""

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        rules: type[Rules] = Rules,
        node: type[Node] = Node,
        seed: int = 0,
    ) -> None:
        self.storage = MemoryStorage()
        self.config = BrokerConfig.of({**SETTINGS, **(config or {})})
        self.now_ms = START_MS
        """The wall clock. A test may set it."""
        self.monotonic_ms = 0
        self.closed: dict[int, str] = {}
        self.reports: list[str] = []
        self.tokens: list[bytes] = []
        self.gave_way: list[int] = []
        """Connections whose requests gave way, where `node.must_give_way`."""
        self.trace: list[str] = []
        self._random = Random(seed)
        self._rules, self._node_class = rules, node
        self._correlation = count(1)
        self.boot()

    # --- life and death -----------------------------------------------------------------------

    def boot(self) -> None:
        """Start a process over the disk as it is."""
        self.timers: dict[TimerKey, int] = {}
        self.answers: dict[int, Any] = {}
        advertised = Endpoint("broker", 9092)
        rules = self._rules()  # what rules remember dies with the process
        self.node = self._node_class(self.config, self.storage, "data", advertised, rules)
        self._step(Started(*self.moment()))

    def kill(self) -> None:
        """Kill -9, then start a new process: what the operating system had is there."""
        self.storage.kill()
        self.boot()

    def lose_power(self) -> None:
        """Take the machine down: only what was synced remains."""
        self.storage.crash()
        self.boot()

    def restart(self) -> None:
        """Shut down cleanly, then start a new process."""
        self._step(Stopping(*self.moment()))
        self.storage.kill()
        self.boot()

    # --- conversation -------------------------------------------------------------------------

    def send(
        self,
        api: ApiKey,
        version: int,
        body: Struct,
        client: int = 1,
        client_id: str = "test",
        size_bytes: int = 0,
    ) -> int:
        """Deliver a request, and return the correlation id under which its answer will lie."""
        number = next(self._correlation)
        request = Request(client, api, version, number, client_id, "/1.2.3.4", body, size_bytes)
        self._step(RequestArrived(*self.moment(), request))
        return number

    def ask(self, api: ApiKey, version: int, body: Struct, client: int = 1) -> Struct:
        """Deliver a request that is answered at once."""
        number = self.send(api, version, body, client)
        assert number in self.answers, f"{api.name} v{version} was not answered at once"
        answer: Struct = self.answers.pop(number)
        return answer

    def call(self, api: ApiKey, version: int, client: int = 1, **fields: Any) -> Struct:
        """Build a request from its fields, `ask` it, and return the answer."""
        return self.ask(api, version, request_definition(api).new(**fields), client)

    def answer_to(self, number: int) -> Struct | None:
        """Return the answer if it has come meanwhile, or None."""
        answer = self.answers.pop(number, None)
        assert answer is not NOTHING
        return answer  # type: ignore[no-any-return]

    def go_on(self, client: int = 1) -> None:
        """Continue the request that gave way, after others had their turn."""
        self.gave_way.remove(client)
        self._step(GoOn(*self.moment(), client))

    def disconnect(self, client: int) -> None:
        """Close the client's connection without a word."""
        self._step(ConnectionClosed(*self.moment(), client))

    def wait(self, ms: int) -> None:
        """Let time pass, and fire what falls due in its order."""
        end_ms = self.monotonic_ms + ms
        while True:
            due = [(at, key) for key, at in self.timers.items() if at <= end_ms]
            if not due:
                break
            at_ms, key = min(due, key=lambda pair: pair[0])
            self._pass(max(0, at_ms - self.monotonic_ms))
            del self.timers[key]
            self._step(TimerFired(*self.moment(), key))
        self._pass(end_ms - self.monotonic_ms)

    def _pass(self, ms: int) -> None:
        self.now_ms += ms
        self.monotonic_ms += ms

    def settle(self) -> None:
        """Let everything go on that waited for what the test has changed inside the node."""
        for effect in self.node.answer_waiting():
            self._perform(effect)

    # --- inside -------------------------------------------------------------------------------

    def _step(self, event: Event) -> None:
        for effect in self.node.step(event):
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, GiveWay):  # with all the rest of a long request, step by step
            self.trace.append(f"GiveWay({effect.request.connection})")
        else:
            self.trace.append(repr(effect))
        match effect:
            case Respond(request=request, body=body):
                self.answers[request.correlation_id] = body
            case Failed(error=error):
                raise error
            case GiveWay(request=request):
                self.gave_way.append(request.connection)
            case Release(request=request):
                self.answers[request.correlation_id] = NOTHING
            case SendToken(token=token):
                self.tokens.append(token)
            case CloseConnection(connection=connection, reason=reason):
                self.closed[connection] = reason
            case SetTimer(key=key, delay_ms=delay_ms):
                self.timers[key] = self.monotonic_ms + delay_ms
            case CancelTimer(key=key):
                self.timers.pop(key, None)
            case Report(sentence=sentence):
                self.reports.append(sentence)

    def moment(self) -> tuple[int, int, bytes]:
        """Return the clocks and the random bytes of an event."""
        return self.now_ms, self.monotonic_ms, self._random.randbytes(16)
