"""Record how to undo faults on nodes that are not ours, in case this process is killed before it
undoes them. Our own child processes carry their owner's name in the environment (guard.py), and are
ended with their owner. A node of a foreign cluster must live on, and nothing in it shows that it
was paused or ended. So before such a fault is performed, a note is written that says how to undo
it. The note is removed once the fault is undone. The notes of an owner are in
`touchstone-owed-PID-START-NAMESPACE/` in the directory for temporary files; the next command
performs the repairs in the notes of dead owners (`repair_leftovers`). Notes name commands, so only
those in a directory are trusted that belongs to our user and that no other user can write."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from chaos.means import guard
from chaos.means.pidfd import HeldProcess

COMMAND_TIMEOUT_S = 60.0
LOOK_TIMEOUT_S = 1.0
Address = tuple[str, int]
_PREFIX = "touchstone-owed-"
_OWNED = re.compile(rf"{_PREFIX}(\d+-\d+-\d+)")


@dataclass(frozen=True)
class Repair:
    """The way to repair one node: continue its process by a signal, if it is still the same; or run
    a command in a folder, which starts the node only if nothing listens there."""

    host: str
    port: int
    pid: int = 0
    started: str | None = None
    command: tuple[str, ...] = ()
    folder: str = "."
    is_start: bool = False

    @classmethod
    def of_paused(cls, address: Address, pid: int) -> Repair:
        """Return a repair that sends SIGCONT to this process, and to no other that gets its number
        later. If the process has ended already, the repair does nothing."""
        return cls(*address, pid=pid, started=guard.start_time(pid))

    @classmethod
    def of_command(cls, address: Address, command: Sequence[str], folder: Path) -> Repair:
        """Return a repair that runs the command which the node's owner has given for undoing the
        fault."""
        return cls(*address, command=tuple(command), folder=str(folder.resolve()))

    @classmethod
    def of_start(cls, address: Address, command: Sequence[str], folder: Path) -> Repair:
        """Return a repair that runs the owner's start command, if nothing listens at the address.
        The started process continues to run after this command has ended."""
        return replace(cls.of_command(address, command, folder), is_start=True)

    @classmethod
    def read(cls, file: Path) -> Repair:
        """Return the repair stored in a note. Raise OSError, ValueError, TypeError or KeyError if
        the file is not a valid note."""
        told = json.loads(file.read_text())
        return cls(**{**told, "command": tuple(told["command"])})

    def perform(self) -> None:
        """Repair the node, waiting for its command up to COMMAND_TIMEOUT_S, or up to LOOK_TIMEOUT_S
        for one that starts it. Raise OSError if the command fails or takes longer, or the process
        may not be signalled. Do nothing for a process that is gone."""
        if self.pid > 0 and self.started:
            HeldProcess.signal(self.pid, self.started, signal.SIGCONT)
        if self.command and not (self.is_start and _listens(self.host, self.port)):
            self._run()

    def _run(self) -> None:
        running = subprocess.Popen(
            self.command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=plain_environment(),
        )
        text = f"the command {shlex.join(self.command)!r}"
        try:
            status = running.wait(LOOK_TIMEOUT_S if self.is_start else COMMAND_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            if self.is_start:
                return  # a start command that continues to run is the node itself
            raise TimeoutError(f"{text} did not end within {COMMAND_TIMEOUT_S:.0f} s") from None
        if status:
            raise ChildProcessError(f"{text} ended with status {status}")


class Note:
    """A repair, kept in a file from before the fault is performed until `settle`."""

    def __init__(self, repair: Repair) -> None:
        """Write the note. Raise OSError if that fails: then no fault may be performed on the
        node."""
        directory = Path(tempfile.gettempdir()) / f"{_PREFIX}{guard.owner_tag(os.getpid())}"
        directory.mkdir(mode=0o700, exist_ok=True)
        number, unfinished = tempfile.mkstemp(prefix=".", dir=directory)
        with os.fdopen(number, "w") as file:
            json.dump(asdict(repair), file)
        self._file = directory / f"{Path(unfinished).name.lstrip('.')}.json"
        os.replace(unfinished, self._file)

    def settle(self) -> None:
        """Remove the note, because the node was repaired or no longer matters."""
        self._file.unlink(missing_ok=True)
        with suppress(OSError):
            self._file.parent.rmdir()  # fails unless this was the last note


@dataclass
class Repaired:
    """The result of performing the repairs that dead owners have noted."""

    nodes: list[str] = field(default_factory=list)
    """The addresses of the nodes that were repaired."""
    failures: list[str] = field(default_factory=list)
    """The addresses of the nodes that could not be repaired, with the reasons. They are not tried
    again."""


def repair_leftovers() -> Repaired:
    """Repair the nodes that dead owners left paused or ended, and remove the notes. Return the
    nodes repaired, and those that could not be, which are not tried again."""
    repaired = Repaired()
    for directory in _left_directories():
        with suppress(FileNotFoundError), _alone_in(directory):
            _repair_all(directory, repaired)
    return repaired


def leftovers() -> list[str]:
    """Return the address of every node that a dead owner left paused or with faults, or the name of
    its repair file with the reason why that cannot be read."""
    found = []
    for file in (file for left in _left_directories() for file in sorted(left.glob("*.json"))):
        try:
            repair = Repair.read(file)
            found.append(f"{repair.host}:{repair.port}")
        except (OSError, ValueError, TypeError, KeyError) as error:
            found.append(f"{file}: {error}")
    return found


def _left_directories() -> list[Path]:
    found = []
    for directory in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        owned = _OWNED.fullmatch(directory.name)
        if owned is not None and guard.is_dead_tag(owned[1]) and _is_private(directory):
            found.append(directory)
    return found


def _repair_all(directory: Path, repaired: Repaired) -> None:
    for file in sorted(directory.glob("*.json")):
        where = str(file)
        try:
            repair = Repair.read(file)
            where = f"{repair.host}:{repair.port}"
            repair.perform()
            repaired.nodes.append(where)
        except (OSError, ValueError, TypeError, KeyError) as error:
            repaired.failures.append(f"{where}: {error}")
        file.unlink(missing_ok=True)
    for unfinished in directory.glob(".*"):
        unfinished.unlink(missing_ok=True)
    with suppress(OSError):
        directory.rmdir()


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """Hold a lock on the directory of notes inside this context, so that of several commands that
    begin together only one follows the notes. A node must not be started twice, nor attacked before
    it is healthy. Raise FileNotFoundError if the directory is gone."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # until it is closed
        yield
    finally:
        os.close(descriptor)


def plain_environment() -> Mapping[str, str]:
    """Return our environment without the owner's name, for processes that must outlive us."""
    return {key: value for key, value in os.environ.items() if key != guard.VARIABLE}


def _is_private(directory: Path) -> bool:
    try:
        told = directory.lstat()
    except OSError:
        return False
    others_may_write = told.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(told.st_mode) and told.st_uid == os.geteuid() and not others_may_write


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=LOOK_TIMEOUT_S):
            return True
    except OSError:
        return False
