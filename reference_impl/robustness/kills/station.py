"""Nodes that die and return at the same addresses, and a client that survives it."""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from reference_impl.core.security.listeners import Endpoint
from reference_impl.host.cluster import Size, options_of_nodes, settings_of_nodes
from reference_impl.robustness.conversation import Conversation
from reference_impl.robustness.kills.routes import MOVED, Place, codes_in, node_of, place_of
from reference_impl.robustness.process import PATIENCE_S, BrokerProcess, RawClient
from reference_impl.wire import ApiKey, Struct, decode_response, encode_request

CONFIG = {
    # Everything that happens rarely happens often: segments roll, are cleaned, and deleted.
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "500",
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "100",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}
OF_SEVERAL = {
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "5000",
}
ASK_AGAIN_S = 0.05
"""The pause before clients ask again who leads, since those who know may still be few."""


class Broken(Exception):
    """Raised if the broker broke a promise; the message is one sentence."""


class Gone(Exception):
    """Raised if the broker died before it answered, or no longer leads, so that the outcome of the
    request is unknown."""


class Station:
    """Starts and kills nodes; clients wait here while none is up."""

    def __init__(self, directory: Path, nodes: int = 1, bug: str | None = None) -> None:
        """Write the settings of the nodes; start none. Raise BadConfig for a number of nodes that
        the broker does not run, or an unknown bug; OSError if too few ports are free."""
        given = CONFIG | (OF_SEVERAL if nodes > 1 else {})
        settings = settings_of_nodes(Size(nodes, None, 0), directory, given)
        self._options = options_of_nodes(settings, directory, None, bug)
        self._directory = directory
        self.addresses = {node: _first_of(own["listeners"]) for node, own in settings.items()}
        self._processes: dict[int, BrokerProcess] = {}
        self._up: set[int] = set()
        self._some_up = threading.Event()
        self.slowest_start_s = 0.0

    @property
    def nodes(self) -> Sequence[int]:
        """The numbers of all nodes."""
        return sorted(self.addresses)

    @property
    def is_cluster(self) -> bool:
        """Return whether there are several nodes."""
        return len(self.addresses) > 1

    def start(self, *nodes: int) -> None:
        """Start these nodes, and wake the waiting clients when they are ready."""
        started = time.monotonic()
        for node, process in [(node, self.spawn(node)) for node in nodes]:
            process.wait_until_ready()
            self._note(node, is_up=True)
        self.slowest_start_s = max(self.slowest_start_s, time.monotonic() - started)

    def spawn(self, node: int) -> BrokerProcess:
        """Start a node without waiting until it is ready."""
        data, port = self._directory / str(node), self.addresses[node].port
        made = BrokerProcess(data, *self._options[node], port=port, wait=False)
        self._processes[node] = made
        return made

    def kill(self, *nodes: int) -> None:
        """Send SIGKILL to these nodes, if they run, and wait for their end. Clients wait from now
        on until one is up."""
        for node in nodes:
            self._note(node, is_up=False)
            if process := self._processes.get(node):
                process.kill()
                process.__exit__(None, None, None)

    def stop(self, node: int) -> None:
        """Shut a node down cleanly. Raise Broken if its exit status is not 0."""
        self._note(node, is_up=False)
        if status := self._processes[node].stop():
            raise Broken(f"the broker ends with status {status} after SIGTERM")
        self._processes[node].__exit__(None, None, None)

    def up(self) -> Sequence[int]:
        """Return the nodes that are up."""
        return sorted(self._up)

    def wait_until_up(self) -> None:
        """Wait until a node is ready. Raise Broken if that takes far too long."""
        if not self._some_up.wait(PATIENCE_S):
            raise Broken(f"the broker does not come back within {PATIENCE_S} s")

    def _note(self, node: int, is_up: bool) -> None:
        self._up = self._up | {node} if is_up else self._up - {node}
        if self._up:
            self._some_up.set()
        else:
            self._some_up.clear()


def _first_of(listeners: str) -> Endpoint:
    host, _, port = listeners.partition(",")[0].partition("://")[2].rpartition(":")
    return Endpoint(host, int(port))


class Link(Conversation):
    """A client's connections, each to the node that its requests need, which can be opened again
    when that node is back or another leads."""

    def __init__(self, station: Station, choose: Callable[[Sequence[int]], int]) -> None:
        """Open no connection yet. choose: picks the node for a request that any node answers."""
        self._station = station
        self._choose = choose
        self._clients: dict[int, RawClient] = {}
        self._leaders: dict[Place, int] = {}
        self._unanswered: deque[RawClient] = deque()
        """The connection of each request that awaits its answer, in the order of the requests."""
        self._correlation_id = 0

    @property
    def now_ms(self) -> int:  # type: ignore[override]
        return time.time_ns() // 1_000_000

    def reconnect(self) -> None:
        """Close the connections, and wait until a node is ready. Raise Broken if that takes far too
        long."""
        self.close()
        if self._station.is_cluster:
            time.sleep(ASK_AGAIN_S)
        self._station.wait_until_up()

    def close(self) -> None:
        """Close the connections, and forget who leads."""
        for client in self._clients.values():
            client.socket.close()
        self._clients.clear()
        self._leaders.clear()
        self._unanswered.clear()

    def send(self, api: ApiKey, version: int, body: Struct) -> None:
        """Send a request without waiting for the response. Raise Gone if the broker has died, or
        nobody is known to lead."""
        self._correlation_id += 1
        try:
            client = self._client(place_of(api, body))
            client.socket.sendall(encode_request(api, version, self._correlation_id, "kills", body))
        except OSError:
            raise Gone from None
        self._unanswered.append(client)

    def _client(self, place: Place | None) -> RawClient:
        """Return the connection to the node of a place, opened if there is none. Raise Gone if no
        node knows it, OSError if there is no connection."""
        node = self._node(place)
        if node not in self._clients:
            self._clients[node] = RawClient(self._station.addresses[node])
        return self._clients[node]

    def _node(self, place: Place | None) -> int:
        if not self._station.is_cluster:
            return self._station.nodes[0]
        if not (up := self._station.up()):
            raise Gone
        if place is None:
            return self._choose(up)
        if place not in self._leaders:
            found = node_of(place, self._station.addresses[self._choose(up)])
            if found is None:
                raise Gone
            self._leaders[place] = found
        return self._leaders[place]

    def receive(self, api: ApiKey, version: int) -> Struct:
        """Return the next response. Raise Gone if the broker dies before it is complete, or, where
        there are several, if another has to be asked."""
        try:
            frame = self._unanswered.popleft().receive()
        except (OSError, struct.error):
            frame = None
        if frame is None:
            raise Gone
        answer = decode_response(frame, api, version)[1]
        if self._station.is_cluster and codes_in(answer) & MOVED:
            raise Gone
        return answer

    def ask(self, api: ApiKey, version: int, body: Struct) -> Struct:
        self.send(api, version, body)
        return self.receive(api, version)
