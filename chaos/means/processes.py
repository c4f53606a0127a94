"""Start child processes that never outlive us: in sessions of their own, logging to files, ended by
pid.

Four mechanisms end children, each for cases that the one before misses: the code that started a
child calls `Child.end`; `end_all` runs when the interpreter exits; guard.py, a tiny process, ends
the children of an owner that was killed; and the next command calls `end_leftovers`, in case the
guard was killed too.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, runtime_checkable

from chaos.means import guard

END_TIMEOUT_S = 15.0
KILL_TIMEOUT_S = 15.0
HALT_TIMEOUT_S = 60.0
"""The seconds to wait for a process to halt: on a busy machine a sync in progress takes seconds."""
LINE_LENGTH_MAX = 300
LOOK_EVERY_S = 0.0002
EXITING = 0x4
"""The flag PF_EXITING of linux/sched.h, in the field `flags` of /proc/PID/task/TID/stat
(proc(5))."""
PROCESS_GROUP, FLAGS = 2, 6
"""The positions of two fields of /proc/PID/stat, counted from the field `state`."""
GONE = ["X", *"0000000"]

_lock = threading.RLock()
_living: dict[int, Child] = {}
_guard: subprocess.Popen[bytes] | None = None
_guard_owner = 0
"""The id of the process that started the guard. A fork inherits the variable _guard, but not the
guard itself."""


class Process(Protocol):
    """A process that runs a node or a proxy server: a child process, or a container
    (chaos.means.docker.containers)."""

    paused: bool

    @property
    def pid(self) -> int: ...

    @property
    def running(self) -> bool: ...

    @property
    def exit_status(self) -> int | None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def kill(self) -> None: ...

    def end(self, timeout_s: float = ...) -> None: ...

    def last_words(self, lines: int = ...) -> str: ...


@runtime_checkable
class Strikable(Protocol):
    """A process to which SIGKILL can be sent without waiting until it is gone."""

    def strike(self) -> bool: ...

    def stands_still(self) -> bool: ...

    def is_halted(self) -> bool: ...


class Child:
    """One child process that we started, in a session of its own. Signals go to its whole process
    group."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.log = log
        self.paused = False
        self._process = process
        self._struck = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        """Return whether the process has neither ended nor been sent SIGKILL by `strike`. A paused
        process counts as running."""
        return not self._struck and self._process.poll() is None

    @property
    def exit_status(self) -> int | None:
        return self._process.poll()

    def strike(self) -> bool:
        """Send SIGKILL without waiting. Return True, since a process may always kill its own child
        (see `strike` below)."""
        self._signal(signal.SIGKILL)
        self._struck = True
        return True

    def stands_still(self) -> bool:
        """Return whether no thread of the process executes its program any more, after SIGKILL."""
        return self._process.poll() is not None or not runs_its_program(self.pid)

    def pause(self) -> None:
        """Send SIGSTOP: the process keeps its sockets and answers nothing. This does not wait until
        it has stopped (`is_halted`)."""
        self._signal(signal.SIGSTOP)
        self.paused = True

    def is_halted(self) -> bool:
        """Return whether every thread of the child's process group has stopped, after SIGSTOP, or
        the child has ended."""
        return self._process.poll() is not None or all(map(has_stopped, _group(self.pid)))

    def resume(self) -> None:
        """Send SIGCONT."""
        self._signal(signal.SIGCONT)
        self.paused = False

    def kill(self) -> None:
        """Send SIGKILL and wait until the process and its own children are gone: their ports and
        locks are free afterwards. Raise TimeoutError if one still exists after KILL_TIMEOUT_S."""
        self._signal(signal.SIGKILL)
        deadline = time.monotonic() + KILL_TIMEOUT_S
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_TIMEOUT_S)
        while not self._is_gone():
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{self.name} (process {self.pid}) still exists {KILL_TIMEOUT_S:.0f} s after"
                    " SIGKILL"
                )
            time.sleep(LOOK_EVERY_S)
        self._forget()

    def _is_gone(self) -> bool:
        """Return whether the process has ended with its own children, which may hold its files
        too."""
        if self._process.returncode is None:
            return False
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return True
        return all(
            _fields(thread)[0] in "ZX" for pid in _group(self.pid) for thread in _threads(pid)
        )

    def end(self, timeout_s: float = END_TIMEOUT_S) -> None:
        """Send SIGTERM, wait up to timeout_s, then send SIGKILL and wait as `kill` does. It is
        allowed to call this again, or after the process has ended. Raise TimeoutError if the
        process still exists KILL_TIMEOUT_S after SIGKILL."""
        if self.running:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # a stopped process handles no SIGTERM
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self.kill()

    def last_words(self, lines: int = 2) -> str:
        """Return the last lines of the process's log, without stack traces, joined to one line for
        an error message. Return "" if there is no log."""
        try:
            text = self.log.read_text("utf-8", "replace")
        except OSError:
            return ""
        told = [line for line in text.splitlines() if line.strip() and not line[0].isspace()]
        return " / ".join(line[:LINE_LENGTH_MAX] for line in told[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        # The whole session, children of the child included. Before wait() has taken its status the
        # pid is still ours, afterwards it may be anybody's.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _forget(self) -> None:
        with _lock:
            _living.pop(self.pid, None)


def strike(processes: Iterable[Process]) -> None:
    """Kill processes all at once. When this returns, they execute nothing any more, but they are
    not gone yet: the kernel frees the memory of a process before it closes its ports and files,
    which takes a JVM ten times as long. `Process.kill` waits for that. A process that this user may
    not signal is killed by `Process.kill`, which may raise TimeoutError. If one still executes
    after KILL_TIMEOUT_S, return nevertheless, without an error."""
    all_of_them = list(processes)
    struck = [one for one in all_of_them if isinstance(one, Strikable) and one.strike()]
    for other in all_of_them:
        if other not in struck:
            other.kill()
    deadline = time.monotonic() + KILL_TIMEOUT_S
    while not all(one.stands_still() for one in struck) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)  # no event reports it


def halt(processes: Iterable[Process]) -> None:
    """Pause all these processes, and wait until none of their threads runs or is in a system call.
    (For a process that is not Strikable, do not wait.)

    SIGSTOP takes effect when a thread returns from the kernel, and at first in one thread of a
    process only: as long as that one waits for a disk, the others continue to run. So every system
    call must have ended. Raise TimeoutError if that takes longer than HALT_TIMEOUT_S.
    """
    paused = list(processes)
    for one in paused:
        one.pause()
    deadline = time.monotonic() + HALT_TIMEOUT_S
    for one in paused:
        while isinstance(one, Strikable) and not one.is_halted():
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"process {one.pid} has not stopped {HALT_TIMEOUT_S:.0f} s after SIGSTOP: it"
                    " waits in the kernel; see /proc/PID/stack"
                )
            time.sleep(LOOK_EVERY_S)


def has_stopped(pid: int) -> bool:
    """Return whether every thread of the process with this id is stopped, or has ended. Return True
    if there is no such process."""
    return all(_fields(thread)[0] in "TtZX" for thread in _threads(pid))


def _group(leader: int) -> Iterator[int]:
    """Yield the ids of the processes in a process group."""
    for place in Path("/proc").glob("[0-9]*"):
        fields = _fields(place)
        if len(fields) > PROCESS_GROUP and int(fields[PROCESS_GROUP]) == leader:
            yield int(place.name)


def runs_its_program(pid: int) -> bool:
    """Return whether any thread of a process that was sent SIGKILL still executes its program."""
    return any(map(_may_run, _threads(pid)))


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def _may_run(thread: Path) -> bool:
    """Return False for a thread that has begun to end, or that waits uninterruptibly in the kernel:
    the latter ends before it returns to its program."""
    fields = _fields(thread)
    return fields[0] not in "ZXD" and not int(fields[FLAGS]) & EXITING


def _fields(place: Path) -> list[str]:
    """Return the fields of /proc/…/stat from `state` on. If the process is gone, return only the
    state X."""
    try:
        return (place / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return GONE


def start(
    command: Sequence[str | Path],
    *,
    name: str,
    log: Path,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> Child:
    """Start a process in a session of its own, whose standard output and error are appended to
    `log`; its environment is ours, changed by `environment`. name: what messages call the process.
    directory: the one that it starts in, ours if None. Start the guard too, if it does not run.
    Raise OSError if the command cannot be run or the log not be opened."""
    log.parent.mkdir(parents=True, exist_ok=True)
    owner = guard.owner_name(os.getpid())
    with _lock, log.open("ab") as output:
        _ensure_guard(owner)
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env={**os.environ, **(environment or {}), guard.VARIABLE: owner},
            start_new_session=True,  # Ctrl-C at the terminal is for us, not for them
        )
        child = Child(name, process, log)
        _living[process.pid] = child
    return child


def end_all() -> None:
    """Kill every child of this process, all at the same time, and wait until they are gone, each
    for KILL_TIMEOUT_S at most; then end the guard, unless a child hangs in the kernel. In a fork
    that has started nothing, do nothing."""
    global _guard  # noqa: PLW0603 - one guard per process, by intention
    if _guard_owner != os.getpid():
        return  # nothing was started here; a fork leaves its parent's children alone
    with _lock:
        children = list(_living.values())
    for child in children:
        child.strike()
    for child in children:
        with suppress(TimeoutError):  # continue with the others
            child.kill()
    with _lock:
        if _guard is not None and not _living:
            assert _guard.stdin is not None
            _guard.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                _guard.wait(KILL_TIMEOUT_S)
            _guard = None


def leftovers() -> list[tuple[int, str]]:
    """Return (process id, owner) of each process whose owner died without ending it
    (chaos.means.guard)."""
    return [(pid, owner) for pid, owner in guard.owned() if not guard.is_alive(owner)]


def end_leftovers() -> list[int]:
    """Kill the processes whose owners died without ending them. Return their ids. Processes of
    living owners are not touched."""
    dead = {owner for _, owner in leftovers()}
    return [pid for owner in sorted(dead) for pid in guard.sweep(owner)]


def _ensure_guard(owner: str) -> None:
    global _guard, _guard_owner  # noqa: PLW0603
    if _guard is not None and _guard_owner == os.getpid() and _guard.poll() is None:
        return
    if _guard_owner != os.getpid():
        _living.clear()  # this is a fork: its parent ends these children
    environment = {key: value for key, value in os.environ.items() if key != guard.VARIABLE}
    _guard = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, owner],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    _guard_owner = os.getpid()


atexit.register(end_all)
