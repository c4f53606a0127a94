"""Partitions on their way into a transaction: wanted, then requested, then part of it.

Source: KIP-98, AddPartitionsToTxn; TransactionManager.java (newPartitionsInTransaction,
pendingPartitionsInTransaction, partitionsInTransaction).

Nothing may be written to a partition before it is part of the transaction: the coordinator writes
the marker at the end only to partitions that it knows.
"""

from __future__ import annotations

from reference_impl.client.values import TopicPartition


class TransactionPartitions:
    """The partitions of the current transaction."""

    def __init__(self) -> None:
        self._wanted: dict[TopicPartition, None] = {}
        self._asked: dict[TopicPartition, None] = {}
        self._added: set[TopicPartition] = set()

    def __contains__(self, partition: TopicPartition) -> bool:
        """Return whether the partition is part of the transaction."""
        return partition in self._added

    @property
    def are_coming(self) -> bool:
        """Return whether some partitions that records were sent to are not part of the transaction
        yet."""
        return bool(self._wanted or self._asked)

    @property
    def are_asked_for(self) -> bool:
        """Return whether the coordinator may know of partitions that are not part of the
        transaction yet."""
        return bool(self._asked)

    @property
    def is_first_question(self) -> bool:
        """Return whether no partition is part of the transaction yet, so that the coordinator may
        still be ending the last one."""
        return not self._added

    def want(self, partition: TopicPartition) -> None:
        """Note that a record of the transaction goes to this partition."""
        if partition not in self._added and partition not in self._asked:
            self._wanted[partition] = None

    def add(self, partition: TopicPartition) -> None:
        """Add a partition that joins by being written to (KIP-890)."""
        self._added.add(partition)

    def ask(self) -> tuple[TopicPartition, ...]:
        """Return the partitions to request now, and note them as requested: those that were
        requested without an answer, else all that records were sent to."""
        if not self._asked:
            self._asked, self._wanted = self._wanted, {}
        return tuple(self._asked)

    def agreed(self) -> None:
        """Make the requested partitions part of the transaction."""
        self._added.update(self._asked)
        self._asked.clear()

    def refused(self) -> None:
        """Forget the requested partitions, because they were refused."""
        self._asked.clear()

    def drop_wanted(self) -> None:
        """Drop partitions that were not requested yet, because the transaction is aborted."""
        self._wanted.clear()

    def clear(self) -> None:
        """Forget the wanted partitions and those of the transaction, as it has ended; none is
        requested then."""
        self._added.clear()
        self._wanted.clear()
