"""Stand-ins and the private daemon, without a daemon; and what is said where there is none."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from chaos.means.docker.containers import STAND_IN
from chaos.run.fitting import check_able, nemesis_named, workload_named
from chaos.targets import parse_target
from chaos.targets.dockerized import reference
from chaos.targets.dockerized.network import SIDECAR_IMAGE, TOXIPROXY_IMAGE
from ci import places
from ci.airgap import daemon, images, kafka_run, prove
from ci.airgap.images import BASE, StandIn
from ci.airgap.prove import Show
from ci.cli import main
from ci.errors import UsageError


def recipe_of(stand_in: StandIn) -> tuple[list[str], dict[str, str]]:
    """Return the lines of its Dockerfile, and path -> content or link's target of the files beside
    it."""
    with tarfile.open(fileobj=stand_in.context()) as archive:
        found = {}
        for entry in archive:
            file = archive.extractfile(entry) if entry.isfile() else None
            found[entry.name] = file.read().decode() if file else entry.linkname
    return found.pop("Dockerfile").splitlines(), found


def test_a_stand_in_is_built_of_files_alone_and_says_what_it_is(tmp_path: Path) -> None:
    jar = tmp_path / "kafka.jar"
    jar.write_text("classes")
    link = ("usr/bin/python", "python3")
    one = StandIn("a:1", {"opt/kafka/libs/kafka.jar": jar}, ('CMD ["x"]',), links=(link,))
    lines, files = recipe_of(one)
    assert lines == [f"FROM {BASE}", f"LABEL {STAND_IN}={one.key()}", 'CMD ["x"]', "COPY files/ /"]
    assert files == {"files/opt/kafka/libs/kafka.jar": "classes", "files/usr/bin/python": "python3"}
    before = one.key()
    jar.write_text("other classes")
    assert one.key() != before


class FakeImages:
    """Images that are there, with their labels; what was built."""

    def __init__(self, there: dict[str, dict[str, str]]) -> None:
        self.there = there
        self.built: list[str] = []

    def get(self, name: str) -> Any:
        if name not in self.there:
            raise docker.errors.ImageNotFound(name)
        return SimpleNamespace(labels=self.there[name])

    def build(self, fileobj: Any, custom_context: bool, tag: str, rm: bool) -> None:
        self.built.append(tag)


def test_published_images_stay_and_old_stand_ins_are_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    new, old, published, missing = (StandIn(f"{n}:1", {}, (f"ENV N={n}",)) for n in range(4))
    monkeypatch.setattr(images, "stand_ins", lambda: [new, old, published, missing])
    there = {
        BASE: {},
        new.name: {STAND_IN: new.key()},
        old.name: {STAND_IN: "old"},
        published.name: {},
    }
    fake = FakeImages(there)
    done = dict(images.make_missing(SimpleNamespace(images=fake)))
    assert fake.built == [old.name, missing.name]
    assert done[published.name] == "the published image"
    assert done[new.name] == "a stand-in, ready"


def test_every_image_of_the_targets_has_its_stand_in() -> None:
    names = {one.name for one in images.stand_ins()}
    assert {SIDECAR_IMAGE, reference.IMAGE} <= names
    assert names - {SIDECAR_IMAGE, reference.IMAGE, TOXIPROXY_IMAGE} <= {
        f"apache/kafka:{version}" for version in places.kafka_versions()
    }


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("KAFKA_NODE_ID", "node.id"),
        ("KAFKA_SASL_JAAS__CONFIG", "sasl.jaas_config"),
        ("KAFKA_A___B", "a-b"),
    ],
)
def test_variables_are_read_as_the_published_image_reads_them(variable: str, name: str) -> None:
    assert kafka_run.setting(variable) == name


def test_a_process_that_took_the_number_of_ours_is_not_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(daemon, "run_directory", lambda: tmp_path / "run")
    (tmp_path / "run").mkdir()
    with subprocess.Popen(["sleep", "60"]) as somebody:
        (tmp_path / "run" / "owner").write_text(f"{somebody.pid} 1")
        assert not daemon.stop()
        assert somebody.poll() is None
        somebody.kill()
    assert not (tmp_path / "run").exists()


def test_without_the_program_the_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(daemon, "run_directory", lambda: tmp_path / "run")
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(UsageError, match=r"no dockerd; apt-get install docker\.io"):
        daemon.start()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("tcp://10.0.0.9:2375", "need the Docker daemon of this machine"),
        ("unix:///nowhere/docker.sock", "Docker does not answer when asked to report its version"),
    ],
)
def test_without_a_daemon_a_run_ends_in_one_sentence_and_2(
    url: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOCKER_HOST", url)
    words = "touchstone chaos run --target docker:reference --workload appends --runs"
    monkeypatch.setattr("sys.argv", [*words.split(), str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("touchstone: ") == 1
    assert "Traceback" not in told


def test_what_is_to_be_shown_is_shown_to_the_end_and_a_failure_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = "import os, sys; sys.exit(int(os.environ['DOCKER_HOST']))"
    wanted = [
        Show("well", [sys.executable, "-c", "pass"]),
        Show("ill", [sys.executable, "-c", code]),
        Show("well again", [sys.executable, "-c", "pass"]),
    ]
    assert prove.perform(wanted, "3") == 3
    told = capsys.readouterr().out.splitlines()
    assert [line.split(" after")[0] for line in told] == [
        "airgap: well: status 0",
        "airgap: ill: status 3",
        "airgap: well again: status 0",
    ]
    assert prove.perform(wanted[::2], "3") == 0


def test_what_is_to_be_shown_can_be_asked_for() -> None:
    for show in prove.shows():
        if "run" in show.command:
            options = dict(zip(show.command[5::2], show.command[6::2], strict=True))
            target = parse_target(options["--target"])
            nemesis = nemesis_named(options["--nemesis"])
            workload_named(options["--workload"])
            check_able(target, nemesis, int(options["--nodes"]))
    assert len(prove.shows()) == len(prove.SCENARIOS) + 3
