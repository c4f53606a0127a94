"""Equip nodes for certain faults: with disks of their own, and with the shim, a preloaded library
(chaos/means/shim).

Mounting disks needs root, the shim needs a C compiler at set-up. Either can perform a loss of
power; disks are preferred where they exist, since they lose exactly what a real disk would.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Self

from chaos.means import disks, shim
from chaos.means.disks import Disk, DiskError
from chaos.means.shim import Shim
from chaos.targets.clusters.members import (
    Members,
    disks_of,
    shims_of,
    standing_still,
    stop_and_kill,
)
from chaos.targets.clusters.node import LocalNode
from chaos.values.able_targets import DiskTarget, PreloadTarget
from chaos.values.fault_kinds import DISK_FAULTS, SHIM_FAULTS
from chaos.values.faults import Fault, PowerLoss
from chaos.values.protocols import Target, TargetError

Faults = frozenset[type[Fault]]


class Equippable:
    """The base of targets whose nodes can have disks of their own and the shim."""

    on_disks = False
    preloaded = False

    def with_disks(self) -> Self:
        """Return a copy of the target with each node's data on a separate disk. Starting it fails
        if this machine does not permit mounting."""
        other = copy(self)
        other.on_disks = True
        return other

    def with_shim(self) -> Self:
        """Return a copy of the target with the shim preloaded into each node, a library that can
        change its clock, and delay or fail its syncs. Starting it fails if the library is not
        built, or if the C library of a node's container cannot load it."""
        other = copy(self)
        other.preloaded = True
        return other


def equipped(target: Target, faults: Faults) -> Target:
    """Return a copy of the target with the disks and the shim that these faults need, or the target
    itself if they need none or its nodes take none. The copy may need what this machine lacks:
    `why_not` tells that."""
    if _needs_disks(target, faults) and isinstance(target, DiskTarget):
        target = target.with_disks()
    if _needs_shim(target, faults) and isinstance(target, PreloadTarget):
        target = target.with_shim()
    return target


def why_not(target: Target, faults: Faults) -> str | None:
    """Return why this machine lacks the equipment for these faults, or None if it has all of it, or
    the target's nodes take none."""
    on_disks, preloaded = isinstance(target, DiskTarget), isinstance(target, PreloadTarget)
    if on_disks and _needs_disks(target, faults) and (reason := disks.why_none()):
        return reason
    if preloaded and _needs_shim(target, faults) and (reason := shim.why_none()):
        return reason
    return None


def has_means(member: LocalNode, fault: type[Fault]) -> bool:
    """Return whether the node was started with the disk or shim that this fault needs. Return True
    for a fault that needs neither."""
    if fault is PowerLoss:
        return member.disk is not None or member.shim is not None
    if fault in SHIM_FAULTS:
        return member.shim is not None
    return fault not in DISK_FAULTS or member.disk is not None


def _needs_disks(target: Target, faults: Faults) -> bool:
    return bool(faults & DISK_FAULTS) and not _by_shim_alone(target, faults)


def _needs_shim(target: Target, faults: Faults) -> bool:
    return bool(faults & SHIM_FAULTS) or _by_shim_alone(target, faults)


def _by_shim_alone(target: Target, faults: Faults) -> bool:
    """Return whether the shim performs these faults without disks. That is so if the only disk
    fault is a loss of power, and either disks are not available, or the shim is needed anyway: a
    disk and the shim's ledger would not agree on the lost data."""
    if faults & DISK_FAULTS != {PowerLoss} or not isinstance(target, PreloadTarget):
        return False
    return bool(faults & SHIM_FAULTS) or (disks.why_none() is not None and shim.why_none() is None)


@contextmanager
def disks_for(directory: Path, nodes: int, wanted: bool) -> Iterator[dict[int, Disk]]:
    """Yield node -> its disk, each mounted so that `directory`/data/NODE leads to it; or, unless
    wanted, an empty dict. Remove the disks if the block fails. Raise TargetError if a disk cannot
    be made.

    A node's data lie one level below the root of its file system, since that contains lost+found,
    and Kafka takes every directory beside its own for a partition.
    """
    made: dict[int, Disk] = {}
    try:
        for number in range(1, nodes + 1) if wanted else ():
            made[number] = disk = Disk.make(f"node-{number}")
            data = disk.mount_point / "data"
            data.mkdir()
            link = directory / "data" / str(number)
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink():
                link.unlink()  # a link of an earlier cluster, whose disks are gone
            link.symlink_to(data)
        yield made
    except BaseException as error:
        for disk in made.values():
            disk.remove()
        if isinstance(error, DiskError):
            raise TargetError(str(error)) from error
        raise


def preload(members: Members, directory: Path) -> None:
    """Preload the shim library into nodes before their first start. Their data are in
    `directory`/data/NUMBER. Raise TargetError if the library is missing."""
    if reason := shim.why_none():
        raise TargetError(reason)
    for member in members:
        number = str(member.number)
        member.shim = Shim(directory / "shim" / number, directory / "data" / number)


def sync(members: Members) -> None:
    """Sync the data that nodes wrote during their set-up, so that a loss of power does not remove
    it. Nodes with the shim are paused meanwhile. Raise DiskError if a disk cannot be synced,
    TargetError if a node does not stop."""
    for disk in disks_of(members):
        disk.sync()
    with standing_still([member for member in members if member.shim is not None]):
        for member in members:
            if member.shim is not None:
                member.shim.medium.settle()


def heal_disks(members: Members) -> None:
    """Thaw disks, free their space, and mount failed disks again after ending their node. Raise
    DiskError or OSError if that fails."""
    for disk in disks_of(members):
        disk.thaw()
        if not disk.is_broken:  # else it takes no write until it is mounted again
            disk.make_room()
    for member in members:
        if member.disk is not None and member.disk.is_broken:
            if member.child is not None:
                member.child.kill()
            member.disk.replug()


def heal_shims(members: Members) -> None:
    """Set clocks right, remove the delay of syncs, and cut the power of each node whose sync a
    fault has failed: its process is killed, and loses what it had not synced. Raise TargetError if
    a process cannot be stopped."""
    for member, loaded in shims_of(members):
        loaded.heal()
        if loaded.medium.has_failed():
            stop_and_kill([member])
            loaded.medium.lose_power()


def remove_disks(members: Members) -> None:
    """Delete the disks. The nodes' processes must have ended. Raise DiskError if a disk cannot be
    unmounted."""
    for disk in disks_of(members):
        disk.remove()


def close_shims(members: Members) -> None:
    """Release the shims' files, and set each node's `shim` to None. The nodes' processes must have
    ended."""
    for member, loaded in shims_of(members):
        loaded.close()
        member.shim = None
