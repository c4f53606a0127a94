"""An observer of one simulated node, which checks the invariants of its logs and of the cluster."""

from __future__ import annotations

from collections.abc import Callable

from chaos.sim.invariants import BETWEEN_NODES, BETWEEN_REPLICAS, INVARIANTS
from chaos.sim.invariants.known_cluster import KnownCluster
from chaos.sim.invariants.known_log import KnownLog
from chaos.sim.invariants.replica import Key, Replica, metadata_replica, replica_of
from reference_impl.core.broker import Broker
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.partition_log import PartitionLog

WHOLE_BATCHES = "whole-batches"
"""The invariant that a log can be read."""


class Observer:
    """Checks the logs of one node after each step, and remembers them over all its processes."""

    def __init__(self, cluster: KnownCluster, broken: Callable[[str, str], None]) -> None:
        """Start without knowledge of the node's logs. cluster: what is known of all nodes. broken:
        a function to call with the name of a broken invariant and a sentence."""
        self._cluster = cluster
        self._broken = broken
        self._logs: dict[Key, KnownLog] = {}
        self._shown: dict[object, object] = {}
        """The object that holds a log -> the offsets and the leadership at the last look."""
        self._life = 0
        self._seen: object = None
        """The image's end offset, the election and the blocks of producer ids after the last
        step."""

    def look(self, broker: Broker) -> None:
        """Check the cluster's and the node's invariants as far as the last step has changed the
        image, the election, the producer ids or a log."""
        seen = broker.image.end_offset, broker.quorum.election, broker.producer_ids.blocks
        if seen != self._seen:
            self._seen = seen
            for name, invariant in BETWEEN_NODES.items():
                for sentence in invariant(self._cluster, broker):
                    self._broken(name, sentence)
        quorum = broker.quorum
        if self._has_changed(quorum, quorum.log.log, (quorum.epoch, quorum.is_leader)):
            self._look_at(metadata_replica(broker))
        for partition in broker.replicas:
            state = partition.state
            led = state.leader_epoch, partition.leads, state.isr, state.partition_epoch
            if self._has_changed(partition, partition.log, led):
                self._look_at(replica_of(broker.node_id, partition))

    def _has_changed(self, holder: object, log: PartitionLog, led: object) -> bool:
        """Return whether the last step has changed the offsets of a log or the leadership (`led`),
        or the log was not looked at before in this process, and note them. A step changes few of a
        node's dozens of replicas; for the others this must be cheap."""
        shown = (
            log.log_start_offset,
            log.last_stable_offset,
            log.high_watermark,
            log.log_end_offset,
            log.recovery_point,
            led,
        )
        if self._shown.get(holder) == shown:
            return False
        self._shown[holder] = shown
        return True

    def _look_at(self, replica: Replica) -> None:
        known = self._logs.setdefault(replica.key, KnownLog())
        known.note_leadership(replica.led_in)
        try:
            known.read_new(replica.log)
        except CorruptLog as error:
            self._broken(WHOLE_BATCHES, f"{replica.name}: {error}")
        for name, invariant in INVARIANTS.items():
            for sentence in invariant(known, replica.log):
                self._broken(name, f"{replica.name}: {sentence}")
        for name, between in BETWEEN_REPLICAS.items():
            for sentence in between(self._cluster, replica, known, self._life):
                self._broken(name, f"{replica.name}: {sentence}")
        self._cluster.take_in(replica, known, self._life)
        known.take_in(replica.log)

    def note_end(self, *, keeps_all: bool) -> None:
        """Note that the process has ended. keeps_all: whether the medium keeps unsynced bytes."""
        self._life += 1
        self._shown.clear()
        self._cluster.has_lost_power |= not keeps_all
        for known in self._logs.values():
            known.end(keeps_all=keeps_all)

    def forget(self) -> None:
        """Forget all logs, since a fault has changed the bytes on the medium. From now on committed
        records may be lost, as after a loss of power."""
        self._logs.clear()
        self._shown.clear()
        self._cluster.has_lost_power = True
