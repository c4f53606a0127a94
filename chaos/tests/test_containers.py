"""Containers as children, and what dead owners have left; Docker itself is not needed here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos import containers, guard, leftovers
from chaos.containers import LABEL, ContainerError, DaemonLost, Engine
from chaos.faults import Heal
from chaos.nemeses.calm import NoFaults
from chaos.recorder import HistoryRecorder
from chaos.targets.cluster import LocalNode
from chaos.targets.dockerized.cluster import ContainerCluster
from chaos.tests.fake_docker import FakeDocker
from chaos.workers import Shared, Storm, Throttle

NAMESPACE = guard.owner_name(os.getpid()).split(":", 2)[2]
DEAD = f"1:999999999999:{NAMESPACE}"
ELSEWHERE = "1:999999999999:pid:[1]"
IMAGE = "python:3.11-slim"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeDocker:
    """A daemon, and a directory for notes that nobody else writes into."""
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


def test_files_are_put_where_they_are_wanted(engine: Engine, client: FakeDocker) -> None:
    engine.create(IMAGE, "node 1", ["x"]).put({"/etc/kafka/a": "1\n", "/b": "ä"})
    assert client.containers.handles[0].files == {"/etc/kafka/a": "1\n", "/b": "ä"}


def test_a_command_that_fails_says_why(engine: Engine) -> None:
    with pytest.raises(ContainerError, match=r"^false in node 1 failed: no such rule$"):
        engine.create(IMAGE, "node 1", ["x"]).execute("false")


def test_what_was_made_is_removed_and_nothing_else(engine: Engine, client: FakeDocker) -> None:
    client.containers.create(IMAGE, name="somebody's", labels={LABEL: engine.owner})
    client.volumes.create("a volume without our label")
    engine.create(IMAGE, "node 1", ["x"])
    engine.network()
    engine.volume("data")
    engine.remove_all()
    assert [one.name for one in client.containers.handles] == ["somebody's"]
    assert len(client.removed) == 3
    assert len(client.volumes.handles) == 1


def test_only_dead_owners_of_our_namespace_lose_what_they_have(client: FakeDocker) -> None:
    living = guard.owner_name(os.getpid())
    for name, owner in (("dead", DEAD), ("elsewhere", ELSEWHERE), ("living", living)):
        client.networks.create(f"{name} network", labels={LABEL: owner})
        client.containers.create(IMAGE, name=f"{name} sidecar", labels={LABEL: owner})
        joined = {"network_mode": f"container:id-{name} sidecar", "labels": {LABEL: owner}}
        client.containers.create(IMAGE, name=f"{name} node", **joined)
        client.volumes.create(f"{name} data", labels={LABEL: owner})
    assert containers.sweep(client) == 4
    assert client.removed == ["dead node", "dead sidecar", "dead network", "dead data"]


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
    with pytest.raises(ContainerError, match=r"removed by the next command$"):
        engine.remove_all()
    assert len(notes(tmp_path)) == 1
    client.dead = False
    engine.remove_all()
    assert notes(tmp_path) == []


def test_a_daemon_that_died_is_no_note_but_the_end_of_a_run(
    engine: Engine, client: FakeDocker, tmp_path: Path
) -> None:
    member = LocalNode(1, (), ("127.0.0.1", 1), Path("nowhere"))
    cluster = ContainerCluster("docker", "1", "", [member], frozenset({Heal}))
    cluster.engine = engine
    shared = Shared("run", "", HistoryRecorder(tmp_path, "run"), 1, Throttle(1.0))
    storm = Storm(shared, NoFaults(), cluster)
    client.dead = True
    with pytest.raises(DaemonLost, match="Docker does not answer"):
        storm.perform(Heal())


def test_an_image_that_cannot_be_had_is_named_with_a_way_out(engine: Engine) -> None:
    with pytest.raises(ContainerError) as caught:
        engine.create("apache/kafka:4.3.1", "node 1", ["x"])
    assert "pull apache/kafka:4.3.1: the registry is not reachable" in str(caught.value)
    assert "python -m ci.airgap up" in str(caught.value)
