"""Which Java Spark is started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from linearizability.engine.java import find_java, java_environment


def fake_java(home: Path, answer: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def _nothing_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "absent"))


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_java(tmp_path / "jdk", 'openjdk version "21.0.2" 2024-01-16')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert find_java() == program
    assert java_environment() == {"JAVA_HOME": str(tmp_path / "jdk")}


def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", 'java version "1.8.0_402"')
    brought = fake_java(tmp_path / "cache" / "java", 'openjdk version "17.0.1" 2021-10-19')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    assert find_java() == brought


def test_a_link_on_the_path_leads_to_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake_java(tmp_path / "jdk", 'openjdk version "17" 2021-09-14')
    link = tmp_path / "java"
    link.symlink_to(program)
    monkeypatch.setattr("shutil.which", lambda _: str(link))
    assert java_environment() == {"JAVA_HOME": str(tmp_path / "jdk")}


def test_without_java_there_is_none() -> None:
    assert find_java() is None
    assert java_environment() == {}
