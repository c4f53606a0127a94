"""Brokers register, are fenced when they fall silent, and stop when the controller lets them."""

from __future__ import annotations

from uuid import UUID

import pytest

from reference_impl.core.controller.activation import activate
from reference_impl.core.controller.leaders.broker_changes import Reply, State, register_broker
from reference_impl.core.controller.leaders.unregistration import unregister_in_slices
from reference_impl.core.controller.tests.scene import SESSION_MS, Scene
from reference_impl.core.controller.tests.test_elections import scene_of
from reference_impl.core.refused import Refused
from reference_impl.core.tests.world import World
from reference_impl.wire import ErrorCode


def test_a_silent_broker_is_fenced_when_its_session_is_over() -> None:
    scene = scene_of(1, 2, 3)
    scene.pass_time(SESSION_MS - 1)
    assert scene.fence_silent() == []
    scene.beat(2)
    scene.beat(3)
    scene.pass_time(1)
    assert 1 in scene.fence_silent()
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
    assert scene.fence_silent() == []


def test_a_controller_that_is_active_again_begins_every_session_anew() -> None:
    """Meanwhile the brokers have sent their heartbeats to another controller."""
    scene = scene_of(1, 2, 3)
    scene.pass_time(10 * SESSION_MS)
    activate(scene.controller)
    assert not {1, 2, 3} & set(scene.fence_silent())
    scene.pass_time(SESSION_MS)
    assert {1, 2, 3} <= set(scene.fence_silent())


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
        register_broker(scene.controller, scene.registration(1))
    scene.pass_time(SESSION_MS)
    assert register_broker(scene.controller, scene.registration(1)) > scene.epochs[1]


@pytest.mark.parametrize("wish", ["want_fence", "want_shut_down"])
def test_another_process_is_refused_while_a_fenced_or_stopping_broker_sends_heartbeats(
    wish: str,
) -> None:
    scene = scene_of(1, 2, 3)
    scene.beat(1, **{wish: True})
    with pytest.raises(Refused, match="DUPLICATE_BROKER_REGISTRATION"):
        register_broker(scene.controller, scene.registration(1))


def test_a_broker_that_has_sent_no_heartbeat_is_replaced_at_once() -> None:
    scene = Scene()
    first = register_broker(scene.controller, scene.registration(4))
    assert register_broker(scene.controller, scene.registration(4)) > first


def test_a_registration_that_comes_again_amends_the_one_before() -> None:
    scene = Scene()
    body = scene.registration(4)
    scene.epochs[4] = register_broker(scene.controller, body)
    scene.beat(4)
    body.rack = "r"
    assert register_broker(scene.controller, body) == scene.epochs[4]
    broker = scene.controller.image.brokers[4]
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
    assert list(unregister_in_slices(scene.controller, 1)) == []
    assert scene.led() == (2, 1, (2, 3), ())
    assert 1 not in scene.controller.image.brokers
    with pytest.raises(Refused, match="BROKER_ID_NOT_REGISTERED"):
        list(unregister_in_slices(scene.controller, 1))
