"""A silent broker that is in many ISRs is fenced in slices; others have their turn in between."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from reference_impl.core.controller.leaders import broker_changes
from reference_impl.core.controller.leaders.broker_changes import fence_in_slices
from reference_impl.core.controller.records import new_partition, new_topic
from reference_impl.core.controller.tests.scene import SESSION_MS, Scene
from reference_impl.wire import Struct

AT_ONCE, PARTITIONS = 10, 25


class Spied(Scene):
    """A scene with many partitions whose broker 1 has fallen silent. `sizes`: the number of records
    of each write from then on."""

    def __init__(self) -> None:
        super().__init__()
        records = [new_topic("t", UUID(int=7))]
        for index in range(PARTITIONS):
            replicas = [(index + each) % 3 + 1 for each in range(3)]
            records.append(new_partition(UUID(int=7), index, replicas))
        self.controller.write(records)
        self.pass_time(SESSION_MS + 1)
        for living in (2, 3):
            self.beat(living)
        self.sizes: list[int] = []
        write = self.controller.write

        def noted(records: Sequence[Struct]) -> int:
            self.sizes.append(len(records))
            return write(records)

        self.controller.write = noted  # type: ignore[method-assign]

    def isrs_of(self, broker: int) -> int:
        partitions = self.controller.image.topics["t"].partitions.values()
        return sum(broker in state.isr for state in partitions)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Spied:
    monkeypatch.setattr(broker_changes, "CHANGED_AT_ONCE", AT_ONCE)
    return Spied()


def test_no_step_changes_more_partitions_than_a_slice(scene: Spied) -> None:
    fenced = []
    for _ in fence_in_slices(scene.controller, 1):
        fenced.append((scene.isrs_of(1), scene.controller.image.brokers[1].fenced))
    assert fenced == [(15, False), (5, False)]
    assert scene.sizes == [10, 10, 6]
    assert scene.controller.image.brokers[1].fenced
    assert scene.isrs_of(1) == 0
    leaders = {s.leader for s in scene.controller.image.topics["t"].partitions.values()}
    assert leaders == {2, 3}


def test_a_broker_that_is_heard_again_meanwhile_is_not_fenced(scene: Spied) -> None:
    for _ in fence_in_slices(scene.controller, 1):
        scene.beat(1)
    assert not scene.controller.image.brokers[1].fenced
    assert scene.isrs_of(1) == PARTITIONS - AT_ONCE


def test_a_controller_that_is_no_longer_the_active_one_goes_no_further(
    scene: Spied, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in fence_in_slices(scene.controller, 1):
        monkeypatch.setattr(scene.controller.metadata, "leadership", None)
    assert scene.sizes == [AT_ONCE]
