"""A cluster of three small nodes with the same addresses and links as three nodes of Apache
Kafka."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from chaos.means import leftovers
from chaos.means.connection import WireError
from chaos.means.links import LinkError, Links
from chaos.probes import small_node
from chaos.targets.clusters import layout as layouts
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.layout import LISTENERS, Layout
from chaos.targets.clusters.node import LocalNode
from chaos.targets.faults import performers_of
from chaos.targets.namespaced import cluster as namespaced
from chaos.values.fault_kinds import LINK_FAULTS, PROCESS_FAULTS
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import TargetError
from chaos.world import Address, joined

NODES = 3
ASK_TIMEOUT_S = 60.0
COMMON: frozenset[type[Fault]] = PROCESS_FAULTS | {Heal}


class SmallCluster(LocalCluster):
    """A cluster that is ready when every node answers PONG; it does not speak Kafka's protocol."""

    layout: Layout

    def _not_ready(self) -> str:
        silent = [n for n in self.reachable() if not self._answers(n)]
        return f"nodes {silent} do not answer" if silent else ""

    def alive(self) -> bool:
        return all(m.running and not m.paused and self._answers(m.number) for m in self.members())

    def _answers(self, node: int) -> bool:
        try:
            return self.order(node, "PING", 1.0) == "PONG"
        except OSError:
            return False

    def order(self, node: int, line: str, timeout_s: float = ASK_TIMEOUT_S) -> str:
        """Send a node one line, directly and not through a proxy, and return its response. Raise
        OSError if it cannot be reached or does not answer within timeout_s."""
        with socket.create_connection(self.direct(node), timeout=timeout_s) as connection:
            connection.sendall(line.encode() + b"\n")
            return connection.makefile().readline().strip()

    def dial(self, source: int, to: int, seconds: float, listener: str = "INTERNAL") -> str:
        """Let one node connect to another and wait up to `seconds` for a response. Return
        "answered", "refused" or "silent". Raise OSError if the node `source` does not answer us."""
        host, port = self.where(source, to, listener)
        return self.order(source, f"DIAL {host} {port} {seconds}").split()[0]

    def dial_ms(self, source: int, to: int, listener: str = "INTERNAL") -> int:
        """Let one node connect to another and await a response. Return the milliseconds that took.
        Raise WireError if none came."""
        host, port = self.where(source, to, listener)
        return _milliseconds(source, to, self.order(source, f"DIAL {host} {port} {ASK_TIMEOUT_S}"))

    def send(self, source: int, to: int, size_bytes: int) -> int:
        """Let one node send this many bytes to another. Return the milliseconds until the response.
        Raise WireError if none came."""
        host, port = self.where(source, to, "INTERNAL")
        order = f"SEND {host} {port} {ASK_TIMEOUT_S} {size_bytes}"
        return _milliseconds(source, to, self.order(source, order))

    def where(self, source: int, to: int, listener: str) -> Address:
        """Return the address at which the node `source` dials a listener of the node `to`, so that
        the connection takes the link between the two."""
        if self.layout.network is None:
            return self.layout.advertised(listener, to)
        return f"127.{self.layout.network}.{source}.{to}", self.layout.port(listener, to)

    def stop(self) -> None:
        super().stop()
        self.layout.release()


def start(directory: Path) -> SmallCluster:
    """Remove what dead owners left, and start three small nodes with every link proxied. Raise
    TargetError if a node or toxiproxy does not start, or if no port is free."""
    leftovers.remove()
    layout = layouts.proxied(NODES)
    links: Links | None = None
    try:
        links = Links.start(layout.proxy_api, directory / "nodes" / "toxiproxy.log")
        links.add(layout.links())
    except (LinkError, OSError) as error:
        if links is not None:
            links.stop()
        layout.release()
        raise TargetError(str(error)) from error
    return _start(layout, links, _nodes(layout, directory), LINK_FAULTS | COMMON)


def start_in_namespaces(directory: Path) -> SmallCluster:
    """Remove what dead owners left, and start three small nodes in network namespaces. Raise
    TargetError if the namespaces cannot be made, no port is free, or a node does not start."""
    leftovers.remove()
    try:
        layout, links = namespaced.build(NODES, directory)
    except LinkError as error:
        raise TargetError(str(error)) from error
    members = _nodes(layout, directory)
    namespaced.settle_in(members, layout)
    return _start(layout, links, members, namespaced.FAULTS | COMMON)


def _start(
    layout: Layout, links: Links, members: list[LocalNode], faults: frozenset[type[Fault]]
) -> SmallCluster:
    bootstrap = ",".join(joined(layout.advertised("CLIENT", n)) for n in layout.numbers())
    cluster = SmallCluster("small nodes", "1", bootstrap, members, performers_of(faults), links)
    cluster.layout = layout
    cluster.start()
    return cluster


def _nodes(layout: Layout, directory: Path) -> list[LocalNode]:
    return [_node(layout, number, directory) for number in layout.numbers()]


def _node(layout: Layout, number: int, directory: Path) -> LocalNode:
    addresses = [joined(layout.bound(listener, number)) for listener in LISTENERS]
    command = [sys.executable, "-I", "-S", small_node.__file__, *addresses]
    home = directory / "nodes" / str(number)
    return LocalNode(number, command, layout.bound("CLIENT", number), home)


def _milliseconds(source: int, to: int, told: str) -> int:
    if not told.startswith("answered "):
        raise WireError(f"node {source} connected to node {to} and was {told}")
    return int(told.split()[1])
