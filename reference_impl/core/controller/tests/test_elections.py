"""Brokers go, come and stop: others lead, are in sync, and are eligible.

Each rule has a test that shows what a controller without it would do (the classes below).
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import pytest

from reference_impl.core.controller.activation import activate
from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.image.registrations import BrokerImage
from reference_impl.core.controller.leaders.broker_changes import (
    Reply,
    State,
    fence_silent,
    register_broker,
    unregister_broker,
)
from reference_impl.core.controller.leaders.elections import elect, prefer_first_replicas
from reference_impl.core.controller.leaders.partition_changes import NO_LEADER, Election
from reference_impl.core.controller.records import new_partition, new_topic
from reference_impl.core.controller.tests.scene import SESSION_MS, TOPIC, Scene
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.tests.world import World
from reference_impl.wire import ErrorCode, definition

MIN_ISR_2 = {"min.insync.replicas": "2"}
UNCLEAN = {"unclean.leader.election.enable": "true"}


def scene_of(
    *replicas: int, rules: type[Rules] = Rules, config: dict[str, str] | None = None
) -> Scene:
    scene = Scene(rules, config)
    scene.make(*replicas)
    return scene


def refusal_of(scene: Scene, **fields: object) -> ErrorCode | None:
    """Return the error of broker 1's request for the ISR 1, 2, 3."""
    try:
        scene.alter(1, [1, 2, 3], **fields)  # type: ignore[arg-type]
    except Refused as refused:
        return refused.code
    return None


# --- fencing ------------------------------------------------------------------------------------


def test_the_first_live_member_of_the_isr_leads_when_the_leader_is_fenced() -> None:
    scene = scene_of(1, 2, 3)
    scene.fence(1)
    assert scene.led() == (2, 1, (2, 3), ())


def test_an_isr_that_shrinks_raises_no_leader_epoch() -> None:
    scene = scene_of(1, 2, 3)
    before = scene.state.partition_epoch
    scene.fence(3)
    assert scene.led() == (1, 0, (1, 2), ())
    assert scene.state.partition_epoch == before + 1


def test_who_leaves_an_isr_below_the_minimum_stays_eligible() -> None:
    scene = scene_of(1, 2, 3, config=MIN_ISR_2)
    scene.fence(1)
    assert scene.led() == (2, 1, (2, 3), ())
    scene.fence(2)
    assert scene.led() == (3, 2, (3,), (2,))
    scene.fence(3)
    assert scene.led() == (-1, 3, (), (2, 3))
    assert list(scene.state.last_known_elr) == [3]
    scene.beat(1)
    assert scene.state.leader == -1
    scene.beat(2)
    assert scene.led() == (2, 4, (2,), (3,))
    assert list(scene.state.last_known_elr) == []


def test_without_an_eligible_replica_the_last_leader_alone_is_waited_for() -> None:
    scene = scene_of(1, 2)
    scene.fence(2)
    scene.fence(1)
    assert scene.led() == (-1, 1, (), (1,))
    scene.register(1)  # killed: it may have lost records
    assert scene.led() == (-1, 1, (), ())
    scene.beat(2)
    assert scene.state.leader == -1
    scene.beat(1)
    assert scene.led() == (1, 2, (1,), ())
    assert scene.state.is_recovering


def test_a_replica_that_lags_may_lead_where_the_topic_allows_it() -> None:
    scene = scene_of(1, 2, config=UNCLEAN)
    scene.fence(2)
    scene.fence(1)
    scene.register(1)
    scene.beat(2)
    assert (scene.state.leader, scene.state.isr, scene.state.is_recovering) == (2, (2,), True)


def test_no_dead_replica_stays_eligible_after_an_unclean_election() -> None:
    """The log of the unclean leader is the partition's from then on
    (PartitionChangeBuilder.maybeUpdateRecordElr)."""
    scene = scene_of(1, 2, 3, config={**MIN_ISR_2, **UNCLEAN})
    for broker in (3, 2, 1):
        scene.fence(broker)
    assert scene.led()[2:] == ((), (1, 2))
    scene.beat(3)
    assert scene.led()[::2] == (3, (3,))
    assert scene.led()[3] == () and scene.state.is_recovering
    scene.fence(3)
    assert scene.led()[2:] == ((), (3,))


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_restart_leaves_the_isr_and_an_unclean_one_the_elr_too(is_clean: bool) -> None:
    scene = scene_of(1, 2, config=MIN_ISR_2)
    epoch = scene.epochs[2]
    scene.fence(2)
    assert scene.led() == (1, 0, (1,), (2,))
    scene.register(2, epoch if is_clean else -1)
    assert scene.led() == (1, 0, (1,), (2,) if is_clean else ())


# --- sessions -----------------------------------------------------------------------------------


def test_a_silent_broker_is_fenced_when_its_session_is_over() -> None:
    scene = scene_of(1, 2, 3)
    scene.pass_time(SESSION_MS - 1)
    assert fence_silent(scene.controller) == []
    scene.beat(2)
    scene.beat(3)
    scene.pass_time(1)
    assert 1 in fence_silent(scene.controller)
    assert scene.controller.image.brokers[1].fenced
    assert scene.led() == (2, 1, (2, 3), ())


@pytest.mark.parametrize("begins_ms", range(0, 2_000, 400))
def test_a_node_that_stood_still_fences_nobody_before_it_reads_their_heartbeats(
    begins_ms: int,
) -> None:
    world = World()
    world.wait(SESSION_MS + begins_ms)
    world.monotonic_ms += 10 * SESSION_MS  # all timers are late now, the broker's heartbeat, too
    world.wait(SESSION_MS)
    assert not [report for report in world.reports if "is fenced" in report]


def test_the_wall_clock_ends_no_session() -> None:
    scene = scene_of(1, 2, 3)
    scene.world.now_ms += 10 * SESSION_MS
    scene.pass_time(0)
    assert fence_silent(scene.controller) == []


def test_a_controller_that_is_active_again_begins_every_session_anew() -> None:
    """Meanwhile the brokers have sent their heartbeats to another controller."""
    scene = scene_of(1, 2, 3)
    scene.pass_time(10 * SESSION_MS)
    activate(scene.controller)
    assert not {1, 2, 3} & set(fence_silent(scene.controller))
    scene.pass_time(SESSION_MS)
    assert {1, 2, 3} <= set(fence_silent(scene.controller))


def test_a_broker_is_unfenced_once_it_knows_of_its_own_registration() -> None:
    scene = scene_of(1, 2, 3)
    scene.fence(1)
    epoch = scene.register(1)
    assert scene.beat(1, current_metadata_offset=epoch - 1) == Reply(False, State.FENCED)
    assert scene.beat(1, want_fence=True) == Reply(True, State.FENCED)
    assert scene.beat(1, current_metadata_offset=epoch) == Reply(True, State.UNFENCED)


def test_another_process_is_refused_while_the_broker_lives() -> None:
    scene = scene_of(1, 2, 3)
    with pytest.raises(Refused, match="DUPLICATE_BROKER_REGISTRATION"):
        scene.register(1)
    scene.pass_time(SESSION_MS)
    assert scene.register(1) > 0


def test_a_registration_that_comes_again_amends_the_one_before() -> None:
    scene = Scene()
    scene.fence(1)
    body = scene.registration(1)
    scene.epochs[1] = register_broker(scene.controller, body)
    scene.beat(1)
    body.rack = "r"
    register_broker(scene.controller, body)
    broker = scene.controller.image.brokers[1]
    assert (broker.rack, broker.fenced) == ("r", False)


def test_a_broker_of_another_cluster_level_or_directory_is_refused() -> None:
    scene = Scene()
    features = scene.registration(4).features
    only_metadata = [each for each in features if each.name == "metadata.version"]
    for code, change in (
        (ErrorCode.INCONSISTENT_CLUSTER_ID, {"cluster_id": "other"}),
        (ErrorCode.INVALID_REGISTRATION, {"features": []}),
        (ErrorCode.UNSUPPORTED_VERSION, {"features": only_metadata}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": scene.registration(2).log_dirs}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": 2 * scene.registration(4).log_dirs}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": []}),
        (ErrorCode.INVALID_REGISTRATION, {"log_dirs": [UUID(int=99)]}),
    ):
        body = scene.registration(4)
        for name, value in change.items():
            setattr(body, name, value)
        with pytest.raises(Refused) as refused:
            register_broker(scene.controller, body)
        assert refused.value.code is code
    assert 4 not in scene.controller.image.brokers


# --- controlled shutdown ------------------------------------------------------------------------


def test_a_broker_stops_once_others_lead_and_know_it() -> None:
    scene = scene_of(1, 2, 3)
    assert scene.beat(1, want_shut_down=True).state is State.CONTROLLED_SHUTDOWN
    assert scene.led() == (2, 1, (2, 3), ())
    end = scene.controller.image.end_offset
    for broker in [each for each in scene.controller.image.brokers if each not in (1, 2, 3)]:
        scene.epochs[broker] = scene.controller.image.brokers[broker].broker_epoch
        scene.beat(broker)
    scene.beat(2, current_metadata_offset=end - 2)
    assert scene.beat(1, want_shut_down=True).state is State.CONTROLLED_SHUTDOWN
    scene.beat(2, current_metadata_offset=end - 1)
    assert scene.beat(1, want_shut_down=True).state is State.SHUTDOWN_NOW
    assert scene.controller.image.brokers[1].fenced


def test_a_fenced_broker_stops_without_a_batch_of_no_records() -> None:
    scene = scene_of(1, 2, 3)
    scene.fence(3)
    log = scene.controller.metadata.log.log
    before = len(list(log.batches(0)))
    assert scene.beat(3, want_shut_down=True).state is State.SHUTDOWN_NOW
    assert len(list(log.batches(0))) == before


def test_a_broker_that_leads_nothing_may_stop_at_once() -> None:
    scene = scene_of(1, 2, 3)
    assert scene.beat(3, want_shut_down=True).state is State.SHUTDOWN_NOW
    assert scene.led() == (1, 0, (1, 2), ())


def test_a_broker_that_is_unregistered_is_in_no_isr() -> None:
    scene = scene_of(1, 2, 3)
    unregister_broker(scene.controller, 1)
    assert scene.led() == (2, 1, (2, 3), ())
    assert 1 not in scene.controller.image.brokers
    with pytest.raises(Refused, match="BROKER_ID_NOT_REGISTERED"):
        unregister_broker(scene.controller, 1)


# --- changes of an ISR --------------------------------------------------------------------------


def test_the_leader_shrinks_and_grows_the_isr() -> None:
    scene = scene_of(1, 2, 3)
    assert scene.alter(1, [1, 2]).isr == (1, 2)
    assert scene.alter(1, [1, 2, 3]).isr == (1, 2, 3)
    assert scene.state.leader_epoch == 0


def test_a_change_of_nothing_writes_nothing() -> None:
    scene = scene_of(1, 2, 3)
    before = scene.controller.image.end_offset
    scene.alter(1, [1, 2, 3])
    assert scene.controller.image.end_offset == before


def test_a_leader_that_has_recovered_says_so_with_its_isr() -> None:
    scene = scene_of(1, 2, config=UNCLEAN)
    scene.fence(2)
    scene.fence(1)
    scene.register(1)
    scene.beat(2)
    with pytest.raises(Refused, match="INVALID_REQUEST"):
        scene.alter(2, [2, 1], recovering=True)
    scene.beat(1)
    assert not scene.alter(2, [1, 2]).is_recovering


@pytest.mark.parametrize(
    ("broker", "isr", "code"),
    [
        (2, [2], ErrorCode.INVALID_REQUEST),
        (1, [2, 3], ErrorCode.INVALID_REQUEST),
        (1, [1, 4], ErrorCode.INVALID_REQUEST),
        (1, [1, 2, 2], ErrorCode.INVALID_REQUEST),
    ],
    ids=["not leader", "without leader", "no replica", "twice"],
)
def test_an_isr_that_cannot_be_is_refused(broker: int, isr: list[int], code: ErrorCode) -> None:
    scene = scene_of(1, 2, 3)
    before = scene.state
    with pytest.raises(Refused) as refused:
        scene.alter(broker, isr)
    assert refused.value.code is code
    assert scene.state == before


# --- what a careless controller would do --------------------------------------------------------


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
    assert fence_silent(scene.controller) == []
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


# --- elections that are asked for -----------------------------------------------------------------


def elected(scene: Scene, election: Election) -> ErrorCode | None:
    """Ask for an election, and return the error."""
    try:
        elect(scene.controller, "t", 0, election)
    except Refused as refused:
        return refused.code
    return None


class ElectAgain(Rules):
    def needs_election(self, state: PartitionImage, *, is_preferred: bool) -> bool:
        return True


class NeverElect(Rules):
    def needs_election(self, state: PartitionImage, *, is_preferred: bool) -> bool:
        return False


@pytest.mark.parametrize("rules", [Rules, ElectAgain, NeverElect])
def test_the_first_replica_leads_again_when_an_administrator_asks(rules: type[Rules]) -> None:
    scene = scene_of(1, 2, 3, rules=rules)
    first = elected(scene, Election.PREFERRED)
    scene.fence(1)
    scene.beat(1)
    scene.alter(2, [2, 3, 1])
    asked = elected(scene, Election.PREFERRED)
    outcome = first, asked, scene.led()
    needed = ErrorCode.ELECTION_NOT_NEEDED, None, (1, 2, (2, 3, 1), ())
    assert (outcome == needed) is (rules is Rules)


def test_a_first_replica_that_is_not_in_sync_does_not_lead_again() -> None:
    scene = scene_of(1, 2, 3)
    scene.fence(1)
    scene.beat(1)
    before = scene.led()
    assert elected(scene, Election.PREFERRED) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert prefer_first_replicas(scene.controller) == 0
    assert scene.led() == before


def test_an_unclean_election_needs_a_partition_without_leader_and_a_broker_that_lives() -> None:
    scene = scene_of(1, 2)
    assert elected(scene, Election.UNCLEAN) is ErrorCode.ELECTION_NOT_NEEDED
    scene.fence(2)
    scene.alter(1, [1])
    scene.fence(1)
    assert elected(scene, Election.UNCLEAN) is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    scene.beat(2)
    assert scene.led()[0] == NO_LEADER
    assert elected(scene, Election.UNCLEAN) is None
    assert (scene.led()[0], scene.state.is_recovering) == (2, True)


@pytest.mark.parametrize("is_enabled", [True, False])
def test_first_replicas_lead_again_after_some_time(is_enabled: bool) -> None:
    enabled = {"auto.leader.rebalance.enable": str(is_enabled).lower()}
    scene = scene_of(1, 2, 3, config={"leader.imbalance.check.interval.seconds": "5", **enabled})
    scene.fence(1)
    scene.beat(1)
    scene.alter(2, [2, 3, 1])
    scene.world.wait(4_900)
    assert scene.led()[0] == 2
    scene.world.wait(200)
    assert scene.led()[0] == (1 if is_enabled else 2)
