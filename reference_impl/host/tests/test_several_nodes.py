"""Several nodes run as processes of one command, which begins and ends with all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.log.directories.data_directory import DataDirectory, uuid_text
from reference_impl.core.security.listeners import Endpoint
from reference_impl.host.cluster import Size, options_of_nodes
from reference_impl.host.disk import Disk
from reference_impl.host.serve import parse_pairs
from reference_impl.robustness.process import PATIENCE_S, RawClient
from reference_impl.wire import ApiKey

SCRIPT = "import sys; from reference_impl.host.cluster import run; sys.exit(run({options}))"


def settings_of(words: list[str]) -> dict[str, str]:
    """Return what the options of a node set."""
    return parse_pairs([value for key, value in pairwise(words) if key == "--config"])


def test_nodes_know_each_other_and_have_one_cluster_id(tmp_path: Path) -> None:
    planned = options_of_nodes(Size(4, 3, 19092), tmp_path, {"num.partitions": "2"})
    configs = {node: BrokerConfig.of(settings_of(words)) for node, words in planned.items()}
    places = {node: config.membership() for node, config in configs.items()}
    assert [places[node].is_controller for node in (1, 2, 3, 4)] == [True, True, True, False]
    assert all(place.voters == places[1].voters and place.is_broker for place in places.values())
    ports = [config.listeners()[0].endpoint.port for config in configs.values()]
    assert ports == [19092, 19093, 19094, 19095]
    assert {config.number("num.partitions") for config in configs.values()} == {2}
    assert {config.number("offsets.topic.replication.factor") for config in configs.values()} == {3}
    assert len({words[2] for words in planned.values()}) == 1
    assert len({words[1] for words in planned.values()}) == 4


def test_nodes_that_were_formatted_keep_their_cluster_id(tmp_path: Path) -> None:
    known = uuid_text(uuid4())
    DataDirectory.format(Disk(), str(tmp_path / "2"), 2, uuid4, known)
    planned = options_of_nodes(Size(3, None, 0), tmp_path, {})
    assert {words[2] for words in planned.values()} == {f"--cluster-id={known}"}


@pytest.mark.parametrize(
    ("size", "given", "sentence"),
    [
        (Size(0, None, 0), {}, "from 1 to 99 nodes"),
        (Size(3, 4, 0), {}, "--controllers 4: give a number from 1 to 3"),
        (Size(3, 0, 0), {}, "--controllers 0"),
        (Size(3, None, 65534), {}, "--port 65534: 3 nodes"),
        (Size(3, None, 0), {"node.id": "1"}, "node.id differs between nodes"),
        (Size(3, None, 0), {"listeners": "A://:1"}, "listeners differs between nodes"),
    ],
)
def test_what_cannot_be_a_cluster_is_one_sentence(
    tmp_path: Path, size: Size, given: dict[str, str], sentence: str
) -> None:
    with pytest.raises(BadConfig, match=sentence):
        options_of_nodes(size, tmp_path, given)


@contextmanager
def running(words: Mapping[int, list[str]]) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run nodes with these options, and yield the process and the address of each."""
    script = SCRIPT.format(options=dict(words))
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            line = parent.stdout.readline().removeprefix("ready ").strip()
            assert len(line.split(",")) == len(words), line
            yield parent, line.split(",")
        finally:
            with suppress(ProcessLookupError):
                parent.kill()


def strangers(data: Path) -> dict[int, list[str]]:
    """Return the options of two nodes, each of which is a cluster of its own."""
    return {node: ["--data", str(data / str(node)), "--port", "0"] for node in (1, 2)}


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


def test_nodes_are_one_cluster_and_go_on_without_the_controller(tmp_path: Path) -> None:
    quick = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    words = options_of_nodes(Size(3, None, 0), tmp_path, quick)
    with running(words) as (parent, addresses):
        by_node = dict(enumerate(addresses, 1))
        processes = dict(zip(by_node, children_of(parent.pid), strict=True))

        def agree(nodes: set[int]) -> bool:
            views = [view_of(by_node[node]) for node in sorted(nodes)]
            _, controller, brokers = views[0]
            return views == [views[0]] * len(views) and controller in nodes and brokers == nodes

        wait_until(lambda: agree({1, 2, 3}), "the nodes do not become one cluster")
        cluster_id, first, _ = view_of(addresses[0])
        assert words[1][2] == f"--cluster-id={cluster_id}"
        os.kill(processes[first], signal.SIGKILL)
        rest = {1, 2, 3} - {first}
        wait_until(lambda: agree(rest), "the others do not go on as a cluster of two")
        parent.terminate()
        assert parent.wait(PATIENCE_S) == 0


def test_a_signal_ends_all_nodes_cleanly(tmp_path: Path) -> None:
    with running(strangers(tmp_path)) as (parent, _):
        children = children_of(parent.pid)
        assert len(children) == 2
        parent.terminate()
        assert parent.wait(PATIENCE_S) == 0
        wait_for_end(children)
    for node in (1, 2):
        assert (tmp_path / str(node) / ".kafka_cleanshutdown").exists()


def test_nodes_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with running(strangers(tmp_path)) as (parent, _):
        children = children_of(parent.pid)
        parent.kill()
        wait_for_end(children)


def test_a_node_that_is_killed_leaves_the_others_alone(tmp_path: Path) -> None:
    with running(strangers(tmp_path)) as (parent, _):
        children = children_of(parent.pid)
        os.kill(children[0], signal.SIGKILL)
        wait_for_end(children[:1])
        time.sleep(0.5)
        assert (parent.poll(), is_running(children[1])) == (None, True)
        parent.terminate()
        assert parent.wait(PATIENCE_S) == 0


def test_a_node_that_cannot_start_ends_the_others(tmp_path: Path) -> None:
    words = {1: ["--data", str(tmp_path / "1"), "--port", "0"], 2: ["--config", "no.such.key=1"]}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(options=words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "Unknown broker config name: no.such.key" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
