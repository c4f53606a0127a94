"""Hold a process that we did not start by a descriptor, so that no other process can be signalled
by mistake.

A process id may belong to another process as soon as the first has ended; a descriptor always
refers to the same process. So open the descriptor first, and then check by its control group that
it is the right process. Source: pidfd_open(2), pidfd_send_signal(2), cgroups(7).
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from chaos.means import guard


class HeldProcess:
    """A process, held by a descriptor for as long as this object exists."""

    def __init__(self, pid: int) -> None:
        """Open a descriptor of the process (pidfd). Raise OSError if there is no such process, and
        AttributeError if the system has no such descriptors."""
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    @classmethod
    def in_group(cls, pid: int, group: str) -> HeldProcess | None:
        """Return the process with this id if it runs and its control group's path contains this
        name. Return None if not, or if the system has no such descriptors."""
        try:
            held = cls(pid)
        except (OSError, AttributeError):  # no such process; a system without such descriptors
            return None
        groups = ""
        with suppress(OSError):
            groups = Path(f"/proc/{pid}/cgroup").read_text("utf-8", "replace")
        if group in groups and held.running:  # still alive, so the path read was its own
            return held
        return None

    def company(self) -> list[HeldProcess]:
        """Return the other processes in its pid namespace as HeldProcess objects, or none if that
        namespace is our own."""
        namespace = _namespace(self.pid)
        if namespace is None or namespace == _namespace("self"):
            return []
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            if _namespace(place.name) == namespace and int(place.name) != self.pid:
                with suppress(OSError):  # it has just ended
                    other = HeldProcess(int(place.name))
                    if _namespace(other.pid) == namespace:  # held, so its id stays its own
                        found.append(other)
        return found

    @property
    def running(self) -> bool:
        return not self.wait(0.0)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the process to end. Return whether it has ended, with all its threads, within
        that time; then its files and ports are free."""
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        return bool(waiting.poll(timeout_s * 1000))

    def strike(self, number: signal.Signals) -> bool:
        """Send the process a signal. Return whether it was sent: False if the process has ended or
        this user may not signal it."""
        try:
            signal.pidfd_send_signal(self._descriptor, number)
        except OSError:
            return False
        return True

    @classmethod
    def signal(cls, pid: int, started: str, number: signal.Signals) -> None:
        """Send a signal to the process with this id if it still runs and started at this time
        (guard.start_time), and to no other. Raise PermissionError if it belongs to another user."""
        held = None
        with suppress(OSError, AttributeError):  # gone; or a system without such descriptors
            held = cls(pid)
        if guard.start_time(pid) != started:
            return
        with suppress(ProcessLookupError):
            if held is None:
                os.kill(pid, number)
            else:
                signal.pidfd_send_signal(held._descriptor, number)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)


def _namespace(pid: int | str) -> str | None:
    """Return the pid namespace of a process, or None if the process is gone or its namespace may
    not be read."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None
