"""Start kfake, franz-go's fake Kafka in Go: one process that keeps everything in memory.

A killed kfake comes back empty. A history that shows such a loss is a finding about kfake, and no
error of Touchstone. kfake advertises the address that it binds, so no proxy can stand in front of
it; and it serves all its brokers from one process, so only one broker is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from chaos.means import leftovers
from chaos.means.caches import executable
from chaos.means.ports import free_ports
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.layout import LOOPBACK
from chaos.targets.clusters.node import LocalNode
from chaos.targets.faults import performers_of
from chaos.values.faults import Fault, Heal, Kill, Pause
from chaos.values.protocols import Cluster, TargetError
from chaos.world import joined

VERSION = "v0.0.0-20260918054303-01f206a7e32c"
"""The version that ci/tools/kfake/go.mod pins."""

FAULTS: frozenset[type[Fault]] = frozenset({Kill, Pause, Heal})


class KfakeCluster(LocalCluster):
    """A cluster whose only broker has the id 0, while faults and roles number nodes from 1."""

    lowest_broker_id = 0


class Kfake:
    """The kfake target, run from the program that the set-up built."""

    name = "kfake"

    def __init__(self) -> None:
        self.faults = FAULTS

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start kfake and wait until it is ready. `proxied` is ignored: no fault of this target
        needs a proxy. Raise TargetError if kfake is not built or does not become ready, for more
        than one node, or if a configuration is given."""
        program = executable("kfake")
        if program is None:
            raise TargetError("kfake is not built; run `make setup` and see `touchstone doctor`")
        if nodes != 1:
            raise TargetError(
                f"kfake runs 1 node here (all brokers in one process), not {nodes}; choose 1"
            )
        if config:
            raise TargetError(f"kfake takes no configuration; leave out {', '.join(config)}")
        directory = directory.resolve()
        leftovers.remove()
        direct = (LOOPBACK, free_ports(1)[0])
        command = [str(program), "-ports", str(direct[1])]
        member = LocalNode(1, command, direct, directory / "nodes" / "1")
        performers = performers_of(self.faults)
        cluster = KfakeCluster(self.name, VERSION, joined(direct), [member], performers)
        cluster.start()
        return cluster


def pinned(rest: str, bug: str | None) -> Kfake:
    """Return the target; it has only one version and no planted bugs. Raise TargetError if `rest`
    names a version, or if a bug is named."""
    if rest:
        raise TargetError(f"kfake is pinned to {VERSION}, there is no {rest!r}; write `kfake`")
    if bug:
        raise TargetError(
            f"kfake has no planted bugs, so no {bug!r}; only the reference has: use `reference`"
        )
    return Kfake()
