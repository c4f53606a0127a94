"""Offsets that were committed in a transaction which is not decided yet.

Source: OffsetMetadataManager.java (pendingTransactionalOffsets, replayEndTransactionMarker);
KIP-98, KIP-447 (a consumer may ask to be refused while such offsets exist). They are stored in
`__consumer_offsets` as a transactional batch; the marker in the same partition applies or drops
them.
"""

from __future__ import annotations

from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.log.directories.checkpoints import TopicPartition

Commit = tuple[str, TopicPartition, CommittedOffset]
"""A commit: (group id, partition, offset)."""


class PendingOffsets:
    """For each open transaction, the newest commit of each partition."""

    def __init__(self) -> None:
        self._open: dict[int, dict[tuple[str, TopicPartition], CommittedOffset]] = {}
        self._writers: dict[str, dict[TopicPartition, set[int]]] = {}
        """For each partition of each group, the producers whose open transactions commit for it."""

    def put(self, producer_id: int, commit: Commit) -> None:
        """Store a commit of a producer's open transaction, in place of an earlier one for the same
        partition."""
        group_id, key, committed = commit
        self._open.setdefault(producer_id, {})[group_id, key] = committed
        self._writers.setdefault(group_id, {}).setdefault(key, set()).add(producer_id)

    def get(self, producer_id: int, group_id: str, key: TopicPartition) -> CommittedOffset | None:
        """Return the pending commit of an open transaction for this partition, or None."""
        return self._open.get(producer_id, {}).get((group_id, key))

    def end(self, producer_id: int) -> list[Commit]:
        """Remove and return the pending commits of a transaction that has ended, or none if it has
        none."""
        ended = self._open.pop(producer_id, {})
        for group_id, key in ended:
            self._writers[group_id][key].discard(producer_id)
            if not self._writers[group_id][key]:
                self._forget(group_id, key)
        return [(group_id, key, committed) for (group_id, key), committed in ended.items()]

    def of(self, group_id: str) -> list[TopicPartition]:
        """Return the partitions of one group with pending commits, which an open transaction may
        change (UNSTABLE_OFFSET_COMMIT)."""
        return list(self._writers.get(group_id, ()))

    def remove(self, group_id: str, key: TopicPartition) -> None:
        """Forget pending offsets of a deleted group or partition, so that no marker brings them
        back."""
        for producer_id in self._writers.get(group_id, {}).get(key, ()):
            del self._open[producer_id][group_id, key]
        self._forget(group_id, key)

    def _forget(self, group_id: str, key: TopicPartition) -> None:
        partitions = self._writers.get(group_id, {})
        partitions.pop(key, None)
        if not partitions:
            self._writers.pop(group_id, None)
