"""Choose what nodes must be started with, so that certain faults can be performed on them.

Disks of their own need the right to mount, the shim needs a C compiler at set-up. A loss of power
can be had by either: by the disks where there are some, since they lose what a real one would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.means import disks, shim
from chaos.values.faults import DISK_FAULTS, SHIM_FAULTS, Fault, PowerLoss
from chaos.values.protocols import DiskTarget, PreloadTarget, Target

if TYPE_CHECKING:
    from chaos.targets.clusters.cluster import LocalNode

Faults = frozenset[type[Fault]]


def equipped(target: Target, faults: Faults) -> Target:
    """Return the target with what these faults need, as far as this machine has it."""
    if _needs_disks(target, faults) and isinstance(target, DiskTarget):
        target = target.with_disks()
    if _needs_shim(target, faults) and isinstance(target, PreloadTarget):
        target = target.with_shim()
    return target


def why_not(target: Target, faults: Faults) -> str | None:
    """Return why this machine does not have what they need, or None."""
    on_disks, preloaded = isinstance(target, DiskTarget), isinstance(target, PreloadTarget)
    if on_disks and _needs_disks(target, faults) and (reason := disks.why_none()):
        return reason
    if preloaded and _needs_shim(target, faults) and (reason := shim.why_none()):
        return reason
    return None


def has_means(member: LocalNode, fault: type[Fault]) -> bool:
    """Return whether the node was started with what the fault needs."""
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
    """Return whether the shim performs the faults: a loss of power and no other disk fault, with
    the shim if that is all there is, or if it is needed anyway, since a torn disk and a torn ledger
    would not agree."""
    if faults & DISK_FAULTS != {PowerLoss} or not isinstance(target, PreloadTarget):
        return False
    return bool(faults & SHIM_FAULTS) or (disks.why_none() is not None and shim.why_none() is None)
