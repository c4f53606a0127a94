"""Elections after a configuration was changed: the minimum of in-sync replicas, and the permission
to elect a replica that may lack records."""

from __future__ import annotations

import pytest

from reference_impl.core.controller.config_changes import change_to, find_configured
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE, TOPIC_RESOURCE
from reference_impl.core.controller.tests.scene import Scene
from reference_impl.core.rules import Rules

MIN_ISR_2 = {"min.insync.replicas": "2"}
INTERVAL = {"unclean.leader.election.interval.ms": "5000"}


class KeepsEligibleReplicas(Rules):
    def forgets_eligible_replicas(self, before: str | None, after: str | None) -> bool:
        return False


def configure(scene: Scene, kind: int, name: str, **values: str) -> None:
    """Give a topic or the cluster these settings; each key with _ for a dot."""
    controller = scene.controller
    found = find_configured(controller, kind, name)
    settings = {key.replace("_", "."): value for key, value in values.items()}
    change_to(controller, found, {**found.overrides, **settings}, validate_only=False)


@pytest.mark.parametrize(("kind", "name"), [(TOPIC_RESOURCE, "t"), (BROKER_RESOURCE, "")])
@pytest.mark.parametrize(("rules", "leader"), [(Rules, -1), (KeepsEligibleReplicas, 2)])
def test_who_was_eligible_under_another_minimum_is_not_elected(
    kind: int, name: str, rules: type[Rules], leader: int
) -> None:
    """Broker 1 may commit alone under the lower minimum; broker 2 does not have that."""
    scene = Scene(rules, MIN_ISR_2)
    scene.make(1, 2)
    scene.fence(2)
    assert scene.led() == (1, 0, (1,), (2,))
    before = scene.state.partition_epoch
    configure(scene, kind, name, min_insync_replicas="1")
    elr = () if rules is Rules else (2,)
    assert scene.led() == (1, 0, (1,), elr)
    assert scene.state.partition_epoch == before + (rules is Rules)
    scene.fence(1)
    scene.beat(2)
    assert scene.led()[0] == leader


def test_another_setting_or_another_topic_leaves_the_eligible_replicas() -> None:
    scene = Scene(config=MIN_ISR_2)
    scene.make(1, 2)
    scene.fence(2)
    configure(scene, TOPIC_RESOURCE, "t", retention_ms="7")
    assert scene.led()[3] == (2,)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_a_topic_that_is_allowed_unclean_elections_has_a_leader_after_some_time(
    is_allowed: bool,
) -> None:
    scene = Scene(config=INTERVAL)
    scene.make(1, 2)
    scene.fence(2)
    scene.alter(1, [1])
    scene.fence(1)
    scene.register(1)  # after an unclean shutdown, so that nobody is eligible
    scene.beat(2)
    assert scene.led()[0] == -1
    configure(scene, TOPIC_RESOURCE, "t", unclean_leader_election_enable=str(is_allowed).lower())
    scene.world.wait(4_900)
    assert scene.led()[0] == -1
    scene.world.wait(200)
    assert scene.led()[0] == (2 if is_allowed else -1)
