"""Settings of single groups override those of the broker (KIP-848)."""

from __future__ import annotations

import pytest

from reference_impl.core.groups.consumer.model.states import GroupState
from reference_impl.core.tests.consumer_client import Consumer, group_in, new_world
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

GROUP, SET, DELETE = 32, 0, 1
ALTER = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)


@pytest.fixture
def world() -> World:
    return new_world()


def alter(
    world: World, name: str, value: str | None, operation: int = SET, group: str = "g"
) -> Struct:
    row = ALTER.struct("AlterableConfig", name=name, config_operation=operation, value=value)
    resource = ALTER.struct(
        "AlterConfigsResource", resource_type=GROUP, resource_name=group, configs=[row]
    )
    answer = world.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
    found: Struct = answer.responses[0]
    return found


def described(world: World) -> dict[str, tuple[str, int, list[str]]]:
    """Return key -> value, source and the names of its synonyms."""
    of = request_definition(ApiKey.DESCRIBE_CONFIGS)
    wanted = of.struct(
        "DescribeConfigsResource", resource_type=GROUP, resource_name="g", configuration_keys=None
    )
    answer = world.call(ApiKey.DESCRIBE_CONFIGS, 4, resources=[wanted], include_synonyms=True)
    return {
        row.name: (row.value, row.config_source, [each.name for each in row.synonyms])
        for row in answer.results[0].configs
    }


def listed(world: World) -> list[str]:
    answer = world.call(ApiKey.LIST_CONFIG_RESOURCES, 1, resource_types=[GROUP])
    return [row.resource_name for row in answer.config_resources]


def test_a_group_has_its_own_session_timeout_and_heartbeat_interval(world: World) -> None:
    assert alter(world, "consumer.session.timeout.ms", "60000").error_code == ErrorCode.NONE
    assert alter(world, "consumer.heartbeat.interval.ms", "6000").error_code == ErrorCode.NONE
    world.restart()
    one = Consumer(world, 1, "a")
    assert one.join().heartbeat_interval_ms == 6000
    world.wait(59_999)
    assert group_in(world).state is GroupState.STABLE
    world.wait(1)
    assert group_in(world).state is GroupState.EMPTY


def test_it_is_described_with_where_it_comes_from(world: World) -> None:
    name, broker_name = "consumer.session.timeout.ms", "group.consumer.session.timeout.ms"
    assert described(world)[name] == ("45000", 5, [broker_name])
    assert listed(world) == []
    alter(world, name, "46000")
    assert described(world)[name] == ("46000", 8, [name, broker_name])
    assert described(world)["consumer.assignment.interval.ms"][:2] == ("0", 4)
    assert listed(world) == ["g"]
    assert alter(world, name, None, DELETE).error_code == ErrorCode.NONE
    assert described(world)[name] == ("45000", 5, [broker_name])
    assert listed(world) == []


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("nope", "1", "Unknown group config name: nope"),
        (
            "consumer.session.timeout.ms",
            "1000",
            "consumer.session.timeout.ms must be greater than or equal to"
            " group.consumer.min.session.timeout.ms",
        ),
        (
            "consumer.heartbeat.interval.ms",
            "50000",
            "consumer.heartbeat.interval.ms must be less than or equal to"
            " group.consumer.max.heartbeat.interval.ms",
        ),
    ],
)
def test_what_a_group_cannot_have_is_refused(world: World, name: str, value: str, why: str) -> None:
    answer = alter(world, name, value)
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_CONFIG, why)


def test_there_is_no_configuration_of_all_groups(world: World) -> None:
    answer = alter(world, "consumer.session.timeout.ms", "46000", group="")
    assert answer.error_code == ErrorCode.INVALID_REQUEST
