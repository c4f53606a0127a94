"""The reference producer and consumer over TCP, with asyncio.

    async with Producer("localhost:9092", {"linger.ms": 20}) as producer:
        metadata = await producer.send("topic", b"value", key=b"key")

Configuration is by Kafka's own names (`reference_impl/client/config.py`). Errors are ClientError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Self

from reference_impl.client import calls
from reference_impl.client.producer import Producer as ProducerMachine
from reference_impl.client.values import (
    ConsumerGroupMetadata,
    Header,
    OffsetAndMetadata,
    ProducerRecord,
    RecordMetadata,
    TopicPartition,
)
from reference_impl.host.client_driver import ClientDriver


class Producer:
    """A producer for one event loop; make it inside the loop, and close it."""

    def __init__(
        self, bootstrap: str, config: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        settings = {"bootstrap.servers": bootstrap, **(config or {})}
        self.machine = ProducerMachine(settings, Random(seed))
        self._driver = ClientDriver(self.machine)

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
    ) -> asyncio.Future[RecordMetadata]:
        """Hand a record over; the future is done when it is acknowledged or has failed."""
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
        """Send a record and wait until it is acknowledged."""
        return await self.send_soon(
            topic,
            value,
            key=key,
            partition=partition,
            timestamp_ms=timestamp_ms,
            headers=headers,
        )

    async def flush(self) -> None:
        """Wait until everything sent so far is settled, without lingering."""
        await self._driver.call(calls.Flush())

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of a topic."""
        partitions: list[int] = await self._driver.call(calls.PartitionsFor(topic))
        return partitions

    async def init_transactions(self) -> None:
        """Fence predecessors with the same transactional.id."""
        await self._driver.call(calls.InitTransactions())

    async def begin_transaction(self) -> None:
        """Every record sent from here on is part of the transaction."""
        await self._driver.call(calls.BeginTransaction())

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        """Commit a consumer's offsets together with the transaction."""
        await self._driver.call(calls.SendOffsetsToTransaction(offsets, group))

    async def commit_transaction(self) -> None:
        """Send what waits, and commit."""
        await self._driver.call(calls.CommitTransaction())

    async def abort_transaction(self) -> None:
        """Drop what waits, and abort."""
        await self._driver.call(calls.AbortTransaction())

    async def close(self, timeout_ms: int = 30_000) -> None:
        """Send what waits, within this time; an open transaction is aborted."""
        await self._driver.call(calls.Close(timeout_ms))
        self._driver.close()
