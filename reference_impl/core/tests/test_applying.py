"""Only `Broker.apply` applies metadata records, and only committed ones."""

from __future__ import annotations

import pytest

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_delta import MetadataDelta, Part
from reference_impl.core.controller.image.metadata_image import (
    _ACTIONS,
    WITHOUT_EFFECT,
    MetadataImage,
)
from reference_impl.core.controller.records import (
    config_record,
    new_partition,
    new_topic,
    removed_topic,
)
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.metadata.publishing import IN_FORCE, LOOKED_UP
from reference_impl.core.tests.test_topics import create
from reference_impl.core.tests.world import START_MS, World
from reference_impl.wire import ApiKey, Struct, definition
from reference_impl.wire.messages import table

BEGIN, END, ABORT = (
    definition(f"{what}TransactionRecord").new() for what in ("Begin", "End", "Abort")
)


def replayed(*batches: list[Struct]) -> World:
    """Return a node that has found these batches at the end of its metadata log."""
    world = World()
    for batch in batches:
        world.node.broker.quorum.append(batch, START_MS)
    world.kill()
    return world


def topic_records(world: World, name: str) -> list[Struct]:
    topic_id = world.node.broker.random_uuid()
    return [new_topic(name, topic_id), new_partition(topic_id, 0, [1])]


def test_each_part_is_acted_upon_or_looked_up() -> None:
    assert not IN_FORCE.keys() & LOOKED_UP.keys()
    assert IN_FORCE.keys() | LOOKED_UP.keys() == set(Part)


def test_each_metadata_record_of_kafka_is_applied_or_named_with_a_reason() -> None:
    records = {
        name
        for name, row in table().items()
        if row["type"] == "metadata" and not name.startswith("Remote")
    }
    assert not _ACTIONS.keys() & WITHOUT_EFFECT.keys()
    assert records == _ACTIONS.keys() | WITHOUT_EFFECT.keys()


def test_a_record_that_the_image_does_not_know_stops_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.node.broker.quorum.append([config_record(4, "", "a", "1")], START_MS)
    monkeypatch.delitem(_ACTIONS, "ConfigRecord")
    with pytest.raises(CorruptLog, match="at offset 1 cannot be understood: ConfigRecord"):
        world.kill()


def test_what_is_written_and_not_committed_is_not_in_force(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    broker = world.node.broker
    monkeypatch.setattr(broker.quorum, "commit", lambda: None)
    broker.controller.write(topic_records(world, "t"))
    assert "t" in broker.controller.image.topics
    assert "t" not in broker.image.topics
    assert broker.replicas.get("t", 0) is None
    monkeypatch.undo()
    broker.quorum.commit()
    assert broker.image.topics["t"].partitions == broker.controller.image.topics["t"].partitions
    assert broker.replicas.get("t", 0) is not None


def test_a_new_leadership_begins_another_epoch_of_an_open_partition() -> None:
    world = World()
    create(world)
    broker = world.node.broker
    partition = broker.led_partition("t", None, 0)
    before = partition.leader_epoch
    leadership = definition("PartitionChangeRecord").new(
        topic_id=partition.topic_id, partition_id=0, leader=broker.node_id, isr=[broker.node_id]
    )
    broker.controller.write([leadership])
    assert partition.leader_epoch == partition.log.latest_epoch == before + 1
    assert broker.led_partition("t", None, 0) is partition


def test_a_node_puts_what_it_replays_in_force_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    create(world)
    deltas: list[MetadataDelta] = []
    apply = Broker.apply

    def counted(broker: Broker, delta: MetadataDelta) -> None:
        deltas.append(delta)
        apply(broker, delta)

    monkeypatch.setattr(Broker, "apply", counted)
    world.restart()
    (at_once, registered, unfenced) = deltas
    for delta in (at_once, registered, unfenced):
        assert [list(indexes) for indexes in delta.partitions.values()] == [[0]]


def test_a_topic_that_was_made_and_removed_is_in_no_delta() -> None:
    topic_id = World().node.broker.random_uuid()
    delta = MetadataDelta(MetadataImage())
    delta.apply([new_topic("t", topic_id), new_partition(topic_id, 0, [1])], 2)
    delta.apply([removed_topic(topic_id)], 3)
    assert not (delta.new_topics or delta.removed_topics or delta.partitions)
    assert delta.image.end_offset == 3


@pytest.mark.parametrize(("end", "expected"), [([END], {"t"}), ([ABORT], set()), ([], set())])
def test_records_of_a_metadata_transaction_count_when_it_has_ended(
    end: list[Struct], expected: set[str]
) -> None:
    records = topic_records(World(), "t")
    world = replayed([BEGIN, records[0]], [*records[1:], *end])
    broker = world.node.broker
    assert broker.image.topics.keys() == broker.controller.image.topics.keys() == expected
    create(world, name="later")
    world.kill()
    assert world.node.broker.image.topics.keys() == {*expected, "later"}


@pytest.mark.parametrize("bounds", [[BEGIN, BEGIN], [END], [ABORT]])
def test_metadata_transactions_that_overlap_stop_the_node(bounds: list[Struct]) -> None:
    with pytest.raises(CorruptLog, match="TransactionRecord"):
        replayed(bounds)


def test_the_controller_and_the_broker_know_the_same_once_all_is_committed() -> None:
    world = World({"auto.create.topics.enable": "true"})
    create(world, num_partitions=3)
    world.kill()
    create(world, name="u")
    broker = world.node.broker
    broker.controller.write([config_record(2, "u", "retention.ms", "1000")])
    world.call(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, producer_id=-1)
    known, decided = vars(broker.image), vars(broker.controller.image)
    same = known.keys() - {"newest_topic_offset"}  # it is the broker's alone
    for name in same:
        if type(known[name]).__module__ == "builtins":
            assert known[name] == decided[name], name
    assert known["topics"]["t"].partitions[2].leader_epoch == 2
    assert known["topics"]["u"].configs == {"retention.ms": "1000"}
    assert known["next_producer_id"] == 1000


def test_a_node_opens_and_leads_its_own_partitions_alone() -> None:
    world = World()
    topic_id = world.node.broker.random_uuid()
    ours, other = new_partition(topic_id, 0, [1]), new_partition(topic_id, 1, [2])
    world.node.broker.controller.write([new_topic("t", topic_id), ours, other])
    assert world.node.broker.replicas.unopened() == [("t", 0)]
    world.kill()
    partitions = world.node.broker.image.topics["t"].partitions
    assert [(p.leader, p.leader_epoch) for p in partitions.values()] == [(1, 2), (2, 0)]
    assert [p.index for p in world.node.broker.replicas] == [0]
