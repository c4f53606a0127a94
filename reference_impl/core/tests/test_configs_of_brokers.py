"""Each broker of a cluster changes its own configuration, wherever the active controller is."""

from __future__ import annotations

import re

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.dynamic import check_dynamic
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.controller.config_changes import check_node_exists
from reference_impl.core.refused import Refused
from reference_impl.core.tests.replicated_cluster import ReplicatedCluster
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, request_definition

BROKER, KEY = 4, "message.max.bytes"


def changed(
    cluster: ReplicatedCluster, node: int, api: ApiKey, values: dict[str, str]
) -> list[tuple[str, int]]:
    """Send a change of the key for each named broker to one node. Return the rows of the answer, as
    (name, error)."""
    of = request_definition(api)
    rows = [
        of.struct(
            "AlterConfigsResource",
            resource_type=BROKER,
            resource_name=name,
            configs=[of.struct("AlterableConfig", name=KEY, value=value)],
        )
        for name, value in values.items()
    ]
    cluster.send(node, api, 1, of.new(resources=rows))
    cluster.run(500)
    answer = cluster.answers[node].pop()
    return [(row.resource_name, row.error_code) for row in answer.responses]


@pytest.mark.parametrize("api", [ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS])
def test_each_broker_changes_itself_and_all_but_no_other(api: ApiKey) -> None:
    cluster = ReplicatedCluster()
    for node in cluster.nodes:
        values = {str(each): f"{1_000_000 + each}" for each in (1, 2, 3)}
        found = changed(cluster, node, api, values)
        refused = ErrorCode.INVALID_REQUEST
        assert found == [(name, 0 if name == str(node) else refused) for name in values]
    in_force = [node.broker.config.number(KEY) for node in cluster.nodes.values()]
    assert in_force == [1_000_001, 1_000_002, 1_000_003]
    found = changed(cluster, 1, api, {"2": "1", "x": "1"})
    assert found == [("2", ErrorCode.INVALID_REQUEST), ("x", ErrorCode.INVALID_REQUEST)]


def test_a_controller_refuses_the_configuration_of_a_node_that_does_not_exist() -> None:
    controller = World().node.broker.controller
    check_node_exists(controller, "1")
    with pytest.raises(Refused, match="BROKER_ID_NOT_REGISTERED"):
        check_node_exists(controller, "7")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("log.dirs", "restart the broker"),
        ("metric.reporters", "metric.reporters: without effect on this broker"),
    ],
)
def test_a_key_that_no_running_broker_takes_is_refused_with_what_to_do(
    name: str, advice: str
) -> None:
    check_dynamic({f"{name}.of.a.plugin": "1"}, BrokerConfig.of({}))
    with pytest.raises(BadConfig, match=f"{re.escape(advice)}$"):
        check_dynamic({name: "1"}, BrokerConfig.of({}))
