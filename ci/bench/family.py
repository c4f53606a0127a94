"""Measure the CPU time and memory of this process and all its descendants, since Spark runs in a
JVM and in further Python processes.

The values come from /proc; the CPU time of ended children counts if they were waited for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from reference_impl.robustness import usage
from reference_impl.robustness.usage import SYSTEM, USER

PARENT, CHILDREN_USER, CHILDREN_SYSTEM = 1, 13, 14
"""The positions of further fields of /proc/PID/stat (`reference_impl.robustness.usage`)."""

IDLE, IO_WAIT, GUEST = 3, 4, 8
"""The positions of fields of the first line of /proc/stat. Fields from GUEST on are already counted
in others."""


def cpu_s() -> float:
    """Return the user plus system CPU time of this process and all its descendants, in seconds."""
    ticks = sum(
        int(stat[field])
        for stat in _family().values()
        for field in (USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM)
    )
    return ticks / os.sysconf("SC_CLK_TCK")


class Others:
    """Measures the CPU time of the processes outside this family, from the creation of this
    object."""

    def __init__(self) -> None:
        self._since_s, self._before_s = time.monotonic(), self._cpu_s()

    def cpus(self) -> float:
        """Return the number of CPUs that the other processes have used on average."""
        return (self._cpu_s() - self._before_s) / (time.monotonic() - self._since_s)

    @staticmethod
    def _cpu_s() -> float:
        first_line = Path("/proc/stat").read_text().partition("\n")[0]
        ticks = [int(word) for word in first_line.split()[1:]]
        idle = ticks[IDLE] + ticks[IO_WAIT] + sum(ticks[GUEST:])  # guests count as user time, too
        return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK") - cpu_s()


def peak_mib() -> float:
    """Return the sum in MiB of each process's own peak memory, which is at least the peak of all
    together."""
    return sum(map(_peak_mib, _family()))


def _family() -> dict[int, list[str]]:
    """Return process id -> its fields of /proc/PID/stat, for this process and its descendants."""
    found = dict(_processes())
    family = {os.getpid()}
    while True:
        more = {pid for pid, stat in found.items() if int(stat[PARENT]) in family} - family
        if not more:
            return {pid: found[pid] for pid in family}
        family |= more


def _processes() -> Iterator[tuple[int, list[str]]]:
    for directory in Path("/proc").iterdir():
        if directory.name.isdecimal():
            try:
                stat = (directory / "stat").read_text()
            except OSError:  # it has ended
                continue
            yield int(directory.name), stat.rpartition(")")[2].split()


def _peak_mib(process: int) -> float:
    try:
        return usage.peak_mib(process)
    except OSError:  # it has ended
        return 0.0


def find(word: str) -> int:
    """Return the id of a process of this family, this process or a descendant, whose command line
    has this word among its words. Raise ProcessLookupError if there is none."""
    for process in _family():
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        if word.encode() in words:
            return process
    raise ProcessLookupError(f"no descendant runs {word}")
