"""Several nodes run as processes of one command, which begins and ends with all of them."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import DataDirectory, uuid_text
from reference_impl.core.security.listeners import Endpoint
from reference_impl.host.cluster import Size, options_of_nodes, settings_of_nodes
from reference_impl.host.disk import Disk
from reference_impl.host.settings import properties
from reference_impl.host.settings.plan import make_plan
from reference_impl.host.tests.test_serve import refused
from reference_impl.robustness.process import PATIENCE_S, RawClient
from reference_impl.wire import ApiKey

COMMAND = [sys.executable, "-m", "reference_impl.host"]
TWO_NODES = ("--nodes", "2", "--port", "0")


def test_nodes_know_each_other_and_share_what_is_given(tmp_path: Path) -> None:
    planned = settings_of_nodes(Size(4, 3, 19092), tmp_path, {"num.partitions": "2"})
    configs = {node: BrokerConfig.of(settings) for node, settings in planned.items()}
    places = {node: config.membership() for node, config in configs.items()}
    assert [places[node].is_controller for node in (1, 2, 3, 4)] == [True, True, True, False]
    assert all(place.voters == places[1].voters and place.is_broker for place in places.values())
    assert [voter.port for voter in places[1].voters.values()] == [19096, 19097, 19098]
    ports = [config.listeners()[0].endpoint.port for config in configs.values()]
    assert ports == [19092, 19093, 19094, 19095]
    assert {config.number("num.partitions") for config in configs.values()} == {2}
    assert {config.number("offsets.topic.replication.factor") for config in configs.values()} == {3}
    assert len({config["log.dirs"] for config in planned.values()}) == 4


INTERNAL = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
)
VOTERS = {"controller.quorum.voters": "1@127.0.0.1:9093", "node.id": "1"}
WITH_CONTROLLER = VOTERS | {"listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093"}


def test_internal_topics_have_as_many_copies_as_the_command_starts_brokers(tmp_path: Path) -> None:
    def copies(config: BrokerConfig) -> tuple[int, ...]:
        return tuple(config.number(key) for key in INTERNAL)

    def of_nodes(count: int) -> tuple[int, ...]:
        return copies(BrokerConfig.of(settings_of_nodes(Size(count, 1, 0), tmp_path, {})[1]))

    def of_one(given: dict[str, str]) -> tuple[int, ...]:
        return copies(make_plan(None, str(tmp_path), given, None).config)

    assert copies(BrokerConfig.of({})) == (3, 3, 2), "Kafka's defaults"
    assert [of_nodes(count) for count in (1, 2, 3, 5)] == [(1, 1, 1), (2, 2, 2), *[(3, 3, 2)] * 2]
    assert of_one({}) == (1, 1, 1)
    assert of_one({INTERNAL[0]: "3"}) == (3, 1, 1), "what is given counts"
    assert of_one(WITH_CONTROLLER) == (3, 3, 2), "others may join this node"


def test_nodes_are_formatted_for_one_cluster(tmp_path: Path) -> None:
    settings = settings_of_nodes(Size(3, None, 0), tmp_path, {"ssl.key.password": "s3cret"})
    new = options_of_nodes(settings, tmp_path, None, None)
    assert len({words[1] for words in new.values()}) == 1
    assert "s3cret" not in str(new)
    assert (tmp_path / "2.properties").stat().st_mode & 0o777 == 0o600
    assert properties.read(tmp_path / "2.properties") == settings[2]
    known = uuid_text(uuid4())
    DataDirectory.format(Disk(), str(tmp_path / "2"), 2, uuid4, known)
    again = options_of_nodes(settings, tmp_path, None, "forget-retries")
    assert {words[1] for words in again.values()} == {f"--cluster-id={known}"}
    assert {words[2] for words in again.values()} == {"--bug=forget-retries"}


@pytest.mark.parametrize(
    ("size", "given", "sentence"),
    [
        (Size(0, None, 0), {}, "from 1 to 99"),
        (Size(3, 4, 0), {}, "--controllers 4: give a number from 1 to 3"),
        (Size(3, 0, 0), {}, "--controllers 0"),
        (Size(3, None, 65531), {}, "--port 65531: these nodes need 6 ports"),
        (Size(3, None, 0), {"node.id": "1"}, "node.id differs between nodes"),
        (Size(3, None, 0), {"log.dirs": "d"}, "log.dirs differs between nodes"),
        (Size(3, None, 0), {"listeners": "A://:1"}, "listeners differs between nodes"),
        (Size(3, None, 0), {"num.partitions": "many"}, "num.partitions"),
    ],
)
def test_what_cannot_be_a_cluster_is_one_sentence(
    tmp_path: Path, size: Size, given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(BadConfig, match=sentence):
        settings_of_nodes(size, tmp_path, given)


def test_a_node_that_cannot_start_ends_the_command_in_one_sentence(tmp_path: Path) -> None:
    DataDirectory.format(Disk(), str(tmp_path / "2"), 3, uuid4, uuid_text(uuid4()))
    assert "node 2 cannot start" in (said := refused("--data", str(tmp_path), *TWO_NODES))
    assert f"{tmp_path}/2 belongs to node 3, not to node 2" in said


def test_a_node_that_is_killed_before_it_is_ready_is_no_clean_start(tmp_path: Path) -> None:
    with started(tmp_path, *TWO_NODES, stderr=subprocess.PIPE) as parent:
        wait_until(lambda: len(children_of(parent.pid)) == 2, "two nodes are not begun")
        os.kill(children_of(parent.pid)[1], signal.SIGKILL)
        _, said = parent.communicate(timeout=PATIENCE_S)
    assert "node 2 cannot start: killed by SIGKILL, see" in said
    assert parent.returncode == 1


def test_nodes_of_different_clusters_are_refused(tmp_path: Path) -> None:
    for node in (1, 2):
        DataDirectory.format(Disk(), str(tmp_path / str(node)), node, uuid4, uuid_text(uuid4()))
    said = refused("--data", str(tmp_path), *TWO_NODES)
    assert "node 2 cannot start" in said and f"{tmp_path}/2 belongs to cluster" in said


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    first = first_free_port(4)
    with socket.create_server(("127.0.0.1", first + 1)):
        said = refused("--data", str(tmp_path), "--nodes", "2", "--port", str(first))
        refused("--nodes", "2", "--port", str(first))  # leaves no temporary directory
    assert f"node 2 cannot start: cannot listen on 127.0.0.1 port {first + 1}" in said


def first_free_port(count: int) -> int:
    """Return the first of `count` adjacent free ports, at random, below those that the system hands
    out."""
    places = range(20_000, 32_000, count)
    for first in random.sample(places, len(places)):
        with ExitStack() as held, suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError(f"there are no {count} adjacent free ports")


@contextmanager
def started(
    data: Path, *options: str, stderr: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start nodes with these options, and yield the process, which may not be ready yet."""
    command = [*COMMAND, "--data", str(data), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as parent:
        try:
            yield parent
        finally:
            with suppress(ProcessLookupError):
                parent.kill()


@contextmanager
def running(data: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run nodes with these options, and yield the process and the address of each."""
    with started(data, *options) as parent:
        assert parent.stdout is not None
        yield parent, parent.stdout.readline().removeprefix("ready ").strip().split(",")


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.05)


def wait_for_end(pids: list[int]) -> None:
    wait_until(lambda: not any(map(is_running, pids)), f"{pids} do not end")


def view_of(address: str) -> tuple[str, int, set[int]]:
    """Return what a node tells of its cluster: its id, the controller, the brokers."""
    host, _, port = address.rpartition(":")
    with RawClient(Endpoint(host, int(port))) as client:
        told = client.call(ApiKey.METADATA, 12, topics=[])
    return told.cluster_id, told.controller_id, {broker.node_id for broker in told.brokers}


def test_nodes_go_on_without_the_controller_until_it_is_started_again(tmp_path: Path) -> None:
    quick = ("broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500")
    options = [word for pair in quick for word in ("--config", pair)]
    with running(tmp_path, "--nodes", "3", "--port", "0", *options) as (parent, addresses):
        by_node = dict(enumerate(addresses, 1))
        processes = dict(zip(by_node, children_of(parent.pid), strict=True))

        def agree(nodes: set[int]) -> bool:
            views = [view_of(by_node[node]) for node in sorted(nodes)]
            _, controller, brokers = views[0]
            return views == [views[0]] * len(views) and controller in nodes and brokers == nodes

        wait_until(lambda: agree({1, 2, 3}), "the nodes do not become one cluster")
        _, first, _ = view_of(addresses[0])
        os.kill(processes[first], signal.SIGKILL)
        rest = {1, 2, 3} - {first}
        wait_until(lambda: agree(rest), "the others do not go on as a cluster of two")
        again = [*COMMAND, "--config-file", str(tmp_path / f"{first}.properties")]
        with subprocess.Popen(again, stdout=subprocess.PIPE, text=True) as alone:
            try:
                assert alone.stdout is not None and alone.stdout.readline().startswith("ready ")
                wait_until(lambda: agree({1, 2, 3}), "the node does not come back")
                alone.terminate()
                assert alone.wait(PATIENCE_S) == 0
                assert agree(rest), "it has ended before the others knew of it"
            finally:
                alone.kill()
        parent.terminate()
        assert parent.wait(PATIENCE_S) == 0


def listens(address: str) -> bool:
    """Return whether a connection to this address is accepted."""
    host, _, port = address.rpartition(":")
    with suppress(ConnectionRefusedError), socket.create_connection((host, int(port)), PATIENCE_S):
        return True
    return False


def test_a_broker_serves_clients_only_once_the_controller_has_unfenced_it(tmp_path: Path) -> None:
    settings = settings_of_nodes(Size(2, None, 0), tmp_path, {})
    options = options_of_nodes(settings, tmp_path, None, None)
    for_clients, for_controllers = (
        where.partition("://")[2] for where in settings[1]["listeners"].split(",")
    )
    with ExitStack() as stack:

        def start(node: int) -> subprocess.Popen[str]:
            command = [*COMMAND, *options[node]]
            popen = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            child = stack.enter_context(popen)
            stack.callback(child.kill)  # before it is waited for
            return child

        first = start(1)
        wait_until(lambda: listens(for_controllers), "controllers are not let in")
        assert not listens(for_clients), "half of the voters elect no controller"
        start(2)
        assert first.stdout is not None and first.stdout.readline().startswith("ready ")
        assert 1 in view_of(for_clients)[2]


def test_a_signal_ends_all_nodes_cleanly(tmp_path: Path) -> None:
    with running(tmp_path, *TWO_NODES) as (parent, addresses):
        children = children_of(parent.pid)
        assert len(addresses) == len(children) == 2
        parent.terminate()
        assert parent.wait(PATIENCE_S) == 0
        wait_for_end(children)
    for node in (1, 2):
        assert (tmp_path / str(node) / ".kafka_cleanshutdown").exists()


def test_nodes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with running(tmp_path, *TWO_NODES) as (parent, _):
        children = children_of(parent.pid)
        assert len(children) == 2
        parent.kill()
        wait_for_end(children)
