"""A cluster whose nodes have their own network namespaces: its addresses, links and processes.

There is no proxy: each node is reached at its own address, and clients connect through the bridge.
Touchstone's own requests go to the brokers' internal listener, since the clients' listener may be
cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from chaos.means.netns.delays import Delays
from chaos.means.netns.links import NamespaceLinks
from chaos.means.netns.namespaces import Namespaces
from chaos.targets.clusters import layout as layouts
from chaos.targets.clusters.layout import Layout
from chaos.targets.clusters.node import LocalNode
from chaos.values.fault_kinds import CUT_FAULTS, PACKET_FAULTS
from chaos.values.faults import Fault, SlowLinks
from chaos.world import Address

FAULTS: frozenset[type[Fault]] = CUT_FAULTS | PACKET_FAULTS | {SlowLinks}
"""The faults that links between namespaces support."""
PORTS = {"CLIENT": 9092, "INTERNAL": 9093, "CONTROLLER": 9094}
"""Listener -> its port. Every port is free, since a node is alone in its namespace."""


@dataclass(frozen=True)
class NamespaceLayout(Layout):
    """The addresses of nodes in their namespaces."""

    namespaces: Namespaces | None = None

    def bound(self, listener: str, node: int) -> Address:
        assert self.namespaces is not None
        return self.namespaces.address(node), self.port(listener, node)

    def advertised(self, listener: str, node: int) -> Address:
        return self.bound(listener, node)


def build(nodes: int, directory: Path) -> tuple[NamespaceLayout, NamespaceLinks]:
    """Create namespaces in an unused network. Return the addresses and the links. Raise LinkError
    if the namespaces cannot be made, TargetError if every network is taken, NoFreePort if no port
    is free.

    The process that delays packets logs to directory/nodes/delayer.log.
    """
    claimed = layouts.proxied(nodes)
    assert claimed.network is not None
    namespaces = None
    try:
        namespaces = Namespaces.make(claimed.network, nodes)
        delays = Delays(namespaces, directory / "nodes" / "delayer.log")
    except BaseException:
        if namespaces is not None:
            namespaces.remove()
        claimed.release()
        raise
    ports = {listener: (port,) * nodes for listener, port in PORTS.items()}
    layout = NamespaceLayout(nodes, ports, claim=claimed.claim, namespaces=namespaces)
    return layout, NamespaceLinks(namespaces, PORTS, delays)


def settle_in(members: Iterable[LocalNode], layout: NamespaceLayout) -> None:
    """Set the commands of these nodes so that each starts in its network namespace, and their
    `direct` addresses to the internal listeners there."""
    assert layout.namespaces is not None
    for member in members:
        member.command = [*layout.namespaces.enter(member.number), *member.command]
        member.direct = layout.bound("INTERNAL", member.number)
