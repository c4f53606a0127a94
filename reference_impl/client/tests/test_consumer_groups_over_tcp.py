"""Members by KIP-848 over TCP, against the reference broker and against Apache Kafka."""

from __future__ import annotations

import asyncio

import pytest

from reference_impl.client.errors import ClientError
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
from reference_impl.client.values import ConsumerRecord, TopicPartition
from reference_impl.host.clients import Consumer

SETTINGS = {"group.protocol": "consumer", **EARLIEST}


@pytest.mark.parametrize("assignor", [None, "uniform", "range"])
def test_two_members_share_a_topic_and_one_takes_over(bootstrap: str, assignor: str | None) -> None:
    async def test() -> None:
        topic = fresh("share")
        sent = await fill(bootstrap, topic, 60)
        settings = {"group.id": topic, **SETTINGS}
        if assignor is not None:
            settings["group.remote.assignor"] = assignor
        one, two = Consumer(bootstrap, settings), Consumer(bootstrap, settings)
        await one.subscribe([topic])
        records: list[ConsumerRecord] = await read(one, 60)
        kept = set(one.assignment)
        epoch = one.group_metadata.generation_id
        await two.subscribe([topic])
        while sorted(one.assignment + two.assignment) != partitions(topic) or not two.assignment:
            assert not set(one.assignment) & set(two.assignment)
            for polled in await asyncio.gather(one.poll(200), two.poll(200)):
                records += polled
        assert set(one.assignment) < kept
        assert two.group_metadata.generation_id > epoch
        await go_on_alone(bootstrap, topic, (one, two), sent, records)

    run(test)


def test_a_listener_can_commit_what_is_revoked(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("listener")
        await fill(bootstrap, topic, 30)
        settings = {"group.id": topic, "enable.auto.commit": False, **SETTINGS}
        first, second = Consumer(bootstrap, settings), Consumer(bootstrap, settings)
        diary = Diary(first)
        await first.subscribe([topic], diary)
        await read(first, 30)
        await second.subscribe([topic])
        while not second.assignment:
            records, again = await asyncio.gather(first.poll(100), second.poll(100))
            assert not records
            assert not again  # what was read is committed before it is given
        assert diary.lines[:2] == [("assigned", 3), ("revoked", len(second.assignment))]
        await first.close()
        await second.close()
        async with Consumer(bootstrap, settings) as successor:
            committed = await successor.committed(partitions(topic))
        assert sum(offset.offset for offset in committed.values()) == 30

    run(test)


def test_a_static_member_comes_back_to_what_it_had(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("static")
        await fill(bootstrap, topic, 10)
        settings = {"group.id": topic, "group.instance.id": "one", **SETTINGS}
        before = Consumer(bootstrap, settings)
        await before.subscribe([topic])
        await read(before, 10)
        epoch = before.group_metadata.generation_id
        async with Consumer(bootstrap, settings) as double:
            await double.subscribe([topic])
            with pytest.raises(ClientError, match="UNRELEASED_INSTANCE_ID"):
                await double.poll(10_000)
        await before.close()
        await fill(bootstrap, topic, 10)
        async with Consumer(bootstrap, settings) as after:
            await after.subscribe([topic])
            assert len(await read(after, 10)) == 10
            assert after.group_metadata.generation_id == epoch

    run(test)


def test_a_crashed_member_is_fenced_and_another_goes_on(bootstrap: str) -> None:
    async def test() -> None:
        topic = fresh("crash")
        await fill(bootstrap, topic, 10)
        settings = {"group.id": topic, "enable.auto.commit": False, **SETTINGS}
        crashing = Consumer(bootstrap, settings)
        await crashing.subscribe([topic])
        await read(crashing, 10)
        crashing.crash()
        async with Consumer(bootstrap, settings) as successor:
            await successor.subscribe([topic])
            assert len(await read(successor, 10)) == 10

    run(test)


def test_a_pattern_finds_topics(bootstrap: str) -> None:
    async def test() -> None:
        name = fresh("pattern")
        wanted, other = f"{name}-wanted", f"{name}-other"
        await fill(bootstrap, wanted, 10)
        await fill(bootstrap, other, 10)
        async with Consumer(bootstrap, {"group.id": name, **SETTINGS}) as consumer:
            await consumer.subscribe_pattern(f"{name}-w.*")
            records = await read(consumer, 10)
            assert {record.topic for record in records} == {wanted}
            assert TopicPartition(other, 0) not in consumer.assignment

    run(test)


def test_a_pattern_that_is_none_is_told(bootstrap: str) -> None:
    async def test() -> None:
        async with Consumer(bootstrap, {"group.id": fresh("bad"), **SETTINGS}) as consumer:
            await consumer.subscribe_pattern("(")
            with pytest.raises(ClientError, match="INVALID_REGULAR_EXPRESSION") as refused:
                await consumer.poll(10_000)
            assert refused.value.fatal

    run(test)
