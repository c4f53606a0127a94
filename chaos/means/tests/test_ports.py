"""Test that chosen ports are never those that the kernel gives to outgoing connections."""

from __future__ import annotations

import socket

import pytest

from chaos.means import ports


def test_free_ports_are_distinct_free_and_below_the_ephemeral_range() -> None:
    found = ports.free_ports(20)
    assert len(set(found)) == 20
    assert all(ports.LOWEST <= port <= ports._highest() for port in found)
    assert all(ports.is_free("127.0.0.1", port) for port in found)


def test_a_port_where_somebody_listens_on_any_address_is_not_free_on_all() -> None:
    with socket.create_server(("127.99.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not ports.is_free("0.0.0.0", port)
        assert not ports.is_free("127.99.0.1", port)
        assert ports.is_free("127.99.0.2", port)


def test_no_free_port_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda host, port: False)
    with pytest.raises(ports.NoFreePort, match="stop what occupies them"):
        ports.free_ports(1)


@pytest.mark.parametrize("text", ["12009-12000", "12000", "0-5", "12000-99999", "some"])
def test_a_range_that_is_none_is_said(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ports.VARIABLE, text)
    with pytest.raises(ports.NoFreePort, match=f"TOUCHSTONE_PORTS={text} is not a range"):
        ports.free_ports(1)


def test_a_range_can_be_given_for_all_that_a_process_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ports.VARIABLE, "12000-12009")
    assert set(ports.free_ports(5)) <= set(range(12000, 12010))
    with pytest.raises(ports.NoFreePort, match="from 12000 to 12009"):
        ports.free_ports(11)
