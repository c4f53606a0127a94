"""Partitions move to other brokers, and lose no record on the way."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.leaders.reassignments import reassign
from reference_impl.core.controller.tests.scene import Scene
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.wire import ApiKey, ErrorCode, Struct

UNCLEAN = {"unclean.leader.election.enable": "true"}


def move(
    scene: Scene, replicas: Sequence[int] | None, *, may_change_factor: bool = True
) -> ErrorCode | None:
    """Ask for other replicas, and return the error."""
    try:
        reassign(scene.controller, "t", 0, replicas, may_change_factor=may_change_factor)
    except Refused as refused:
        return refused.code
    return None


def scene_of(
    *replicas: int, rules: type[Rules] = Rules, config: dict[str, str] | None = None
) -> Scene:
    scene = Scene(rules, config)
    scene.make(*replicas)
    return scene


def where(scene: Scene) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the replicas, and those of them that come and go."""
    return scene.state.replicas, scene.state.adding, scene.state.removing


def listed(scene: Scene) -> list[Struct]:
    topics: list[Struct] = scene.world.call(
        ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, topics=None
    ).topics
    return topics


class CompleteAtOnce(Rules):
    def completes_reassignment(self, target: PartitionImage, isr: Collection[int]) -> bool:
        return bool(isr)


class RevertAnyhow(Rules):
    def check_revert(self, partition: str, *, is_allowed: bool) -> None:
        """Lose what the old replicas lack."""


@pytest.mark.parametrize("rules", [Rules, CompleteAtOnce])
def test_the_old_replicas_go_when_the_new_ones_are_in_sync(rules: type[Rules]) -> None:
    scene = scene_of(1, 2, rules=rules)
    assert move(scene, [2, 3]) is None
    is_moving = where(scene) == ((2, 3, 1), (3,), (1,)) and scene.led() == (1, 0, (1, 2), ())
    assert is_moving is (rules is Rules)
    if not is_moving:
        return
    (topic,) = listed(scene)
    (row,) = topic.partitions
    assert (row.replicas, row.adding_replicas, row.removing_replicas) == ([2, 3, 1], [3], [1])
    with pytest.raises(Refused, match="NEW_LEADER_ELECTED"):
        scene.alter(1, [1, 2, 3])
    assert where(scene) == ((2, 3), (), ())
    assert scene.led() == (2, 1, (2, 3), ())
    assert listed(scene) == []


def test_a_partition_that_loses_replicas_waits_until_those_that_stay_are_in_sync() -> None:
    """Otherwise only one copy would be left of three (PartitionReassignmentReplicas)."""
    scene = scene_of(1, 2, 3)
    scene.alter(1, [1, 3])
    assert move(scene, [1, 2]) is None
    assert where(scene) == ((1, 2, 3), (), (3,))
    assert scene.led() == (1, 0, (1, 3), ())
    scene.alter(1, [1, 2, 3])
    assert where(scene) == ((1, 2), (), ())
    assert scene.led() == (1, 1, (1, 2), ())


def test_a_move_is_cancelled_and_changed() -> None:
    scene = scene_of(1, 2)
    assert move(scene, None) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    move(scene, [3])
    assert where(scene) == ((3, 1, 2), (3,), (1, 2))
    assert move(scene, [3, 2]) is None
    assert where(scene) == ((3, 2, 1), (3,), (1,))
    assert move(scene, None) is None
    assert where(scene) == ((2, 1), (), ())
    move(scene, [1, 3])
    assert move(scene, [1, 2]) is None
    assert where(scene) == ((1, 2), (), ())


@pytest.mark.parametrize("rules", [Rules, RevertAnyhow])
@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_move_is_not_cancelled_when_the_old_replicas_lack_records(
    rules: type[Rules], is_allowed: bool
) -> None:
    scene = scene_of(1, rules=rules, config=UNCLEAN if is_allowed else None)
    move(scene, [2, 3])
    scene.alter(1, [1, 2])
    scene.fence(1)
    scene.beat(1)
    before = scene.led()
    assert before == (2, 1, (2,), ())
    code = move(scene, None)
    if rules is Rules and not is_allowed:
        assert code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert (where(scene), scene.led()) == (((2, 3, 1), (2, 3), (1,)), before)
    else:
        assert code is None
        assert (where(scene), scene.led()) == (((1,), (), ()), (1, 2, (1,), ()))


def test_the_number_of_replicas_stays_where_that_is_asked_for() -> None:
    scene = scene_of(1, 2)
    code = move(scene, [1, 2, 3], may_change_factor=False)
    assert code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert move(scene, [3, 2], may_change_factor=False) is None
    assert move(scene, [1, 3], may_change_factor=False) is None


@pytest.mark.parametrize("replicas", [[], [1, 1], [1, 7]])
def test_a_move_to_what_is_no_assignment_is_refused(replicas: list[int]) -> None:
    scene = scene_of(1, 2)
    assert move(scene, replicas) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_move_to_where_the_partition_is_writes_nothing() -> None:
    scene = scene_of(1, 2)
    before = scene.controller.image.end_offset
    assert move(scene, [1, 2]) is None
    assert scene.controller.image.end_offset == before


def test_a_partition_that_moves_names_the_directories_of_its_new_replicas() -> None:
    """The broker's one directory; a replica that stays keeps its own (KIP-858)."""
    scene = scene_of(1, 2)
    assert move(scene, [1, 3]) is None
    state, brokers = scene.state, scene.controller.image.brokers
    named = dict(zip(state.replicas, state.directories, strict=True))
    assert named[3] == brokers[3].log_dirs[0]
    scene.alter(1, [1, 2, 3])
    assert scene.state.replicas == (1, 3)
    assert scene.state.directories == (named[1], named[3])
