"""Features get other levels while the cluster works (UpdateFeatures)."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.dynamic import ALL_BROKERS, MIN_INSYNC_REPLICAS
from reference_impl.core.controller.features import (
    ELIGIBLE_REPLICAS,
    KRAFT,
    METADATA,
    SAFE_DOWNGRADE,
    TRANSACTIONS,
    UNSAFE_DOWNGRADE,
    UPGRADE,
)
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE
from reference_impl.core.controller.records import config_record
from reference_impl.core.tests.test_features import HIGHEST, finalized
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

REQUEST = request_definition(ApiKey.UPDATE_FEATURES)


def updated(
    world: World, *levels: tuple[str, int], kind: int = UPGRADE, validate_only: bool = False
) -> Struct:
    rows = [
        REQUEST.struct("FeatureUpdateKey", feature=name, max_version_level=level, upgrade_type=kind)
        for name, level in levels
    ]
    answer: Struct = world.call(
        ApiKey.UPDATE_FEATURES, 2, feature_updates=rows, validate_only=validate_only
    )
    return answer


def test_a_feature_goes_down_and_up_and_a_restart_keeps_its_level() -> None:
    world = World()
    down = (TRANSACTIONS, 1)
    assert updated(world, down, kind=SAFE_DOWNGRADE, validate_only=True).error_code == 0
    assert finalized(world) == HIGHEST
    assert updated(world, down, kind=SAFE_DOWNGRADE).error_code == 0
    assert finalized(world) == {**HIGHEST, TRANSACTIONS: 1}
    world.restart()
    assert finalized(world) == {**HIGHEST, TRANSACTIONS: 1}
    assert updated(world, (TRANSACTIONS, 2)).error_code == 0
    assert finalized(world) == HIGHEST
    assert updated(world, (TRANSACTIONS, 0), kind=UNSAFE_DOWNGRADE).error_code == 0
    assert TRANSACTIONS not in finalized(world)


def test_version_0_says_in_another_field_that_a_feature_may_go_down() -> None:
    world = World()
    for allowed, code in ((False, ErrorCode.INVALID_UPDATE_VERSION), (True, ErrorCode.NONE)):
        row = REQUEST.struct(
            "FeatureUpdateKey", feature=TRANSACTIONS, max_version_level=1, allow_downgrade=allowed
        )
        answer = world.call(ApiKey.UPDATE_FEATURES, 0, feature_updates=[row])
        assert answer.error_code == code
    assert finalized(world) == {**HIGHEST, TRANSACTIONS: 1}


@pytest.mark.parametrize(
    ("level", "kind", "why"),
    [
        ((TRANSACTIONS, 1), UPGRADE, "Can't downgrade the version of this feature without"),
        ((TRANSACTIONS, 3), UPGRADE, "only supports versions 0-2"),
        ((TRANSACTIONS, -1), SAFE_DOWNGRADE, "cannot be less than 0"),
        ((TRANSACTIONS, 1), 0, "does not support the given upgrade type"),
        (("share.version", 1), UPGRADE, "Local controller 1 does not support this feature"),
        ((METADATA, 29), UNSAFE_DOWNGRADE, "only supports versions 30-30"),
        ((KRAFT, 2), UPGRADE, "only supports versions 0-1"),
    ],
)
def test_levels_that_a_feature_cannot_have_change_nothing(
    level: tuple[str, int], kind: int, why: str
) -> None:
    world = World()
    answer = updated(world, (ELIGIBLE_REPLICAS, 1), level, kind=kind)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert answer.error_message.startswith("The update failed for all features since")
    assert why in answer.error_message
    assert finalized(world) == HIGHEST


def test_eligible_replicas_make_the_minimum_one_of_the_cluster() -> None:
    world = World()
    assert updated(world, (ELIGIBLE_REPLICAS, 0), kind=SAFE_DOWNGRADE).error_code == 0
    controller = world.node.broker.controller
    controller.write(
        [
            config_record(BROKER_RESOURCE, ALL_BROKERS, MIN_INSYNC_REPLICAS, None),
            config_record(BROKER_RESOURCE, "1", MIN_INSYNC_REPLICAS, "3"),
        ]
    )
    assert updated(world, (ELIGIBLE_REPLICAS, 1)).error_code == 0
    image = world.node.broker.image
    assert image.configs_of_broker(ALL_BROKERS)[MIN_INSYNC_REPLICAS] == "1"
    assert MIN_INSYNC_REPLICAS not in image.configs_of_broker("1")
