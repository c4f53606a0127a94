"""A target, an implementation that can be started here: here a known one with other settings."""

from collections.abc import Mapping
from pathlib import Path

from touchstone.kit import Cluster, Target, TargetError, parse_target


class ThreePartitions:
    """The reference broker, whose topics have three partitions unless a client says otherwise."""

    name = "three-partitions"

    def __init__(self) -> None:
        self._broker: Target = parse_target("reference")
        self.faults = self._broker.faults

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start it, wait until it answers, and return the running cluster."""
        settings = {"num.partitions": "3", **(config or {})}
        return self._broker.start(directory, nodes, settings, proxied)


def three_partitions(rest: str, bug: str | None) -> Target:
    """Return the target of `--target three-partitions`. Raise TargetError if a colon and `rest`
    follow this name, or if --bug names a `bug`."""
    if rest or bug:
        raise TargetError("three-partitions takes nothing after its name, and has no bugs")
    return ThreePartitions()
