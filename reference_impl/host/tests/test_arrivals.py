"""Clients that have connected and are no connections yet: how many, how long, in which order."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from reference_impl.host.tcp.entrance import arrivals as module
from reference_impl.host.tcp.entrance.arrivals import (
    ACCEPTED_AT_ONCE,
    HANDSHAKES_AT_ONCE,
    Arrivals,
    Door,
)

TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # without a certificate no handshake succeeds
PATIENCE_S = 10.0


class Exhausted(socket.socket):
    """A listening socket for which the process has no descriptor left, once."""

    refused = False

    def accept(self) -> tuple[socket.socket, object]:
        if not self.refused:
            self.refused = True
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


def with_arrivals(
    test: Callable[[Arrivals, socket.socket], Awaitable[None]],
    room: float = 1000,
    kind: type[socket.socket] = socket.socket,
) -> None:
    """Run the test with no arrivals, and a bound socket."""

    async def run() -> None:
        arrivals = Arrivals(lambda: room)
        with kind() as bound:
            bound.bind(("127.0.0.1", 0))
            await asyncio.wait_for(test(arrivals, bound), PATIENCE_S)
            arrivals.close()

    asyncio.run(run())


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def connect(bound: socket.socket) -> socket.socket:
    return socket.create_connection(bound.getsockname())


def is_closed(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return not client.recv(1)
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_few_handshakes_are_begun_in_a_round() -> None:
    async def test(arrivals: Arrivals, bound: socket.socket) -> None:
        begun = 0
        after_each_round: list[int] = []

        def connection() -> asyncio.Protocol:
            nonlocal begun
            begun += 1
            return asyncio.Protocol()

        def note() -> None:
            after_each_round.append(begun)
            loop.call_soon(note)

        loop = asyncio.get_running_loop()
        arrivals.open(Door(bound, connection, TLS))
        clients = [connect(bound) for _ in range(3 * ACCEPTED_AT_ONCE)]
        await until(lambda: len(arrivals) == len(clients))
        for client in clients:
            client.sendall(b"x")
        note()
        await until(lambda: begun == len(clients))
        assert max(b - a for a, b in pairwise(after_each_round)) <= HANDSHAKES_AT_ONCE

    with_arrivals(test)


def test_of_too_many_that_say_nothing_the_oldest_is_closed() -> None:
    async def test(arrivals: Arrivals, bound: socket.socket) -> None:
        arrivals.open(Door(bound, asyncio.Protocol, TLS))
        clients = []
        for number in range(5):
            clients.append(connect(bound))
            await until(lambda: len(arrivals) == min(number + 1, 3))  # noqa: B023
        await until(lambda: is_closed(clients[1]))
        assert [is_closed(client) for client in clients] == [True, True, False, False, False]

    with_arrivals(test, room=3)


def test_a_handshake_that_stands_still_makes_room_too() -> None:
    async def test(arrivals: Arrivals, bound: socket.socket) -> None:
        arrivals.open(Door(bound, asyncio.Protocol, TLS))
        first = connect(bound)
        first.sendall(b"\x16\x03\x01\x02\x00")  # a record of 512 bytes begins
        await until(lambda: arrivals.handshakes == 1)
        second = connect(bound)
        await until(lambda: is_closed(first))
        assert not is_closed(second)

    with_arrivals(test, room=1)


def test_who_leaves_or_stays_silent_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(arrivals: Arrivals, bound: socket.socket) -> None:
        arrivals.open(Door(bound, asyncio.Protocol, TLS))
        connect(bound).close()
        silent = connect(bound)
        await until(lambda: len(arrivals))
        await until(lambda: not len(arrivals))
        assert is_closed(silent)

    monkeypatch.setattr(module, "SILENCE_S", 0.1)
    with_arrivals(test)


def test_without_descriptors_it_rests_and_then_accepts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(arrivals: Arrivals, bound: socket.socket) -> None:
        came: list[int] = []

        def connection() -> asyncio.Protocol:
            came.append(1)
            return asyncio.Protocol()

        arrivals.open(Door(bound, connection, None))
        client = connect(bound)
        await until(lambda: came)
        assert isinstance(bound, Exhausted) and bound.refused
        assert not is_closed(client)

    monkeypatch.setattr(module, "REST_S", 0.01)
    with_arrivals(test, kind=Exhausted)
