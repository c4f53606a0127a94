"""Test links through a real toxiproxy, between a client and an echo server on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.means import processes
from chaos.means.links import Link, LinkError, Links
from chaos.means.ports import free_ports
from chaos.values.faults import How
from chaos.world import Address

HOST = "127.0.0.1"
PATIENCE_S = 180
SILENCE_S = 0.5


class Echo:
    """Answers every byte by itself, and remembers what arrived."""

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0))
        self.address: Address = self._listener.getsockname()
        self.received = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._echo, args=(connection,), daemon=True).start()

    def _echo(self, connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(1024):
                    self.received += data
                    connection.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def links(tmp_path: Path, echo: Echo) -> Iterator[Links]:
    running, _ = start(tmp_path, echo)
    yield running
    running.stop()


def start(directory: Path, echo: Echo) -> tuple[Links, Link]:
    api, listen = free_ports(2)
    running = Links.start((HOST, api), directory / f"toxiproxy-{api}.log")
    link = Link("a", (HOST, listen), echo.address)
    running.add([link])
    return running, link


def connect(links: Links) -> socket.socket:
    return socket.create_connection(links.link("a").listen, timeout=PATIENCE_S)


def exchange(connection: socket.socket, data: bytes = b"x") -> bytes:
    connection.sendall(data)
    return connection.recv(1024)


pytestmark = pytest.mark.needs("toxiproxy")


def test_an_open_link_passes_bytes(links: Links) -> None:
    with connect(links) as client:
        assert exchange(client) == b"x"


def test_a_blackhole_swallows_bytes_of_old_and_new_connections(links: Links, echo: Echo) -> None:
    with connect(links) as old:
        assert exchange(old, b"before") == b"before"
        links.cut("a", "blackhole")
        with connect(links) as new:  # accepted: a blackhole is no refusal
            for client in (old, new):
                client.settimeout(SILENCE_S)
                with pytest.raises(TimeoutError):
                    exchange(client, b"swallowed")
    assert echo.received == b"before"


def test_healing_a_blackhole_closes_what_it_stalled_and_delivers_nothing_late(
    links: Links, echo: Echo
) -> None:
    with connect(links) as client:
        assert exchange(client, b"before") == b"before"
        links.cut("a", "blackhole")
        client.sendall(b"swallowed")
        links.heal()
        with pytest.raises(OSError, match="closed"):
            if not client.recv(1024):
                raise OSError("closed")
    with connect(links) as again:
        assert exchange(again, b"after") == b"after"
    assert echo.received == b"beforeafter"


def test_refuse_ends_connections_and_refuses_new_ones_until_healed(links: Links) -> None:
    with connect(links) as client:
        assert exchange(client) == b"x"
        links.cut("a", "refuse")
        assert client.recv(1024) == b""
        with pytest.raises(ConnectionRefusedError):
            connect(links)
    links.heal()
    with connect(links) as again:
        assert exchange(again) == b"x"


@pytest.mark.parametrize("how", ["blackhole", "refuse"])
def test_a_link_may_be_cut_twice_and_healed_once(links: Links, how: How) -> None:
    links.cut("a", how)
    links.cut("a", how)
    assert links.is_troubled("a")
    links.heal()
    assert not links.is_troubled("a")
    with connect(links) as client:
        assert exchange(client) == b"x"


def test_answers_are_delayed_and_the_delay_can_be_changed(links: Links) -> None:
    links.delay_answers("a", latency_ms=5, jitter_ms=0)
    links.delay_answers("a", latency_ms=300, jitter_ms=0)
    with connect(links) as client:
        started = time.monotonic()
        assert exchange(client) == b"x"
        assert time.monotonic() - started >= 0.3
    (toxic,) = links.toxics("a")
    assert (toxic["stream"], toxic["attributes"]) == ("downstream", {"latency": 300, "jitter": 0})


def test_two_servers_do_not_disturb_each_other(links: Links, tmp_path: Path, echo: Echo) -> None:
    """toxiproxy-python keeps one host and port per interpreter."""
    other, other_link = start(tmp_path, echo)
    try:
        other.cut("a", "refuse")
        with connect(links) as client:
            assert exchange(client) == b"x"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(other_link.listen, timeout=PATIENCE_S)
    finally:
        other.stop()


def test_an_http_proxy_of_the_environment_is_not_asked(
    links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    links.heal()


def test_a_second_proxy_at_the_same_address_is_refused_in_a_sentence(
    links: Links, echo: Echo
) -> None:
    with pytest.raises(LinkError, match=r"toxiproxy at 127\.0\.0\.1:\d+: post /proxies: "):
        links.add([Link("b", links.link("a").listen, echo.address)])


def test_a_server_that_was_stopped_is_named(links: Links) -> None:
    links.stop()
    with pytest.raises(LinkError, match=r"toxiproxy at 127\.0\.0\.1:\d+: post /reset: "):
        links.heal()


@pytest.mark.parametrize("what", ["hung", "had died"])
def test_a_server_that_hangs_or_died_is_replaced_with_all_its_links(
    what: str, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.means.links.HEAL_TIMEOUT_S", 0.3)
    links.cut("a", "refuse")
    if what == "hung":
        processes.halt([links._child])  # a pause alone leaves its threads time for one more answer
    else:
        links._child.kill()
    assert links.heal() == f"toxiproxy {what}, and was replaced"
    assert not links.is_troubled("a")
    with connect(links) as connection:
        assert exchange(connection) == b"x"
    links.delay_answers("a", 1, 0)  # the new server has none of the old one's toxics
    assert [toxic["name"] for toxic in links.toxics("a")] == ["delay-downstream"]


def test_an_address_in_use_is_named(tmp_path: Path, echo: Echo) -> None:
    with pytest.raises(LinkError, match=r"cannot listen at .*: the address is in use"):
        Links.start(echo.address, tmp_path / "log")


def test_a_missing_server_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    with pytest.raises(LinkError, match="run `make setup`"):
        Links.start((HOST, 1), tmp_path / "log")
