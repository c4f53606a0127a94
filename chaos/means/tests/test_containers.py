"""Test containers that are treated like child processes, and the removal of what dead owners have
left, with a fake of Docker."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chaos.means import guard, leftovers
from chaos.means.docker import containers
from chaos.means.docker.containers import LABEL, Container, ContainerError, DaemonLost, Engine
from chaos.means.pidfd import HeldProcess
from chaos.means.real_world import REAL_WORLD
from chaos.nemeses.calm import NoFaults
from chaos.record.recorder import HistoryRecorder
from chaos.run.workers import FaultPerformer, Shared, Throttle
from chaos.targets.clusters.node import LocalNode
from chaos.targets.dockerized.cluster import ContainerCluster
from chaos.tests.fake_docker import FakeDocker, FakeImage
from chaos.values.faults import Heal

NAMESPACE = guard.owner_name(os.getpid()).split(":", 2)[2]
DEAD = f"1:999999999999:{NAMESPACE}"
ELSEWHERE = "1:999999999999:pid:[1]"
IMAGE = "python:3.11-slim"
WAIT_S = 180.0


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeDocker:
    """Provide a daemon, and a directory for notes that no other test writes into."""
    fake = FakeDocker(IMAGE)
    monkeypatch.setattr(containers, "_client", lambda url: fake)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    return fake


@pytest.fixture
def engine(client: FakeDocker) -> Iterator[Engine]:
    made = Engine.connect()
    yield made
    client.dead = False
    made.remove_all()


def notes(directory: Path) -> list[Path]:
    return sorted(directory.glob("touchstone-docker-*"))


def test_a_container_is_a_child(engine: Engine, client: FakeDocker) -> None:
    child = engine.create(IMAGE, "node 1", ["sleep", "9"])
    child.start()
    child.pause()
    assert (child.running, child.paused, child.exit_status) == (True, True, None)
    child.kill()
    assert (child.running, child.paused, child.exit_status) == (False, False, 137)
    assert child.last_words() == "one / two"
    child.start()
    child.end()
    assert not child.running
    child.remove()
    assert client.containers.handles == []


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """Provide a process that was not started by chaos.means.processes."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_its_process_is_struck_without_asking_docker(
    engine: Engine,
    client: FakeDocker,
    sleeper: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Container, "id", own_group())
    child = engine.create(IMAGE, "node 1", ["sleep", "60"])
    handle = client.containers.handles[0]
    handle.state["Pid"] = sleeper.pid
    child.start()
    client.dead = True
    child.pause()
    assert (child.running, child.paused) == (True, True)
    wait_until(lambda: state_of(sleeper.pid) == "T")
    child.resume()
    wait_until(lambda: state_of(sleeper.pid) == "S")
    child.kill()
    assert not child.running
    assert sleeper.wait(WAIT_S) == -signal.SIGKILL
    client.dead = False
    assert handle.state["Status"] == "running"  # what Docker has not noticed yet
    handle.state |= {"Status": "exited", "ExitCode": 137}
    assert child.exit_status == 137
    child.start()
    assert handle.starts == 2


def own_group() -> str:
    """Return the path of the control group that this process and its children are in."""
    return Path("/proc/self/cgroup").read_text().splitlines()[0].rpartition(":")[2]


def state_of(pid: int) -> str:
    """Return the state of a process as one letter (proc_pid_stat(5))."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_of_another_group_is_not_held(sleeper: subprocess.Popen[bytes]) -> None:
    assert HeldProcess.in_group(sleeper.pid, "0123456789abcdef" * 4) is None
    held = HeldProcess.in_group(sleeper.pid, own_group())
    assert held is not None
    assert held.running
    assert held.strike(signal.SIGKILL)
    assert held.wait(WAIT_S)
    sleeper.wait(WAIT_S)
    assert not held.strike(signal.SIGKILL)
    assert HeldProcess.in_group(sleeper.pid, own_group()) is None


@pytest.mark.parametrize(
    ("security", "user"),
    [
        ([], f"{os.getuid()}:{os.getgid()}"),
        (["name=seccomp,profile=default"], f"{os.getuid()}:{os.getgid()}"),
        (["name=seccomp,profile=default", "name=rootless"], "0:0"),
    ],
)
def test_nodes_run_as_whom_our_directories_belong_to(
    engine: Engine, client: FakeDocker, security: list[str], user: str
) -> None:
    client.security = security
    assert engine.user() == user


def test_a_daemon_that_gives_others_to_containers_is_refused(
    engine: Engine, client: FakeDocker
) -> None:
    client.security = ["name=userns"]
    with pytest.raises(ContainerError, match=r"use a daemon without that$"):
        engine.user()


def test_files_are_put_where_they_are_wanted(engine: Engine, client: FakeDocker) -> None:
    engine.create(IMAGE, "node 1", ["x"]).put({"/etc/kafka/a": "1\n", "/b": "ä"})
    assert client.containers.handles[0].files == {"/etc/kafka/a": "1\n", "/b": "ä"}


def test_a_command_that_fails_says_why(engine: Engine) -> None:
    with pytest.raises(ContainerError, match=r"^false in node 1 failed: no such rule$"):
        engine.create(IMAGE, "node 1", ["x"]).execute("false")


def test_what_was_made_is_removed_and_nothing_else(engine: Engine, client: FakeDocker) -> None:
    client.containers.create(IMAGE, name="somebody's", labels={LABEL: engine.owner})
    client.networks.create("a network without our label")
    engine.create(IMAGE, "node 1", ["x"])
    engine.network()
    engine.remove_all()
    assert [one.name for one in client.containers.handles] == ["somebody's"]
    assert len(client.removed) == 2
    assert len(client.networks.handles) == 1


def test_only_dead_owners_of_our_namespace_lose_what_they_have(client: FakeDocker) -> None:
    living = guard.owner_name(os.getpid())
    for name, owner in (("dead", DEAD), ("elsewhere", ELSEWHERE), ("living", living)):
        client.networks.create(f"{name} network", labels={LABEL: owner})
        client.containers.create(IMAGE, name=f"{name} sidecar", labels={LABEL: owner})
        joined = {"network_mode": f"container:id-{name} sidecar", "labels": {LABEL: owner}}
        client.containers.create(IMAGE, name=f"{name} node", **joined)
    assert containers.sweep(client) == 3
    assert client.removed == ["dead node", "dead sidecar", "dead network"]


def test_the_next_command_removes_and_says_so(
    client: FakeDocker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = tmp_path / f"touchstone-docker-1-999999999999-{''.join(filter(str.isdigit, NAMESPACE))}"
    note.write_text("unix:///nowhere/docker.sock")
    client.containers.create(IMAGE, name="left", labels={LABEL: DEAD})
    client.dead = True
    assert containers.remove_leftovers() == 0
    assert note.exists()  # until its daemon lives again
    client.dead = False
    leftovers.remove()
    assert client.removed == ["left"]
    assert not note.exists()
    assert "1 container(s)" in capsys.readouterr().err


def test_a_note_is_there_as_long_as_there_is_something_to_remove(
    client: FakeDocker, tmp_path: Path
) -> None:
    engine = Engine.connect()
    assert [note.read_text() for note in notes(tmp_path)] == ["unix:///nowhere/docker.sock"]
    client.dead = True
    with pytest.raises(ContainerError, match=r"removes the containers that are left$"):
        engine.remove_all()
    assert len(notes(tmp_path)) == 1
    client.dead = False
    engine.remove_all()
    assert notes(tmp_path) == []


def test_a_daemon_that_died_is_no_note_but_the_end_of_a_run(
    engine: Engine, client: FakeDocker, tmp_path: Path
) -> None:
    member = LocalNode(1, (), ("127.0.0.1", 1), Path("nowhere"))
    cluster = ContainerCluster("docker", "1", "", [member], {})
    cluster.engine = engine
    throttle = Throttle(REAL_WORLD, 1.0)
    shared = Shared("run", "", HistoryRecorder(tmp_path, "run"), 1, REAL_WORLD, throttle)
    performer = FaultPerformer(shared, NoFaults(), cluster)
    client.dead = True
    with pytest.raises(DaemonLost, match="Docker does not answer"):
        REAL_WORLD.run(performer.perform(Heal()))
    assert shared.stop.is_set()


def test_an_image_that_cannot_be_had_is_named_with_a_way_out(engine: Engine) -> None:
    with pytest.raises(ContainerError) as caught:
        engine.create("apache/kafka:4.3.1", "node 1", ["x"])
    assert "pull apache/kafka:4.3.1: the registry is not reachable" in str(caught.value)
    assert "python -m ci.airgap up" in str(caught.value)


def test_an_image_is_the_published_one_or_a_stand_in(engine: Engine, client: FakeDocker) -> None:
    """No other image of the same name is accepted, since a tag can be moved."""
    name = "apache/kafka:4.3.1"
    meant = f"apache/kafka@{containers.DIGESTS[name]}"
    client.images.there[name] = FakeImage({})
    with pytest.raises(ContainerError, match=r"pull apache/kafka:4\.3\.1"):
        engine.image(name)
    client.images.there[name] = FakeImage({containers.STAND_IN: "1"})
    assert engine.image(name) == name
    client.images.registry.add(meant)
    del client.images.there[name]
    assert engine.image(name) == meant
    client.images.registry.clear()
    assert engine.image(name) == meant


@pytest.mark.needs("root")
def test_a_container_is_paused_with_all_its_processes(
    engine: Engine, client: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pausing stops every process of the container's pid namespace; stopping the first process
    alone would not."""
    monkeypatch.setattr(Container, "id", own_group())
    child = engine.create(IMAGE, "node 1", ["sleep", "60"])
    script = "sleep 600 & sleep 600 & wait"
    command = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    with subprocess.Popen(command) as outer:
        try:
            wait_until(lambda: len(children_of(outer.pid)) == 1)
            (first,) = children_of(outer.pid)
            client.containers.handles[0].state["Pid"] = first
            child.start()
            wait_until(lambda: len(children_of(first)) == 2)
            child.pause()
            wait_until(child.is_halted)
            assert [state_of(pid) for pid in (first, *children_of(first))] == ["T"] * 3
            child.resume()
            assert not child.is_halted()
        finally:
            outer.kill()


def children_of(parent: int) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            found += [int(place.name)] if int(fields[1]) == parent else []
    return sorted(found)
