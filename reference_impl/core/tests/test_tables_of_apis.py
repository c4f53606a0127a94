"""The two tables of APIs, held against what Kafka says of listeners and forwarding."""

from __future__ import annotations

import pytest

from reference_impl.core.handlers import BROKER, CONTROLLER
from reference_impl.core.handlers.forwarding import forward
from reference_impl.core.requests.api import Api
from reference_impl.core.tests.test_topics import CREATE, create, metadata
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, valid_versions
from reference_impl.wire.tests.test_tables import java_rows

BETWEEN_NODES = {
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.ALTER_PARTITION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.BROKER_REGISTRATION,
    ApiKey.CONTROLLER_REGISTRATION,
}
"""The APIs that a controller serves, and that no broker forwards for a client."""
FORWARDED = CONTROLLER.keys() - BETWEEN_NODES


@pytest.mark.needs("jdk", "kafka-jars")
def test_each_role_serves_what_kafka_gives_it() -> None:
    rows = {ApiKey(int(row[0])): row[3:] for row in java_rows("4.3.1")["api"]}
    of_brokers = {key for key, (_, *listeners) in rows.items() if "BROKER" in listeners}
    of_controllers = {key for key, (_, *listeners) in rows.items() if "CONTROLLER" in listeners}
    forwarded = {key for key in of_brokers if rows[key][0] == "true"}
    assert forwarded == FORWARDED
    assert CONTROLLER.keys() <= of_controllers
    assert BROKER.keys() <= of_brokers


@pytest.mark.parametrize("key", sorted(FORWARDED), ids=lambda key: ApiKey(key).name)
def test_what_a_controller_serves_a_broker_forwards_in_the_same_versions(key: int) -> None:
    asked, served = BROKER[key], CONTROLLER[key]
    assert (asked.min_version, asked.max_version) == (served.min_version, served.max_version)
    assert asked.handle.__name__.startswith(forward.__name__)
    assert not served.handle.__name__.startswith(forward.__name__)


@pytest.mark.parametrize(
    ("of", "key"),
    [
        pytest.param(of, key, id=f"{role}-{ApiKey(key).name}")
        for role, of in (("broker", BROKER), ("controller", CONTROLLER))
        for key in of
    ],
)
def test_the_versions_served_are_the_stable_ones_of_the_schema(
    of: dict[int, Api], key: int
) -> None:
    stable = valid_versions(key, stable=True)
    assert (of[key].min_version, of[key].max_version) == (stable[0], stable[-1]), (
        f"{ApiKey(key).name}: serve versions {stable[0]} to {stable[-1]} in the table of handlers"
    )


def test_only_what_is_forwarded_is_the_controllers() -> None:
    forwarded = {
        key for key, api in BROKER.items() if api.handle.__name__.startswith(forward.__name__)
    }
    assert forwarded == FORWARDED


def test_the_partitions_of_a_new_topic_are_open_when_the_client_hears_of_it() -> None:
    world = World()
    create(world, num_partitions=3)
    broker = world.node.broker
    assert broker.replicas.unopened() == []
    assert len(list(broker.replicas)) == 3


def test_the_controllers_answers_wait_until_all_that_it_knew_is_committed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    log = world.node.broker.quorum
    monkeypatch.setattr(log, "commit", lambda: None)
    row = CREATE.struct("CreatableTopic", name="t", num_partitions=2, replication_factor=1)
    body = CREATE.new(topics=[row], timeout_ms=1000)
    creates, repeats = (world.send(ApiKey.CREATE_TOPICS, 7, body, client) for client in (1, 2))
    init = world.call(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, producer_id=-1, client=3)
    assert ErrorCode(init.error_code) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert (world.answer_to(creates), world.answer_to(repeats)) == (None, None)
    unknown = metadata(world, allow_auto_topic_creation=True).error_code
    assert ErrorCode(unknown) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    monkeypatch.undo()
    log.commit()
    world.wait(1)
    world.disconnect(4)
    created, refused = world.answer_to(creates), world.answer_to(repeats)
    assert created is not None
    assert refused is not None, "it tells of a topic that was not committed before"
    codes = [ErrorCode(answer.topics[0].error_code) for answer in (created, refused)]
    assert codes == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]
    assert len(list(world.node.broker.replicas)) == 2
    init = world.call(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, producer_id=-1, client=3)
    assert (init.error_code, init.producer_id) == (0, 0)
