"""Brokers go, come and stop: others lead, are in sync, and are eligible.

Each rule has a test in test_careless_controllers.py that shows what a controller without it would
do.
"""

from __future__ import annotations

import pytest

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.leaders.elections import elect, prefer_first_replicas
from reference_impl.core.controller.leaders.partition_changes import NO_LEADER, Election
from reference_impl.core.controller.tests.scene import Scene
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.wire import ErrorCode

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
