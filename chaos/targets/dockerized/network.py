"""The network of a cluster in containers: its addresses, and the rules that cut its links.

A node consists of two containers. Its *sidecar* owns the network: an address, published ports where
they are needed, and the right to set rules (NET_ADMIN), which the broker beside it does not have.
The sidecar outlives every kill of the broker. The broker joins the sidecar's network
(`network_mode: container:…`), as containers of one pod do. Toxiproxy has a sidecar, too, so that a
hanging toxiproxy can be replaced under the same address.

    clients -> toxiproxy, in a container of its own -> node
    node -> a rule in its sidecar redirects to toxiproxy -> node     one port per directed link
    Touchstone -> the sidecar's address -> node                      never cut

So a broker connects to its peers as usual, and yet every link can be cut, slowed and narrowed by
the same `Links` as with child processes. Access to Docker's socket suffices: root is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from chaos.means.docker.containers import Bridge, Container, Engine
from chaos.means.links import Link, Links
from chaos.targets.clusters.layout import Layout, client_link, node_links
from chaos.world import Address

SIDECAR_IMAGE = "nicolaka/netshoot:v0.13"
TOXIPROXY_IMAGE = "ghcr.io/shopify/toxiproxy:2.12.0"
PORTS = {"CLIENT": 9092, "INTERNAL": 9093, "CONTROLLER": 9094}
"""Listener -> its port, the same on every node."""
PUBLISHED = (PORTS["CLIENT"], PORTS["CONTROLLER"])
FOR_RULES = ("NET_ADMIN", "NET_RAW")
EVERYWHERE = "0.0.0.0"
_API_PORT, _FIRST_PROXY_PORT = 8474, 20_001


@dataclass(frozen=True)
class ContainerLayout(Layout):
    """The addresses at which nodes in containers listen, and those for clients."""

    addresses: Mapping[int, str] | None = None
    clients: Mapping[int, Address] | None = None

    def bound(self, listener: str, node: int) -> Address:
        return EVERYWHERE, self.port(listener, node)

    def advertised(self, listener: str, node: int) -> Address:
        if listener == "CLIENT":
            return (self.clients or {})[node]
        return (self.addresses or {})[node], self.port(listener, node)


@dataclass(frozen=True)
class Sidecar:
    """A container that only owns a network, for another container that joins it."""

    container: Container
    address: str
    is_here: bool
    """Whether the network's addresses can be reached from this machine."""

    def seen(self, port: int) -> Address:
        """Return the address at which this machine reaches a port of the sidecar. A published port
        belongs to Docker's proxy: it accepts connections even if no process listens behind it, and
        hides resets."""
        return (self.address, port) if self.is_here else self.container.published(port)


@dataclass(frozen=True)
class Network:
    """A network with its running sidecars, and with proxies if requested, before any broker
    runs."""

    layout: ContainerLayout
    sidecars: Mapping[int, Sidecar]
    links: Links | None

    @property
    def bootstrap(self) -> str:
        found = (self.layout.advertised("CLIENT", node) for node in self.layout.numbers())
        return ",".join(f"{host}:{port}" for host, port in found)


def build(engine: Engine, nodes: int, proxied: bool) -> Network:
    """Create the network and start its sidecars, and toxiproxy if `proxied`. Raise ContainerError
    or LinkError if that fails; the caller then removes what was created (Engine.remove_all)."""
    bridge = engine.network()
    sidecars = {
        number: _sidecar(
            engine, bridge, f"node {number}", PUBLISHED, hostname=f"b{number}", cap_add=FOR_RULES
        )
        for number in range(1, nodes + 1)
    }
    addresses = {number: sidecar.address for number, sidecar in sidecars.items()}
    if not proxied:
        clients = {number: sidecar.seen(PORTS["CLIENT"]) for number, sidecar in sidecars.items()}
        return Network(_layout(addresses, clients), sidecars, None)
    wanted = list(_links(addresses))
    toxiproxy, links = _toxiproxy(engine, bridge, wanted)
    _turn_links(sidecars, wanted, toxiproxy.address)
    ports = {link.name: link.listen[1] for link in wanted}
    clients = {number: toxiproxy.seen(ports[client_link(number)]) for number in sidecars}
    return Network(_layout(addresses, clients), sidecars, links)


def _layout(addresses: Mapping[int, str], clients: Mapping[int, Address]) -> ContainerLayout:
    ports = {listener: (port,) * len(addresses) for listener, port in PORTS.items()}
    return ContainerLayout(len(addresses), ports, addresses=addresses, clients=clients)


def _sidecar(
    engine: Engine, bridge: Bridge, of: str, ports: Sequence[int], **options: Any
) -> Sidecar:
    container = engine.create(
        SIDECAR_IMAGE,
        f"network of {of}",
        ["sleep", "infinity"],
        () if bridge.is_here else ports,
        network=bridge.name,
        cap_drop=["ALL"],
        **options,
    )
    container.start()
    return Sidecar(container, container.address(bridge.name), bridge.is_here)


def _links(addresses: Mapping[int, str]) -> Iterator[Link]:
    """Yield every directed link, each with a port of its own at toxiproxy."""
    ports = count(_FIRST_PROXY_PORT)
    for to, address in addresses.items():
        yield Link(client_link(to), (EVERYWHERE, next(ports)), (address, PORTS["CLIENT"]))
        for source in addresses:
            if source == to:
                continue
            names = node_links(source, to)
            for name, listener in zip(names, ("INTERNAL", "CONTROLLER"), strict=True):
                yield Link(name, (EVERYWHERE, next(ports)), (address, PORTS[listener]))


def _toxiproxy(engine: Engine, bridge: Bridge, links: Sequence[Link]) -> tuple[Sidecar, Links]:
    """Start the toxiproxy server. Return its sidecar, which remains when toxiproxy is replaced, and
    the links."""
    ports = [_API_PORT, *(link.listen[1] for link in links)]
    sidecar = _sidecar(engine, bridge, "toxiproxy", ports)
    command = ("/toxiproxy", f"-host={EVERYWHERE}")
    shared = f"container:{sidecar.container.id}"
    toxiproxy = engine.create(TOXIPROXY_IMAGE, "toxiproxy", command, network_mode=shared)

    def start() -> Container:
        toxiproxy.start()
        return toxiproxy

    running = Links.attached(sidecar.seen(_API_PORT), start(), start)
    running.add(links)
    return sidecar, running


def _turn_links(sidecars: Mapping[int, Sidecar], links: Sequence[Link], toxiproxy: str) -> None:
    """Redirect the connections that nodes open to their peers to toxiproxy, at this IP address.
    Docker's own rules (for names) stay. Raise ContainerError if the rules cannot be set."""
    by_name = {link.name: link for link in links}
    for source, sidecar in sidecars.items():
        names = [name for to in sidecars if to != source for name in node_links(source, to)]
        lines = []
        for link in (by_name[name] for name in names):
            (host, port), proxy = link.upstream, link.listen[1]
            match = f"-A OUTPUT -d {host} -p tcp --dport {port}"
            lines.append(f"{match} -j DNAT --to-destination {toxiproxy}:{proxy}")
        text = "\n".join(["*nat", *lines, "COMMIT"])
        if lines:
            sidecar.container.execute(
                "sh", "-c", f"iptables-restore --noflush <<END\n{text}\nEND\n"
            )
