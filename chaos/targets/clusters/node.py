"""One node of a cluster of child processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.means import processes
from chaos.means.disks import Disk
from chaos.means.shim import Shim
from chaos.values.protocols import TargetError
from chaos.world import Address


@dataclass
class LocalNode:
    """One node of a cluster: its command, addresses, directories and process."""

    number: int
    command: Sequence[str | Path]
    direct: Address
    directory: Path
    """The directory of the node's log and configuration, which are kept with the run."""
    stop_timeout_s: float = 0.0
    """The seconds that the node may take to end after SIGTERM. 0 means SIGKILL at once, because its
    data is not needed any more."""
    environment: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    """The node's log.dirs, if it can be reached from this machine."""
    disk: Disk | None = None
    """The disk with the node's data, if disk faults are wanted."""
    shim: Shim | None = None
    """The node's preloaded library, if faults of its clock or of its syncs are wanted."""
    child: processes.Process | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        return self.directory / "node.log"

    @property
    def running(self) -> bool:
        return self.child is not None and self.child.running

    @property
    def paused(self) -> bool:
        return self.child is not None and self.child.paused and self.child.running

    def start(self) -> None:
        """Start the process, unless it is running. Raise TargetError if it cannot be started."""
        if self.running:
            return
        try:
            if self.child is not None:
                self.child.kill()  # its ports and files are free only after it has ended
            self.directory.mkdir(parents=True, exist_ok=True)
            self.child = processes.start(
                self.command,
                name=f"node {self.number}",
                log=self.log,
                environment={**self.environment, **(self.shim.environment if self.shim else {})},
                directory=self.directory,  # a JVM that crashes writes its report there
            )
        except OSError as error:
            raise TargetError(
                f"node {self.number} cannot be started: {error}; see `touchstone doctor`"
            ) from error

    def stop(self) -> None:
        if self.child is not None:
            self.child.end(self.stop_timeout_s) if self.stop_timeout_s else self.child.kill()
