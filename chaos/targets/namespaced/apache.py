"""Run Apache Kafka with one network namespace per node, for faults of packets without proxies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chaos.means.links import LinkError, Links
from chaos.targets.apache import DEFAULT_VERSION, FAULTS, ApacheKafka, of_version
from chaos.targets.clusters.layout import Layout
from chaos.targets.clusters.node import LocalNode
from chaos.targets.namespaced import cluster as namespaced
from chaos.targets.namespaced.cluster import NamespaceLayout
from chaos.values.fault_kinds import LINK_FAULTS
from chaos.values.protocols import TargetError


class NamespacedApache(ApacheKafka):
    """Apache Kafka whose nodes' packets can be dropped (chaos/means/netns); it needs root."""

    def __init__(self, version: str = DEFAULT_VERSION, full_speed: bool = False) -> None:
        super().__init__(version, full_speed)
        self.name = f"netns:{self.name}"
        self.faults = FAULTS - LINK_FAULTS | namespaced.FAULTS

    def network(self, directory: Path, nodes: int, proxied: bool) -> tuple[Layout, Links | None]:
        """Create a network namespace for each node, and return (addresses, links). The links can be
        cut whether or not `proxied` is set. Raise TargetError if that fails."""
        try:
            return namespaced.build(nodes, directory)
        except LinkError as error:
            raise TargetError(f"{self.name} cannot be started: {error}") from error

    def settle_in(self, members: Sequence[LocalNode], layout: Layout) -> None:
        """Make each node start in its network namespace."""
        assert isinstance(layout, NamespaceLayout)
        namespaced.settle_in(members, layout)


def in_namespaces(rest: str, bug: str | None) -> NamespacedApache:
    """Return the target that `rest`, the text after `netns:`, names: "apache:3.9" for example; ""
    and "apache" mean 4.3.1. Raise TargetError for anything but Apache, for an unknown version, and
    for any bug."""
    name, _, version = (rest or "apache").partition(":")
    if name != "apache":
        raise TargetError(
            f"{name!r} has no nodes to be put into namespaces; write netns:apache:VERSION"
        )
    return NamespacedApache(of_version(version, bug).version)
