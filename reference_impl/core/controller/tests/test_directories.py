"""The controller knows in which directory each replica lies, and lets none lead that is lost."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from reference_impl.core.controller.image.registrations import LOST, UNASSIGNED
from reference_impl.core.controller.leaders.broker_changes import register_broker
from reference_impl.core.controller.leaders.directory_changes import assign
from reference_impl.core.controller.tests.scene import TOPIC, Scene
from reference_impl.core.controller.topic_changes import plan_topic, publish_topic
from reference_impl.wire import ErrorCode

UNCLEAN = {"unclean.leader.election.enable": "true"}
OTHER = UUID(int=2_001)
"""The second directory of broker 1."""


def scene_of(*replicas: int, config: dict[str, str] | None = None) -> Scene:
    scene = Scene(config=config)
    scene.make(*replicas)
    return scene


def own(broker: int) -> UUID:
    return UUID(int=1000 + broker)


def assigned(
    scene: Scene,
    broker: int,
    directory: UUID,
    *,
    topic: UUID = TOPIC,
    indexes: Sequence[int] = (0,),
) -> list[ErrorCode]:
    known = scene.controller.image.brokers[broker]
    return assign(scene.controller, known, directory, topic, indexes)


def test_only_replicas_that_the_broker_has_get_a_directory() -> None:
    scene = scene_of(1, 2)
    assert assigned(scene, 1, own(1), topic=UUID(int=8)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    found = assigned(scene, 1, own(1), indexes=(0, 5))
    assert found == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert assigned(scene, 3, own(3)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert scene.state.directories == (own(1), UNASSIGNED)
    before = scene.controller.image.end_offset
    assert assigned(scene, 1, own(1)) == [ErrorCode.NONE]
    assert scene.controller.image.end_offset == before, "it lies there already"


@pytest.mark.parametrize("directory", [LOST, OTHER])
def test_a_replica_in_a_directory_that_its_broker_lacks_does_not_lead(directory: UUID) -> None:
    scene = scene_of(1, 2, 3)
    assert assigned(scene, 1, directory) == [ErrorCode.NONE]
    assert scene.led() == (2, 1, (2, 3), ())
    assert scene.state.directories[0] == directory
    scene.alter(2, [1, 2, 3])  # its leader may propose it, as in Apache Kafka
    scene.fence(2)
    scene.fence(3)
    assert scene.state.leader == -1
    assert assigned(scene, 1, own(1)) == [ErrorCode.NONE]
    assert scene.state.leader == 1


def test_a_lost_replica_is_not_elected_uncleanly() -> None:
    scene = scene_of(1, 2, config=UNCLEAN)
    assigned(scene, 2, LOST)
    scene.fence(1)
    assert scene.led() == (-1, 1, (), (1,))
    scene.beat(1)
    assert scene.led() == (1, 2, (1,), ())


def test_a_replica_whose_directory_fails_later_does_not_lead_either() -> None:
    scene = scene_of(1, 2)
    assigned(scene, 2, own(2))
    scene.beat(2, offline_log_dirs=[own(2)])
    assert scene.state.isr == (1,)


def test_a_broker_with_several_directories_chooses_later() -> None:
    scene = Scene()
    body = scene.registration(4)
    body.log_dirs = [own(4), OTHER]
    scene.epochs[4] = register_broker(scene.controller, body)
    scene.beat(4)
    topic = plan_topic(scene.controller, "u", assignments={0: [4, 2]})
    state = publish_topic(scene.controller, topic).partitions[0]
    assert state.directories == (UUID(int=1), own(2)), "DirectoryId.UNASSIGNED"
