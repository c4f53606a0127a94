"""Read what a process of this machine has used: processor time and memory."""

from __future__ import annotations

import os
from pathlib import Path

USER, SYSTEM = 11, 12
"""The positions of fields of /proc/PID/stat, counted from the one after the command."""


def cpu_s(pid: int) -> float:
    """Return the user plus system time of a process so far, in seconds (proc(5), stat)."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[USER]) + int(stat[SYSTEM])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes (proc(5), statm)."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    return resident_bytes(pid) / 2**20


def peak_mib(pid: int) -> float:
    """Return the most memory in MiB that a process has had resident so far (proc(5), status,
    VmHWM). Raise OSError if the process has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"process {pid} has ended")  # a zombie has no memory
