"""Ports that the kernel will not give to anybody else."""

from __future__ import annotations

import socket

import pytest

from chaos import ports


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
