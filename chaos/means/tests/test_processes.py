"""Test that child processes end with the process that started them, however that process ends."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.means import guard, processes

WAIT_S = 180.0
IDLE = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
STUBBORN = [
    sys.executable,
    "-S",
    "-c",
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True)\n"
    "while True: signal.pause()",
]
OWNER = """
import os, sys, signal
from pathlib import Path
from chaos.means import processes
child = processes.start({idle!r}, name="idle", log=Path({log!r}))
print(child.pid, processes._guard.pid, flush=True)
{then}
"""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {WAIT_S:.0f} s: {what}"
        time.sleep(0.02)


def directory(path: Path) -> Path:
    path.mkdir()
    return path


def is_gone(pid: int) -> bool:
    return guard.start_time(pid) is None


def owner(tmp_path: Path, then: str) -> tuple[subprocess.Popen[str], int, int]:
    """Start another process that owns an idle child; return (owner, child's pid, its guard's
    pid)."""
    source = OWNER.format(idle=IDLE, log=str(tmp_path / "log"), then=then)
    process = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child, watcher = map(int, process.stdout.readline().split())
    return process, child, watcher


def left_behind(tmp_path: Path) -> int:
    """Start a child whose owner and guard are then killed; return its pid."""
    process, child, watcher = owner(tmp_path, "signal.pause()")
    # The kernel shows a program's environment, which names the owner, a moment after its start.
    environment = Path(f"/proc/{child}/environ")
    wait_until(lambda: bool(environment.read_bytes()), "the child shows its environment")
    os.kill(watcher, signal.SIGKILL)
    process.kill()
    process.wait(WAIT_S)
    assert not is_gone(child)
    return child


def test_a_child_logs_to_its_file_and_ends_on_sigterm(tmp_path: Path) -> None:
    child = processes.start(["sh", "-c", "echo hello; exec sleep 60"], name="a", log=tmp_path / "l")
    wait_until(lambda: child.last_words() == "hello", "the log has its line")
    child.end()
    assert not child.running
    assert child.exit_status == -signal.SIGTERM


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    child = processes.start(STUBBORN, name="stubborn", log=tmp_path / "log")
    wait_until(lambda: child.last_words() == "deaf", "it ignores SIGTERM")
    child.end(timeout_s=0.2)
    assert child.exit_status == -signal.SIGKILL


def test_a_paused_child_ends_on_sigterm(tmp_path: Path) -> None:
    child = processes.start(IDLE, name="idle", log=tmp_path / "log")
    child.pause()
    child.end()
    assert child.exit_status == -signal.SIGTERM


def test_ending_a_child_twice_is_harmless(tmp_path: Path) -> None:
    child = processes.start(IDLE, name="idle", log=tmp_path / "log")
    child.kill()
    child.kill()
    child.end()
    assert not child.running


def test_a_child_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """PR_SET_PDEATHSIG would kill it: the nemesis thread restarts brokers, then ends."""
    started: list[processes.Child] = []
    thread = threading.Thread(
        target=lambda: started.append(processes.start(IDLE, name="idle", log=tmp_path / "log"))
    )
    thread.start()
    thread.join(WAIT_S)
    (child,) = started
    with pytest.raises(subprocess.TimeoutExpired):
        child._process.wait(0.3)
    child.end()


def test_children_end_with_the_interpreter(tmp_path: Path) -> None:
    process, child, watcher = owner(tmp_path, "sys.exit(0)")
    assert process.wait(WAIT_S) == 0
    assert is_gone(child)
    assert is_gone(watcher)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_children_end_when_their_owner_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    process, child, watcher = owner(tmp_path, "signal.pause()")
    process.send_signal(number)
    process.wait(WAIT_S)
    wait_until(lambda: is_gone(child), "the child is gone")
    wait_until(lambda: is_gone(watcher), "the guard is gone")


def test_a_fork_of_the_owner_does_not_end_its_children(tmp_path: Path) -> None:
    child = processes.start(IDLE, name="idle", log=tmp_path / "log")
    forked = os.fork()
    if forked == 0:
        processes.end_all()
        os._exit(0)
    assert os.waitpid(forked, 0)[1] == 0
    assert child.running
    child.end()


def test_the_next_command_ends_leftovers_and_nobody_elses_children(tmp_path: Path) -> None:
    """The owner and its guard were both killed; another owner lives."""
    ours = processes.start(IDLE, name="ours", log=tmp_path / "ours")
    child = left_behind(tmp_path)
    assert child in processes.end_leftovers()
    wait_until(lambda: is_gone(child), "the leftover is gone")
    assert ours.running
    ours.end()


def test_leftovers_of_another_realm_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, another = f"{os.getpid()}1", f"{os.getpid()}2"  # of no other session on this machine
    monkeypatch.setenv(guard.REALM, ours)
    child = left_behind(tmp_path)
    monkeypatch.setenv(guard.REALM, another)
    assert child not in processes.end_leftovers()
    assert not is_gone(child)
    monkeypatch.setenv(guard.REALM, ours)
    assert child in processes.end_leftovers()


def test_a_process_number_used_again_is_not_taken_for_the_owner() -> None:
    pid = os.getpid()
    name = guard.owner_name(pid)
    assert guard.is_alive(name)
    _, started, namespace = name.split(":", 2)
    assert not guard.is_alive(f"{pid}:{int(started) - 1}:{namespace}")


def test_of_what_was_struck_nothing_runs_any_more_and_then_it_is_gone(tmp_path: Path) -> None:
    """After a strike no thread of a process runs any more, and then the process is gone. The test
    lets a hundred threads count, and requires that none continues."""
    source = (
        "import threading\n"
        "def count():\n"
        "    while True: open('counted', 'ab', 0).write(b'1')\n"
        "for _ in range(100): threading.Thread(target=count).start()\n"
        "print('counting', flush=True)"
    )
    busy = [
        processes.start(
            [sys.executable, "-c", source],
            name="busy",
            log=tmp_path / n / "log",
            directory=directory(tmp_path / n),
        )
        for n in ("a", "b")
    ]
    wait_until(lambda: all(one.last_words() == "counting" for one in busy), "they count")
    processes.strike(busy)
    counted = [(tmp_path / n / "counted").stat().st_size for n in ("a", "b")]
    assert not any(one.running for one in busy)
    for one in busy:
        one.kill()
        assert one.exit_status == -signal.SIGKILL
    assert [(tmp_path / n / "counted").stat().st_size for n in ("a", "b")] == counted


def test_what_was_killed_is_gone_with_its_own_children(tmp_path: Path) -> None:
    """Children may hold the files of a killed process: here a lock, and memory that the kernel has
    to free first."""
    lock = tmp_path / "lock"
    source = (
        "import fcntl, os, time\n"
        "if os.fork(): time.sleep(600)\n"
        "held = open(os.sys.argv[1], 'w'); fcntl.flock(held, fcntl.LOCK_EX)\n"
        "much = bytearray(os.urandom(1 << 20)) * 256\n"
        "print('locked', flush=True); time.sleep(600)"
    )
    child = processes.start(
        [sys.executable, "-c", source, str(lock)], name="forking", log=tmp_path / "log"
    )
    wait_until(lambda: child.last_words() == "locked", "it has the lock")
    child.kill()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
