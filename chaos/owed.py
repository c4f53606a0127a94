"""What is owed to nodes that are not ours: how they are put right should we be killed before.

A child of ours carries its owner's name in its environment (chaos.guard) and is ended with its
owner. A node of somebody else's cluster must live on, and that it was paused, or ended, stands
nowhere. So before such a fault is performed a note says how to undo it, and it goes when that is
done. The notes of an owner are in `touchstone-owed-PID-START-NAMESPACE/` in the directory for
temporary files; the next command pays the debts of dead owners (`pay_leftovers`).

Notes name commands. So only those are believed which lie in a directory of our own user's that
nobody else can write.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from chaos import guard

COMMAND_TIMEOUT_S = 60.0
LOOK_TIMEOUT_S = 1.0
Address = tuple[str, int]
_PREFIX = "touchstone-owed-"
_OWNED = re.compile(rf"{_PREFIX}(\d+-\d+-\d+)")


@dataclass(frozen=True)
class Debt:
    """How one node is put right.

    A process is continued by a signal, if it is the same still; or a command is run in a folder, to
    start the node only where nobody listens.
    """

    host: str
    port: int
    pid: int = 0
    started: str | None = None
    command: tuple[str, ...] = ()
    folder: str = "."
    is_start: bool = False

    @classmethod
    def of_paused(cls, address: Address, pid: int) -> Debt:
        """SIGCONT, to this process and to no other that has its number."""
        return cls(*address, pid=pid, started=guard.start_time(pid))

    @classmethod
    def of_command(cls, address: Address, command: Sequence[str], folder: Path) -> Debt:
        """The owner's own command, which returns."""
        return cls(*address, command=tuple(command), folder=str(folder.resolve()))

    @classmethod
    def of_start(cls, address: Address, command: Sequence[str], folder: Path) -> Debt:
        """His command to start the node, which may stay; it is run only where nobody listens."""
        return replace(cls.of_command(address, command, folder), is_start=True)

    def pay(self) -> None:
        """Put the node right, as far as that can be done now. Raises OSError."""
        if self.pid > 0 and self.started and guard.start_time(self.pid) == self.started:
            os.kill(self.pid, signal.SIGCONT)
        if self.command and not (self.is_start and _listens(self.host, self.port)):
            running = subprocess.Popen(
                self.command, cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True, env=plain_environment(),
            )  # fmt: skip
            with suppress(subprocess.TimeoutExpired):  # one that stays is the node
                running.wait(LOOK_TIMEOUT_S if self.is_start else COMMAND_TIMEOUT_S)


class Note:
    """A debt on paper, from before the fault until `settle`."""

    def __init__(self, debt: Debt) -> None:
        """Raises OSError where it cannot be written: then nothing may be done to the node."""
        directory = Path(tempfile.gettempdir()) / f"{_PREFIX}{guard.owner_tag(os.getpid())}"
        directory.mkdir(mode=0o700, exist_ok=True)
        number, unfinished = tempfile.mkstemp(prefix=".", dir=directory)
        with os.fdopen(number, "w") as file:
            json.dump(asdict(debt), file)
        self._file = directory / f"{Path(unfinished).name.lstrip('.')}.json"
        os.replace(unfinished, self._file)

    def settle(self) -> None:
        """It was put right, or is nobody's concern any more."""
        self._file.unlink(missing_ok=True)
        with suppress(OSError):
            self._file.parent.rmdir()  # the last one


def pay_leftovers() -> list[str]:
    """Put right what dead owners left paused, or ended; where those nodes are."""
    paid = []
    for directory in sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")):
        found = _OWNED.fullmatch(directory.name)
        if found is None or not guard.is_dead_tag(found[1]) or not _is_private(directory):
            continue
        for file, debt in _notes(directory):
            with suppress(OSError):
                debt.pay()
                paid.append(f"{debt.host}:{debt.port}")
            file.unlink(missing_ok=True)
        for unfinished in directory.glob(".*"):
            unfinished.unlink(missing_ok=True)
        with suppress(OSError):
            directory.rmdir()
    return paid


def plain_environment() -> Mapping[str, str]:
    """Ours without the mark of what we started: their processes are not ours to end."""
    return {key: value for key, value in os.environ.items() if key != guard.VARIABLE}


def _notes(directory: Path) -> Iterator[tuple[Path, Debt]]:
    for file in sorted(directory.glob("*.json")):
        with suppress(OSError, ValueError, TypeError):
            told = json.loads(file.read_text())
            yield file, Debt(**{**told, "command": tuple(told["command"])})


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
