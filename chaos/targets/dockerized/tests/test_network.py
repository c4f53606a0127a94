"""Test the addresses in containers, and that every directed link passes through toxiproxy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaos.means.docker import containers
from chaos.means.docker.containers import Engine
from chaos.means.links import Link, LinkError, Links
from chaos.targets import parse_target
from chaos.targets.clusters.properties import properties_of
from chaos.targets.dockerized import network as networks
from chaos.tests.fake_docker import FakeDocker
from chaos.values.protocols import TargetError

NODES = 3


class FakeLinks(Links):
    """The links of a toxiproxy server that does not exist: it accepts every request and keeps the
    added links."""

    added: list[Link]
    hangs = False

    @classmethod
    def attached(cls, api: Any, child: Any, again: Any = None) -> FakeLinks:
        made = cls(api, child, again)
        made.added = []
        return made

    def _call(self, verb: str, path: str, body: Any = None, timeout_s: float = 0.0) -> Any:
        if path == "/reset" and self.hangs:
            raise LinkError("it hangs")

    def _is_up(self) -> bool:
        return self._child.running

    def add(self, links: Any) -> None:
        self.added += links


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeDocker:
    fake = FakeDocker(networks.SIDECAR_IMAGE, networks.TOXIPROXY_IMAGE)
    monkeypatch.setattr(containers, "_client", lambda url: fake)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(networks, "Links", FakeLinks)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    return fake


def test_every_directed_link_has_a_port_of_its_own_and_a_rule_that_leads_there(
    client: FakeDocker,
) -> None:
    engine = Engine.connect()
    network = networks.build(engine, NODES, proxied=True)
    assert isinstance(network.links, FakeLinks)
    links = network.links.added
    assert len({link.listen for link in links}) == len(links) == NODES + 2 * NODES * (NODES - 1)
    sidecars = [one for one in client.containers.handles if "NET_ADMIN" in str(one.options)]
    rules = [line for one in sidecars for line in one.executed[0][2].splitlines()]
    turned = {
        (rule.split()[3], rule.split()[7], rule.split()[-1]) for rule in rules if "-A" in rule
    }
    toxiproxy = client.containers.handles[-2].attrs["NetworkSettings"]["Networks"]
    (address,) = (one["IPAddress"] for one in toxiproxy.values())
    between = [link for link in links if not link.name.startswith("client-")]
    assert len(turned) == len(between)
    for link in between:
        (host, port), proxy = link.upstream, f"{address}:{link.listen[1]}"
        assert (host, str(port), proxy) in turned
    engine.remove_all()
    assert client.containers.handles == client.networks.handles == []


def test_a_toxiproxy_that_hangs_is_replaced_where_it_was(client: FakeDocker) -> None:
    engine = Engine.connect()
    network = networks.build(engine, NODES, proxied=True)
    links = network.links
    assert isinstance(links, FakeLinks)
    sidecar, toxiproxy = client.containers.handles[-2:]
    assert toxiproxy.options["network_mode"] == f"container:{sidecar.id}"
    wanted = list(links.added)
    links._links = {link.name: link for link in wanted}
    links.added.clear()
    links.hangs = True
    links.heal()
    assert links.added == wanted
    assert client.containers.handles[-2:] == [sidecar, toxiproxy]
    assert toxiproxy.starts == 2
    engine.remove_all()


@pytest.mark.parametrize(("gateway", "host"), [("127.0.0.1", "10.9.0."), ("192.0.2.1", "127.0.")])
def test_nodes_tell_clients_the_proxy_and_each_other_their_own_address(
    client: FakeDocker, gateway: str, host: str
) -> None:
    """The proxy's own address where that is reached from here, or where Docker has published it."""
    client.networks.gateway = gateway
    engine = Engine.connect()
    network = networks.build(engine, NODES, proxied=True)
    told = properties_of(network.layout, 2, Path("/data"))["advertised.listeners"].split(",")
    address = network.layout.advertised("INTERNAL", 2)[0]
    assert told[0] == f"CLIENT://{network.bootstrap.split(',')[1]}"
    assert told[1:] == [f"INTERNAL://{address}:9093", f"CONTROLLER://{address}:9094"]
    assert told[0].startswith(f"CLIENT://{host}")
    engine.remove_all()


def test_without_proxies_clients_find_the_node_itself(client: FakeDocker) -> None:
    engine = Engine.connect()
    network = networks.build(engine, 1, proxied=False)
    assert network.links is None
    host, port = network.sidecars[1].seen(9092)
    assert network.bootstrap == f"{host}:{port}"
    engine.remove_all()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("docker", "docker:apache:4.3.1"),
        ("docker:apache", "docker:apache:4.3.1"),
        ("docker:apache:3.9", "docker:apache:3.9.1"),
        ("docker:reference", "docker:reference"),
    ],
)
def test_targets_in_containers_have_names(text: str, name: str) -> None:
    assert parse_target(text).name == name


@pytest.mark.parametrize(
    ("text", "bug", "said"),
    [
        ("docker:redpanda", None, "docker:redpanda is not a target; use docker:apache:4.3.1"),
        ("docker:apache:1.0", None, "no Apache Kafka '1.0' is pinned here"),
        ("docker:apache", "forget-retries", "Apache Kafka has no planted bugs"),
    ],
)
def test_a_target_that_is_none_is_answered_by_a_sentence(
    text: str, bug: str | None, said: str
) -> None:
    with pytest.raises(TargetError) as caught:
        parse_target(text, bug)
    assert said in str(caught.value)


def test_listeners_that_nobody_publishes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="leave out listeners"):
        parse_target("docker:reference").start(tmp_path, 1, {"listeners": "X://127.0.0.1:0"})


@pytest.mark.parametrize(("text", "nodes"), [("docker:apache", 2), ("docker:reference", 3)])
def test_a_number_of_nodes_that_cannot_be_is_refused(text: str, nodes: int, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=f"not {nodes}"):
        parse_target(text).start(tmp_path, nodes)
