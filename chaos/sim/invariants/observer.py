"""An observer of one simulated node, which checks the invariants of its logs."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from chaos.sim.invariants import INVARIANTS
from chaos.sim.invariants.known_log import KnownLog, Offsets
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.node import Node
from reference_impl.core.partitions.partition import Partition

WHOLE_BATCHES = "whole-batches"
"""The invariant that a log can be read."""


class Observer:
    """The known logs of a node, over all its processes."""

    def __init__(self, broken: Callable[[str, str], None]) -> None:
        """broken: a function to call with the name of an invariant and a sentence."""
        self._broken = broken
        self._logs: dict[tuple[UUID, int], KnownLog] = {}

    def look(self, node: Node) -> None:
        """Check the logs that the last step has changed."""
        for partition in node.broker.replicas:
            known = self._logs.setdefault((partition.topic_id, partition.index), KnownLog())
            if known.kept_to is not None or known.offsets != Offsets.of(partition.log):
                self._look_at(partition, known)

    def _look_at(self, partition: Partition, known: KnownLog) -> None:
        place = f"{partition.topic}-{partition.index}"
        try:
            known.read_new(partition.log)
        except CorruptLog as error:
            self._broken(WHOLE_BATCHES, f"{place}: {error}")
        for name, invariant in INVARIANTS.items():
            for sentence in invariant(known, partition.log):
                self._broken(name, f"{place}: {sentence}")
        known.take_in(partition.log)

    def note_end(self, *, keeps_all: bool) -> None:
        """Note that the process has ended. keeps_all: whether the medium keeps unsynced bytes."""
        for known in self._logs.values():
            known.end(keeps_all=keeps_all)

    def forget(self) -> None:
        """Forget all logs, since a fault has changed the bytes on the medium."""
        self._logs.clear()
