"""Test that the World of threads keeps the rules that chaos/world.py states for every World."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from chaos.means.real_world import RealWorld, run
from chaos.world import World
from reference_impl.wire import ApiKey, encode_response, request_definition, response_definition

SOON_S, LATE_S = 0.05, 30.0
WORLD: World = RealWorld()
API_VERSIONS = ApiKey.API_VERSIONS


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def answer(server: socket.socket, correlation_id: int | None = 1) -> None:
    """Answer one ApiVersions of one connection; None: close instead."""
    connection, _ = server.accept()
    with connection:
        connection.recv(1 << 16)
        if correlation_id is not None:
            body = response_definition(API_VERSIONS).new()
            connection.sendall(encode_response(API_VERSIONS, 0, correlation_id, body))


@pytest.mark.parametrize("correlation_id", [1, 5, None])
def test_a_link_exchanges_or_says_why_not(
    listener: socket.socket, correlation_id: int | None
) -> None:
    server = threading.Thread(target=answer, args=(listener, correlation_id), daemon=True)
    server.start()

    async def ask() -> Any:
        link = await WORLD.dial(listener.getsockname(), LATE_S)
        try:
            return await link.exchange(API_VERSIONS, 0, request_definition(API_VERSIONS).new())
        finally:
            link.close()

    if correlation_id == 1:
        assert run(ask()).error_code == 0
    else:
        with pytest.raises(OSError, match=r"another request|was closed|reset"):
            run(ask())
    server.join(LATE_S)


def test_a_link_gives_up_at_the_time_out_and_at_the_deadline(listener: socket.socket) -> None:
    async def ask(timeout_s: float | None) -> None:
        link = await WORLD.dial(listener.getsockname(), LATE_S)
        try:
            request = request_definition(API_VERSIONS).new()
            await link.exchange(API_VERSIONS, 0, request, timeout_s)
        finally:
            link.close()

    began = WORLD.monotonic()
    with pytest.raises(OSError):
        run(ask(SOON_S))
    with pytest.raises(TimeoutError):
        run(WORLD.within(SOON_S, ask(None)))
    assert WORLD.monotonic() - began < LATE_S / 2


def test_nobody_to_dial_is_an_os_error(listener: socket.socket) -> None:
    address = listener.getsockname()
    listener.close()
    with pytest.raises(OSError):
        run(WORLD.dial(address, LATE_S))
