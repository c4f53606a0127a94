"""New partitions lie over all brokers and racks, and lead where a broker lives."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import pytest

from reference_impl.core.controller.image.registrations import BrokerImage
from reference_impl.core.controller.placement import placed
from reference_impl.core.controller.tests.scene import Scene
from reference_impl.core.controller.topic_changes import (
    delete_topic,
    grow_topic,
    plan_growth,
    plan_topic,
    publish_topic,
)
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


def broker(node_id: int, rack: str | None = None, *, fenced: bool = False) -> BrokerImage:
    return BrokerImage(node_id, node_id, UUID(int=node_id), {}, {}, rack, fenced)


def three() -> list[BrokerImage]:
    return [broker(1), broker(2), broker(3)]


@pytest.mark.parametrize("first", range(7))
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_leaders_and_replicas_are_spread_evenly(first: int, factor: int) -> None:
    found = placed(three(), 6, factor, first)
    assert all(len(set(replicas)) == factor for replicas in found)
    assert set(Counter(replicas[0] for replicas in found).values()) == {2}
    assert set(Counter(each for replicas in found for each in replicas).values()) == {2 * factor}


def test_another_beginning_leads_elsewhere() -> None:
    assert len({placed(three(), 1, 1, first)[0] for first in range(3)}) == 3


@pytest.mark.parametrize("first", range(5))
def test_the_replicas_of_a_partition_lie_in_different_racks(first: int) -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    found = placed([broker(each, rack) for each, rack in racks.items()], 12, 3, first)
    assert all({racks[each] for each in replicas} == {"a", "b", "c"} for replicas in found)
    assert set(Counter(each for replicas in found for each in replicas).values()) == {6}


def test_a_fenced_broker_leads_nothing_and_is_used_only_if_it_must() -> None:
    brokers = [broker(1, fenced=True), broker(2), broker(3)]
    assert {each for replicas in placed(brokers, 9, 2, 0) for each in replicas} == {2, 3}
    assert all(replicas[-1] == 1 for replicas in placed(brokers, 9, 3, 0))


@pytest.mark.parametrize(
    ("brokers", "factor", "reason"),
    [
        (three(), 4, "The target replication factor of 4 cannot be reached because only 3"),
        ([broker(1, fenced=True)], 1, "All brokers are currently fenced."),
        ([], 1, "All brokers are currently fenced."),
    ],
)
def test_too_few_brokers_are_refused(brokers: list[BrokerImage], factor: int, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as refused:
        placed(brokers, 1, factor, 0)
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_topic_is_made_on_the_brokers_that_live_with_their_directories() -> None:
    scene = Scene()
    scene.fence(2)
    controller = scene.controller
    topic = publish_topic(controller, plan_topic(controller, "u", 1, assignments=None))
    assert topic.partitions[0].leader != 2
    delete_topic(controller, topic)
    planned = plan_topic(controller, "u", assignments={0: [2, 1]})
    state = publish_topic(controller, planned).partitions[0]
    assert (state.replicas, state.isr, state.leader) == ((2, 1), (1,), 1)
    assert state.directories == (UUID(int=1002), UUID(int=1001))
    grow_topic(controller, controller.image.topics["u"], [(1, (1, 3))])
    assert controller.image.topics["u"].partitions[1].isr == (1, 3)
    with pytest.raises(Refused, match="partition 2 are fenced"):
        grow_topic(controller, controller.image.topics["u"], [(2, (2,))])


def test_growth_has_as_many_replicas_as_the_topic_and_unknown_brokers_are_refused() -> None:
    scene = Scene()
    controller = scene.controller
    topic = publish_topic(controller, plan_topic(controller, "u", 2, 3))
    growth = plan_growth(controller, topic, 5, None)
    assert [(index, len(set(replicas))) for index, replicas in growth] == [(2, 3), (3, 3), (4, 3)]
    with pytest.raises(Refused, match="includes broker 7, but no such broker is registered"):
        plan_growth(controller, topic, 3, [[1, 2, 7]])
