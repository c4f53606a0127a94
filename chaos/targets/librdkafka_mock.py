"""Start librdkafka's mock broker, with which its clients are tested: one process that keeps
everything in memory and serves a part of the protocol.

A killed mock comes back empty; what a history shows of that is a finding about the mock.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chaos.means import leftovers
from chaos.means.ports import free_ports
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.layout import LOOPBACK
from chaos.targets.clusters.node import LocalNode
from chaos.targets.faults import performers_of
from chaos.values.faults import Fault, Heal, Kill, Pause
from chaos.values.protocols import Cluster, TargetError
from chaos.world import joined

NAME = "librdkafka-mock"
PACKAGE = "confluent-kafka"
FAULTS: frozenset[type[Fault]] = frozenset({Kill, Pause, Heal})
_SOURCES = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder from which the process of the mock imports this package."""


class LibrdkafkaMock:
    """The mock broker of the librdkafka that confluent-kafka brings."""

    name = NAME

    def __init__(self) -> None:
        self.faults = FAULTS

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start the mock and wait until it is ready. `proxied` is ignored: no fault of this target
        needs a proxy. Raise TargetError if its package is not installed or it does not become
        ready, for more than one node, or if a configuration is given."""
        try:
            installed = version(PACKAGE)
        except PackageNotFoundError:
            raise TargetError(f"{NAME} needs {PACKAGE}; pip install '.[chaos]'") from None
        if nodes != 1:
            raise TargetError(f"{NAME} runs 1 node here, not {nodes}; choose 1")
        if config:
            raise TargetError(f"{NAME} takes no configuration; leave out {', '.join(config)}")
        directory = directory.resolve()
        leftovers.remove()
        direct = (LOOPBACK, free_ports(1)[0])
        command = [sys.executable, "-m", "chaos.targets.mock_broker", str(direct[1])]
        own = {"PYTHONPATH": str(_SOURCES)}
        member = LocalNode(1, command, direct, directory / "nodes" / "1", environment=own)
        performers = performers_of(self.faults)
        cluster = LocalCluster(NAME, installed, joined(direct), [member], performers)
        cluster.start()
        return cluster


def installed_mock(rest: str, bug: str | None) -> LibrdkafkaMock:
    """Return the target; it has no versions to choose and no planted bugs. Raise TargetError if
    `rest` names a version, or if a bug is named."""
    if rest:
        raise TargetError(
            f"{NAME} is that of the installed {PACKAGE}, there is no {rest!r}; write `{NAME}`"
        )
    if bug:
        raise TargetError(
            f"{NAME} has no planted bugs, so no {bug!r}; only the reference has: use `reference`"
        )
    return LibrdkafkaMock()
