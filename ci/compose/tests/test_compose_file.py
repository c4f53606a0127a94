"""docker-compose.yml, its toxiproxy and its description as a target, without a daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from chaos.means.docker import containers
from chaos.targets import apache, parse_target
from chaos.targets.dockerized import reference
from chaos.targets.dockerized.apache import DockerizedApache
from chaos.targets.dockerized.network import TOXIPROXY_IMAGE
from chaos.targets.foreign.foreign_file import read
from chaos.values.faults import Kill, Pause, Shutdown
from ci.compose import __main__ as compose

BROKERS = ("kafka-1", "kafka-2", "kafka-3")
TABLE: dict[str, Any] = yaml.safe_load(compose.FILE.read_text("utf-8"))
SERVICES: dict[str, Any] = TABLE["services"]


def published(service: str) -> dict[str, str]:
    """Port here -> port in the container."""
    found = {}
    for text in SERVICES[service]["ports"]:
        host, here, there = text.split(":")
        assert host == "127.0.0.1", "nothing is shown to other machines"
        found[here] = there
    return found


def test_the_images_are_those_of_the_targets_and_nothing_is_built() -> None:
    wanted = {name: DockerizedApache(apache.DEFAULT_VERSION).image for name in BROKERS}
    wanted |= {"toxiproxy": TOXIPROXY_IMAGE, "reference": reference.IMAGE}
    variables = {image: variable for variable, image in compose.IMAGES.items()}
    pinned = {n: f"{i}${{{variables[i]}-@{containers.DIGESTS[i]}}}" for n, i in wanted.items()}
    assert {name: service["image"] for name, service in SERVICES.items()} == pinned
    assert not any("build" in service for service in SERVICES.values())


def test_every_broker_is_asked_for_its_health() -> None:
    asked = {name for name, service in SERVICES.items() if "healthcheck" in service}
    assert asked == {*BROKERS, "reference"}


def test_each_broker_tells_clients_where_they_find_it_directly_and_through_toxiproxy() -> None:
    proxies = {
        one["name"]: one
        for one in json.loads(compose.CLUSTER.with_name("toxiproxy.json").read_text())
    }
    for number, name in enumerate(BROKERS, 1):
        environment = SERVICES[name]["environment"]
        told = dict(
            url.split("://") for url in environment["KAFKA_ADVERTISED_LISTENERS"].split(",")
        )
        bound = dict(url.split("://:") for url in environment["KAFKA_LISTENERS"].split(","))
        assert environment["KAFKA_NODE_ID"] == str(number)
        direct, proxied = (told[listener].split(":")[1] for listener in ("DIRECT", "PROXIED"))
        assert published(name) == {direct: bound["DIRECT"]}
        assert proxies[name]["upstream"] == f"{name}:{bound['PROXIED']}"
        there = published("toxiproxy")[proxied]
        assert proxies[name]["listen"] == f"0.0.0.0:{there}"


def test_the_description_names_the_services_and_their_ports() -> None:
    described = read(compose.CLUSTER)
    for name, node in zip(BROKERS, described.nodes, strict=True):
        assert published(name).keys() == {str(node.address[1])}
        assert node.start is not None
        assert node.start[-1] == name
    assert {Kill, Pause, Shutdown} <= parse_target(str(compose.CLUSTER)).faults


def test_what_is_attacked_is_what_is_described_in_a_project_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "DESCRIBED", tmp_path / "made" / "cluster.toml")
    attacked, described = read(compose.describe()), read(compose.CLUSTER)
    for name, ours, theirs in zip(BROKERS, attacked.nodes, described.nodes, strict=True):
        assert ours.address == theirs.address
        assert ours.start is not None
        assert ours.start[-6:] == ("-f", str(compose.FILE), "-p", compose.PROJECT, "start", name)


def test_all_addresses_are_asked_before_the_cluster_counts_as_healthy() -> None:
    ports = {int(port) for name in SERVICES for port in published(name)}
    assert ports - {8474} == {port for _, port in compose.ADDRESSES}


def test_the_reference_is_brought_the_libraries_it_imports() -> None:
    command = SERVICES["reference"]["command"][-1]
    assert f"import {', '.join(reference.LIBRARIES.values())}" in command
    assert f"install --quiet {' '.join(reference.LIBRARIES)}" in command
