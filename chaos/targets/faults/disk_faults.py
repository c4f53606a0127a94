"""Faults of the nodes' own disks, and how they are undone. The order matters. A process that hangs
on a frozen disk takes neither SIGSTOP nor SIGKILL, so a thaw comes first; all struck nodes stand
still, out of every system call, before the first disk loses its power, since a sync that is under
way may then return success without its data on the medium, and a node that lives on for a
millisecond acknowledges it, which it could not have done without power. Then they are killed, and a
disk is mounted again only when its process has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.means.disks import Disk, DiskError
from chaos.targets.faults.process_faults import kill_and_wait, stand_still
from chaos.values.faults import DiskDead, DiskFull, DiskReadOnly, DiskStall, Fault, PowerLoss
from chaos.values.protocols import TargetError

if TYPE_CHECKING:
    from chaos.targets.clusters.cluster import LocalNode

Members = Sequence["LocalNode"]


@contextmanager
def disks_for(directory: Path, nodes: int, wanted: bool) -> Iterator[dict[int, Disk]]:
    """Provide a disk for each node, to which `directory`/data/NODE leads; or, unless wanted, none.
    Remove them again if the block fails. A node's data lies one level below the root of its file
    system, where lost+found is: Kafka takes every directory beside its own for a partition."""
    made: dict[int, Disk] = {}
    try:
        for number in range(1, nodes + 1) if wanted else ():
            made[number] = disk = Disk.make(f"node-{number}")
            data = disk.mount_point / "data"
            data.mkdir()
            link = directory / "data" / str(number)
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink():
                link.unlink()  # of an earlier cluster, whose disks are gone
            link.symlink_to(data)
        yield made
    except BaseException as error:
        for disk in made.values():
            disk.remove()
        if isinstance(error, DiskError):
            raise TargetError(str(error)) from error
        raise


def sync(members: Members) -> None:
    """Sync what nodes wrote while they were set up, which a loss of power must not take."""
    for disk in _disks(members):
        disk.sync()
    with standing_still([member for member in members if member.shim is not None]):
        for member in members:
            if member.shim is not None:
                member.shim.medium.settle()


def heal(members: Members) -> None:
    """Thaw, give the space back, and mount again what had failed: its node must end for that."""
    for disk in _disks(members):
        disk.thaw()
        disk.make_room()
    for member in members:
        if member.disk is not None and member.disk.is_broken:
            if member.child is not None:
                member.child.kill()
            member.disk.replug()


def remove(members: Members) -> None:
    """Delete the disks. The processes must have ended."""
    for disk in _disks(members):
        disk.remove()


def _stall(members: Members) -> list[int]:
    struck = _running(members)
    for disk in _disks(members):
        disk.freeze()
    return struck


def _fill(members: Members) -> list[int]:
    struck = _running(members)
    for disk in _disks(members):
        disk.fill()
    return struck


def _kill_disk(members: Members) -> list[int]:
    """Fail every sync from now on, so that none in progress can return success."""
    return _while_standing_still(members, Disk.die)


def _make_read_only(members: Members) -> list[int]:
    """Turn disks read-only. Everything written before is kept, since nobody writes between the sync
    and the change."""
    return _while_standing_still(members, Disk.turn_read_only)


def _while_standing_still(members: Members, strike: Callable[[Disk], None]) -> list[int]:
    struck = _running(members)
    for disk in _disks(members):
        disk.thaw()
    with standing_still(members):
        for disk in _disks(members):
            strike(disk)
    return struck


@contextmanager
def standing_still(members: Members) -> Iterator[None]:
    """Keep the running processes out of every system call meanwhile."""
    awake = [member for member in members if member.running and not member.paused]
    try:
        stand_still(members)
        yield
    finally:
        for member in awake:
            if member.child is not None:
                member.child.resume()


def _cut_power(members: Members) -> list[int]:
    """Cut the power of nodes; one that ended before also loses what the system had not written for
    it."""
    for disk in _disks(members):
        disk.thaw()
    stand_still(members)
    for disk in _disks(members):
        disk.cut_power()
    kill_and_wait(members)
    for member in members:
        if member.disk is not None:
            member.disk.replug()
        elif member.shim is not None:
            member.shim.medium.lose_power()
    return [member.number for member in members]


def _running(members: Members) -> list[int]:
    """Return the running nodes. Ask before the fault: a node may end at once."""
    return [member.number for member in members if member.running]


def _disks(members: Members) -> list[Disk]:
    return [member.disk for member in members if member.disk is not None]


PERFORMERS: Mapping[type[Fault], Callable[[Members], list[int]]] = {
    DiskStall: _stall,
    DiskFull: _fill,
    DiskReadOnly: _make_read_only,
    DiskDead: _kill_disk,
    PowerLoss: _cut_power,
}
"""Fault -> what does it to the disks of these nodes, and says which nodes it struck."""
