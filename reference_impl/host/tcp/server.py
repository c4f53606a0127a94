"""The TCP listeners of one node, and the state that its connections share.

Source: SocketServer.java (listeners), Selector.java (idle connections).
"""

from __future__ import annotations

import asyncio
import math
import resource
import socket
import ssl
import sys
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import cast

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import CONTROLLER_LISTENERS
from reference_impl.core.configs.keys import split_list
from reference_impl.core.quotas.connections import ConnectionLimits
from reference_impl.core.security.listeners import Listener
from reference_impl.host.disk import files_open_max
from reference_impl.host.node import NodeHost
from reference_impl.host.tcp.busy_poll import BusyPoll
from reference_impl.host.tcp.connection import Connection
from reference_impl.host.tcp.departures import departures
from reference_impl.host.tcp.entrance.admission import Admission
from reference_impl.host.tcp.entrance.arrivals import Arrivals, Door
from reference_impl.host.tcp.garbage import GarbageCollection
from reference_impl.host.tcp.intake import Intake
from reference_impl.host.tcp.turns import Turns

SWEEPS_PER_IDLE_PERIOD = 4
SWEEP_S_MAX = 1.0
BUFFERS = {
    socket.SO_SNDBUF: "socket.send.buffer.bytes",
    socket.SO_RCVBUF: "socket.receive.buffer.bytes",
}
SYSTEMS_CHOICE = -1
"""The buffer size that leaves the choice to the operating system."""
DESCRIPTORS_SPARE = 64
"""The descriptors for listeners, the event loop, and files that are open for a moment."""
ASIDE_S = 0.001
"""The longest time in seconds for which the other thread keeps the event loop waiting
(sys.setswitchinterval)."""


def connections_max() -> float:
    """Return how many connections the process may have and still have enough descriptors for its
    files; infinity if it may open any number of files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return math.inf
    return max(1, soft - files_open_max() - DESCRIPTORS_SPARE)


def size_buffers(listening: socket.socket, config: BrokerConfig) -> None:
    """Give the sockets that are accepted here the buffers of the configuration.

    Accepted sockets inherit them from the listening one. Small ones make long answers faster: the
    bytes are still in the CPU's cache when the client takes them.
    """
    for option, key in BUFFERS.items():
        if (size := config.number(key)) != SYSTEMS_CHOICE:
            listening.setsockopt(socket.SOL_SOCKET, option, size)


def listeners_between_nodes(config: BrokerConfig) -> frozenset[str]:
    """Return the listeners whose connections are not limited: those of controllers, and that of
    brokers if clients have another (KIP-402)."""
    controllers = set(split_list(config.text(CONTROLLER_LISTENERS)))
    names = {endpoint.partition("://")[0] for endpoint in split_list(config.text("listeners"))}
    between = config.membership().between_brokers if len(names - controllers) > 1 else None
    return frozenset(controllers if between is None else controllers | {between})


class Server:
    """The listeners of one node, and its connections. Creating it shortens the interval after which
    Python switches between threads."""

    host: NodeHost
    """The node. It is set by `accept`, because the node can be created only once the port that it
    advertises is known."""

    def __init__(self, config: BrokerConfig) -> None:
        self.max_frame_bytes = config.number("socket.request.max.bytes")
        self.intake = Intake(config.number("queued.max.request.bytes"), self.max_frame_bytes)
        self._unlimited = listeners_between_nodes(config)
        self._idle_ms = config.number("connections.max.idle.ms")
        self._config = config
        self._ids = count(1)
        self._connections: set[Connection] = set()
        self._connections_max = connections_max()
        self._doors: dict[str, list[Door]] = {}
        """Listener name -> its sockets."""
        self._arrivals = Arrivals(lambda: self._connections_max - len(self._connections))
        self._sweeper: asyncio.TimerHandle | None = None
        self._admission: Admission | None = None
        """The limits of connections; they are known once the node is there (`accept`)."""
        self._garbage: GarbageCollection | None = None
        self.turns = Turns(asyncio.get_running_loop())
        self.busy_poll = BusyPoll(asyncio.get_running_loop())
        self.aside = ThreadPoolExecutor(1, "aside")
        """The thread that decodes and encodes messages with very many elements, while the event
        loop continues."""
        sys.setswitchinterval(ASIDE_S)

    async def listen(self, listener: Listener, tls: ssl.SSLContext | None = None) -> int:
        """Bind the listener, without accepting connections yet, and return its port. tls: None for
        connections in plain text. Raise OSError if the address cannot be bound."""
        bound = await asyncio.get_running_loop().create_server(
            asyncio.Protocol,
            listener.endpoint.host or None,
            listener.endpoint.port,
            start_serving=False,
            reuse_address=True,
        )
        sockets = [each.dup() for each in bound.sockets]
        bound.close()  # asyncio has only bound them

        def connection() -> Connection:
            return Connection(self, next(self._ids), listener)

        self._doors[listener.name] = [Door(each, connection, tls) for each in sockets]
        for listening in sockets:
            size_buffers(listening, self._config)
        return cast(int, sockets[0].getsockname()[1])

    async def accept(self, host: NodeHost, *, later: Collection[str] = ()) -> None:
        """Start accepting connections for this node, except on the listeners that `open` will open,
        and start the sweeps that close idle ones."""
        self.host = host
        broker = host.node.broker
        limits = ConnectionLimits(lambda: broker.config, broker.image.client_quotas)
        self._admission = Admission(limits)
        host.turn_is_over = self.turns.is_over
        self.open(name for name in self._doors if name not in later)
        self._garbage = GarbageCollection(asyncio.get_running_loop().time())
        self._sweep()

    def open(self, names: Iterable[str]) -> None:
        """Start accepting connections on the listeners of these names."""
        for name in names:
            for door in self._doors[name]:
                self._arrivals.open(door)

    async def close(self) -> None:
        """Stop listening and close every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._admission is not None:
            self._admission.close()
        self._arrivals.close()
        for doors in self._doors.values():
            for door in doors:
                door.socket.close()
        for connection in list(self._connections):
            connection.abandon()
        self.aside.shutdown(wait=False, cancel_futures=True)
        if self._garbage is not None:
            self._garbage.close()

    def joined(self, connection: Connection) -> None:
        """Register a new connection, and tell the node of it. If there are too many, close the one
        that has been silent longest, preferably of those without any answered request. Hold the new
        one back while the limits of connections demand that."""
        self._connections.add(connection)
        if len(self._connections) > self._connections_max:
            # Close connections without any request first: they may be a burst of new ones.
            silent = min(self._connections, key=lambda each: (each.was_answered, each.last_used_s))
            # The loop closes it in its next round. Until then it must not be chosen again.
            self._connections.discard(silent)
            silent.end(
                f"there are more than {self._connections_max} connections, and this one has been"
                " silent longest; raise the limit of open files (`ulimit -n`) for more"
            )
        self.host.connections[connection.id] = connection
        self.host.connection_opened(
            connection.id, connection.listener, connection.client_port, connection.subject
        )
        if self._admission is not None and connection.listener not in self._unlimited:
            self._admission.arrived(connection)

    def left(self, connection: Connection) -> None:
        """Forget a client that is gone, and tell the node and the limits of connections."""
        self._connections.discard(connection)
        if self._admission is not None:
            self._admission.left(connection)
        self.host.connection_closed(connection.id)

    def _sweep(self) -> None:
        """Close connections that were idle for connections.max.idle.ms, whose client is gone, or
        that hold memory for which others wait. Collect garbage if that is due, and schedule the
        next sweep."""
        now_s = asyncio.get_running_loop().time()
        idle_s = self._idle_ms / 1000 if self._idle_ms >= 0 else math.inf
        for connection in list(self._connections):
            connection.note_progress()
            if now_s - connection.last_used_s > idle_s:
                connection.end(f"idle for more than {self._idle_ms} ms")
        unread = {
            c.descriptor: c
            for c in self._connections
            if (c.is_paused or c.is_half_closed) and c.descriptor >= 0
        }
        for descriptor, departure in departures(unread).items():
            unread[descriptor].departed(departure)
        self.intake.end_standstills(now_s)
        if self._garbage is not None:
            self._garbage.look(now_s, is_busy=any(c.is_at_long_work for c in self._connections))
        every_s = min(SWEEP_S_MAX, idle_s / SWEEPS_PER_IDLE_PERIOD)
        self._sweeper = asyncio.get_running_loop().call_later(every_s, self._sweep)
