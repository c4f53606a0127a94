"""The doctor answers quickly, for every component, and says what to do about what is missing."""

import json
import stat
from pathlib import Path

import pytest

from ci import doctor, places
from ci.tools import golang, jvm


def program(folder: Path, name: str, script: str) -> str:
    """Return an executable shell script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_every_component_is_looked_for_once() -> None:
    names = [component.name for component in doctor.components()]
    assert len(names) == len(set(names))
    assert {"java", "spark", "go", "toxiproxy", "porcupine", "kfake", "kafka-jars"} <= {*names}
    assert {"docker", "root", "netns", "loop", "chromium"} <= {*names}
    assert {f"kafka-jars-{v}" for v in places.kafka_versions()} - {*names} == {
        f"kafka-jars-{places.KAFKA_VERSION}"
    }


def test_every_component_says_what_is_lost_and_how_to_mend_it() -> None:
    for component in doctor.components():
        assert component.detail and component.lost_without and component.mend, component


def test_the_table_shows_loss_and_mending_of_what_is_missing_only() -> None:
    here = doctor.Component("go", True, "Go 1.26", "the building", "install Go")
    missing = doctor.Component("docker", False, "no daemon", "the containers", "start Docker")
    text = doctor.render([here, missing], width=200)
    assert "Go 1.26" in text and "install Go" not in text
    assert "no daemon" in text and "the containers" in text and "start Docker" in text


def test_json_has_the_fields_of_a_component() -> None:
    listed = json.loads(doctor.as_json(doctor.components()))
    assert [entry["name"] for entry in listed] == [c.name for c in doctor.components()]
    assert set(listed[0]) == {"name", "found", "detail", "lost_without", "mend"}


def test_an_unknown_component_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'cobol'.*java.*chromium"):
        doctor.found("cobol")


def test_a_missing_program_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PROGRAMS", tmp_path)
    monkeypatch.setattr(places, "KAFKA_JARS", tmp_path)
    assert doctor.built("kfake")[0] is False
    assert doctor.kafka_jars("4.3.1")[0] is False
    program(tmp_path, "kfake", "true")
    assert doctor.built("kfake")[0] is True


def test_an_empty_path_has_no_browser_and_no_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(golang, "go_of_wheel", lambda: None)
    assert doctor.chromium()[0] is False
    assert doctor.go()[0] is False


@pytest.mark.parametrize(
    ("banner", "expected"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ("no such thing", None),
    ],
)
def test_the_release_of_a_java_is_read_from_its_banner(
    banner: str, expected: int | None, tmp_path: Path
) -> None:
    assert jvm.java_version(program(tmp_path, "java", f"echo '{banner}' >&2")) == expected


def test_a_java_too_old_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "java", "echo 'openjdk version \"11.0.2\"' >&2")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert jvm.machine_java() is None


def test_the_release_of_a_go_is_read_and_compared_by_number(tmp_path: Path) -> None:
    go = program(tmp_path, "go", "echo go version go1.9.7 linux/amd64")
    assert golang.go_version(go) == (1, 9, 7)
    assert golang.version("1.26.0") > golang.version("1.9.7")
    assert golang.version_needed(golang.KFAKE) == (1, 26, 0)
