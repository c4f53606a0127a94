"""However a run ends, and in any phase, the next command finds what it left, and nothing else.

Runs are those of the command line, on the reference broker. Beside each lives a cluster of our own,
with a paused node and a frozen disk, which nobody may touch.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.means import guard, processes
from chaos.means.disks import Disk
from chaos.means.netns.namespaces import NAMES

WAIT_S = 300.0
UNENDING_S = 2 * WAIT_S
"""The length of runs that are ended by the test: they last as long as it may wait."""
QUIET_S = 0.3
LOOK_EVERY_S = 0.02
IDLE = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
NEXT = "from chaos.means import leftovers; leftovers.remove()"
pytestmark = pytest.mark.needs("root", "loop", "toxiproxy")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(LOOK_EVERY_S)


@dataclass
class Harness:
    """One `touchstone chaos run`, and what there is of it."""

    process: subprocess.Popen[bytes]
    runs: Path
    said: Path

    def __post_init__(self) -> None:
        self.owner = guard.owner_name(self.process.pid)
        self.tag = guard.owner_tag(self.process.pid)

    def children(self) -> list[int]:
        """Nodes and toxiproxy."""
        return [pid for pid, owner in guard.owned() if owner == self.owner]

    def node(self) -> int:
        """Return the broker's process, or 0."""
        named = (pid for pid in self.children() if b"reference_impl" in _command(pid))
        return next(named, 0)

    def toxiproxy(self) -> int:
        return next(pid for pid in self.children() if b"toxiproxy" in _command(pid))

    def disks(self) -> list[str]:
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        return [line for line in mounts if f"touchstone-disks-{self.tag}/" in line]

    def has_said(self, sentence: str) -> bool:
        return sentence in self.said.read_text()

    def attacks(self) -> bool:
        """Something is recorded already."""
        return any(self.runs.glob("*/history.parts/*.parquet"))

    def is_paused(self) -> bool:
        return "T" in _states(self.node())

    def is_stalled(self) -> bool:
        """Return whether a thread waits for its disk and goes on waiting."""
        ends = time.monotonic() + QUIET_S
        while "D" in _states(self.node()):
            if time.monotonic() > ends:
                return True
            time.sleep(LOOK_EVERY_S)
        return False

    def namespaces(self) -> list[Path]:
        return list(NAMES.glob(f"touchstone-net-{self.tag}-*"))

    def wait_until(self, has_come: Phase, phase: str) -> None:
        """Wait for a phase of the run. Fail, with what the run has said, if it does not come."""
        try:
            wait_until(lambda: has_come(self) or self.process.poll() is not None, phase)
        except AssertionError as error:
            raise AssertionError(f"{error}; the run said: {self.said.read_text()}") from error
        assert self.process.poll() is None, f"ended before {phase}: {self.said.read_text()}"

    def has_left(self) -> bool:
        return bool(self.children() or self.disks() or self.namespaces())

    def kill_with_its_guard(self) -> None:
        """Kill it with its guard, which would otherwise end the children."""
        for entry in Path("/proc").glob("[0-9]*"):
            words = _command(int(entry.name)).split(b"\0")
            if guard.__file__.encode() in words and self.owner.encode() in words:
                os.kill(int(entry.name), signal.SIGKILL)
        self.process.kill()
        self.process.wait(WAIT_S)


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _states(pid: int) -> set[str]:
    """Return the states of its threads."""
    found = set()
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                stat = (thread / "stat").read_text().rpartition(")")[2]
                found.add(stat.split()[0])
    return found


@contextmanager
def running(
    tmp_path: Path, nemesis: str, seconds: float = UNENDING_S, runs: Path | None = None
) -> Iterator[Harness]:
    runs, said = runs or tmp_path / "runs", tmp_path / "said"
    command = [
        sys.executable,
        "-m",
        "ci.cli",
        "chaos",
        "run",
        "--target",
        "reference",
        "--workload",
        "appends",
        "--nemesis",
        nemesis,
        "--seconds",
        f"{seconds:g}",
        "--seed",
        "1",
        "--engine",
        "local",
        "--runs",
        str(runs),
    ]
    with said.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield Harness(process, runs, said)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(WAIT_S)


@contextmanager
def another_run(tmp_path: Path) -> Iterator[Callable[[], bool]]:
    """Provide a paused child and a frozen disk of ours, and require that they stay as they were."""
    child = processes.start(IDLE, name="another", log=tmp_path / "another")
    disk = Disk.make("another", 64 << 20)
    try:
        child.pause()
        disk.freeze()
        wait_until(lambda: _states(child.pid) == {"T"}, "it is paused")
        mounted = str(disk.mount_point)
        yield (
            lambda: _states(child.pid) == {"T"} and mounted in Path("/proc/self/mounts").read_text()
        )
    finally:
        child.end()
        disk.thaw()
        disk.remove()


Phase = Callable[[Harness], bool]
PHASES: dict[str, tuple[str, float, Phase]] = {
    "the start of its cluster": ("pause", UNENDING_S, lambda h: bool(h.node())),
    "an attack, with a paused node": ("pause", UNENDING_S, Harness.is_paused),
    "an attack, with a frozen disk": ("disk-stall", UNENDING_S, Harness.is_stalled),
    "its final phase": ("disk-stall", 1, lambda h: h.has_said("healing")),
}
"""The moment at which a run is killed -> its nemesis, its seconds, and the function that recognises
the moment."""

SAID = "an earlier, killed command had left behind"
CHEAP = "an attack, with a frozen disk"
phases = pytest.mark.parametrize(
    "phase", [p if p == CHEAP else pytest.param(p, marks=pytest.mark.nightly) for p in PHASES]
)


@phases
def test_what_a_run_that_was_killed_left_is_removed_by_the_next_command(
    phase: str, tmp_path: Path
) -> None:
    nemesis, seconds, has_come = PHASES[phase]
    with another_run(tmp_path) as is_untouched, running(tmp_path, nemesis, seconds) as harness:
        harness.wait_until(has_come, phase)
        expect_removal(harness)
        assert is_untouched()


def expect_removal(harness: Harness) -> None:
    """Require that the next command removes everything after this one and its guard were killed."""
    harness.kill_with_its_guard()
    assert harness.has_left()
    done = subprocess.run(
        [sys.executable, "-c", NEXT], capture_output=True, text=True, timeout=WAIT_S, check=True
    )
    # Tests run beside each other: a command of another one may have come first, and said so.
    assert not done.stderr or SAID in done.stderr
    wait_until(lambda: not harness.has_left(), "nothing is left")


NETWORK = """
import signal, sys
from pathlib import Path
from chaos.values.faults import DropPackets
from chaos.probes import small_cluster
small_cluster.start_in_namespaces(Path(sys.argv[1])).perform(DropPackets(1, 2))
print("struck", flush=True)
signal.pause()
"""


@pytest.mark.needs("netns")
def test_namespaces_with_nodes_and_rules_of_packets_are_removed_too(tmp_path: Path) -> None:
    said = tmp_path / "said"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", NETWORK, str(tmp_path)], stdout=output, stderr=output
        )
    harness = Harness(process, tmp_path, said)
    harness.wait_until(lambda there: there.has_said("struck"), "packets are dropped")
    assert len(harness.namespaces()) == 4
    with another_run(tmp_path) as is_untouched:
        expect_removal(harness)
        assert is_untouched()


@phases
@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)]
)
def test_a_run_that_is_interrupted_leaves_a_history_and_nothing_else(
    number: signal.Signals, phase: str, tmp_path: Path
) -> None:
    nemesis, seconds, has_come = PHASES[phase]
    with another_run(tmp_path) as is_untouched, running(tmp_path, nemesis, seconds) as harness:
        harness.wait_until(has_come, phase)
        harness.process.send_signal(number)
        assert harness.process.wait(WAIT_S) != 0
        assert not harness.has_left()
        assert is_untouched()
        assert "Traceback" not in harness.said.read_text()
        assert len(list(harness.runs.glob("*/run.json"))) == 1


@pytest.mark.nightly
def test_a_full_disk_under_the_runs_ends_a_run_in_one_sentence(tmp_path: Path) -> None:
    disk = Disk.make("runs", 256 << 20)
    try:
        with running(tmp_path, "pause", runs=disk.mount_point) as harness:
            wait_until(harness.attacks, "it attacks")
            disk.fill()
            assert harness.process.wait(WAIT_S) == 2
            assert not harness.has_left()
        (sentence,) = [
            line for line in harness.said.read_text().splitlines() if line.startswith("touchstone:")
        ]
        assert "free some space or name another directory with --runs" in sentence
    finally:
        disk.remove()


@pytest.mark.nightly
def test_a_toxiproxy_that_died_is_replaced_and_the_run_says_so(tmp_path: Path) -> None:
    with running(tmp_path, "cut-clients", seconds=15) as harness:
        wait_until(harness.attacks, "it attacks")
        os.kill(harness.toxiproxy(), signal.SIGKILL)
        assert harness.process.wait(WAIT_S) == 0
        assert not harness.has_left()
    assert (
        "toxiproxy had died, and was replaced" in next(harness.runs.glob("*/run.json")).read_text()
    )


@pytest.mark.nightly
def test_a_node_that_never_starts_is_named_with_its_last_words(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ci.cli",
            "chaos",
            "run",
            "--target",
            "reference",
            "--workload",
            "appends",
            "--nemesis",
            "kill",
            "--seconds",
            "5",
            "--config",
            "num.partitions=none",
            "--runs",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "num.partitions" in done.stderr
