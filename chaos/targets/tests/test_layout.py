"""Test addresses: every directed link has its own proxy, and two clusters have none in common."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from chaos.means.netns import namespaces
from chaos.targets.clusters import layout as layouts
from chaos.targets.clusters.layout import LISTENERS, Layout
from chaos.targets.clusters.properties import properties_of

PORTS = {name: (9092 + i,) * 3 for i, name in enumerate(LISTENERS)}


def test_three_nodes_have_fifteen_links() -> None:
    layout = Layout(3, PORTS, network=70)
    links = list(layout.links())
    assert len({link.name for link in links}) == 15
    assert len({link.listen for link in links}) == 15
    upstreams = {link.upstream[0] for link in links}
    assert upstreams == {"127.70.1.1", "127.70.2.2", "127.70.3.3"}


def test_a_node_finds_its_peers_at_proxies_and_itself_directly() -> None:
    layout = Layout(3, PORTS, network=70)
    listens = {link.listen[0] for link in layout.links()}
    lines = [line.split() for line in layout.hosts_file(2).splitlines()]
    found = {name: address for address, name, *_ in lines[:3]}
    assert found == {"b1": "127.70.2.1", "b2": "127.70.2.2", "b3": "127.70.2.3"}
    assert {found["b1"], found["b3"]} <= listens
    assert found["b2"] not in listens


def test_a_proxied_node_tells_nobody_where_it_is_bound() -> None:
    layout = Layout(3, PORTS, network=70)
    for node in layout.numbers():
        settings = properties_of(layout, node, Path("data"))
        told = settings["advertised.listeners"] + settings["controller.quorum.voters"]
        assert f"127.70.{node}.{node}" in settings["listeners"]
        assert not any(f"127.70.{peer}.{peer}" in told for peer in layout.numbers())


def test_two_proxied_clusters_claim_two_networks() -> None:
    first = layouts.proxied(3)
    second = layouts.proxied(3)
    try:
        assert first.network != second.network
    finally:
        first.release()
        second.release()


def test_a_released_network_can_be_claimed_again() -> None:
    first = layouts.proxied(1)
    first.release()
    second = layouts.proxied(1)
    second.release()
    assert second.network is not None


def test_the_network_of_a_proxy_that_was_left_running_is_passed_over() -> None:
    first = layouts.proxied(1)
    with socket.create_server(first.proxy_api):
        first.release()
        second = layouts.proxied(1)
        second.release()
    assert second.proxy_api != first.proxy_api


def test_the_network_of_namespaces_that_were_left_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = layouts.proxied(1)
    left.release()
    monkeypatch.setattr(namespaces, "is_taken", lambda network: network == left.network)
    second = layouts.proxied(1)
    second.release()
    assert second.network != left.network


def test_a_plain_cluster_has_distinct_ports_and_no_network() -> None:
    layout = layouts.plain(3)
    addresses = {layout.bound(name, node) for name in LISTENERS for node in layout.numbers()}
    assert len(addresses) == 9
    assert layout.network is None
    assert layout.advertised("CLIENT", 2) == layout.bound("CLIENT", 2)
