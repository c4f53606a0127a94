"""Test the target that is only an address: whether it can be reached, and that it is never
harmed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.means.ports import free_ports
from chaos.targets import bootstrap, parse_target
from chaos.values.faults import Heal, Kill
from chaos.values.protocols import TargetError


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap.BootstrapCluster.wait_ready, "__defaults__", (0.5,))
    monkeypatch.setattr(bootstrap, "ASK_TIMEOUT_S", 0.5)


@pytest.fixture(params=[b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff\xff\xff\xff", None])
def no_kafka(request: pytest.FixtureRequest) -> Iterator[str]:
    """Something that accepts connections: it closes, speaks HTTP, sends a bad size, or is mute."""
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            held.append(connection)
            if request.param is not None:
                connection.recv(1024)
                connection.sendall(request.param)
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
    for connection in held:
        connection.close()


def test_an_address_where_nobody_listens_is_named(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(TargetError, match=f"{address} does not answer ApiVersions"):
        parse_target(address).start(tmp_path)


def test_something_that_is_no_kafka_is_named(no_kafka: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=f"{no_kafka} does not answer ApiVersions"):
        parse_target(no_kafka).start(tmp_path)


@pytest.mark.needs("kfake")
def test_a_running_kafka_is_reached_and_left_alone(tmp_path: Path) -> None:
    theirs = parse_target("kfake").start(tmp_path)
    try:
        seen = parse_target(theirs.bootstrap).start(tmp_path)
        assert (seen.nodes, seen.bootstrap, seen.alive()) == (1, theirs.bootstrap, True)
        assert seen.perform(Heal()).nodes == ()
        with pytest.raises(TargetError, match="cannot Kill: it was not started here"):
            seen.perform(Kill(1))
        seen.stop()
        assert theirs.alive()
    finally:
        theirs.stop()
    assert not seen.alive()
    with pytest.raises(TargetError, match="does not answer"):
        seen.wait_ready()  # type: ignore[attr-defined]
