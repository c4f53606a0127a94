"""The network of a cluster in containers: who has which address, and how links are cut.

A node is two containers. Its *sidecar* has the network: an address and published ports which
outlive every kill, and the right to set rules (NET_ADMIN), which the broker beside it does not
have. The broker joins it (`network_mode: container:…`), as containers of one pod do.

    clients -> toxiproxy, in a container of its own -> nodes        cut and delayed by toxics
    node -> node, directly                                          cut by rules in its sidecar
    the harness -> sidecar's published ports                        never cut

A socket of Docker is enough for all of this: no root, and nothing outside of the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaos.containers import Container, Engine
from chaos.faults import How
from chaos.links import Address, Link, Links
from chaos.targets.layout import Layout, client_link, node_links

SIDECAR_IMAGE = "nicolaka/netshoot:v0.13"
TOXIPROXY_IMAGE = "ghcr.io/shopify/toxiproxy:2.12.0"
PORTS = {"CLIENT": 9092, "INTERNAL": 9093, "CONTROLLER": 9094}
"""Listener -> its port, the same on every node."""
PUBLISHED = (PORTS["CLIENT"], PORTS["CONTROLLER"])
EVERYWHERE = "0.0.0.0"
_API_PORT, _FIRST_PROXY_PORT = 8474, 20_000


@dataclass(frozen=True)
class Rule:
    """One directed link between nodes: connections which the source opens to `host:port`."""

    host: str
    port: int

    def lines(self, how: How) -> list[str]:
        """For iptables-restore, in the source's network. A refusal must let its own RST out."""
        there = f"-d {self.host} -p tcp --dport {self.port}"
        back = f"-s {self.host} -p tcp --sport {self.port}"
        if how == "blackhole":
            return [f"-A OUTPUT {there} -j DROP", f"-A INPUT {back} -j DROP"]
        reset = "-j REJECT --reject-with tcp-reset"
        return [f"-A OUTPUT {there} ! --tcp-flags RST RST {reset}", f"-A INPUT {back} {reset}"]


class ContainerLinks(Links):
    """Links to clients by toxiproxy, links between nodes by rules; both under the same names."""

    rules: Mapping[str, tuple[Container, Rule]]
    """Name of a link between nodes -> the sidecar of its source, and what to say there."""

    def __init__(self, api: Address, child: Container) -> None:
        super().__init__(api, child)
        self.rules = {}
        self._waiting: dict[Container, list[str]] = {}
        self._ruled: set[Container] = set()

    def cut(self, name: str, how: How) -> None:
        """Cut one link; between nodes, from `apply` on."""
        if name not in self.rules:
            super().cut(name, how)
            return
        self._troubled.add(name)
        sidecar, rule = self.rules[name]
        self._waiting.setdefault(sidecar, []).extend(rule.lines(how))

    def apply(self) -> None:
        """Set the rules of every link that was cut since: one command for each sidecar."""
        waiting, self._waiting = self._waiting, {}
        for sidecar, lines in waiting.items():
            text = "\n".join(["*filter", *lines, "COMMIT"])
            self._ruled.add(sidecar)
            sidecar.execute("sh", "-c", f"iptables-restore --noflush <<END\n{text}\nEND\n")

    def heal(self) -> None:
        self._waiting.clear()
        for sidecar in list(self._ruled):
            sidecar.execute("iptables", "-F")
            self._ruled.discard(sidecar)
        super().heal()


@dataclass(frozen=True)
class ContainerLayout(Layout):
    """Where nodes in containers listen, and where they are found (chaos.targets.layout)."""

    addresses: Mapping[int, str] | None = None
    clients: Mapping[int, Address] | None = None

    def bound(self, listener: str, node: int) -> Address:
        return EVERYWHERE, self.port(listener, node)

    def advertised(self, listener: str, node: int) -> Address:
        if listener == "CLIENT":
            return (self.clients or {})[node]
        return (self.addresses or {})[node], self.port(listener, node)


@dataclass(frozen=True)
class Network:
    """A network with its sidecars running, and its proxies if asked for; no broker yet."""

    layout: ContainerLayout
    sidecars: Mapping[int, Container]
    links: ContainerLinks | None

    @property
    def bootstrap(self) -> str:
        found = (self.layout.advertised("CLIENT", node) for node in self.layout.numbers())
        return ",".join(f"{host}:{port}" for host, port in found)


def build(engine: Engine, nodes: int, proxied: bool) -> Network:
    """Make it. What was made when it fails is the engine's to remove."""
    name = engine.network()
    sidecars = {number: _sidecar(engine, name, number) for number in range(1, nodes + 1)}
    addresses = {number: sidecar.address(name) for number, sidecar in sidecars.items()}
    if not proxied:
        clients = {number: one.published(PORTS["CLIENT"]) for number, one in sidecars.items()}
        return Network(_layout(addresses, clients), sidecars, None)
    toxiproxy, links = _toxiproxy(engine, name, nodes)
    links.add(
        Link(client_link(n), (EVERYWHERE, _FIRST_PROXY_PORT + n), (addresses[n], PORTS["CLIENT"]))
        for n in sidecars
    )
    links.rules = _rules(sidecars, addresses)
    clients = {number: toxiproxy.published(_FIRST_PROXY_PORT + number) for number in sidecars}
    return Network(_layout(addresses, clients), sidecars, links)


def _layout(addresses: Mapping[int, str], clients: Mapping[int, Address]) -> ContainerLayout:
    ports = {listener: (port,) * len(addresses) for listener, port in PORTS.items()}
    return ContainerLayout(len(addresses), ports, addresses=addresses, clients=clients)


def _sidecar(engine: Engine, network: str, number: int) -> Container:
    sidecar = engine.create(
        SIDECAR_IMAGE, f"network of node {number}", ["sleep", "infinity"], PUBLISHED,
        network=network, hostname=f"b{number}", cap_drop=["ALL"], cap_add=["NET_ADMIN", "NET_RAW"],
    )  # fmt: skip
    sidecar.start()
    return sidecar


def _toxiproxy(engine: Engine, network: str, nodes: int) -> tuple[Container, ContainerLinks]:
    ports = [_API_PORT, *range(_FIRST_PROXY_PORT + 1, _FIRST_PROXY_PORT + nodes + 1)]
    command: Sequence[str] = ("/toxiproxy", f"-host={EVERYWHERE}")
    toxiproxy = engine.create(TOXIPROXY_IMAGE, "toxiproxy", command, ports, network=network)
    toxiproxy.start()
    links = ContainerLinks.attached(toxiproxy.published(_API_PORT), toxiproxy)
    return toxiproxy, links


def _rules(
    sidecars: Mapping[int, Container], addresses: Mapping[int, str]
) -> dict[str, tuple[Container, Rule]]:
    found = {}
    for source, sidecar in sidecars.items():
        for to, address in addresses.items():
            if source == to:
                continue
            names = node_links(source, to)
            for name, listener in zip(names, ("INTERNAL", "CONTROLLER"), strict=True):
                found[name] = (sidecar, Rule(address, PORTS[listener]))
    return found
