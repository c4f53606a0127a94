"""A cluster in one process: the test delivers every message between the nodes, or does not.

Each node has its own disk. Lists take the place of a host's sockets, and a number takes that of its
clock, so the same seed gives the same run.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from reference_impl.core.broker import Broker
from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import of_internal_topics
from reference_impl.core.effects import (
    CancelTimer,
    CloseConnection,
    Effect,
    Failed,
    Release,
    Report,
    Respond,
    SetTimer,
)
from reference_impl.core.events import (
    Answered,
    ConnectionClosed,
    ConnectionLost,
    ConnectionOpened,
    Event,
    Request,
    RequestArrived,
    Started,
    TimerFired,
    TimerKey,
)
from reference_impl.core.handlers import BROKER, CONTROLLER, QUORUM
from reference_impl.core.node import Node
from reference_impl.core.quorum.snapshots.formatting import format_voters
from reference_impl.core.quorum.voters.voter_set import voters_of
from reference_impl.core.requests.api import Api, Served
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage
from reference_impl.core.tests.node_identities import (
    CONTROLLER_PORT,
    address,
    format_directory,
    voter,
)
from reference_impl.links.effects import Ask, Destination, HangUp
from reference_impl.wire import (
    ApiKey,
    Struct,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)

NODES = (1, 2, 3)
START_MS = 1_700_000_000_000
CLIENT = 1
"""The connection on which the test itself asks; those between nodes have greater numbers."""
Handle = Callable[[Broker, Request], Iterator[Effect]]


@dataclass(eq=False)
class Connection:
    """A connection from one node to another, which works on one request at a time."""

    number: int
    source: int
    destination: Destination
    waiting: deque[bytes] = field(default_factory=deque)
    at_work: bool = False

    @property
    def target(self) -> int:
        return int(self.destination.host.removeprefix("node-"))


class Cluster:
    """Nodes, their timers, and the connections between them."""

    has_voters_in_log = False
    has_controllers_apart = False
    """Whether the voters are controllers alone, so that only the observers are brokers."""

    def __init__(
        self,
        apis: Mapping[int, Handle] | None = None,
        seed: int = 0,
        voters: int = 0,
        rules: type[Rules] = Rules,
        observers: int = 0,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Start the nodes. apis: how they handle some APIs otherwise. voters: how many nodes are
        one quorum; none: three nodes, each of which is a cluster of its own. observers: how many
        nodes beside the voters are brokers only. configs: what is set on each node beside;
        {node} stands for its id."""
        self.now_ms = 0
        self.random = Random(seed)
        self.connections: dict[tuple[int, Destination], Connection] = {}
        ids = tuple(range(1, voters + observers + 1)) or NODES
        self.answers: dict[int, list[Struct]] = {node: [] for node in ids}
        self.delays_ms: dict[tuple[int, int], int] = {}
        """(from, to) -> the delay of messages beyond 1 ms."""
        self.silent: set[tuple[int, int]] = set()
        """(From, to): what is sent there never arrives, and nobody hears of it."""
        self.refusing: set[int] = set()
        """Nodes to which no connection can be made."""
        self.trace: list[str] = []
        self.reports: list[str] = []
        self.keeps_trace = not voters
        self.watch: Callable[[int], None] = lambda node: None
        """Called with each node that has taken a step, after it."""
        self._numbers = count(100)
        self._agenda: list[tuple[int, int]] = []
        self._actions: dict[tuple[int, int], Callable[[], None]] = {}
        self._order = count()
        self._timers: dict[tuple[int, TimerKey], tuple[int, int]] = {}
        self._rules = rules
        self._served = served_with(apis or {})
        self._configs = configs or {}
        self._quorum = ids[:voters]
        self._voters = ",".join(f"{node}@node-{node}:{CONTROLLER_PORT}" for node in self._quorum)
        self.disks = {node: MemoryStorage() for node in ids}
        self.nodes: dict[int, Node] = {}
        for node in ids:
            if voters:
                format_directory(self.disks[node], node)
            if self.has_voters_in_log and node in self._quorum:
                format_voters(self.disks[node], "data", voters_of(*map(voter, self._quorum)), 0)
            self.boot(node)

    def boot(self, node: int) -> None:
        """Start a process over the node's disk as it is."""
        brokers = [n for n in self.disks if not self.has_controllers_apart or n not in self._quorum]
        copies = of_internal_topics(len(brokers) if self._voters else 1)
        given = {"node.id": str(node), "num.partitions": "1", **copies}
        # So that no offset depends on how long a test waits.
        given |= {"metadata.max.idle.interval.ms": "0"}
        if self._voters:
            given |= {
                "controller.quorum.voters": self._voters,
                "controller.quorum.election.timeout.ms": "300",
                "controller.quorum.fetch.timeout.ms": "1000",
                "listeners": f"PLAINTEXT://:9092,CONTROLLER://:{CONTROLLER_PORT}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            }
            if self.has_voters_in_log:
                del given["controller.quorum.voters"]
                given["controller.quorum.bootstrap.servers"] = ",".join(
                    f"node-{each}:{CONTROLLER_PORT}" for each in self.disks
                )
            elif node not in self._quorum:
                given |= {"process.roles": "broker", "listeners": "PLAINTEXT://:9092"}
            elif self.has_controllers_apart:
                controller = f"CONTROLLER://:{CONTROLLER_PORT}"
                given |= {"process.roles": "controller", "listeners": controller}
        configs = {key: text.format(node=node) for key, text in self._configs.items()}
        made = Node(
            BrokerConfig.of({**given, **configs}),
            self.disks[node],
            "data",
            address(node),
            rules=self._rules(),
            apis=self._served,
            also_advertised={
                "PLAINTEXT": address(node),
                "CONTROLLER": replace(address(node), port=CONTROLLER_PORT),
            },
        )
        if not self._voters:
            others = [other for other in self.disks if other != node]
            made.peer_addresses.update({other: address(other) for other in others})
        self.nodes[node] = made
        self.step(node, Started(*self.moment()))

    def kill(self, node: int, *, loses_power: bool = False) -> None:
        """End the process at once; the disk keeps what the operating system had, or only what was
        synced."""
        for connection in list(self.connections.values()):
            if node in (connection.source, connection.target):
                del self.connections[connection.source, connection.destination]
                if connection.source != node:
                    self._lose(connection, "the node has died")
                else:
                    self._notice_close(connection)
        for key in [key for key in self._timers if key[0] == node]:
            self._cancel(*key)
        del self.nodes[node]
        if loses_power:
            self.disks[node].crash()
        else:
            self.disks[node].kill()

    def moment(self) -> tuple[int, int, bytes]:
        """Return the clocks and the random bytes of an event."""
        return START_MS + self.now_ms, self.now_ms, self.random.randbytes(16)

    # --- conversation -------------------------------------------------------------------------

    def send(self, node: int, api: ApiKey, version: int, body: Struct) -> None:
        """Let the test's client ask a node; the answer will lie in `answers`."""
        request = Request(CLIENT, api, version, 1, "test", "/1.2.3.4", body)
        self.step(node, RequestArrived(*self.moment(), request))

    def run(self, ms: int) -> None:
        """Let time pass, and let everything happen that falls due, in its order."""
        end_ms = self.now_ms + ms
        while self._agenda and self._agenda[0][0] <= end_ms:
            due = heapq.heappop(self._agenda)
            action = self._actions.pop(due, None)
            if action is not None:
                self.now_ms = due[0]
                action()
        self.now_ms = end_ms

    def cut(self, source: int, target: int) -> None:
        """Break the connections from one node to another; both sides learn of it."""
        for connection in list(self.connections.values()):
            if (connection.source, connection.target) == (source, target):
                self._end(connection)
                self._lose(connection, "the test has cut it")

    # --- inside -------------------------------------------------------------------------------

    def step(self, node: int, event: Event) -> None:
        if node not in self.nodes:
            return
        for effect in self.nodes[node].step(event):
            if self.keeps_trace:
                self.trace.append(f"{self.now_ms} {node} {effect!r}")
            self._perform(node, effect)
        self.watch(node)

    def _perform(self, node: int, effect: Effect) -> None:
        match effect:
            case Failed(error=error):
                raise error
            case Ask():
                self._ask(node, effect)
            case HangUp(destination=destination):
                if (node, destination) in self.connections:
                    self._end(self.connections[node, destination])
            case Respond(request=request, body=body) if request.connection == CLIENT:
                self.answers[node].append(body)
            case Respond():
                self._answer(node, effect)
            case SetTimer(key=key, delay_ms=delay_ms):
                self._cancel(node, key)
                fire = self.at(delay_ms, lambda: self._fire(node, key))
                self._timers[node, key] = fire
            case CancelTimer(key=key):
                self._cancel(node, key)
            case CloseConnection(reason=reason):
                raise AssertionError(f"node {node} closes a connection: {reason}")
            case Report(sentence=sentence):
                self.reports.append(f"{node}: {sentence}")
            case Release():
                pass
            case _:
                raise AssertionError(f"the cluster cannot perform {effect}")

    def at(self, delay_ms: int, action: Callable[[], None]) -> tuple[int, int]:
        key = self.now_ms + delay_ms, next(self._order)
        self._actions[key] = action
        heapq.heappush(self._agenda, key)
        return key

    def _cancel(self, node: int, key: TimerKey) -> None:
        self._actions.pop(self._timers.pop((node, key), (-1, -1)), None)

    def _fire(self, node: int, key: TimerKey) -> None:
        del self._timers[node, key]
        self.step(node, TimerFired(*self.moment(), key))

    # --- network ------------------------------------------------------------------------------

    def _ask(self, node: int, ask: Ask) -> None:
        key = node, ask.destination
        connection = self.connections.get(key)
        if connection is None:
            connection = Connection(next(self._numbers), node, ask.destination)
            if connection.target in self.refusing or connection.target not in self.nodes:
                self._lose(connection, "no connection")
                return
            self.connections[key] = connection
            self._open(connection)
        frame = encode_request(
            ask.api_key, ask.api_version, ask.request_id, ask.client_id, ask.body
        )
        found = connection
        self._carry(node, found.target, found, lambda: self._arrive(found, frame))

    def _open(self, connection: Connection) -> None:
        """Tell the node that is asked on which of its listeners the connection has come."""
        if self._voters:
            is_for_controllers = connection.destination.port == CONTROLLER_PORT
            listener = "CONTROLLER" if is_for_controllers else "PLAINTEXT"
            opened = ConnectionOpened(*self.moment(), connection.number, listener, 0)
            self.step(connection.target, opened)

    def _carry(
        self, source: int, target: int, connection: Connection, deliver: Callable[[], None]
    ) -> None:
        """Deliver a message later, if its connection still exists then."""
        if (source, target) in self.silent:
            return

        def arrive() -> None:
            if self._is_open(connection):
                deliver()

        self.at(1 + self.delays_ms.get((source, target), 0), arrive)

    def _is_open(self, connection: Connection) -> bool:
        return self.connections.get((connection.source, connection.destination)) is connection

    def _arrive(self, connection: Connection, frame: bytes) -> None:
        connection.waiting.append(frame)
        self._hand_over(connection)

    def _hand_over(self, connection: Connection) -> None:
        if connection.at_work or not connection.waiting or not self._is_open(connection):
            return
        connection.at_work = True
        header, body = decode_request(bytearray(connection.waiting.popleft()[4:]))
        request = Request(
            connection.number,
            header.api_key,
            header.api_version,
            header.correlation_id,
            header.client_id,
            "/1.2.3.4",
            body,
        )
        self.step(connection.target, RequestArrived(*self.moment(), request))

    def _answer(self, node: int, effect: Respond) -> None:
        request = effect.request
        found = [c for c in self.connections.values() if c.number == request.connection]
        for connection in found:
            connection.at_work = False
            version = request.api_version if effect.version is None else effect.version
            frame = encode_response(request.api_key, version, request.correlation_id, effect.body)
            body = decode_response(bytearray(frame[4:]), request.api_key, version)[1]

            def deliver(connection: Connection = connection, body: Struct = body) -> None:
                number = request.correlation_id
                self.step(connection.source, Answered(*self.moment(), number, body))

            self._carry(node, connection.source, connection, deliver)
            self._hand_over(connection)

    def _lose(self, connection: Connection, reason: str) -> None:
        destination = connection.destination
        self.at(
            1,
            lambda: self.step(
                connection.source, ConnectionLost(*self.moment(), destination, reason)
            ),
        )

    def _end(self, connection: Connection) -> None:
        del self.connections[connection.source, connection.destination]
        self._notice_close(connection)

    def _notice_close(self, connection: Connection) -> None:
        self.at(
            1,
            lambda: self.step(
                connection.target, ConnectionClosed(*self.moment(), connection.number)
            ),
        )


def served_with(apis: Mapping[int, Handle]) -> Served:
    """Return the tables of a node, with some handlers of the brokers' listener replaced."""
    replaced = {key: Api(handle, 0, 20) for key, handle in apis.items()}
    return Served({**BROKER, **replaced}, CONTROLLER, QUORUM)


class ChangeableCluster(Cluster):
    """A cluster whose voters can be added and removed; its observers are controllers (KIP-853)."""

    has_voters_in_log = True
