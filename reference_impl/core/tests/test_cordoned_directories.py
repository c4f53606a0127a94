"""A broker whose data directory is cordoned keeps its partitions and gets no new ones (KIP-1066).

The answers are those of Apache Kafka 4.3.1.
"""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.effects import Respond
from reference_impl.core.log.directories.cordoned import CORDONED
from reference_impl.core.tests.replicated_cluster import ReplicatedCluster
from reference_impl.core.tests.test_controller_listener import OF_CONTROLLER, ask, started
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

BROKER = 4
SET, DELETE, APPEND, SUBTRACT = range(4)
INCREMENTAL = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
CREATE = request_definition(ApiKey.CREATE_TOPICS)
NONE_IS_LEFT = "All brokers are currently fenced, or have all their log directories cordoned."


def change(broker: str, value: str | None, operation: int = SET) -> list[Struct]:
    """Return the resources of a request that changes the cordoned directories of a broker."""
    row = INCREMENTAL.struct(
        "AlterableConfig", name=CORDONED, config_operation=operation, value=value
    )
    of = INCREMENTAL.struct
    return [of("AlterConfigsResource", resource_type=BROKER, resource_name=broker, configs=[row])]


def changed(
    world: World, value: str | None, operation: int = SET, broker: str = "1"
) -> tuple[int, str | None]:
    """Send such a request, and return the error code and message."""
    resources = change(broker, value, operation)
    row = world.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources).responses[0]
    return row.error_code, row.error_message


def is_cordoned(world: World) -> bool:
    """Return what DescribeLogDirs answers."""
    (found,) = world.call(ApiKey.DESCRIBE_LOG_DIRS, 5, topics=None).results
    told: bool = found.is_cordoned
    in_image = world.node.broker.image.brokers[1].is_cordoned
    assert in_image == told, "the controller knows as much"
    return told


def topic(name: str, replicas: int = 1, **fields: object) -> Struct:
    row = CREATE.struct(
        "CreatableTopic", name=name, num_partitions=1, replication_factor=replicas, **fields
    )
    return CREATE.new(topics=[row])


def created(world: World, name: str) -> tuple[int, str | None]:
    row = world.ask(ApiKey.CREATE_TOPICS, 7, topic(name)).topics[0]
    return row.error_code, row.error_message


@pytest.mark.parametrize("value", ["*", "data"])
def test_a_broker_that_starts_cordoned_gets_no_partitions(value: str) -> None:
    world = World({CORDONED: value})
    assert is_cordoned(world)
    refused = f"Unable to replicate the partition 1 time(s): {NONE_IS_LEFT}"
    assert created(world, "t") == (ErrorCode.INVALID_REPLICATION_FACTOR, refused)
    assert changed(world, "")[0] == ErrorCode.NONE
    assert not is_cordoned(world)
    assert created(world, "t")[0] == ErrorCode.NONE
    assert changed(world, None, DELETE)[0] == ErrorCode.NONE
    assert is_cordoned(world)
    world.kill()
    assert is_cordoned(world)


def test_partitions_stay_and_may_be_placed_there_by_hand() -> None:
    world = World()
    world.create_topic("t")
    assert changed(world, "data") == (ErrorCode.NONE, None)
    assert is_cordoned(world)
    assert world.produce("t", "a").error_code == ErrorCode.NONE
    of = request_definition(ApiKey.CREATE_PARTITIONS)
    grown = of.struct("CreatePartitionsTopic", name="t", count=2, assignments=None)
    (row,) = world.call(ApiKey.CREATE_PARTITIONS, 3, topics=[grown], timeout_ms=1_000).results
    assert (row.error_code, row.error_message) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        NONE_IS_LEFT,
    )
    grown.assignments = [of.struct("CreatePartitionsAssignment", broker_ids=[1])]
    (row,) = world.call(ApiKey.CREATE_PARTITIONS, 3, topics=[grown], timeout_ms=1_000).results
    assert row.error_code == ErrorCode.NONE
    assert world.produce("t", "b", partition=1).error_code == ErrorCode.NONE
    world.kill()
    assert is_cordoned(world)


def test_no_replica_is_moved_into_a_cordoned_directory() -> None:
    world = World()
    world.create_topic("t")
    of = request_definition(ApiKey.ALTER_REPLICA_LOG_DIRS)

    def code(path: str, name: str) -> int:
        topics = [of.struct("AlterReplicaLogDirTopic", name=name, partitions=[0])]
        wanted = of.struct("AlterReplicaLogDir", path=path, topics=topics)
        (found,) = world.call(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, dirs=[wanted]).results
        error: int = found.partitions[0].error_code
        return error

    assert code("data", "t") == ErrorCode.NONE
    changed(world, "*")
    assert code("data", "t") == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert code("data", "missing") == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert code("elsewhere", "t") == ErrorCode.LOG_DIR_NOT_FOUND


def test_items_are_appended_and_subtracted() -> None:
    world = World()
    for value, operation, expected in (
        ("data", APPEND, True),
        ("data", SUBTRACT, False),
        (" data ", SET, True),
        ("data,data", SET, True),
        ("", SET, False),
        ("*", APPEND, True),
    ):
        assert changed(world, value, operation)[0] == ErrorCode.NONE
        assert is_cordoned(world) == expected, (value, operation)


@pytest.mark.parametrize(
    ("broker", "value", "reason"),
    [
        ("", "*", "broker id must be specified"),
        ("", "data", "broker id must be specified"),
        ("1", "elsewhere", "Missing entries : elsewhere"),
        ("1", "data,a,b", "Missing entries : a,b"),
        ("1", "*,data", "must not contain other values"),
    ],
)
def test_a_broker_refuses_what_is_not_its_own(broker: str, value: str, reason: str) -> None:
    world = World()
    code, message = changed(world, value, broker=broker)
    assert code == ErrorCode.INVALID_REQUEST
    assert message is not None and reason in message
    assert not is_cordoned(world)
    of = request_definition(ApiKey.ALTER_CONFIGS)
    row = of.struct(
        "AlterConfigsResource",
        resource_type=BROKER,
        resource_name=broker,
        configs=[of.struct("AlterableConfig", name=CORDONED, value=value)],
    )
    (answer,) = world.call(ApiKey.ALTER_CONFIGS, 1, resources=[row]).responses
    assert (answer.error_code, answer.error_message) == (code, message)


@pytest.mark.parametrize("value", ["*,/a", "/c", "/a,/c"])
def test_a_broker_does_not_start_with_directories_that_it_has_not(value: str) -> None:
    BrokerConfig.of({"log.dirs": "/a,/b", CORDONED: "/b"})
    with pytest.raises(BadConfig, match=CORDONED):
        BrokerConfig.of({"log.dirs": "/a,/b", CORDONED: value})
    with pytest.raises(BadConfig, match=CORDONED):
        BrokerConfig.of({"log.dir": "/a", CORDONED: value})


def test_a_controller_that_is_asked_itself_only_removes_directories() -> None:
    node = started()

    def code(connection: int, value: str, broker: str = "1") -> int:
        resources = change(broker, value)
        answer = ask(node, connection, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources)
        assert isinstance(answer, Respond)
        error: int = answer.body.responses[0].error_code
        return error

    for value in ("*", "data", "elsewhere"):
        assert code(OF_CONTROLLER, value) == ErrorCode.INVALID_CONFIG
    assert code(OF_CONTROLLER, "*", broker="") == ErrorCode.INVALID_CONFIG
    assert code(1, "*") == ErrorCode.NONE
    assert code(OF_CONTROLLER, "*") == ErrorCode.NONE
    assert code(OF_CONTROLLER, "data") == ErrorCode.INVALID_CONFIG
    assert code(OF_CONTROLLER, " ") == ErrorCode.NONE


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("log.cleaner.threads", "2", ErrorCode.BROKER_ID_NOT_REGISTERED),
        ("log.cleaner.threads", "many", ErrorCode.BROKER_ID_NOT_REGISTERED),
        (CORDONED, "/elsewhere", ErrorCode.INVALID_CONFIG),
        ("min.insync.replicas", "1", ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_controller_refuses_some_keys_before_it_looks_for_the_broker(
    key: str, value: str, expected: ErrorCode
) -> None:
    resources = change("7", value)
    resources[0].configs[0].name = key
    answer = ask(started(), OF_CONTROLLER, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources)
    assert isinstance(answer, Respond)
    assert answer.body.responses[0].error_code == expected


def test_new_replicas_go_to_the_other_brokers_at_once() -> None:
    """The broker does not wait for its next heartbeat to tell the controller."""
    cluster = ReplicatedCluster(configs={"broker.heartbeat.interval.ms": "1000"})
    cluster.create()
    body = INCREMENTAL.new(resources=change("2", "*"))
    cluster.send(2, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body)
    cluster.run(200)
    assert cluster.answers[2].pop().responses[0].error_code == ErrorCode.NONE
    assert [
        node for node, each in cluster.nodes[1].broker.image.brokers.items() if each.is_cordoned
    ] == [2]
    for name in "abcdef":
        cluster.send(1, ApiKey.CREATE_TOPICS, 7, topic(name, replicas=2))
        cluster.run(1_000)
        assert cluster.answers[1].pop().topics[0].error_code == ErrorCode.NONE
        (state,) = cluster.nodes[1].broker.image.topics[name].partitions.values()
        assert set(state.replicas) == {1, 3}
    cluster.send(1, ApiKey.CREATE_TOPICS, 7, topic("three", replicas=3))
    cluster.run(1_000)
    row = cluster.answers[1].pop().topics[0]
    assert row.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "only 2 broker(s) are registered or some brokers have all" in row.error_message
    assert 2 in cluster.nodes[1].broker.image.topics["t"].partitions[0].isr
