"""A node of a foreign cluster as a process: observed by its pid file, controlled by its owner's
commands."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from chaos.means import guard, owed, processes
from chaos.means.owed import Repair, plain_environment
from chaos.means.pidfd import HeldProcess
from chaos.targets.clusters import probe
from chaos.targets.clusters.node import LocalNode
from chaos.targets.foreign.commands import run
from chaos.targets.foreign.foreign_file import ForeignNode
from chaos.values.protocols import TargetError
from chaos.world import joined

GONE_TIMEOUT_S = 15.0
START_GRACE_S = 10.0
LOOK_TIMEOUT_S = 1.0
ANSWER_TIMEOUT_S = 5.0
POLL_S = 0.05
LOG_LINES = 20


class ForeignProcess:
    """The process of a node on a foreign cluster. If it cannot be observed, it is assumed to run
    unless Touchstone has ended it."""

    def __init__(self, node: ForeignNode, folder: Path, log: Path) -> None:
        self.paused = False
        self._node = node
        self._folder = folder
        self._log = log
        self._child: processes.Child | None = None
        """The start command of a node that Touchstone has started. If the command does not return,
        it is the node's process."""
        self._status: Callable[[], int | None] = lambda: None
        """A function that returns the exit status of the start command, or None while it runs."""
        self._started_s = -START_GRACE_S
        self._ended = False
        self._ours = False
        self._seen: tuple[int, str] | None = None
        """The process id and the start time of the process that was last found to be the node's."""
        self._note: owed.Note | None = None
        """The note that tells a later command how to repair this node, in case Touchstone is
        killed."""

    @property
    def pid(self) -> int:
        """The process id, or 0 if none is known to run."""
        found = self._found()
        return found[0] if found is not None else 0

    def _found(self) -> tuple[int, str] | None:
        """Return the process's pid and start time. Return None if no pid is known, no such process
        runs, or the start time differs from that last seen for this pid: the pid then belongs to
        another process, which must not be touched. The first call cannot tell this."""
        pid = self._told()
        started = guard.start_time(pid) if pid > 0 else None
        if started is None:
            return None
        if self._seen is not None and self._seen[0] == pid and self._seen[1] != started:
            return None
        self._seen = pid, started
        return self._seen

    def _told(self) -> int:
        """Return the process id in the pid file, or, if the cluster's file names none, that of a
        running start command; else 0. Reject numbers below 1, since kill(2) takes them for process
        groups, or for all processes."""
        if self._node.pid_file is not None:
            with suppress(OSError, ValueError, IndexError):
                return max(0, int(self._node.pid_file.read_text().split()[0]))
            return 0
        return self._child.pid if self._child is not None and self._child.running else 0

    @property
    def exit_status(self) -> int | None:
        return self._status()

    @property
    def running(self) -> bool:
        if self._node.pid_file is not None:
            return self._is_starting() or self._found() is not None
        if self._child is not None and (self._child.running or self._child.exit_status != 0):
            return self._child.running
        return not self._ended

    def _is_starting(self) -> bool:
        """Return whether the node may still be starting: its start command is running or has
        succeeded, there is no pid file yet, fewer than START_GRACE_S have passed, and nobody has
        ended the node."""
        young = time.monotonic() < self._started_s + START_GRACE_S
        return young and not self._ended and self._status() in (None, 0) and not self.pid

    def start(self, number: int, ours: bool) -> None:
        """Delete the pid file and run the start command, without waiting for the node. ours: the
        node did not run before the attack, and is stopped after it; otherwise the process outlives
        Touchstone. Raise TargetError if there is no such command or it cannot be run."""
        command = self._node.start
        if command is None:
            raise TargetError(why_not_started(number, self._node))
        self._ours = ours
        self._ended = self.paused = False
        self._seen = None
        if self._node.pid_file is not None:
            self._node.pid_file.unlink(missing_ok=True)  # written by the previous process
        self._started_s = time.monotonic()
        try:
            if ours:
                self._child = child = processes.start(
                    command, name=f"node {number}", log=self._log, directory=self._folder
                )
                self._status = lambda: child.exit_status
            else:
                self._status = self._start_for_its_owner(command).poll
        except OSError as error:
            raise TargetError(
                f"node {number}: start = {command[0]!r} cannot be run: {error.strerror}; correct it"
            ) from error
        self._settle()

    def _start_for_its_owner(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start the process so that it outlives Touchstone, because it ran before the attack."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as output:
            return subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=plain_environment(),
            )

    def kill(self) -> None:
        self._end(self._node.kill, signal.SIGKILL)

    def end(self, timeout_s: float = GONE_TIMEOUT_S) -> None:
        """End the process by the owner's stop command or SIGTERM, and after timeout_s by the kill
        command or SIGKILL. Raise TargetError if a command fails, or if it still runs then."""
        if self.paused:
            self.resume()
        self._end(self._node.stop, signal.SIGTERM, timeout_s)

    def lose_power(self) -> None:
        """Run the owner's command that cuts the node's power, and wait until the node has ended;
        the start command brings it back. Raise TargetError if the command fails, or if the node
        still runs after GONE_TIMEOUT_S."""
        self._end(self._node.faults["lose_power"], signal.SIGKILL)

    def pause(self) -> None:
        resume = self._node.resume
        self._note_repair(
            Repair.of_paused(self._node.address, self.pid)
            if resume is None
            else Repair.of_command(self._node.address, resume, self._folder)
        )
        self._signal_or(self._node.pause, signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        self._signal_or(self._node.resume, signal.SIGCONT)
        self.paused = False
        self._settle()

    def last_words(self, lines: int = LOG_LINES) -> str:
        with suppress(OSError):
            return " | ".join(self._log.read_text("utf-8", "replace").splitlines()[-lines:])
        return ""

    def _end(
        self,
        command: Sequence[str] | None,
        number: signal.Signals,
        timeout_s: float = GONE_TIMEOUT_S,
    ) -> None:
        start = self._node.start
        if is_owed := start is not None and not self._ours:
            self._note_repair(Repair.of_start(self._node.address, start, self._folder))
        self._signal_or(command, number)
        self._ended = True
        self.paused = False
        if self._gone(timeout_s):
            if not is_owed:
                self._settle()  # forget that it was paused before
            return
        if number is not signal.SIGKILL and (self._node.kill or self.pid):
            self.kill()
        else:
            where = joined(self._node.address)
            raise TargetError(
                f"the node at {where} still runs {timeout_s:.0f} s after it was told to end; end"
                " it by hand, and correct its stop or kill command"
            )

    def _note_repair(self, repair: Repair) -> None:
        """Write a note, before a fault, on how to repair the node, and remove an earlier one: a
        node that is ended needs no resume any more. Raise TargetError if the note cannot be
        written."""
        try:
            note = owed.Note(repair)
        except OSError as error:
            raise TargetError(
                f"cannot write the note that undoes the fault on the node at "
                f"{joined(self._node.address)}:"
                f" {error.strerror}; set TMPDIR"
            ) from error
        self._settle()
        self._note = note

    def _settle(self) -> None:
        if self._note is not None:
            self._note.settle()
        self._note = None

    def _signal_or(self, command: Sequence[str] | None, number: signal.Signals) -> None:
        if command is not None:
            run(command, self._folder)
        elif found := self._found():
            try:
                HeldProcess.signal(*found, number)
            except PermissionError as error:
                where = joined(self._node.address)
                raise TargetError(
                    f"process {found[0]}, the node at {where}, is not ours to signal; run as its"
                    " user, or give commands"
                ) from error

    def _gone(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            unseen = self._node.pid_file is None and self._child is None
            if not (self._listens() if unseen else self.running):
                return True
            time.sleep(POLL_S)
        return False

    def _listens(self) -> bool:
        return probe.listens(joined(self._node.address), LOOK_TIMEOUT_S)


class ForeignMember(LocalNode):
    """A node of a foreign cluster. If the node ran before the attack, Touchstone neither starts it
    before nor stops it after the attack."""

    process: ForeignProcess
    ours: bool = False

    def start(self) -> None:
        first = self.child is None
        self.child = self.process
        if first and probe.answers(self.direct, ANSWER_TIMEOUT_S):
            return
        if first:
            self.ours = True
        elif self.running:
            return
        self.process.start(self.number, self.ours)

    def stop(self) -> None:
        """Leave the node as it was before the attack: running if it ran then, else stopped."""
        if self.child is None:
            return
        if self.ours:
            if self.running:
                self.process.end()
        elif not self.running:
            self.process.start(self.number, ours=False)
        elif self.process.paused:
            self.process.resume()


def why_not_started(number: int, node: ForeignNode) -> str:
    """Return the sentence about a node that does not run and has no start command."""
    return (
        f"nothing listens at {joined(node.address)}, and node {number} has no start command;"
        " start it, correct its address, or write start = … into its [[node]]"
    )
