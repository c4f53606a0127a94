"""Apache Kafka 4.3.1 in a cluster of nodes that talk to each other by TLS, or by TLS and SASL."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from chaos.means.java import find_java
from reference_impl.access import Access
from reference_impl.host.cluster import Size, options_of_nodes, settings_of_nodes
from reference_impl.host.settings import properties
from reference_impl.host.tests.test_secured_cluster import (
    Nodes,
    add_credential,
    create_topic,
    expect_fail_over,
    with_certificates,
    with_passwords,
)
from reference_impl.host.tests.test_several_nodes import COMMAND
from reference_impl.wire import ApiKey
from reference_impl.wire.tests.java_oracle import jars

START_S = 200
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
FOR_APACHE = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


def apache(file: Path, settings: Mapping[str, str]) -> list[str]:
    """Format a node of Apache Kafka, and return the command that starts it."""
    properties.write_private(file, {**settings, **FOR_APACHE})
    java = [str(find_java()), "-Xmx256m", "-cp", f"{jars('4.3.1')}/*"]
    formatted = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(file)]
    subprocess.run(formatted, check=True, capture_output=True)
    return [*java, "kafka.Kafka", str(file)]


@contextmanager
def mixed(
    directory: Path, access: Access, given: Mapping[str, str], of_apache: int
) -> Iterator[Nodes]:
    """Run three nodes with these settings until they are a cluster. of_apache: how many of them, as
    the first ones, are Apache Kafka."""
    directory.mkdir()
    patient = {
        **given,
        "controller.listener.names": "CONTROLLER",
        "initial.broker.registration.timeout.ms": str(START_S * 1000),
    }
    settings = settings_of_nodes(Size(3, None, 0), directory, patient)
    commands = {
        node: [*COMMAND, *options]
        for node, options in options_of_nodes(settings, directory, CLUSTER_ID, None).items()
    }
    for node in range(1, of_apache + 1):
        commands[node] = apache(directory / f"{node}.properties", settings[node])
    processes = {}
    with ExitStack() as stack:
        for node, command in commands.items():
            log = stack.enter_context((directory / f"{node}.log").open("wb"))
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log))
            stack.callback(process.kill)
            listener = settings[node]["listeners"].partition(",")[0]
            processes[listener.partition("://")[2]] = process.pid
        nodes = Nodes(processes, access, directory)

        def is_whole() -> bool:
            with suppress(OSError):
                return len(nodes.ask(ApiKey.METADATA, 9, topics=[]).brokers) == len(commands)
            return False

        deadline = time.monotonic() + START_S
        while not is_whole():
            assert time.monotonic() < deadline, "the nodes do not become one cluster"
            time.sleep(0.5)
        yield nodes


@pytest.mark.nightly
@pytest.mark.needs("java", "kafka-jars")
@pytest.mark.parametrize("of_apache", [1, 2])
@pytest.mark.parametrize("secured", [with_certificates, with_passwords])
def test_apache_kafka_and_this_broker_are_one_secured_cluster(
    tmp_path: Path, secured: Callable[[Path], tuple[dict[str, str], Access]], of_apache: int
) -> None:
    settings, access = secured(tmp_path / "keys")
    with mixed(tmp_path / "data", access, settings, of_apache) as nodes:
        if access.uses_sasl:
            create_topic(nodes)
            add_credential(nodes, "node", "secret")
        expect_fail_over(nodes)
