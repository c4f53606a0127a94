"""The active controller collects its decisions for controller.quorum.append.linger.ms, and writes
them as one batch (BatchAccumulator.java)."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.controller.records import config_record, new_topic
from reference_impl.core.quorum.batches import accumulator
from reference_impl.core.storage import StorageError
from reference_impl.core.tests.cluster import Cluster
from reference_impl.core.tests.hostile_quorum import Schedule
from reference_impl.core.tests.test_applying import topic_records
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, read_header, request_definition

LINGER = "controller.quorum.append.linger.ms"
LINGER_MS = 25
CREATE = request_definition(ApiKey.CREATE_TOPICS)


def lingering(ms: int = LINGER_MS) -> World:
    """Return a started node whose controller collects decisions for this time."""
    world = World({LINGER: str(ms)})
    world.wait(5_000)
    assert world.node.broker.is_unfenced
    return world


def topic_body(name: str) -> Struct:
    row = CREATE.struct("CreatableTopic", name=name, num_partitions=1, replication_factor=1)
    return CREATE.new(topics=[row])


def create(world: World, name: str, client: int = 1) -> int:
    return world.send(ApiKey.CREATE_TOPICS, 7, topic_body(name), client)


def code_of(world: World, number: int) -> int | None:
    """Return the error code in the answer, or None if it has not come."""
    answer = world.answer_to(number)
    return None if answer is None else answer.topics[0].error_code


def batches_since(world: World, offset: int) -> list[int]:
    """Return the number of records of each batch in the metadata log from this offset on."""
    headers = [read_header(data) for data in world.node.broker.quorum.log.log.batches(offset)]
    return [header.last_offset - header.base_offset + 1 for header in headers]


def test_by_default_nothing_is_collected() -> None:
    assert BrokerConfig.of({}).number(LINGER) == 0


def test_decisions_of_one_time_are_one_batch_and_are_answered_together() -> None:
    world = lingering()
    before = world.node.broker.quorum.end_offset
    numbers = [create(world, name, client) for client, name in enumerate(("a", "b", "a"), 1)]
    world.wait(LINGER_MS - 1)
    assert world.node.broker.quorum.end_offset == before
    assert not world.node.broker.image.topics
    assert [code_of(world, number) for number in numbers] == [None, None, None]
    world.wait(1)
    # Each decision saw those before it, although none was in the log.
    expected = [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]
    assert [code_of(world, number) for number in numbers] == expected
    assert batches_since(world, before) == [4]  # a topic and a partition, twice
    assert set(world.node.broker.image.topics) == {"a", "b"}


def test_the_time_begins_with_the_first_decision_of_each_batch() -> None:
    world = lingering()
    before = world.node.broker.quorum.end_offset
    for client, (name, wait_ms) in enumerate((("a", 10), ("b", 14), ("c", 11)), 1):
        create(world, name, client)
        assert batches_since(world, before) == []
        world.wait(wait_ms)
    assert batches_since(world, before) == [6]
    last = create(world, "d")
    world.wait(LINGER_MS - 1)
    assert code_of(world, last) is None
    world.wait(1)
    assert code_of(world, last) == ErrorCode.NONE
    assert batches_since(world, before) == [6, 2]


def test_a_full_batch_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = lingering()
    controller, before = world.node.broker.controller, world.node.broker.quorum.end_offset
    monkeypatch.setattr(accumulator, "BATCH_BYTES_MAX", 3_000)
    ends = [controller.write([config_record(4, "", f"k{n}", "v" * 900)]) for n in range(3)]
    assert batches_since(world, before) == []
    ends.append(controller.write([config_record(4, "", "k3", "v" * 900)]))
    assert batches_since(world, before) == [3, 1]
    assert ends == [before + 1, before + 2, before + 3, before + 4]
    assert world.node.broker.image.end_offset == before + 4


def test_a_control_record_comes_after_the_decisions_before_it() -> None:
    world = lingering()
    quorum, controller = world.node.broker.quorum, world.node.broker.controller
    before = quorum.end_offset
    controller.write(topic_records(world, "a"))
    quorum.change_voters(quorum.voters)
    assert batches_since(world, before) == [2, 2]
    assert controller.write(topic_records(world, "b")) == before + 6
    world.settle()
    world.wait(LINGER_MS)
    assert batches_since(world, before) == [2, 2, 2]
    assert set(world.node.broker.image.topics) == {"a", "b"}


def test_no_linger_writes_each_decision_at_once() -> None:
    world = lingering(0)
    before = world.node.broker.quorum.end_offset
    assert code_of(world, create(world, "a")) == ErrorCode.NONE
    assert code_of(world, create(world, "b")) == ErrorCode.NONE
    assert batches_since(world, before) == [2, 2]


def test_what_was_not_written_is_lost_with_the_process() -> None:
    world = lingering()
    create(world, "a")
    world.kill()
    world.wait(5_000)
    assert not world.node.broker.image.topics
    number = create(world, "a")
    world.wait(LINGER_MS)
    assert code_of(world, number) == ErrorCode.NONE


def test_what_was_not_written_is_lost_with_the_leadership() -> None:
    cluster = Cluster(voters=3, configs={LINGER: "1000"})
    cluster.run(10_000)
    leader = next(n for n, each in cluster.nodes.items() if each.broker.quorum.is_leader)
    broker = cluster.nodes[leader].broker
    end_offset = broker.controller.write([new_topic("a", broker.random_uuid())])
    assert "a" in broker.controller.image.topics
    assert broker.quorum.end_offset < end_offset == broker.controller.image.end_offset
    broker.quorum.resign()
    assert "a" not in broker.controller.image.topics
    assert broker.controller.image.end_offset == broker.quorum.high_watermark
    cluster.run(10_000)
    for each in cluster.nodes.values():
        assert each.broker.image.end_offset >= end_offset, "another leader has begun since"
        assert "a" not in each.broker.image.topics


def test_a_disk_that_takes_no_records_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = lingering()
    controller, before = world.node.broker.controller, world.node.broker.quorum.end_offset

    def refuse(path: str, size: int) -> None:
        raise StorageError(path, "no space left on the disk", no_space=True)

    number = create(world, "a")
    with monkeypatch.context() as full:
        full.setattr(world.storage, "charge", refuse)
        world.wait(10 * LINGER_MS)
        assert [each for each in world.reports if "takes no records" in each] == [world.reports[-1]]
        # Until it works again, a decision is refused at once.
        with pytest.raises(StorageError):
            controller.write(topic_records(world, "b"))
        assert "b" not in controller.image.topics
    assert code_of(world, number) is None
    world.wait(LINGER_MS)
    assert code_of(world, number) == ErrorCode.NONE
    assert batches_since(world, before) == [2]
    number = create(world, "b")
    assert code_of(world, number) is None
    world.wait(LINGER_MS)
    assert code_of(world, number) == ErrorCode.NONE


@pytest.mark.parametrize("linger_ms", [25, 400])
def test_a_quorum_that_collects_decisions_keeps_its_promises(linger_ms: int) -> None:
    schedule = Schedule(linger_ms, 3, configs={LINGER: str(linger_ms)})
    schedule.run(seconds=15)
    assert len(schedule.watcher.committed) > 5
