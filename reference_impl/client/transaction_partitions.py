"""Partitions on their way into a transaction: wanted, then asked for, then part of it.

Source: KIP-98, AddPartitionsToTxn; TransactionManager.java (newPartitionsInTransaction,
pendingPartitionsInTransaction, partitionsInTransaction).

Nothing may be written to a partition before it takes part: the coordinator writes a marker only
where it knows that there is something to end.
"""

from __future__ import annotations

from reference_impl.client.values import TopicPartition


class TransactionPartitions:
    """The partitions of the transaction under way."""

    def __init__(self) -> None:
        self._wanted: dict[TopicPartition, None] = {}
        self._asked: dict[TopicPartition, None] = {}
        self._added: set[TopicPartition] = set()

    def __contains__(self, partition: TopicPartition) -> bool:
        """It takes part."""
        return partition in self._added

    @property
    def are_coming(self) -> bool:
        """Some are wanted and do not take part yet."""
        return bool(self._wanted or self._asked)

    @property
    def are_asked_for(self) -> bool:
        """The coordinator may have heard of some that do not take part yet."""
        return bool(self._asked)

    @property
    def is_first_question(self) -> bool:
        """None takes part yet."""
        return not self._added

    def want(self, partition: TopicPartition) -> None:
        """A record of the transaction goes there."""
        if partition not in self._added and partition not in self._asked:
            self._wanted[partition] = None

    def add(self, partition: TopicPartition) -> None:
        """It takes part by being written to (KIP-890)."""
        self._added.add(partition)

    def ask(self) -> tuple[TopicPartition, ...]:
        """What to ask for now: once more what was asked for without an answer, else all wanted."""
        if not self._asked:
            self._asked, self._wanted = self._wanted, {}
        return tuple(self._asked)

    def agreed(self) -> None:
        """What was asked for takes part."""
        self._added.update(self._asked)
        self._asked.clear()

    def refused(self) -> None:
        """What was asked for does not take part."""
        self._asked.clear()

    def drop_wanted(self) -> None:
        """What was not asked for never will be: the transaction is aborted."""
        self._wanted.clear()

    def clear(self) -> None:
        """The transaction has ended, and with it everything that was asked for."""
        self._added.clear()
        self._wanted.clear()
