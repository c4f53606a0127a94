"""The addresses of one KRaft cluster: those at which nodes listen, and those of the proxies
between them.

If links are proxied, node i has loopback addresses of its own. All peers register under the same
names b1, b2, b3, but each node resolves them by its own hosts file: node i finds node j at
127.N.i.j, where a proxy listens (127.N.i.i is the node itself), and clients find it at 127.N.0.j, a
proxy too. So every directed link can be cut alone, without root. N is claimed per cluster: several
can run.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chaos.means.links import Link
from chaos.means.netns import namespaces
from chaos.means.ports import free_ports, is_free
from chaos.values.protocols import TargetError
from chaos.world import Address

LISTENERS = ("CLIENT", "INTERNAL", "CONTROLLER")
NETWORKS = range(64, 127)
LOOPBACK = "127.0.0.1"
_CLAIM_PORT = 8474


def client_link(node: int) -> str:
    """Return the name of the link from all clients to a node."""
    return f"client-{node}"


def node_links(source: int, destination: int) -> tuple[str, str]:
    """Return the names of the links that `source` opens to `destination`: to its broker, and to its
    controller."""
    return f"internal-{source}-{destination}", f"controller-{source}-{destination}"


@dataclass(frozen=True)
class Layout:
    """The addresses of a cluster with nodes 1 to `nodes`. network: the number N of its loopback
    network 127.N.*.*, or None if nothing is proxied."""

    nodes: int
    ports: Mapping[str, tuple[int, ...]]
    """Listener -> the port of each node."""
    network: int | None = None
    claim: socket.socket | None = None
    """The socket that reserves the network for this cluster as long as it is open."""

    def numbers(self) -> range:
        return range(1, self.nodes + 1)

    def port(self, listener: str, node: int) -> int:
        return self.ports[listener][node - 1]

    def bound(self, listener: str, node: int) -> Address:
        """Return the address at which a node itself listens, which leads past every proxy;
        Touchstone's own requests use it."""
        host = LOOPBACK if self.network is None else f"127.{self.network}.{node}.{node}"
        return host, self.port(listener, node)

    def advertised(self, listener: str, node: int) -> Address:
        """Return the address of a node that is advertised to clients and other nodes. With proxies,
        it is the proxy's for clients; for nodes its host is a name such as b1, which each node
        resolves by its own hosts file."""
        if self.network is None:
            return self.bound(listener, node)
        host = f"127.{self.network}.0.{node}" if listener == "CLIENT" else f"b{node}"
        return host, self.port(listener, node)

    def hosts_file(self, node: int) -> str:
        """Return the contents of the hosts file from which a node resolves all its names (a JVM by
        -Djdk.net.hosts.file)."""
        lines = [f"127.{self.network}.{node}.{peer} b{peer}" for peer in self.numbers()]
        lines.append(f"{LOOPBACK} localhost {socket.gethostname()}")
        return "\n".join(lines) + "\n"

    def links(self) -> Iterator[Link]:
        """Yield every directed link of a proxied cluster."""
        for to in self.numbers():
            client = self.advertised("CLIENT", to)
            yield Link(client_link(to), client, self.bound("CLIENT", to))
            for source in self.numbers():
                if source == to:
                    continue
                names = node_links(source, to)
                for name, listener in zip(names, ("INTERNAL", "CONTROLLER"), strict=True):
                    listen = (f"127.{self.network}.{source}.{to}", self.port(listener, to))
                    yield Link(name, listen, self.bound(listener, to))

    @property
    def proxy_api(self) -> Address:
        return f"127.{self.network}.255.254", _CLAIM_PORT

    def release(self) -> None:
        if self.claim is not None:
            self.claim.close()


def plain(nodes: int) -> Layout:
    """Return a layout without proxies: free ports on 127.0.0.1. Raise NoFreePort if there are too
    few."""
    found = free_ports(nodes * len(LISTENERS))
    ports = {name: tuple(found[i :: len(LISTENERS)]) for i, name in enumerate(LISTENERS)}
    return Layout(nodes, ports)


def proxied(nodes: int) -> Layout:
    """Return a layout with proxies on a loopback network that no other cluster, leftover proxy or
    leftover namespace uses, claimed until `release`. Raise TargetError if every such network is
    taken, NoFreePort if no port is free."""
    # Choose ports that are free on every address: a process on 0.0.0.0 would take ours, too.
    found = free_ports(len(LISTENERS), "0.0.0.0")
    ports = {name: (found[i],) * nodes for i, name in enumerate(LISTENERS)}
    for network in NETWORKS:
        claim = socket.socket()
        layout = Layout(nodes, ports, network, claim)
        try:
            claim.bind((f"127.{network}.255.253", _CLAIM_PORT))
        except OSError:
            layout.release()
            continue
        # A killed command's proxy and namespaces outlive its claim.
        if is_free(*layout.proxy_api) and not namespaces.is_taken(network):
            return layout
        layout.release()
    raise TargetError(
        f"all {len(NETWORKS)} loopback networks are claimed by running clusters; stop one of them"
    )
