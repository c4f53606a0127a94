"""Run Apache Kafka in the image that Apache publishes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from chaos.means.docker.containers import Container, Engine
from chaos.targets.apache import (
    DEFAULT_VERSION,
    FAULTS,
    JVM_OPTIONS,
    LOG4J1,
    LOG4J2,
    NODES_ALLOWED,
    kafka_uuid,
    of_version,
)
from chaos.targets.clusters.kraft import newest_leader
from chaos.targets.clusters.properties import apache_properties
from chaos.targets.dockerized.cluster import ContainerCluster, ContainerTarget, Maker
from chaos.targets.dockerized.network import PORTS, Network
from chaos.values.protocols import TargetError
from reference_impl.host.settings.properties import as_text

JARS = "/opt/kafka/libs/*"
FILES = "/touchstone"


class ApacheContainers(ContainerCluster):
    """A KRaft cluster of Apache Kafka in containers. The controllers themselves are asked for the
    leader of the quorum."""

    def controller(self) -> int | None:
        return newest_leader(
            self.network.sidecars[node].seen(PORTS["CONTROLLER"]) for node in self.reachable()
        )


class DockerizedApache(ContainerTarget):
    """One version of Apache Kafka in 1 or 3 containers."""

    cluster_class = ApacheContainers
    faults = FAULTS

    def __init__(self, version: str = DEFAULT_VERSION) -> None:
        self.version = version
        self.name = f"docker:apache:{version}"
        self.image = f"apache/kafka:{version}"

    def check(self, nodes: int) -> None:
        if nodes not in NODES_ALLOWED:
            raise TargetError(f"{self.name} runs 1 or 3 nodes, not {nodes}; choose 1 or 3")

    def makers(
        self,
        engine: Engine,
        network: Network,
        config: Mapping[str, str],
        places: Mapping[int, Path],
    ) -> dict[int, Maker]:
        cluster_id = kafka_uuid()
        found: dict[int, Maker] = {}
        for number, place in places.items():
            settings = {**apache_properties(network.layout, number, place), **config}
            script = self.first_words + _script(cluster_id, place)
            found[number] = partial(self._make, engine, number, as_text(settings), script)
        return found

    def _make(
        self, engine: Engine, number: int, properties: str, script: str, options: Mapping[str, Any]
    ) -> Container:
        container = engine.create(self.image, f"node {number}", ["sh", "-c", script], **options)
        container.put(
            {
                f"{FILES}/server.properties": properties,
                f"{FILES}/log4j2.properties": LOG4J2,
                f"{FILES}/log4j.properties": LOG4J1,
            }
        )
        return container


def _script(cluster_id: str, data: Path) -> str:
    """Return the container's shell script: format the data directory at the first start, then
    replace the shell by the broker, so that signals reach it."""
    java = ("java", "-XX:TieredStopAtLevel=1", "-cp", JARS)
    properties = f"{FILES}/server.properties"
    format_it = shlex.join(
        [*java, "-Xmx128m", "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", properties]
    )
    logging = (
        f"-Dlog4j2.configurationFile={FILES}/log4j2.properties",
        f"-Dlog4j.configuration=file:{FILES}/log4j.properties",
    )
    run_it = shlex.join([*java, *JVM_OPTIONS, *logging, "kafka.Kafka", properties])
    formatted = shlex.join(["test", "-f", str(data / "meta.properties")])
    return f"{formatted} || {format_it} || exit; exec {run_it}"


def dockerized_version(asked: str) -> DockerizedApache:
    """Return the target for the release that `docker:apache:ASKED` means, 4.3.1 if `asked` is "".
    Raise TargetError if no such release is pinned."""
    return DockerizedApache(of_version(asked, None).version)
