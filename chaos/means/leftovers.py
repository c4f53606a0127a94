"""Remove the processes, containers, disks and networks that a killed command has left behind, and
undo its faults on foreign nodes. `find` only lists them, for `touchstone doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from chaos.means import disks, guard, owed, processes
from chaos.means.docker import containers
from chaos.means.netns import namespaces

COMMAND_LENGTH_MAX = 80


def find() -> list[str]:
    """Return a phrase for each thing that a dead owner has left, and for each Docker daemon that
    does not answer, so that its containers are unknown."""
    return [
        *_left_processes(),
        *(f"disk {home}{_mounted(home)}" for home in disks.leftovers()),
        *(
            f"network namespace {name}, with its devices and rules"
            for name in namespaces.leftovers()
        ),
        *(f"of Docker: {name}" for name in containers.leftovers()),
        *(f"paused or ended: the node at {where}" for where in owed.leftovers()),
    ]


def _left_processes() -> Iterator[str]:
    for pid, owner in processes.leftovers():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has just ended
        command = b" ".join(words).decode("utf-8", "replace").strip()[:COMMAND_LENGTH_MAX]
        started_by = owner.partition(":")[0]
        yield f"process {pid} ({command}), started by process {started_by}, which is gone"


def _mounted(home: Path) -> str:
    return f", mounted at {home / 'mount'}, frozen perhaps" if (home / "mount").is_mount() else ""


def remove_and_mark_children() -> None:
    """Remove leftovers, and put this process's owner name into its environment. Every child then
    inherits the name, so that even children not started by processes.py are found if this process
    is killed."""
    remove()
    os.environ[guard.VARIABLE] = guard.owner_name(os.getpid())


def remove() -> None:
    """Remove everything that dead owners left, repair foreign nodes that they left paused or ended,
    and say on standard error what was removed or repaired, and which nodes could not be repaired.
    Touch nothing of a living owner."""
    disks.thaw_leftovers()
    ended = processes.end_leftovers()
    contained = containers.remove_leftovers()  # before the disks, which they use
    removed = disks.remove_leftovers()
    networks = namespaces.remove_leftovers()
    repaired = owed.repair_leftovers()
    if repaired.nodes:
        print(
            "repaired nodes that an earlier, killed command had left paused or ended:"
            f" {', '.join(repaired.nodes)}",
            file=sys.stderr,
        )
    for failure in repaired.failures:
        print(
            "could not repair a node that an earlier, killed command had left paused or ended:"
            f" {failure}; make sure that it runs",
            file=sys.stderr,
        )
    if ended or contained or removed or networks:
        print(
            "removed what an earlier, killed command had left behind:"
            f" {len(ended)} process(es), {len(removed)} disk(s),"
            f" {networks} network namespace(s),"
            f" {contained} container(s) and network(s) of Docker",
            file=sys.stderr,
        )
