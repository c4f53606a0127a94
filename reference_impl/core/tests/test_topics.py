"""Topics: made, described, grown, changed and deleted, and what of it survives."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

CREATE = request_definition(ApiKey.CREATE_TOPICS)


def create(world: World, **fields: Any) -> Struct:
    row = {"name": "t", "num_partitions": 1, "replication_factor": 1, **fields}
    answer = world.call(ApiKey.CREATE_TOPICS, 7, topics=[CREATE.struct("CreatableTopic", **row)])
    topic: Struct = answer.topics[0]
    return topic


def metadata(world: World, name: str = "t", **fields: Any) -> Struct:
    of = request_definition(ApiKey.METADATA)
    topics = [of.struct("MetadataRequestTopic", name=name)]
    answer = world.call(ApiKey.METADATA, 12, topics=topics, **fields)
    topic: Struct = answer.topics[0]
    return topic


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"num_partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"replication_factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 2}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"num_partitions": 10_001}, ErrorCode.POLICY_VIOLATION),
        ({"name": ""}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": ".."}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": "a/b"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": "x" * 250}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": "__cluster_metadata"}, ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_a_topic_that_cannot_be_is_refused(fields: dict[str, Any], code: ErrorCode) -> None:
    world = World()
    assert ErrorCode(create(world, **fields).error_code) is code
    assert world.node.broker.image.topics == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no.such.key", "1"),
        ("retention.ms", "abc"),
        ("retention.ms", None),
        ("retention.ms", "1_000"),
        ("retention.ms", "9" * 5000),
        ("cleanup.policy", "delete,"),
        ("leader.replication.throttled.replicas", "*,0:1"),
        ("max.compaction.lag.ms", "0"),
        ("remote.storage.enable", "true"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_bad_configurations_are_refused(key: str, value: str | None) -> None:
    world = World()
    configs = [CREATE.struct("CreatableTopicConfig", name=key, value=value)]
    assert create(world, configs=configs).error_code == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cleanup.policy", ""),
        ("cleanup.policy", "compact, delete"),
        ("leader.replication.throttled.replicas", "*"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("min.compaction.lag.ms", "5"),
        ("preallocate", "TRUE"),
    ],
)
def test_what_kafka_takes_is_taken(key: str, value: str) -> None:
    world = World()
    configs = [CREATE.struct("CreatableTopicConfig", name=key, value=value)]
    assert create(world, configs=configs).error_code == 0
    assert world.node.broker.image.topics["t"].configs == {key: value}


def test_lags_of_compaction_that_contradict_each_other_are_refused() -> None:
    world = World()
    configs = [
        CREATE.struct("CreatableTopicConfig", name=f"{bound}.compaction.lag.ms", value=value)
        for bound, value in (("min", "10"), ("max", "5"))
    ]
    assert create(world, configs=configs).error_code == ErrorCode.INVALID_CONFIG


def test_names_that_collide_are_refused() -> None:
    world = World()
    world.create_topic("a.b")
    assert create(world, name="a_b").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert create(world, name="a.b").error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_topics_and_their_ids_survive_a_kill() -> None:
    world = World()
    topic_id = world.create_topic("t", 3, retention_ms="1000")
    world.kill()
    topic = world.node.broker.image.topics["t"]
    assert (topic.topic_id, len(topic.partitions)) == (topic_id, 3)
    assert topic.configs == {"retention.ms": "1000"}


def test_each_start_is_a_leadership_of_its_own() -> None:
    world = World()
    world.create_topic("t")
    assert metadata(world).partitions[0].leader_epoch == 0
    world.kill()
    # One for the end of the leadership before, and one for the new one, as on Apache Kafka.
    assert metadata(world).partitions[0].leader_epoch == 2


def test_a_deleted_topic_is_gone_and_its_name_begins_anew() -> None:
    world = World()
    first = world.create_topic("t")
    world.produce("t", "a")
    world.call(ApiKey.DELETE_TOPICS, 3, topic_names=["t"], timeout_ms=1_000)
    assert metadata(world, allow_auto_topic_creation=False).error_code == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    second = world.create_topic("t")
    assert first != second
    assert world.read_all("t") == []
    world.kill()
    assert world.node.broker.image.topics["t"].topic_id == second


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_request_without_time_changes_nothing(timeout_ms: int) -> None:
    """Seen on Apache Kafka 4.3.1: each row times out, wrong and repeated ones, too; but where no
    row is left for the controller each has its own error."""
    world = World()
    world.create_topic("t")
    deletion = request_definition(ApiKey.DELETE_TOPICS)
    growth = request_definition(ApiKey.CREATE_PARTITIONS)

    def codes(*names: str) -> list[list[int]]:
        made = [CREATE.struct("CreatableTopic", name=name, num_partitions=1) for name in names]
        gone = [deletion.struct("DeleteTopicState", name=name) for name in names]
        grown = [growth.struct("CreatePartitionsTopic", name=name, count=3) for name in names]
        fields: dict[str, Any] = {"timeout_ms": timeout_ms}
        return [
            [
                t.error_code
                for t in world.call(ApiKey.CREATE_TOPICS, 7, topics=made, **fields).topics
            ],
            [
                t.error_code
                for t in world.call(ApiKey.DELETE_TOPICS, 6, topics=gone, **fields).responses
            ],
            [
                t.error_code
                for t in world.call(ApiKey.CREATE_PARTITIONS, 3, topics=grown, **fields).results
            ],
        ]

    assert codes("t", "a b", "a b", "new") == [[ErrorCode.REQUEST_TIMED_OUT] * 4] * 3
    assert codes("t", "t") == [[ErrorCode.INVALID_REQUEST]] * 3
    assert codes() == [[]] * 3
    assert list(world.node.broker.image.topics) == ["t"]
    assert len(metadata(world).partitions) == 1


def test_a_topic_grows_and_keeps_its_data() -> None:
    world = World()
    world.create_topic("t")
    world.produce("t", "a")
    of = request_definition(ApiKey.CREATE_PARTITIONS)
    row = of.struct("CreatePartitionsTopic", name="t", count=3, assignments=None)
    answer = world.call(ApiKey.CREATE_PARTITIONS, 3, topics=[row], timeout_ms=1_000)
    assert answer.results[0].error_code == 0
    assert len(metadata(world).partitions) == 3
    assert world.read_all("t") == ["a"]
    assert world.produce("t", "b", partition=2).error_code == 0


def test_metadata_creates_a_topic_that_is_asked_for() -> None:
    world = World({"num.partitions": "2"})
    assert metadata(world).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    described = metadata(world)
    assert (described.error_code, len(described.partitions)) == (0, 2)
    quiet = metadata(world, name="other", allow_auto_topic_creation=False)
    assert quiet.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "other" not in world.node.broker.image.topics


def test_a_changed_configuration_is_in_force_at_once_and_after_a_kill() -> None:
    world = World()
    world.create_topic("t")
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    change = of.struct("AlterableConfig", name="max.message.bytes", config_operation=0, value="100")
    resource = of.struct(
        "AlterConfigsResource", resource_type=2, resource_name="t", configs=[change]
    )
    answer = world.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource])
    assert answer.responses[0].error_code == 0
    for _ in range(2):
        assert world.produce("t", "x" * 100).error_code == ErrorCode.MESSAGE_TOO_LARGE
        world.kill()


def test_records_are_deleted_up_to_an_offset_and_stay_deleted() -> None:
    world = World()
    world.create_topic("t")
    for value in "abc":
        world.produce("t", value)
    of = request_definition(ApiKey.DELETE_RECORDS)
    partition = of.struct("DeleteRecordsPartition", partition_index=0, offset=2)
    topic = of.struct("DeleteRecordsTopic", name="t", partitions=[partition])
    answer = world.call(ApiKey.DELETE_RECORDS, 2, topics=[topic])
    assert answer.topics[0].partitions[0].low_watermark == 2
    for _ in range(2):
        assert world.fetch("t", 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert world.fetch("t", 2).log_start_offset == 2
        world.kill()


def test_producer_ids_are_never_given_twice() -> None:
    world = World()
    given = []
    for _ in range(3):
        for _ in range(2):
            answer = world.call(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None)
            given.append(answer.producer_id)
        world.kill()
    assert len(set(given)) == len(given)


def test_a_transactional_id_never_gets_a_producer_id() -> None:
    world = World()
    answer = world.call(
        ApiKey.INIT_PRODUCER_ID, 4, transactional_id="tx", transaction_timeout_ms=1000
    )
    assert (answer.error_code, answer.producer_id) == (ErrorCode.NOT_COORDINATOR, -1)


def test_too_many_partitions_are_refused_whatever_topics_they_are_of() -> None:
    world = World()
    rows = [CREATE.struct("CreatableTopic", name=name, num_partitions=6000) for name in "ab"]
    answer = world.call(ApiKey.CREATE_TOPICS, 7, topics=rows)
    assert [row.error_code for row in answer.topics] == [ErrorCode.POLICY_VIOLATION] * 2
    assert world.node.broker.image.topics == {}


@pytest.mark.parametrize(("partitions", "configs"), [(10_000, 0), (9_999, 1), (9_998, 2)])
def test_a_request_that_needs_too_many_records_is_refused(partitions: int, configs: int) -> None:
    world = World()
    entries = [
        CREATE.struct("CreatableTopicConfig", name=name, value="86400000")
        for name in ("retention.ms", "segment.ms")[:configs]
    ]
    of = partial(CREATE.struct, "CreatableTopic", replication_factor=1)
    rows = [
        of(name="a", num_partitions=partitions, configs=entries),
        of(name="a/b", num_partitions=1),
    ]
    for fewer, expected in ((0, [44, 44]), (1, [0, 17])):
        rows[0].num_partitions = partitions - fewer
        answer = world.call(ApiKey.CREATE_TOPICS, 7, topics=rows, timeout_ms=1, validate_only=True)
        assert [row.error_code for row in answer.topics] == expected


def test_topics_do_not_grow_by_too_many_partitions_in_one_request() -> None:
    world = World()
    world.create_topic("a", 1)
    world.create_topic("b", 1)
    of = request_definition(ApiKey.CREATE_PARTITIONS)
    for new, expected in (
        ((6_000, 4_000), [0, 0]),
        ((6_000, 4_001), [0, -1]),
        ((10_001, 1), [-1, -1]),
        ((2**31 - 2,), [-1]),
    ):
        rows = [
            of.struct("CreatePartitionsTopic", name=name, count=1 + count, assignments=None)
            for name, count in zip("ab", new, strict=False)
        ]
        answer = world.call(
            ApiKey.CREATE_PARTITIONS, 3, topics=rows, timeout_ms=1, validate_only=True
        )
        assert [row.error_code for row in answer.results] == expected


@pytest.mark.parametrize(
    ("api", "version", "topic", "partition"),
    [
        (ApiKey.LIST_OFFSETS, 11, "ListOffsetsTopic", "ListOffsetsPartition"),
        (ApiKey.DELETE_RECORDS, 2, "DeleteRecordsTopic", "DeleteRecordsPartition"),
    ],
    ids=str,
)
def test_a_name_that_is_empty_is_unknown(
    api: ApiKey, version: int, topic: str, partition: str
) -> None:
    of = request_definition(api)
    rows = [of.struct(topic, name="", partitions=[of.struct(partition)])]
    answer = World().call(api, version, topics=rows)
    code = answer.topics[0].partitions[0].error_code
    assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
