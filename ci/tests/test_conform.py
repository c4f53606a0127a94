"""`touchstone conform` as a user runs it: what it leaves behind, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from chaos.targets.clusters.cluster import LocalCluster
from ci.cli import app
from ci.commands.options import seconds_of
from ci.conform import examine
from conformance.tests.servers import eager_http, serving
from conformance.wire import Wire

MANY = "test_api_versions or test_metadata or test_requests or test_commit_and_fetch"
"""Cases for more than the few seconds that a test needs to interfere."""


def conform(*words: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ci.cli", "conform", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def wait_for_results(path: Path) -> None:
    """Wait until the examination has saved something."""
    deadline = time.monotonic() + 180
    while not path.exists() or not json.loads(path.read_text())["passed"]:
        assert time.monotonic() < deadline, "no results within 180 s"
        time.sleep(0.05)


def ended(running: subprocess.Popen[str], within_s: float = 180) -> tuple[str, str]:
    """Wait for the end; stdout and stderr, which hold no traceback."""
    try:
        out, err = running.communicate(timeout=within_s)
    finally:
        running.kill()
    assert "Traceback" not in out + err
    assert "INTERNALERROR" not in out + err
    assert "KeyboardInterrupt" not in out + err
    return out, err


def check_saved(json_at: Path, xml_at: Path) -> dict[str, Any]:
    """Require that both files hold the same runs and say why there are no more."""
    found: dict[str, Any] = json.loads(json_at.read_text())
    assert found["not_run"] > 0
    xml = ElementTree.parse(xml_at)
    assert len(list(xml.iter("testcase"))) == len(found["cases"])
    (said,) = xml.iter("system-err")
    assert found["ended"] in (said.text or "")
    return found


def test_a_target_killed_in_the_middle_ends_the_examination_with_its_results(
    broker: LocalCluster, tmp_path: Path
) -> None:
    json_at, xml_at = tmp_path / "found.json", tmp_path / "found.xml"
    running = conform(
        "--bootstrap", broker.bootstrap, "-k", MANY, "--out", str(json_at), "--junit", str(xml_at)
    )
    wait_for_results(json_at)
    assert "still under way" in json.loads(json_at.read_text())["ended"]
    (member,) = broker.members()
    assert member.child is not None
    os.kill(member.child.pid, signal.SIGKILL)
    _, err = ended(running)
    assert running.returncode == 1
    found = check_saved(json_at, xml_at)
    assert found["passed"] > 0
    last = found["cases"][-1]["nodeid"].partition("::")[2]
    assert f"the target is gone since {last}: nothing listens at" in found["ended"]
    assert found["ended"] in err
    assert found["failed"] == 1


@pytest.mark.sliced(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_examination_leaves_its_results(
    broker: LocalCluster, tmp_path: Path, number: signal.Signals
) -> None:
    """Without --out and --junit the last line names the files with the results."""
    json_at, xml_at = tmp_path / "found.json", tmp_path / "found.xml"
    running = conform(
        "--bootstrap",
        broker.bootstrap,
        "-k",
        MANY,
        "--out",
        str(json_at),
        "--junit",
        str(xml_at),
        "--json",
    )
    wait_for_results(json_at)
    running.send_signal(number)
    out, err = ended(running)
    assert running.returncode == 3
    found = check_saved(json_at, xml_at)
    assert found["passed"] > 0
    assert found["ended"] == "interrupted"
    assert json.loads(out)["passed"] == found["passed"]
    assert f"the results so far are in {json_at} and {xml_at}" in err


@pytest.mark.sliced(3)
@pytest.mark.parametrize("between_s", [0.0, 0.05, 0.3])
def test_signals_to_both_processes_end_it_once(
    broker: LocalCluster, tmp_path: Path, between_s: float
) -> None:
    """A supervisor may send SIGTERM to each process of a group, and the first passes its own on."""
    json_at, xml_at = tmp_path / "found.json", tmp_path / "found.xml"
    files = ("--out", str(json_at), "--junit", str(xml_at))
    running = conform("--bootstrap", broker.bootstrap, "-k", MANY, *files)
    wait_for_results(json_at)
    (child,) = children_of(running.pid)
    for _ in range(3):
        for pid in (child, running.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            time.sleep(between_s)
    _, err = ended(running)
    assert running.returncode == 3
    assert check_saved(json_at, xml_at)["ended"] == "interrupted"
    assert f"ended early: interrupted; the results so far are in {json_at} and {xml_at}" in err


def children_of(pid: int) -> list[int]:
    """Return the pids of a process's children."""
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in told.split()]


def test_an_examination_that_is_interrupted_before_its_first_case_has_not_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ci.conform._run", lambda *_, **__: (-signal.SIGTERM, ""))
    with pytest.raises(KeyboardInterrupt):
        examine(["--target", "reference"])


def test_max_time_ends_it(broker: LocalCluster, tmp_path: Path) -> None:
    json_at, xml_at = tmp_path / "found.json", tmp_path / "found.xml"
    running = conform(
        "--bootstrap",
        broker.bootstrap,
        "-k",
        MANY,
        "--out",
        str(json_at),
        "--junit",
        str(xml_at),
        "--max-time",
        "1.5",
    )
    ended(running)
    assert running.returncode == 3
    assert check_saved(json_at, xml_at)["ended"] == "1.5 s are over (--max-time)"


@pytest.mark.parametrize("named", [True, False])
def test_an_examination_that_ends_early_keeps_the_results_in_one_place(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A temporary folder is kept only if no file is named."""

    def end_early(command: Sequence[str], *_: object, **__: object) -> tuple[int, str]:
        written = Path(command[command.index("--results-json") + 1])
        written.write_text(json.dumps({"ended": "time is over", "cases": [{}]}))
        return 2, ""

    monkeypatch.setattr("ci.conform._run", end_early)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    out = tmp_path / "found.json" if named else None
    examine(["--target", "reference"], out=out)
    folders = [str(each) for each in tmp_path.glob("touchstone-conform-*")]
    assert len(folders) == (0 if named else 1)
    where = out or f"{folders[0]}/results.json and {folders[0]}/junit.xml"
    said = f"touchstone: ended early: time is over; the results so far are in {where}\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("option", ["--out", "--junit"])
def test_a_place_where_nothing_can_be_written_is_refused_at_once(
    option: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for path in (str(tmp_path), str(tmp_path / "file" / "below")):
        running = conform("--target", "reference", option, path)
        out, err = ended(running)
        assert (running.returncode, out) == (2, "")
        assert err.startswith(f"touchstone: {option} {path}: ")
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("--out", "--junit"),
        ("--junit", "--sarif"),
        ("--out", "--baseline"),
        ("--sarif", "--summary"),
    ],
)
def test_two_results_in_one_file_are_refused_at_once(
    tmp_path: Path, first: str, second: str
) -> None:
    at, link = tmp_path / "results", tmp_path / "link"
    at.write_text("kept")
    link.symlink_to(at)
    words = [first, str(at), second, str(link)]
    result = CliRunner().invoke(app, ["conform", "--bootstrap", "127.0.0.1:1", *words])
    assert result.exit_code == 2
    told = " ".join(result.output.replace("│", " ").split())
    assert f"{first} and {second} name the same file" in told
    assert at.read_text() == "kept"


def test_a_bad_server_is_one_sentence_and_exit_2() -> None:
    with serving(eager_http) as bootstrap:
        running = conform("--bootstrap", bootstrap)
        out, err = ended(running)
    assert (running.returncode, out) == (2, "")
    sentence = "speaks HTTP, not the Kafka protocol; give a broker's address"
    assert err == f"touchstone: {bootstrap} {sentence}\n"


def test_a_module_in_the_working_folder_is_not_taken_for_pythons(
    broker: LocalCluster, tmp_path: Path
) -> None:
    (tmp_path / "token.py").write_text("raise SystemExit(7)")
    running = conform("--bootstrap", broker.bootstrap, "-k", "test_acks", cwd=tmp_path)
    out, err = ended(running)
    assert running.returncode == 0, (out, err)


def test_several_processes_are_refused(broker: LocalCluster) -> None:
    running = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "conformance/cases",
            "-n",
            "2",
            "--bootstrap",
            broker.bootstrap,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, err = ended(running)
    assert running.returncode == pytest.ExitCode.USAGE_ERROR
    assert "one process examines a target; leave out -n" in err


def test_cases_are_chosen_by_their_ids(broker: LocalCluster, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    running = conform("wire-01", "--bootstrap", broker.bootstrap, "META-01", "--out", str(out))
    ended(running)
    assert running.returncode == 0
    assert {entry["id"] for entry in json.loads(out.read_text())["cases"]} == {"WIRE-01", "META-01"}


def test_a_case_that_there_is_not_is_refused(broker: LocalCluster) -> None:
    running = conform("META-991", "--bootstrap", broker.bootstrap)
    _, err = ended(running)
    assert running.returncode == 2
    assert "no case is called META-991" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "here/test_acks.py::test_x"), "there is no such case; copy its name from"),
        (("--only", "conformance/cases/produce/test_acks.py::test_x[a]"), "there is no such case"),
        (("--only", ""), "there is no such case"),
        (("-k", "produce and ("), "write names with and, or, not, ()"),
        (("-k", "acks idempotence"), "write names with and, or, not, ()"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_before_a_target_starts(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    running = conform(
        *words, "--target", "reference", cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.getcwd()}
    )
    out, err = ended(running)
    assert (running.returncode, out) == (2, "")
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize("option", ["--max-time", "--fuzz"])
@pytest.mark.parametrize("time", ["soon", "0", "-5", "10 minutes"])
def test_a_time_that_is_none_is_refused(option: str, time: str) -> None:
    told = CliRunner().invoke(app, ["conform", "--target", "reference", option, time])
    assert told.exit_code == 2
    assert "give a time such as 90s, 10m or 1h" in " ".join(told.output.replace("│", " ").split())


@pytest.mark.parametrize(("time", "seconds"), [("90", 90), ("1.5s", 1.5), ("10m", 600)])
def test_times_have_units(time: str, seconds: float) -> None:
    assert seconds_of(time) == seconds


def test_an_examination_that_only_reads_leaves_the_cluster_as_it_was(broker: LocalCluster) -> None:
    options = ["--bootstrap", broker.bootstrap, "--level", "read-only", "-k", "test_metadata"]
    found = examine(options, quiet=True)
    assert found["failed"] == 0
    assert found["passed"] > 5
    (why,) = {entry["actual"] for entry in found["cases"] if entry["id"] == "META-15"}
    assert why.startswith("CreateTopics needs --level produce")
    wire = Wire(broker.bootstrap, {"Metadata": (0, 13)})
    assert wire.call("Metadata", topics=None).topics == []
    wire.close()
