"""Producer and consumer over TCP, against the reference broker and against Apache Kafka."""

from __future__ import annotations

import asyncio
import time

import pytest

from reference_impl.client.errors import ClientError, Refusal
from reference_impl.client.group.classic.assignors import ASSIGNORS
from reference_impl.client.tests.tcp import (
    EARLIEST,
    Diary,
    fill,
    fresh,
    go_on_alone,
    partitions,
    read,
    run,
)
from reference_impl.client.values import (
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TimestampType,
    TopicPartition,
)
from reference_impl.host.client_driver import ClientDriver
from reference_impl.host.clients import Consumer, Producer
from reference_impl.wire import ApiKey, Struct

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_sent_with_a_codec_is_read_by_a_group(bootstrap: str, codec: str) -> None:
    async def test() -> None:
        topic = fresh("codec")
        before_ms = time.time_ns() // 1_000_000
        sent = await fill(bootstrap, topic, 100, compression_type=codec)
        async with Consumer(bootstrap, {"group.id": topic, **EARLIEST}) as consumer:
            await consumer.subscribe([topic])
            records = await read(consumer, 100)
        assert sorted(record.value or b"" for record in records) == sorted(sent)
        for record in records:
            assert record.key == record.value
            assert record.headers == (("h", record.value), ("n", None))
            assert record.timestamp_type is TimestampType.CREATE_TIME
            assert before_ms <= record.timestamp_ms <= time.time_ns() // 1_000_000
        async with Consumer(bootstrap, {"group.id": topic}) as successor:
            committed = await successor.committed(partitions(topic))
        assert sum(offset.offset for offset in committed.values()) == 100

    run(test)


class ForgetfulDriver(ClientDriver):
    """Loses the connection with every third answer to Produce: the broker has acted on it."""

    produced = 0
    forgotten = 0

    def answered(self, request_id: int, body: Struct | None) -> None:
        if body is not None and type(body).__name__ == "ProduceResponse":
            self.produced += 1
            if self.produced % 3 == 1:
                self.forgotten += 1
                for destination, connection in list(self._connections._open.items()):
                    connection.abandon()
                    self._connections.lost(destination, "the test has lost the answer")
                return
        super().answered(request_id, body)


def test_a_retry_is_not_a_second_copy(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("retry")
        producer = Producer(
            bootstrap,
            {"linger.ms": 0, "retry.backoff.ms": 5, "reconnect.backoff.ms": 1, "batch.size": 100},
        )
        driver = producer._driver = ForgetfulDriver(producer.machine)
        # Alone: of a producer which it does not know a broker takes any first sequence, so a leader
        # that is just being made may refuse the first batch and take the second
        # (ProducerAppendInfo.checkSequence).
        await producer.send_soon(topic, b"0", partition=0)
        for first in range(1, 100, 11):
            values = range(first, first + 11)
            futures = [producer.send_soon(topic, b"%d" % value, partition=0) for value in values]
            await asyncio.gather(*futures)
        await producer.close()
        assert driver.forgotten > 3
        async with Consumer(bootstrap, EARLIEST) as consumer:
            await consumer.assign([TopicPartition(topic, 0)])
            records = await read(consumer, 100)
            ends = await consumer.end_offsets([TopicPartition(topic, 0)])
        assert [int(record.value or b"") for record in records] == list(range(100))
        assert list(ends.values()) == [100]

    run(test)


@pytest.mark.parametrize("strategy", ASSIGNORS)
def test_two_members_share_a_topic_and_one_takes_over(bootstrap: str, strategy: str) -> None:
    async def test() -> None:
        topic = fresh("share")
        sent = await fill(bootstrap, topic, 60)
        settings = {
            "group.id": topic,
            "partition.assignment.strategy": strategy,
            "heartbeat.interval.ms": 100,
            **EARLIEST,
        }
        one, two = Consumer(bootstrap, settings), Consumer(bootstrap, settings)
        records: list[ConsumerRecord] = []
        await one.subscribe([topic])
        records += await read(one, 60)
        kept = set(one.assignment)
        await two.subscribe([topic])
        while sorted(one.assignment + two.assignment) != partitions(topic) or not two.assignment:
            for polled in await asyncio.gather(one.poll(200), two.poll(200)):
                records += polled
        if strategy in ("StickyAssignor", "CooperativeStickyAssignor"):
            assert set(one.assignment) < kept
        await go_on_alone(bootstrap, topic, (one, two), sent, records)

    run(test)


def test_a_listener_can_commit_what_is_revoked(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("listener")
        await fill(bootstrap, topic, 30)
        settings = {"group.id": topic, "enable.auto.commit": False, **EARLIEST}
        consumer = Consumer(bootstrap, settings)
        diary = Diary(consumer)
        await consumer.subscribe([topic], diary)
        await read(consumer, 30)
        await consumer.close()
        assert diary.lines == [("assigned", 3), ("revoked", 3)]
        async with Consumer(bootstrap, settings) as successor:
            committed = await successor.committed(partitions(topic))
        assert sum(offset.offset for offset in committed.values()) == 30

    run(test)


def test_a_static_member_comes_back_without_a_rebalance(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("static")
        await fill(bootstrap, topic, 10)
        settings = {"group.id": topic, "group.instance.id": "one", **EARLIEST}
        before = Consumer(bootstrap, settings)
        await before.subscribe([topic])
        await read(before, 10)
        generation = before.group_metadata.generation_id
        await before.close()
        await fill(bootstrap, topic, 10)
        async with Consumer(bootstrap, settings) as after:
            await after.subscribe([topic])
            assert len(await read(after, 10)) == 10
            assert after.group_metadata.generation_id == generation

    run(test)


def test_consume_transform_produce_is_exactly_once(bootstrap: str) -> None:
    async def test() -> None:
        source, sink = fresh("source"), fresh("sink")
        sent = await fill(bootstrap, source, 100)
        consuming = {
            "group.id": source,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            **EARLIEST,
        }
        producer = Producer(bootstrap, {"transactional.id": source})
        consumer = Consumer(bootstrap, consuming)
        await producer.init_transactions()
        await consumer.subscribe([source])
        done, turn = 0, 0
        while done < 100:
            records = await consumer.poll(500, max_records=17)
            if not records:
                continue
            turn += 1
            await producer.begin_transaction()
            for record in records:
                producer.send_soon(sink, record.value)
            await producer.send_offsets_to_transaction(
                consumer.positions(), consumer.group_metadata
            )
            if turn % 3 == 1:
                await producer.flush()
                await producer.abort_transaction()
                committed = await consumer.committed(consumer.assignment)
                for partition in consumer.assignment:
                    offset = committed.get(partition, OffsetAndMetadata(0)).offset
                    await consumer.seek(partition, offset)
            else:
                await producer.commit_transaction()
                done += len(records)
        await consumer.close()
        await producer.close()
        for isolation in ("read_committed", "read_uncommitted"):
            async with Consumer(bootstrap, {**EARLIEST, "isolation.level": isolation}) as reader:
                await reader.assign(partitions(sink))
                values = await values_to_the_end(reader, sink)
            if isolation == "read_committed":
                assert sorted(values) == sorted(sent)
            else:
                assert len(values) > len(sent)

    run(test)


async def values_to_the_end(reader: Consumer, topic: str) -> list[bytes]:
    ends = await reader.end_offsets(partitions(topic))
    values: list[bytes] = []
    while [each for each, end in ends.items() if await reader.position(each) < end]:
        values += [record.value or b"" for record in await reader.poll(200)]
    return values


def test_a_successor_fences_its_predecessor(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("fence")
        settings = {"transactional.id": topic}
        zombie, successor = Producer(bootstrap, settings), Producer(bootstrap, settings)
        await zombie.init_transactions()
        await zombie.begin_transaction()
        await zombie.send(topic, b"zombie", partition=0)
        await successor.init_transactions()
        with pytest.raises(Refusal, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED") as fenced:
            await zombie.commit_transaction()
        assert fenced.value.fatal
        await successor.begin_transaction()
        await successor.send(topic, b"good", partition=0)
        await successor.commit_transaction()
        async with Consumer(bootstrap, {**EARLIEST, "isolation.level": "read_committed"}) as reader:
            await reader.assign([TopicPartition(topic, 0)])
            assert [record.value for record in await read(reader, 1)] == [b"good"]
        await zombie.close()
        await successor.close()

    run(test)


def test_seek_pause_and_times(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("seek")
        here, there = TopicPartition(topic, 0), TopicPartition(topic, 1)
        async with Producer(bootstrap) as producer:
            for number in range(10):
                for partition in (0, 1):
                    value = b"%d" % number
                    await producer.send(
                        topic, value, partition=partition, timestamp_ms=1_000_000 + number
                    )
        async with Consumer(bootstrap, {**EARLIEST, "fetch.max.wait.ms": 50}) as consumer:
            await consumer.assign([here, there])
            await consumer.pause([there])
            await consumer.seek(here, 7)
            assert [record.offset for record in await read(consumer, 3)] == [7, 8, 9]
            await consumer.resume([there])
            assert {record.partition for record in await read(consumer, 10)} == {1}
            found = await consumer.offsets_for_times({here: 1_000_004, there: 2_000_000})
            assert found == {here: OffsetAndTimestamp(4, 1_000_004, 0), there: None}
            await consumer.seek_to_beginning([here])
            assert await consumer.position(here) == 0
            await consumer.seek_to_end([here])
            assert await consumer.position(here) == 10
            assert await consumer.beginning_offsets([here]) == {here: 0}

    run(test)


def test_without_a_reset_policy_the_application_must_say_where_to_begin(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("none")
        await fill(bootstrap, topic, 10)
        settings = {"group.id": topic, "auto.offset.reset": "none"}
        async with Consumer(bootstrap, settings) as consumer:
            await consumer.assign([TopicPartition(topic, 0)])
            with pytest.raises(ClientError, match="has no committed offset"):
                await consumer.poll(10_000)
            await consumer.seek(TopicPartition(topic, 0), 1_000_000)
            with pytest.raises(ClientError, match="has no offset 1000000"):
                while True:
                    await consumer.poll(10_000)

    run(test)


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_acks(bootstrap: str, acks: int | str) -> None:
    async def test() -> None:
        topic = fresh("acks")
        async with Producer(bootstrap, {"acks": acks}) as producer:
            sent = await producer.send(topic, b"v", partition=0)
        assert sent.offset == (-1 if acks == 0 else 0)
        async with Consumer(bootstrap, EARLIEST) as consumer:
            await consumer.assign([TopicPartition(topic, 0)])
            assert [record.value for record in await read(consumer, 1)] == [b"v"]

    run(test)


def test_the_newest_versions_are_spoken(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("versions")
        producer = Producer(bootstrap)
        await producer.send(topic, b"v")
        versions = next(iter(producer.machine._network._links.values())).versions
        assert versions is not None
        assert versions.best(ApiKey.PRODUCE) == 13
        assert versions.best(ApiKey.PRODUCE, version_max=12) == 12
        assert versions.best(ApiKey.PRODUCE, version_min=14) is None
        await producer.close()

    run(test)
