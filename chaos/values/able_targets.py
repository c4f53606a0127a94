"""The abilities that only some targets have: disks of their own, the shim, a fixed size."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from chaos.values.protocols import Target


@runtime_checkable
class DiskTarget(Protocol):
    """A target whose nodes can have their own disks, which fault_kinds.DISK_FAULTS need."""

    def with_disks(self) -> Target:
        """Return a copy of the target with a disk for each node. Starting it raises TargetError if
        the disks cannot be made."""
        ...


@runtime_checkable
class PreloadTarget(Protocol):
    """A target whose nodes can be started with the LD_PRELOAD library ("shim"), which
    fault_kinds.SHIM_FAULTS need."""

    def with_shim(self) -> Target:
        """Return a copy of the target with the preloaded library. Starting it raises TargetError if
        the library is missing."""
        ...


@runtime_checkable
class SizedTarget(Protocol):
    """A target with a fixed number of nodes: a running cluster that its owner describes, or one of
    the kind `mixed`."""

    nodes: int


@runtime_checkable
class RunningTarget(Protocol):
    """A cluster that is not started here, except perhaps by its owner's commands."""

    def check_there(self) -> None:
        """Raise TargetError, with what to do, if the cluster is not there."""
        ...
