"""A broker may name any string as a host and any int32 as a port: a client never waits for them."""

from __future__ import annotations

import asyncio

import pytest

from reference_impl.access import connect
from reference_impl.host.outgoing.connections import Connections
from reference_impl.links.effects import Ask, Destination, Lane
from reference_impl.wire import ApiKey, request_definition

LIMIT_S = 20
BAD = [("a..b", 9092), ("a" * 70, 9092), ("a\0b", 9092), ("localhost", 70_000), ("localhost", -1)]


def names(host: str, port: int) -> str:
    return "no TCP port" if host == "localhost" else "host"


@pytest.mark.parametrize(("host", "port"), BAD)
def test_a_connection_to_a_bad_address_is_lost(host: str, port: int) -> None:
    assert names(host, port) in asyncio.run(why_lost(Destination(host, port, Lane.DATA)))


async def why_lost(destination: Destination) -> str:
    """Return why a connection to the destination is lost."""
    lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    connections = Connections(lambda *_: None, lambda _, reason: lost.set_result(reason))
    body = request_definition(ApiKey.API_VERSIONS).new()
    connections.ask(Ask(1, destination, ApiKey.API_VERSIONS, 4, "test", body))
    return await asyncio.wait_for(lost, LIMIT_S)


@pytest.mark.parametrize(("host", "port"), BAD)
def test_a_blocking_client_is_told_of_a_bad_address(host: str, port: int) -> None:
    with pytest.raises(OSError, match=r"no TCP port|host|not known"):
        connect((host, port), LIMIT_S)
