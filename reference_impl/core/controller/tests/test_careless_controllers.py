"""A controller that breaks one rule of elections does the harm that the rule prevents."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import pytest

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.image.registrations import BrokerImage
from reference_impl.core.controller.leaders.broker_changes import State
from reference_impl.core.controller.records import new_partition, new_topic
from reference_impl.core.controller.tests.scene import SESSION_MS, TOPIC
from reference_impl.core.controller.tests.test_elections import MIN_ISR_2, refusal_of, scene_of
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.wire import ErrorCode, definition


class TakesStalePartitionEpochs(Rules):
    def check_partition_epoch(self, state: PartitionImage, partition_epoch: int) -> None:
        """Take every one."""


class TakesStaleLeaders(Rules):
    def check_leadership(self, state: PartitionImage, broker_id: int, leader_epoch: int) -> None:
        """Take everybody."""


class TakesAnybodyIntoTheIsr(Rules):
    def may_join_isr(self, broker: BrokerImage | None, broker_epoch: int) -> bool:
        return True


@pytest.mark.parametrize(
    ("rules", "fields", "code"),
    [
        (TakesStalePartitionEpochs, {"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
        (TakesStalePartitionEpochs, {"partition_epoch": 99}, ErrorCode.NOT_CONTROLLER),
        (TakesStaleLeaders, {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        (TakesStaleLeaders, {"leader_epoch": 99}, ErrorCode.NOT_CONTROLLER),
        (TakesAnybodyIntoTheIsr, {"epochs": {2: 0}}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_only_what_rests_on_the_newest_state_changes_an_isr(
    rules: type[Rules], fields: dict[str, object], code: ErrorCode
) -> None:
    correct, careless = scene_of(1, 2, 3), scene_of(1, 2, 3, rules=rules)
    for scene in (correct, careless):
        scene.alter(1, [1, 3])
    assert refusal_of(correct, **fields) is code
    assert correct.state.isr == (1, 3)
    assert refusal_of(careless, **fields) is None
    assert careless.state.isr == (1, 2, 3)


@pytest.mark.parametrize("how", ["fenced", "stopping", "epoch -1 and fenced"])
def test_a_broker_that_does_not_live_joins_no_isr(how: str) -> None:
    for rules, code in ((Rules, ErrorCode.INELIGIBLE_REPLICA), (TakesAnybodyIntoTheIsr, None)):
        scene = scene_of(1, 2, 3, rules=rules)
        other = UUID(int=8)  # who leads something else stops later
        scene.controller.write([new_topic("u", other), new_partition(other, 0, [3, 1])])
        if how == "stopping":
            scene.beat(3, want_shut_down=True)
        else:
            scene.fence(3)
        epochs = {3: -1} if how.startswith("epoch") else {}
        assert refusal_of(scene, epochs=epochs) is code


class FencedLead(Rules):
    def may_lead(self, broker: BrokerImage | None) -> bool:
        return True


def test_a_fenced_broker_does_not_lead() -> None:
    for rules, leader in ((Rules, -1), (FencedLead, 2)):
        scene = scene_of(1, 2, rules=rules)
        scene.fence(2)
        # The ISR cannot hold a fenced broker, but for what a controller before this one left.
        of = definition("PartitionChangeRecord")
        scene.controller.write([of.new(topic_id=TOPIC, partition_id=0, isr=[1, 2])])
        scene.fence(1)
        assert scene.state.leader == leader


class AnybodyLeads(Rules):
    def may_be_elected(self, state: PartitionImage, replica: int) -> bool:
        return True


def test_a_replica_out_of_isr_and_elr_does_not_lead() -> None:
    for rules, leader in ((Rules, -1), (AnybodyLeads, 2)):
        scene = scene_of(1, 2, 3, rules=rules)
        scene.alter(1, [1])
        scene.fence(1)
        assert scene.state.leader == leader


class KeepsEpochs(Rules):
    def raises_leader_epoch(self, old: PartitionImage, leader: int) -> bool:
        return False


def test_another_leader_has_another_epoch() -> None:
    for rules, epoch in ((Rules, 1), (KeepsEpochs, 0)):
        scene = scene_of(1, 2, 3, rules=rules)
        scene.fence(1)
        assert scene.state.leader_epoch == epoch


class TrustsKilledBrokers(Rules):
    def left_uncleanly(self, known: BrokerImage, previous_broker_epoch: int) -> bool:
        return False


def test_a_killed_broker_is_not_eligible() -> None:
    for rules, elr in ((Rules, ()), (TrustsKilledBrokers, (2,))):
        scene = scene_of(1, 2, config=MIN_ISR_2, rules=rules)
        scene.fence(2)
        scene.register(2)
        assert scene.led() == (1, 0, (1,), elr)


class BelievesOldIncarnations(Rules):
    def check_broker_epoch(self, broker: BrokerImage | None, broker_epoch: int) -> None:
        """Believe everybody."""


def test_a_heartbeat_of_an_earlier_incarnation_counts_for_nothing() -> None:
    scene = scene_of(1, 2, 3)
    scene.fence(1)
    before = scene.register(1) - 1
    with pytest.raises(Refused, match="STALE_BROKER_EPOCH"):
        scene.beat(1, broker_epoch=before)
    assert scene.controller.image.brokers[1].fenced
    careless = scene_of(1, 2, 3, rules=BelievesOldIncarnations)
    careless.fence(1)
    careless.register(1)
    careless.beat(1, broker_epoch=before)
    assert not careless.controller.image.brokers[1].fenced


class NeverFences(Rules):
    def session_is_over(self, silent_ms: int, timeout_ms: int) -> bool:
        return False


def test_a_controller_that_never_fences_leaves_a_partition_to_the_dead() -> None:
    scene = scene_of(1, 2, 3, rules=NeverFences)
    scene.pass_time(100 * SESSION_MS)
    assert scene.fence_silent() == []
    assert scene.state.leader == 1


class UnfencesAtOnce(Rules):
    def may_unfence(self, registered_at: int, metadata_offset: int) -> bool:
        return True


def test_a_broker_that_does_not_know_its_registration_stays_fenced() -> None:
    for rules, fenced in ((Rules, True), (UnfencesAtOnce, False)):
        scene = scene_of(1, 2, 3, rules=rules)
        scene.fence(1)
        scene.register(1)
        scene.beat(1, current_metadata_offset=0)
        assert scene.controller.image.brokers[1].fenced is fenced


class StopsAtOnce(Rules):
    def may_stop(self, leads: bool, controlled_shutdown_at: int, lowest_offset: int) -> bool:
        return True


def test_a_broker_that_stops_at_once_leaves_others_who_do_not_know() -> None:
    scene = scene_of(1, 2, 3, rules=StopsAtOnce)
    scene.beat(1, want_shut_down=True)
    scene.beat(2, current_metadata_offset=0)
    assert scene.beat(1, want_shut_down=True).state is State.SHUTDOWN_NOW


class AlwaysUnclean(Rules):
    def unclean_candidates(self, replicas: Collection[int], is_allowed: bool) -> Collection[int]:
        return replicas


def test_nobody_loses_records_without_leave() -> None:
    for rules, leader in ((Rules, -1), (AlwaysUnclean, 3)):
        scene = scene_of(1, 3, rules=rules)
        scene.alter(1, [1])
        scene.fence(1)
        scene.register(1)
        scene.beat(3)
        assert scene.state.leader == leader


class KeepsNobodyEligible(Rules):
    def eligible_replicas(self, *_: object) -> list[int]:
        return []


def test_a_partition_whose_eligible_are_forgotten_stays_without_leader() -> None:
    for rules, leader in ((Rules, 2), (KeepsNobodyEligible, -1)):
        scene = scene_of(1, 2, config=MIN_ISR_2, rules=rules)
        scene.fence(2)
        scene.fence(1)
        scene.beat(2)
        assert scene.state.leader == leader
