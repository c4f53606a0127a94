"""A broker that is in many ISRs leaves them in slices, and others have their turn in between: it
has fallen silent, is fenced by its heartbeat, stops, returns, or is unregistered. In slices, too,
one that is unfenced leads what had no leader."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any
from uuid import UUID

import pytest

from reference_impl.core.controller.leaders import broker_changes
from reference_impl.core.controller.leaders.broker_changes import (
    Reply,
    State,
    fence_in_slices,
    hear_in_slices,
    register_in_slices,
)
from reference_impl.core.controller.leaders.unregistration import unregister_in_slices
from reference_impl.core.controller.records import new_partition, new_topic
from reference_impl.core.controller.tests.scene import CAUGHT_UP, HEARTBEAT, SESSION_MS, Scene
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct

AT_ONCE, PARTITIONS = 10, 25


class Spied(Scene):
    """A scene with many partitions whose broker 1 has fallen silent, if `silent`. `sizes`: the
    number of records of each write from then on."""

    def __init__(self, *, silent: bool = True) -> None:
        super().__init__()
        records = [new_topic("t", UUID(int=7))]
        for index in range(PARTITIONS):
            replicas = [(index + each) % 3 + 1 for each in range(3)]
            records.append(new_partition(UUID(int=7), index, replicas))
        self.controller.write(records)
        if silent:
            self.pass_time(SESSION_MS + 1)
        for living in (2, 3):
            self.beat(living)
        self.sizes: list[int] = []
        write = self.controller.write

        def noted(records: Sequence[Struct]) -> int:
            self.sizes.append(len(records))
            return write(records)

        self.controller.write = noted  # type: ignore[method-assign]

    def asked(self, broker: int, **fields: object) -> Generator[None, None, Reply]:
        """Return the slices in which a heartbeat of a broker is handled."""
        body = HEARTBEAT.new(
            broker_id=broker,
            broker_epoch=self.epochs[broker],
            current_metadata_offset=CAUGHT_UP,
            **fields,
        )
        return hear_in_slices(self.controller, body)

    def hear_others(self) -> None:
        """Let all brokers but 1 tell that they have read all metadata."""
        for broker, known in self.controller.image.brokers.items():
            self.epochs[broker] = known.broker_epoch
            if broker != 1:
                self.beat(broker)

    def leaders(self) -> set[int]:
        return {s.leader for s in self.controller.image.topics["t"].partitions.values()}

    def isrs_of(self, broker: int) -> int:
        partitions = self.controller.image.topics["t"].partitions.values()
        return sum(broker in state.isr for state in partitions)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Spied:
    monkeypatch.setattr(broker_changes, "CHANGED_AT_ONCE", AT_ONCE)
    return Spied()


@pytest.fixture
def living(monkeypatch: pytest.MonkeyPatch) -> Spied:
    monkeypatch.setattr(broker_changes, "CHANGED_AT_ONCE", AT_ONCE)
    return Spied(silent=False)


def end_of(slices: Generator[None, None, Any]) -> Any:
    """Run the slices to their end, and return their result."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value


def test_no_step_changes_more_partitions_than_a_slice(scene: Spied) -> None:
    fenced = []
    for _ in fence_in_slices(scene.controller, 1):
        fenced.append((scene.isrs_of(1), scene.controller.image.brokers[1].fenced))
    assert fenced == [(15, False), (5, False)]
    assert scene.sizes == [10, 10, 6]
    assert scene.controller.image.brokers[1].fenced
    assert scene.isrs_of(1) == 0
    assert scene.leaders() == {2, 3}


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


# --- a heartbeat ----------------------------------------------------------------------------------


def test_a_broker_that_is_fenced_by_its_heartbeat_leaves_its_isrs_in_slices(living: Spied) -> None:
    slices = living.asked(1, want_fence=True)
    next(slices)
    assert (living.isrs_of(1), living.controller.image.brokers[1].fenced) == (15, False)
    assert end_of(slices) == Reply(is_caught_up=True, state=State.FENCED)
    assert living.sizes == [10, 10, 6]
    assert living.isrs_of(1) == 0
    assert living.controller.image.brokers[1].fenced
    assert living.leaders() == {2, 3}


def test_a_broker_that_stops_is_in_controlled_shutdown_from_the_first_slice_on(
    living: Spied,
) -> None:
    slices = living.asked(1, want_shut_down=True)
    next(slices)
    assert living.controller.image.brokers[1].in_controlled_shutdown
    assert living.isrs_of(1) == PARTITIONS - AT_ONCE + 1
    assert end_of(slices).state is State.CONTROLLED_SHUTDOWN
    assert living.sizes == [10, 10, 6]
    assert (living.isrs_of(1), living.leaders()) == (0, {2, 3})
    living.hear_others()
    assert living.beat(1, want_shut_down=True).state is State.SHUTDOWN_NOW


@pytest.mark.parametrize("done", [1, 2])
def test_the_next_controller_goes_on_with_the_shutdown_of_a_broker(
    living: Spied, done: int
) -> None:
    slices = living.asked(1, want_shut_down=True)
    for _ in range(done):
        next(slices)
    living.controller.sessions.begin((1, 2, 3))  # as that of another node does (activate)
    living.hear_others()
    assert end_of(living.asked(1, want_shut_down=True)).state is State.CONTROLLED_SHUTDOWN
    assert (living.isrs_of(1), living.leaders()) == (0, {2, 3})
    assert living.beat(1, want_shut_down=True).state is State.SHUTDOWN_NOW


def test_a_broker_whose_partitions_are_a_whole_number_of_slices_may_stop(
    living: Spied, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = (PARTITIONS + 1) // 2
    monkeypatch.setattr(broker_changes, "CHANGED_AT_ONCE", half)
    assert end_of(living.asked(1, want_shut_down=True)).state is State.CONTROLLED_SHUTDOWN
    assert living.sizes == [half, half]
    living.hear_others()
    assert living.beat(1, want_shut_down=True).state is State.SHUTDOWN_NOW


def test_an_older_incarnation_goes_no_further(living: Spied) -> None:
    slices = living.asked(1, want_fence=True)
    next(slices)
    living.pass_time(SESSION_MS + 1)
    living.epochs[1] = end_of(register_in_slices(living.controller, living.registration(1)))
    with pytest.raises(Refused) as refused:
        next(slices)
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


# --- a return -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_broker_that_returns_loses_its_places_in_slices(scene: Spied, is_clean: bool) -> None:
    before = scene.controller.image.brokers[1]
    body = scene.registration(1, scene.epochs[1] if is_clean else -1)
    slices = register_in_slices(scene.controller, body)
    next(slices)
    assert scene.controller.image.brokers[1] == before
    assert scene.isrs_of(1) == 15
    epoch = end_of(slices)
    assert scene.sizes == [10, 10, 6]
    after = scene.controller.image.brokers[1]
    assert (after.incarnation_id, after.broker_epoch) == (body.incarnation_id, epoch)
    assert (after.fenced, scene.isrs_of(1), scene.leaders()) == (True, 0, {2, 3})


def test_a_broker_that_may_not_register_changes_nothing(living: Spied) -> None:
    living.beat(1)
    with pytest.raises(Refused, match="DUPLICATE_BROKER_REGISTRATION"):
        end_of(register_in_slices(living.controller, living.registration(1)))
    assert living.sizes == []
    assert living.isrs_of(1) == PARTITIONS


def test_a_registration_that_comes_twice_is_one(scene: Spied) -> None:
    """The broker asks again before the first request is answered."""
    body = scene.registration(1)
    first, second = (register_in_slices(scene.controller, body) for _ in range(2))
    next(first)
    next(second)
    assert end_of(first) == end_of(second) == scene.controller.image.brokers[1].broker_epoch
    assert scene.isrs_of(1) == 0


@pytest.fixture
def leaderless(living: Spied) -> Spied:
    """Provide a scene in which all brokers are fenced, and broker 1 comes back."""
    for broker in (2, 3, 1):
        end_of(living.asked(broker, want_fence=True))
    assert living.leaders() == {-1}
    living.sizes.clear()
    return living


def led_by(scene: Spied, broker: int) -> int:
    partitions = scene.controller.image.topics["t"].partitions.values()
    return sum(state.leader == broker for state in partitions)


def test_a_broker_that_is_unfenced_leads_in_slices(leaderless: Spied) -> None:
    slices = leaderless.asked(1)
    next(slices)
    assert not leaderless.controller.image.brokers[1].fenced
    assert led_by(leaderless, 1) == AT_ONCE - 1
    assert end_of(slices).state is State.UNFENCED
    assert leaderless.sizes == [10, 10, 6]
    assert led_by(leaderless, 1) == PARTITIONS
    end_of(leaderless.asked(1))
    assert leaderless.sizes == [10, 10, 6], "the next heartbeat finds nothing to do"


def test_the_next_controller_lets_an_unfenced_broker_lead_what_is_left(leaderless: Spied) -> None:
    next(leaderless.asked(1))
    leaderless.controller.sessions.begin((1, 2, 3))  # as that of another node does (activate)
    assert end_of(leaderless.asked(1)).state is State.UNFENCED
    assert led_by(leaderless, 1) == PARTITIONS


def test_a_broker_that_was_silent_leads_in_slices(leaderless: Spied) -> None:
    end_of(leaderless.asked(1))
    leaderless.pass_time(SESSION_MS + 1)
    assert 1 in leaderless.fence_silent()
    leaderless.sizes.clear()
    end_of(leaderless.asked(1))
    assert leaderless.sizes == [10, 10, 6]
    assert led_by(leaderless, 1) == PARTITIONS


# --- an administrator -----------------------------------------------------------------------------


def test_a_broker_is_unregistered_in_slices(scene: Spied) -> None:
    slices = unregister_in_slices(scene.controller, 1)
    next(slices)
    assert (scene.isrs_of(1), 1 in scene.controller.image.brokers) == (15, True)
    assert list(slices) == [None]
    assert scene.sizes == [10, 10, 6]
    assert (scene.isrs_of(1), scene.leaders()) == (0, {2, 3})
    assert 1 not in scene.controller.image.brokers


def test_a_broker_that_is_unregistered_twice_at_once_is_refused_once(scene: Spied) -> None:
    first, second = (unregister_in_slices(scene.controller, 1) for _ in range(2))
    next(first)
    next(second)
    list(first)
    with pytest.raises(Refused, match="BROKER_ID_NOT_REGISTERED"):
        list(second)
