"""Nodes whose voters are in the metadata log: the first is formatted, others join it (KIP-853)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.quorum.metadata_log import TOPIC
from reference_impl.core.quorum.snapshots.formatting import initial_voters
from reference_impl.core.security.listeners import Endpoint
from reference_impl.host.tcp.ports import free_ports
from reference_impl.host.tests.test_serve import refused
from reference_impl.robustness.process import PATIENCE_S, RawClient
from reference_impl.wire import ApiKey, request_definition

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
DIRECTORIES = {1: "1AAAAAAAAAAAAAAAAAAAAA", 2: "2AAAAAAAAAAAAAAAAAAAAA"}


@contextmanager
def node(data: Path, number: int, port: int, *options: str) -> Iterator[IO[str]]:
    """Run a node, and yield its standard output."""
    controller = f"CONTROLLER://127.0.0.1:{port}"
    settings = {
        "node.id": str(number),
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://127.0.0.1:0,{controller}",
        "controller.quorum.auto.join.enable": "true",
        "controller.quorum.fetch.timeout.ms": "500",
    }
    words = [word for key, value in settings.items() for word in ("--config", f"{key}={value}")]
    command = [sys.executable, "-m", "reference_impl.host", "--data", str(data / str(number))]
    with subprocess.Popen([*command, *words, *options], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield child.stdout
        finally:
            child.kill()


def client_port(output: IO[str]) -> int:
    """Return the port on which clients find a node, once it is ready: in its cluster."""
    return int(output.readline().rpartition(":")[2])


def voters(port: int) -> set[int]:
    """Return the voters that the leader names, or nobody if there is no leader."""
    of = request_definition(ApiKey.DESCRIBE_QUORUM)
    row = of.struct("TopicData", topic_name=TOPIC, partitions=[of.struct("PartitionData")])
    with RawClient(Endpoint("127.0.0.1", port)) as client:
        answer = client.call(ApiKey.DESCRIBE_QUORUM, 2, topics=[row])
    rows = [row for topic in answer.topics for row in topic.partitions]
    return {voter.replica_id for row in rows for voter in row.current_voters}


def test_a_second_controller_finds_the_first_and_becomes_a_voter(tmp_path: Path) -> None:
    first, second = free_ports(2)
    bootstrap = f"controller.quorum.bootstrap.servers=127.0.0.1:{first}"
    owner = "--cluster-id", CLUSTER_ID
    with (
        node(tmp_path, 1, first, *owner, "--standalone", "--config", bootstrap) as output,
        node(tmp_path, 2, second, *owner, "--config", bootstrap),
    ):
        port = client_port(output)
        deadline = time.monotonic() + PATIENCE_S
        while voters(port) != {1, 2}:
            assert time.monotonic() < deadline, "node 2 has not become a voter"
            time.sleep(0.1)
    kept = json.loads((tmp_path / "1" / "__cluster_metadata-0" / "quorum-state").read_text())
    assert kept["data_version"] == 1


def test_initial_controllers_elect_a_leader_among_them(tmp_path: Path) -> None:
    ports = dict(zip((1, 2), free_ports(2), strict=True))
    named = ",".join(f"{n}@127.0.0.1:{ports[n]}:{DIRECTORIES[n]}" for n in ports)
    servers = ",".join(f"127.0.0.1:{port}" for port in ports.values())
    bootstrap = f"controller.quorum.bootstrap.servers={servers}"
    options = "--cluster-id", CLUSTER_ID, "--initial-controllers", named, "--config", bootstrap
    with node(tmp_path, 1, ports[1], *options) as output, node(tmp_path, 2, ports[2], *options):
        port = client_port(output)
        deadline = time.monotonic() + PATIENCE_S
        while voters(port) != {1, 2}:
            assert time.monotonic() < deadline, "the two do not form a quorum"
            time.sleep(0.1)
    meta = (tmp_path / "2" / "meta.properties").read_text()
    assert f"directory.id={DIRECTORIES[2]}" in meta


def test_first_voters_are_named_as_kafka_names_them() -> None:
    found = initial_voters(f"1@a:9093:{DIRECTORIES[1]},2@[::1]:9094:{DIRECTORIES[2]}", "C")
    assert {n: dict(each.endpoints) for n, each in found.items()} == {
        1: {"C": Endpoint("a", 9093)},
        2: {"C": Endpoint("::1", 9094)},
    }


@pytest.mark.parametrize("text", ["", "1@a:9093", "1@a:9093:short", "@a:1:" + DIRECTORIES[1]])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(BadConfig, match="write each as ID@host:port:DIRECTORY"):
        initial_voters(text, "C")


def test_a_first_voter_that_nobody_can_find_is_refused(tmp_path: Path) -> None:
    said = refused("--data", str(tmp_path), "--port", "0", "--standalone")
    assert "other controllers must find the first voters; add CONTROLLER://host:port" in said
