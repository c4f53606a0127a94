"""Helpers of tests over TCP: topics of their own, records to be read, a listener."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from reference_impl.client.values import ConsumerRecord, TopicPartition
from reference_impl.host.clients import Consumer, Producer

PATIENCE_S = 180
EARLIEST = {"auto.offset.reset": "earliest"}


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), PATIENCE_S))


def fresh(name: str) -> str:
    """Return a topic, group or id that no test has used."""
    return f"{name}-{uuid4().hex[:8]}"


def partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for index in range(3)]


async def fill(bootstrap: str, topic: str, count: int, **config: Any) -> list[bytes]:
    """Send `count` records, with keys, and return their values."""
    sent = [b"%d" % number for number in range(count)]
    settings = {name.replace("_", "."): value for name, value in config.items()}
    async with Producer(bootstrap, settings) as producer:
        await asyncio.gather(
            *(producer.send_soon(topic, v, key=v, headers=[("h", v), ("n", None)]) for v in sent)
        )
    return sent


async def read(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """Poll until at least `count` records have arrived, and return them."""
    records: list[ConsumerRecord] = []
    while len(records) < count:
        records += await consumer.poll(500)
    return records


async def go_on_alone(
    bootstrap: str,
    topic: str,
    members: tuple[Consumer, Consumer],
    sent: list[bytes],
    records: list[ConsumerRecord],
) -> None:
    """Let the first of two members leave; require that the other gets every partition, and that
    each record was read once."""
    one, two = members
    sent = sent + await fill(bootstrap, topic, 60)
    await one.close()
    while len(records) < len(sent):
        records = records + await two.poll(200)
    assert sorted(two.assignment) == partitions(topic)
    await two.close()
    assert sorted(record.value or b"" for record in records) == sorted(sent)


class Diary:
    """A listener which commits what it is about to lose."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.lines: list[tuple[str, int]] = []

    async def on_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.lines.append(("assigned", len(partitions)))

    async def on_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        await self._consumer.commit()
        self.lines.append(("revoked", len(partitions)))

    async def on_lost(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.lines.append(("lost", len(partitions)))
