"""Measure what a run costs: the time of each phase, and the memory of our own processes. The
limits: a scenario with one minute of attack on three nodes of Apache Kafka takes two minutes in
all, and no process of the harness takes more than 1 GiB. Nodes do not belong to the harness: they
are recognised by the run's scratch directory in their command lines. Source of the numbers:
proc(5), /proc/PID/status, VmHWM (the largest resident set so far)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

OURSELVES = "harness"
PROC = Path("/proc")
FORGET_PEAK = "5"
"""The text to write to /proc/PID/clear_refs so that VmHWM starts again, and earlier runs in the
same process do not count."""


class Costs:
    """The seconds of each phase in the order of phases, and the peak memory in MiB by name of
    process. Creating one resets the peak that the kernel keeps of this process."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._peaks_mib: dict[str, int] = {}
        with suppress(OSError):
            (PROC / "self" / "clear_refs").write_text(FORGET_PEAK)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent inside this `with` block to a phase, whether or not the block
        fails."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.monotonic() - began

    def look(self, nodes: Path) -> None:
        """Note the peak memory of this process and of those that it has started, except the nodes,
        which are recognised by the directory `nodes`. Processes of one name share a peak, the
        highest that any call has found."""
        for pid, name in own_processes(nodes):
            peak = _peak_mib(pid)
            self._peaks_mib[name] = max(self._peaks_mib.get(name, 0), peak)

    def as_dict(self) -> dict[str, Any]:
        """Return phases_s and peak_mib for run.json."""
        seconds = {name: round(value, 2) for name, value in self._seconds.items()}
        return {"phases_s": seconds, "peak_mib": dict(self._peaks_mib)}


def sentence(costs: Mapping[str, Any]) -> str:
    """Return the costs as text: 71 s: start 6.0, attack 60.0, …; at most 130 MiB (harness)."""
    phases: Mapping[str, float] = costs.get("phases_s", {})
    peaks: Mapping[str, int] = costs.get("peak_mib", {})
    told = ", ".join(f"{name} {value:.1f}" for name, value in phases.items())
    text = f"{sum(phases.values()):.0f} s: {told}"
    if peaks:
        largest = max(peaks, key=lambda name: peaks[name])
        text += f"; at most {peaks[largest]} MiB ({largest})"
    return text


def own_processes(nodes: Path) -> Iterator[tuple[int, str]]:
    """Yield (process id, name) of this process first, then of those that it has started, and of
    their children, named after their programs. Skip the nodes, which are recognised by the
    directory `nodes`, with their children, and processes that have ended."""
    yield os.getpid(), OURSELVES
    children: dict[int, list[int]] = {}
    for each in PROC.iterdir():
        if each.name.isdigit() and (parent := _parent(each)) is not None:
            children.setdefault(parent, []).append(int(each.name))
    waiting = list(children.get(os.getpid(), ()))
    while waiting:
        pid = waiting.pop()
        command = _command(pid)
        if str(nodes) in command:
            continue  # a node: skip it and its children
        waiting += children.get(pid, ())
        if command:
            yield pid, Path(command.split("\0", 1)[0]).name


def _parent(process: Path) -> int | None:
    with suppress(OSError, ValueError):
        # The name, in parentheses, may hold anything.
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    return None


def _command(pid: int) -> str:
    with suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_text(errors="replace")
    return ""


def _peak_mib(pid: int) -> int:
    with suppress(OSError, ValueError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
    return 0
