"""The network between clients and nodes, and between nodes, which behaves as TCP may behave.

The bytes of a connection arrive in order, perhaps late. If some do not arrive, the connection ends,
sooner or later, and perhaps for one side only. Neither side learns whether bytes in transit have
arrived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import count
from random import Random
from typing import Protocol

from chaos.sim.agenda import US, Agenda, Entry
from chaos.sim.witness import Witness
from chaos.world import Address

FASTEST_S, SLOWEST_S = 0.000_05, 0.000_6
LATE_ONE_IN, LATE_S = 2_000, 0.25
"""One packet in this number is lost and retransmitted; its bytes are late by this many seconds."""
RETRANSMISSION_S, RETRANSMISSIONS_MAX = 0.2, 8
"""A lost packet is sent again after this time, then after twice that time, and so on."""
CLIENTS = 0
"""The source of the connections that clients open; others are opened by the node of that number."""
Way = tuple[int, Address]
"""The source of connections and the address to which they lead. A fault of the network strikes some
of these pairs."""


class Server(Protocol):
    """A node as the network calls it: for new connections, requests and closes."""

    def is_listening(self) -> bool: ...

    def opened(self, line: Line) -> None: ...

    def received(self, line: Line, frame: bytes) -> None: ...

    def closed(self, line: Line) -> None: ...


class State(Enum):
    """The treatment of packets on a path: they pass, they hang, or new connections are refused."""

    OPEN = "open"
    BLACKHOLE = "blackhole"
    REFUSE = "refuse"


@dataclass
class Conditions:
    """The present conditions (delay, loss, state) on one path, a pair (source, address). Faults
    change them; a heal makes them normal again."""

    state: State = State.OPEN
    drops: set[bool] = field(default_factory=set)
    """The directions in which packets vanish: True for those to the node that was dialled."""
    loss: float = 0.0
    """The share of packets that are lost, and sent again."""
    latency_s: float = 0.0
    jitter_s: float = 0.0
    """The jitter of each direction, in seconds."""
    answer_latency_s: float = 0.0
    answer_jitter_s: float = 0.0
    stalls: tuple[float, float] | None = None
    """If set: the share of the connections that transfer nothing, and the seconds after which they
    end."""
    reset_after_s: float | None = None
    """If set: end a connection by a reset instead of passing an answer, this many seconds after the
    answer is due."""

    @property
    def lets_dial(self) -> bool:
        """Return whether the packets of a new connection pass in both directions."""
        return self.state is not State.BLACKHOLE and not self.drops


@dataclass(eq=False)
class Line:
    """One connection from a client to a node, or from one node to another, which is its client."""

    network: Network
    source: int
    address: Address
    number: int
    received: Callable[[bytes], None]
    ended: Callable[[str], None]
    client_is_open: bool = True
    server_is_open: bool = True
    stall: Entry | None = None
    """While the connection transfers nothing: the scheduled action that will end it."""
    is_stranded: bool = False
    """Whether the machine of one end has lost power, of which the other end has heard nothing."""
    awaits_reset: bool = False
    """Whether a client has sent to a machine that has lost power, so that the machine resets the
    connection when it is back."""
    held: list[tuple[bool, Callable[[], None]]] = field(default_factory=list)
    """(whether it goes to the node, the function that delivers it) for everything that hangs until
    the next heal."""
    arrived_us: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    @property
    def conditions(self) -> Conditions:
        """The present conditions (delay, loss, state) on the path from the source to the
        address."""
        return self.network.conditions[self.source, self.address]

    def send(self, frame: bytes) -> None:
        """Send a request to the node's end. The witness records it if a client sends it."""
        if self.source == CLIENTS:
            self.network.witness.sent(self.network.agenda.now_us, self.number, frame)
        self.network.carry(self, True, lambda: self.network.to_server(self, frame))

    def answer(self, frame: bytes) -> None:
        """Send an answer, or end the connection instead if the conditions have `reset_after_s`."""
        if (after_s := self.conditions.reset_after_s) is not None:
            self.network.agenda.after(after_s, lambda: self.network.cut(self, "reset by peer"))
        else:
            self.network.carry(self, False, lambda: self.network.to_client(self, frame))

    def close(self) -> None:
        """Close the client's end of the connection. The node notices that later."""
        if self.client_is_open:
            self.client_is_open = False
            self.network.carry(self, True, lambda: self.network.end_server(self))

    def hang_up(self, reason: str) -> None:
        """Close the node's end of the connection. The client notices that later."""
        if self.server_is_open:
            self.network.end_server(self)
            self.network.carry(self, False, lambda: self.network.end_client(self, reason))

    def strand(self, *, is_client: bool) -> None:
        """Lose one end with the power of its machine. The other end learns of it if it sends."""
        self.is_stranded = True
        if is_client:
            self.client_is_open = False
        else:
            self.network.end_server(self)


class Network:
    """All connections between clients and nodes, and between nodes."""

    def __init__(self, agenda: Agenda, rng: Random) -> None:
        self.agenda = agenda
        self.witness = Witness()
        self.conditions: defaultdict[Way, Conditions] = defaultdict(Conditions)
        self._rng = rng
        self._servers: dict[Address, Server] = {}
        self._numbers = count(1)
        self._lines: dict[int, Line] = {}
        self._dialling: list[Callable[[], None]] = []

    def join(self, address: Address, server: Server) -> None:
        """Make a server reachable at this address."""
        self._servers[address] = server

    def dial(
        self,
        address: Address,
        opened: Callable[[Line], None],
        received: Callable[[bytes], None],
        ended: Callable[[str], None],
        source: int = CLIENTS,
    ) -> None:
        """Connect a client, or a node, to an address. Call `opened`, and from then on `received`
        and `ended`; or, if the connection fails, only `ended` with the reason. While packets do not
        pass, wait for the next heal."""
        where = (address[0], address[1])

        def arrive() -> None:
            server, conditions = self._servers.get(where), self.conditions[source, where]
            if server is None:
                ended(f"nothing listens at {where[0]}:{where[1]}")
            elif not conditions.lets_dial:
                self._dialling.append(arrive)
            elif conditions.state is State.REFUSE or not server.is_listening():
                ended("connection refused")
            else:
                line = Line(self, source, where, next(self._numbers), received, ended)
                self._lines[line.number] = line
                self._perhaps_stall(line)
                server.opened(line)
                opened(line)

        self.agenda.after(2 * self._latency_s(), arrive)

    # --- what TCP does --------------------------------------------------------------------------

    def carry(self, line: Line, up: bool, arrive: Callable[[], None]) -> None:
        """Call `arrive` when the message reaches the other end of a connection, after everything
        sent earlier in that direction. Hold it until the next heal if the path or the connection
        hangs. up: whether it goes to the node that was dialled."""
        conditions = line.conditions
        hangs = conditions.state is State.BLACKHOLE or up in conditions.drops
        if line.stall is not None or hangs or any(each == up for each, _ in line.held):
            line.held.append((up, arrive))
            return
        latency_s = self._latency_s() + self._drawn(conditions.latency_s, conditions.jitter_s)
        if not up:
            latency_s += self._drawn(conditions.answer_latency_s, conditions.answer_jitter_s)
        if conditions.loss:
            latency_s += self._lost_s(conditions.loss)
        at_us = max(self.agenda.now_us + round(latency_s * US), line.arrived_us[up])
        line.arrived_us[up] = at_us
        self.agenda.at(at_us, arrive)

    def _latency_s(self) -> float:
        late_s = LATE_S if self._rng.randrange(LATE_ONE_IN) == 0 else 0.0
        return self._rng.uniform(FASTEST_S, SLOWEST_S) + late_s

    def _lost_s(self, loss: float) -> float:
        """Return the additional seconds until a packet arrives which is lost with this probability
        and sent again."""
        late_s, wait_s = 0.0, RETRANSMISSION_S
        for _ in range(RETRANSMISSIONS_MAX):
            if self._rng.random() >= loss:
                break
            late_s, wait_s = late_s + wait_s, 2 * wait_s
        return late_s

    def _drawn(self, latency_s: float, jitter_s: float) -> float:
        if not latency_s and not jitter_s:
            return 0.0
        return max(0.0, self._rng.uniform(latency_s - jitter_s, latency_s + jitter_s))

    def to_server(self, line: Line, frame: bytes) -> None:
        """Hand a request over, if the node's end is open. If the node's machine has lost power,
        reset the connection, now or when it listens again."""
        if line.server_is_open:
            self._servers[line.address].received(line, frame)
        elif line.is_stranded and line.client_is_open:
            line.awaits_reset = True
            if self._servers[line.address].is_listening():
                self.end_client(line, "connection reset")

    def to_client(self, line: Line, frame: bytes) -> None:
        """Hand an answer over, if the client's end is open. If the client's machine has lost power,
        end the node's end."""
        if line.client_is_open:
            if line.source == CLIENTS:
                self.witness.came(self.agenda.now_us, line.number, frame)
            line.received(frame)
        elif line.is_stranded:
            self.end_server(line)

    def end_server(self, line: Line) -> None:
        """Close the node's end, if it is open, and tell the node."""
        if line.server_is_open:
            line.server_is_open = False
            self._servers[line.address].closed(line)
            self._forget(line)

    def end_client(self, line: Line, reason: str) -> None:
        """Close the client's end, if it is open, and tell the client the reason."""
        if line.client_is_open:
            line.client_is_open = False
            line.ended(reason)
            self._forget(line)

    def _forget(self, line: Line) -> None:
        if not line.client_is_open and not line.server_is_open:
            self._lines.pop(line.number, None)

    def cut(self, line: Line, reason: str) -> None:
        """End a connection for both sides. Messages in transit are lost."""
        self.end_server(line)
        self.end_client(line, reason)

    # --- faults ---------------------------------------------------------------------------------

    def came_back(self, address: Address) -> None:
        """Reset the connections to a machine that had lost power, if their clients have sent
        anything meanwhile."""
        for line in [line for line in self._lines.values() if line.address == address]:
            if line.awaits_reset:
                reset = partial(self.end_client, line, "connection reset")
                self.agenda.after(self._latency_s(), reset)

    def lines_on(self, way: Way) -> Iterator[Line]:
        """Yield the connections on this path (source, address) that have an open end."""
        yield from [line for line in self._lines.values() if (line.source, line.address) == way]

    def cut_off(self, way: Way, state: State) -> None:
        """Let everything on this path hang until the next heal (BLACKHOLE), or end its connections
        and refuse new ones (REFUSE)."""
        self.conditions[way].state = state
        if state is State.REFUSE:
            for line in self.lines_on(way):
                self.cut(line, "connection reset")

    def stall(self, way: Way, share: float, timeout_s: float) -> None:
        """Until the next heal, let a random share of the connections from this source to this
        address transfer nothing, and end timeout_s after they began to stall; also of those that
        are opened meanwhile. One that was stalled before ends when that stall would have ended
        it."""
        self.conditions[way].stalls = share, timeout_s
        for line in self.lines_on(way):
            self._perhaps_stall(line)

    def _perhaps_stall(self, line: Line) -> None:
        if (stalls := line.conditions.stalls) is None:
            return
        share, timeout_s = stalls
        if self._rng.random() < share and line.stall is None:
            line.stall = self.agenda.after(timeout_s, partial(self.cut, line, "timed out"))

    def heal(self) -> None:
        """Let all connections pass again, also those that are stalled or wait to be established.
        Deliver held messages, except for a random half of the connections that hold any: there one
        side has given up meanwhile, so they end."""
        self.conditions.clear()
        for line in list(self._lines.values()):
            if line.stall is not None:
                line.stall.cancel()
                line.stall = None
            held, line.held = line.held, []
            if held and self._rng.random() < 0.5:
                self.cut(line, "timed out")
            for up, arrive in held:
                self.carry(line, up, arrive)
        dialling, self._dialling = self._dialling, []
        for arrive in dialling:
            self.agenda.after(self._latency_s(), arrive)
