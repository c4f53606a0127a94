"""A snapshot of the metadata lacks the record of the producer ids."""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.core.rules import Rules
from reference_impl.wire import Struct


class SnapshotWithoutProducerIds(Rules):
    """Real-world kin: a part of the state that the writer of snapshots was never told of.

    Breaks:     a producer id is unique (KIP-98; KIP-730): a node that starts with the snapshot
                assigns the ids again.
    Caught by:  workload sequences, nemesis kill, config
                metadata.log.max.record.bytes.between.snapshots=2000, checkers fencing
                (InitProducerId), and inconsistent_offsets and idempotence, since two producers of
                one id send to the same partition.
    Within:     one run of 30 seconds.
    """

    def kept_in_snapshot(self, records: Iterable[Struct]) -> list[Struct]:
        """Return all records except that one."""
        return [each for each in records if type(each).__name__ != "ProducerIdsRecord"]
