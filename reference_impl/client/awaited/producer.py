"""The producer with methods that an application awaits."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Self

from reference_impl.client import calls
from reference_impl.client.awaited.driver import Drive
from reference_impl.client.effects import PartitionsChanged
from reference_impl.client.producer import Producer as ProducerMachine
from reference_impl.client.values import (
    ConsumerGroupMetadata,
    Header,
    OffsetAndMetadata,
    ProducerRecord,
    RecordMetadata,
    TopicPartition,
)


class Producer:
    """The producer of an application that awaits its calls: each method makes one call of the state
    machine, and raises the ClientError with which that fails. It must be closed."""

    def __init__(self, machine: ProducerMachine, drive: Drive) -> None:
        self.machine = machine
        self._driver = drive(machine, _ignore)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def send_soon(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[Header] = (),
    ) -> Awaitable[RecordMetadata]:
        """Hand a record over. The returned future is done when the record is acknowledged or has
        failed. Without a partition the partitioner chooses one; without a time the record gets the
        present one."""
        record = ProducerRecord(topic, value, key, partition, timestamp_ms, headers)
        return self._driver.call(calls.Send(record))

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[Header] = (),
    ) -> RecordMetadata:
        """Send a record as `send_soon` does, wait until it is acknowledged, and return its place in
        the log. Raise SendError if it fails."""
        return await self.send_soon(
            topic, value, key=key, partition=partition, timestamp_ms=timestamp_ms, headers=headers
        )

    async def flush(self) -> None:
        """Wait until everything sent so far is settled, without lingering."""
        await self._driver.call(calls.Flush())

    async def partitions_for(self, topic: str) -> list[int]:
        """Wait until the partitions of a topic are known, and return their sorted numbers."""
        partitions: list[int] = await self._driver.call(calls.PartitionsFor(topic))
        return partitions

    async def init_transactions(self) -> None:
        """Fence predecessors with the same transactional.id, and end what they left open. Await
        this before the first transaction."""
        await self._driver.call(calls.InitTransactions())

    @property
    def identity(self) -> tuple[int, int]:
        """Return the producer's id and epoch from InitProducerId, -1 each before that."""
        writer = self.machine.identity
        return writer.producer_id, writer.epoch

    async def begin_transaction(self) -> None:
        """Begin a transaction, which includes every record sent from here on."""
        await self._driver.call(calls.BeginTransaction())

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        """Add a consumer's offsets to the transaction: they are committed if, and only if, it
        is."""
        await self._driver.call(calls.SendOffsetsToTransaction(offsets, group))

    async def commit_transaction(self) -> None:
        """Send the waiting records, and commit."""
        await self._driver.call(calls.CommitTransaction())

    async def abort_transaction(self) -> None:
        """Drop the waiting records, and abort."""
        await self._driver.call(calls.AbortTransaction())

    async def close(self, timeout_ms: int = 30_000) -> None:
        """Abort an open transaction, or send the waiting records, within this time; then fail what
        is not settled, and drop the connections. No call may follow."""
        await self._driver.call(calls.Close(timeout_ms))
        self._driver.close()

    def crash(self) -> None:
        """Stop as a crash would: the coordinator or a successor must end an open transaction."""
        self._driver.close()


def _ignore(_: PartitionsChanged) -> None:
    """Do nothing: a producer has no partitions."""
