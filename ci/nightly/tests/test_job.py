"""Test attacks in separate processes: what is reported for each way in which such a process
ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chaos.means import ports
from chaos.record.run_directory import Scenario
from ci.lanes import shares
from ci.nightly.attacker import attacked
from ci.nightly.job import Job, JobError


def started(tmp_path: Path, program: str) -> Job:
    """Start a process that does this in place of an attack."""
    log = tmp_path / "job.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "result.json")],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Job(tmp_path / "result.json", log, process)


def test_a_run_comes_back_and_what_was_said_is_repeated(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; print('starting'); pathlib.Path(sys.argv[1])"
        '.write_text(\'{"directory": "runs/one", "error": ""}\')'
    )
    said: list[str] = []
    job = started(tmp_path, program)
    job.wait(threading.Event(), said.append)
    assert job.result() == Path("runs/one")
    assert said == ["starting"]


def test_a_process_that_dies_is_one_sentence(tmp_path: Path) -> None:
    program = "import os, signal; print('an assertion failed', flush=True); os.abort()"
    job = started(tmp_path, program)
    job.wait(threading.Event(), lambda _: None)
    with pytest.raises(JobError, match=r"was ended by SIGABRT; it said last: an assertion failed"):
        job.result()


def test_an_interrupted_night_ends_its_attacks(tmp_path: Path) -> None:
    """The night closes the attacks' standard input, which also happens when the night itself
    dies."""
    interrupted = threading.Event()
    interrupted.set()
    job = started(tmp_path, "import sys; sys.stdin.read(); print('in good order')")
    said: list[str] = []
    job.wait(interrupted, said.append)
    assert said == ["in good order"]


def test_an_attack_does_not_outlive_who_waits_for_it(tmp_path: Path) -> None:
    """Another would begin in its place, on the same ports."""
    program = "import sys; print('starting', flush=True); sys.stdin.read(); print('in good order')"

    def say(line: str) -> None:
        raise BrokenPipeError(line)

    job = started(tmp_path, program)
    with pytest.raises(BrokenPipeError):
        job.wait(threading.Event(), say)
    assert job.process.returncode == 0
    assert job.log.read_text().splitlines() == ["starting", "in good order"]


def test_what_cannot_be_run_says_why(tmp_path: Path) -> None:
    told = attacked(Scenario("reference", "appends", "kill", 10, 1.0, 1), tmp_path / "runs")
    assert "runs 1 to 9 nodes, not 10" in told["error"]


@pytest.mark.nightly
def test_a_real_attack_ends_in_good_order_when_its_night_dies(tmp_path: Path) -> None:
    scenario = Scenario("reference", "appends", "none", 1, 60.0, 1)
    job = Job.start(scenario, tmp_path / "runs", tmp_path / "home", shares(2)[1])
    stop = threading.Event()

    def say(line: str) -> None:
        if "acknowledge" in line:  # the node serves; clients have begun, or are about to
            stop.set()

    job.wait(stop, say)
    with pytest.raises(JobError, match="it was interrupted"):
        job.result()
    with pytest.raises(ProcessLookupError):
        os.killpg(job.process.pid, signal.SIGKILL)
    (run,) = (tmp_path / "runs").iterdir()
    assert (run / "history.parquet").is_file()
    assert not (run / "cluster").exists()


def test_no_two_jobs_choose_from_the_same_ports() -> None:
    ranges = shares(3)
    assert len({port for own in ranges for port in own}) == sum(map(len, ranges))
    assert all(own.start >= ports.LOWEST and len(own) > 1000 for own in ranges)
