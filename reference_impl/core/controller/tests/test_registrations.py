"""The image of the nodes, record by record, and what a change of a partition may replace."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from reference_impl.core.controller.image.metadata_delta import MetadataDelta, Part
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.controller.records import new_partition, new_topic
from reference_impl.core.controller.tests.scene import TOPIC as TOPIC_ID
from reference_impl.core.controller.tests.scene import Scene
from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import Malformed, Struct, definition

TOPIC, DIRECTORY = UUID(int=7), UUID(int=100)
REGISTER = definition("RegisterBrokerRecord")


def registered(node_id: int = 2, broker_epoch: int = 10) -> Struct:
    return REGISTER.new(
        broker_id=node_id,
        broker_epoch=broker_epoch,
        incarnation_id=UUID(int=broker_epoch),
        end_points=[REGISTER.struct("BrokerEndpoint", name="PLAINTEXT", host="b2", port=9092)],
        features=[REGISTER.struct("BrokerFeature", name="f", max_supported_version=3)],
        log_dirs=[DIRECTORY],
    )


def changed(**fields: object) -> Struct:
    of = definition("BrokerRegistrationChangeRecord")
    return of.new(**{"broker_id": 2, "broker_epoch": 10, **fields})


def image_of(*records: Struct) -> MetadataImage:
    delta = MetadataDelta(MetadataImage())
    delta.apply(records, len(records))
    return delta.image


def test_a_broker_registers_fenced_and_is_active_once_it_is_unfenced() -> None:
    broker = image_of(registered()).brokers[2]
    assert (broker.fenced, broker.is_active) == (True, False)
    assert broker.listeners == {"PLAINTEXT": Endpoint("b2", 9092)}
    assert broker.rack is None
    assert image_of(registered(), changed(fenced=-1)).brokers[2].is_active


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"in_controlled_shutdown": 1}, {"in_controlled_shutdown": True}),
        ({"fenced": 1}, {"fenced": True}),
        ({"log_dirs": [UUID(int=9)]}, {"log_dirs": (UUID(int=9),)}),
        ({"cordoned_log_dirs": [DIRECTORY]}, {"cordoned_log_dirs": (DIRECTORY,)}),
        ({}, {}),
    ],
)
def test_a_change_of_a_broker_replaces_what_it_names(
    change: dict[str, object], expected: dict[str, object]
) -> None:
    before = image_of(registered(), changed(fenced=-1)).brokers[2]
    after = image_of(registered(), changed(fenced=-1), changed(**change)).brokers[2]
    assert after == replace(before, **expected)  # type: ignore[arg-type]


def test_a_broker_is_cordoned_when_all_its_directories_are() -> None:
    assert not image_of(registered()).brokers[2].is_cordoned
    assert image_of(registered(), changed(cordoned_log_dirs=[DIRECTORY])).brokers[2].is_cordoned


def test_another_incarnation_replaces_the_one_before() -> None:
    image = image_of(registered(), changed(fenced=-1), registered(broker_epoch=20))
    assert (image.brokers[2].broker_epoch, image.brokers[2].fenced) == (20, True)


@pytest.mark.parametrize(
    "record",
    [
        changed(broker_epoch=9),
        changed(broker_id=3),
        definition("FenceBrokerRecord").new(id=2, epoch=9),
        definition("UnfenceBrokerRecord").new(id=3, epoch=10),
        definition("UnregisterBrokerRecord").new(broker_id=2, broker_epoch=11),
    ],
)
def test_a_record_about_a_broker_that_is_not_registered_so_is_malformed(record: Struct) -> None:
    with pytest.raises(Malformed, match=r"no broker \d is registered with epoch"):
        image_of(registered(), record)


def test_the_older_records_fence_unfence_and_remove() -> None:
    unfenced = definition("UnfenceBrokerRecord").new(id=2, epoch=10)
    fenced = definition("FenceBrokerRecord").new(id=2, epoch=10)
    removed = definition("UnregisterBrokerRecord").new(broker_id=2, broker_epoch=10)
    assert not image_of(registered(), unfenced).brokers[2].fenced
    assert image_of(registered(), unfenced, fenced).brokers[2].fenced
    assert not image_of(registered(), removed).brokers


def test_a_controller_is_known_by_its_listeners() -> None:
    of = definition("RegisterControllerRecord")
    row = of.struct("ControllerEndpoint", name="CONTROLLER", host="c3", port=9093)
    record = of.new(controller_id=3, incarnation_id=UUID(int=3), end_points=[row])
    controller = image_of(record).controllers[3]
    assert controller.listeners == {"CONTROLLER": Endpoint("c3", 9093)}


def test_a_change_of_a_partition_replaces_what_it_names_and_keeps_the_rest() -> None:
    topic = definition("TopicRecord").new(name="t", topic_id=TOPIC)
    first = definition("PartitionRecord").new(
        topic_id=TOPIC,
        partition_id=0,
        replicas=[1, 2, 3],
        isr=[1, 2],
        adding_replicas=[3],
        directories=[DIRECTORY] * 3,
        eligible_leader_replicas=[3],
        leader=1,
        leader_epoch=4,
        partition_epoch=6,
    )
    of = definition("PartitionChangeRecord")
    change = of.new(topic_id=TOPIC, partition_id=0, isr=[], leader=-1, last_known_elr=[1])
    before = image_of(topic, first).topics["t"].partitions[0]
    after = image_of(topic, first, change).topics["t"].partitions[0]
    assert after == replace(
        before, isr=(), leader=-1, leader_epoch=5, partition_epoch=7, last_known_elr=(1,)
    )
    assert (before.adding, before.elr, before.is_recovering) == ((3,), (3,), False)
    recovering = of.new(topic_id=TOPIC, partition_id=0, leader_recovery_state=1)
    image = image_of(topic, first, recovering)
    assert image.topics["t"].partitions[0].is_recovering
    cleared = MetadataDelta(image)
    cleared.apply([definition("ClearElrRecord").new(topic_name="t")], 4)
    assert image.topics["t"].partitions[0].elr == ()
    assert cleared.parts == {Part.PARTITIONS}
    assert list(cleared.partitions[TOPIC]) == [0]


def test_a_heartbeat_tells_of_directories_that_take_no_new_partitions() -> None:
    scene = Scene()
    scene.beat(2, cordoned_log_dirs=[UUID(int=1002)])
    assert scene.controller.image.brokers[2].is_cordoned
    end_offset = scene.controller.image.end_offset
    scene.beat(2, cordoned_log_dirs=[UUID(int=1002)])
    scene.beat(2)  # version 1 does not name them
    assert scene.controller.image.end_offset == end_offset
    scene.beat(2, cordoned_log_dirs=[])
    assert not scene.controller.image.brokers[2].is_cordoned


def test_a_replica_in_a_directory_that_has_failed_leaves_the_isr() -> None:
    scene, directories = Scene(), {1: UUID(int=1001), 2: UUID(int=1002)}
    records = [new_topic("t", TOPIC_ID), new_partition(TOPIC_ID, 0, (2, 1), None, directories)]
    scene.controller.write(records)
    scene.beat(2, offline_log_dirs=[UUID(int=9)])
    assert scene.led() == (2, 0, (2, 1), ())
    scene.beat(2, offline_log_dirs=[UUID(int=1002)])
    assert scene.led() == (1, 1, (1,), ())
