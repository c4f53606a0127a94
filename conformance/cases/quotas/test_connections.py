"""How many connections a broker accepts: of one address, on the whole, and per second. WIRE-25,
QUOT-08.

Sources: KIP-308 (overrides), KIP-402 (max.connections), KIP-612 (connection rates);
ConnectionQuotas.java. The clients come from loopback addresses that nothing else uses.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from conformance.case import case, expect, expect_that
from conformance.cases.quotas.quotas import quota
from conformance.target.variants import FEW_CONNECTIONS
from conformance.wire import Wire, api_key, eventually
from reference_impl.wire import encode_request, request_definition

LIMITED, RATED, SPARED = "127.0.0.2", "127.0.0.3", "127.0.0.4"
LIMIT = int(FEW_CONNECTIONS["max.connections.per.ip.overrides"].rpartition(":")[2])
LIMIT_OF_OTHERS = int(FEW_CONNECTIONS["max.connections.per.ip"])
MOST = int(FEW_CONNECTIONS["max.connections"])
ANSWER_S = 10.0
SILENCE_S = 1.0
WINDOW_S = 10
"""The time over which a rate is measured (quota.window.num, quota.window.size.seconds): so many
seconds' worth may come at once."""


class Client:
    """A connection from an address of its own choice."""

    def __init__(self, wire: Wire, address: str) -> None:
        self.socket = socket.create_connection(
            wire.addresses[0], timeout=ANSWER_S, source_address=(address, 0)
        )

    def ask(self) -> None:
        """Send an ApiVersions request."""
        body = request_definition(api_key("ApiVersions")).new()
        self.socket.sendall(encode_request(api_key("ApiVersions"), 0, 1, "touchstone", body))

    def state(self, for_s: float = ANSWER_S) -> str:
        """Return "answered", "closed" or, if nothing comes in this time, "waiting"."""
        self.socket.settimeout(for_s)
        try:
            size = self.socket.recv(4, socket.MSG_WAITALL)
            if len(size) < 4:
                return "closed"
            self.socket.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)
        except TimeoutError:
            return "waiting"
        except ConnectionError:
            return "closed"
        return "answered"

    def asked(self, for_s: float = ANSWER_S) -> str:
        """Send a request and return what becomes of it."""
        with suppress(ConnectionError):
            self.ask()
        return self.state(for_s)

    def close(self) -> None:
        self.socket.close()


@contextmanager
def connected(wire: Wire, address: str, count: int) -> Iterator[list[Client]]:
    """Open so many connections from an address, which must all be answered."""
    with ExitStack() as opened:
        clients = []
        for number in range(count):
            client = Client(wire, address)
            opened.callback(client.close)
            expect(client.asked(), "answered", f"request on connection {number + 1} of {address}")
            clients.append(client)
        yield clients


@case(
    "WIRE-25",
    "ApiVersions",
    spec="KIP-308; class ConnectionQuotas, max.connections.per.ip",
    priority="P2",
    config=FEW_CONNECTIONS,
)
def test_connections_beyond_those_of_one_address_are_closed(wire: Wire) -> None:
    """An address that has as many connections as max.connections.per.ip.overrides or, without an
    entry there, max.connections.per.ip allows gets no further one: it is closed, the others go on,
    and once one of them is closed the next is accepted."""
    for address, limit in ((LIMITED, LIMIT), (SPARED, LIMIT_OF_OTHERS)):
        with connected(wire, address, limit) as clients:
            beyond = Client(wire, address)
            expect(beyond.asked(), "closed", f"connection {limit + 1} of {address}")
            beyond.close()
            expect([c.asked() for c in clients], ["answered"] * limit, "the ones before it")
            clients[0].close()
            eventually(
                lambda address=address: _asked_once(wire, address),  # type: ignore[misc]
                lambda state: state == "answered",
                f"a connection of {address} in the place of one that was closed",
            )


def _asked_once(wire: Wire, address: str) -> str:
    client = Client(wire, address)
    try:
        return client.asked()
    finally:
        client.close()


@case(
    "WIRE-31",
    "ApiVersions",
    spec="KIP-402; class ConnectionQuotas, max.connections",
    priority="P2",
    config=FEW_CONNECTIONS,
)
def test_connections_beyond_the_brokers_wait(wire: Wire) -> None:
    """A broker that has max.connections connections accepts the next one only after another is
    closed: until then its request is not answered, and it is not closed either."""
    with ExitStack() as opened:
        clients: list[Client] = []
        for number in range(MOST + 1):
            client = Client(wire, f"127.0.1.{number + 1}")
            opened.callback(client.close)
            if client.asked(SILENCE_S) != "answered":
                break
            clients.append(client)
        expect_that(
            0 < len(clients) < MOST + 1,
            "connections that are answered at once",
            f"at most {MOST}",
            len(clients),
        )
        expect(client.state(SILENCE_S), "waiting", "the connection beyond max.connections")
        clients[0].close()
        expect(client.state(), "answered", "the connection beyond, once another is closed")


@case(
    "QUOT-08",
    "AlterClientQuotas",
    spec="KIP-612, IP connection rate; class ConnectionQuotas, recordIpConnectionMaybeThrottle",
    priority="P2",
    config=FEW_CONNECTIONS,
)
def test_connections_that_come_too_quickly_from_one_address_are_refused(wire: Wire) -> None:
    """Of an address with the quota connection_creation_rate, those connections are refused that
    come when its rate over ten seconds is exceeded: they are not answered, and are closed. Other
    addresses are not affected, and the address is served again once its rate has fallen."""
    with quota(wire, {"ip": RATED}, connection_creation_rate=1.0):
        states = []
        for _ in range(3 * WINDOW_S):
            states.append(_asked_once(wire, RATED))
            if states[-1] != "answered":
                break
        expect(states[-1], "closed", f"one of {3 * WINDOW_S} connections of {RATED} at once")
        expect(_asked_once(wire, SPARED), "answered", "a connection of another address")
    eventually(
        lambda: _asked_once(wire, RATED),
        lambda state: state == "answered",
        f"a connection of {RATED} without the quota",
    )
