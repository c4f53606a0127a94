"""CreateTopics: what is created, and what is refused without a trace."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.case import case, each, expect, expect_that
from conformance.wire import REFUSALS_OF_ONE_REPLICA, REPLICAS_DEMANDED_MAX, Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

ALL = (2, 7)
MINUS_ONE_SINCE = 4
"""The version from which on a replication factor of -1 means the broker's default (KIP-464)."""
BAD_NAMES = ["", ".", "..", "a/b", "a b", "x" * 250]
BAD_NAME_IDS = ["empty", "dot", "dots", "slash", "space", "long"]


def creatable(
    name: str, partitions: int = 1, replication_factor: int = 1, **config: str | None
) -> Struct:
    entries = [
        part("CreateTopics", "CreatableTopicConfig", name=key.replace("_", "."), value=value)
        for key, value in config.items()
    ]
    return part(
        "CreateTopics",
        "CreatableTopic",
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=entries,
    )


def create(wire: Wire, version: int, *topics: Struct, **options: Any) -> dict[str, Struct]:
    """Create topics; return name -> result. A cluster that refuses one replica is asked for as many
    as it likes."""
    answer = wire.call("CreateTopics", version, topics=list(topics), timeout_ms=20_000, **options)
    found = {result.name: result for result in answer.topics}
    again = [
        t
        for t in topics
        if t.replication_factor == 1 and found[t.name].error_code in REFUSALS_OF_ONE_REPLICA
    ]
    several = min(len(wire.brokers()), REPLICAS_DEMANDED_MAX) if again else 1
    if several > 1:
        for topic in again:
            topic.replication_factor = -1 if version >= MINUS_ONE_SINCE else several
        found |= create(wire, version, *again, **options)
    return found


def expect_refused(wire: Wire, version: int, topic: Struct, code: ErrorCode) -> None:
    """Require this error, and no such topic afterwards."""
    result = create(wire, version, topic)[topic.name]
    expect(result.error_code, code, "error")
    if topic.name not in BAD_NAMES:
        expect(
            wire.topic_metadata(topic.name).error_code,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "Metadata afterwards",
        )


@case("ADMIN-01", "CreateTopics", versions=ALL, spec="KIP-4; KIP-525; KIP-516")
def test_a_topic_is_created_as_asked_for(wire: Wire, version: int) -> None:
    """A topic with three partitions is created with NONE; from v5 on the response has its
    partitions, replication factor and configs, from v7 on its topic id, and Metadata agrees."""
    name = wire.new_name()
    result = create(wire, version, creatable(name, 3))[name]
    expect(result.error_code, ErrorCode.NONE, "error")
    topic = wire.wait_for_topic(name, 3)
    if version >= 5:
        replicas = {len(p.replica_nodes) for p in wire.topic_metadata(name).partitions}
        expect(
            (result.num_partitions, {result.replication_factor}),
            (3, replicas),
            "(partitions, replicas)",
        )
        expect_that(len(result.configs or []) > 0, "configs", "some", result.configs)
    if version >= 7:
        expect(result.topic_id, topic.id, "topic id")


@case("ADMIN-02", "CreateTopics", versions=(4, 7), spec="KIP-464")
def test_minus_one_takes_the_brokers_defaults(wire: Wire, version: int) -> None:
    """Partitions and replication factor -1 (v4+) let the target choose: one or more of each. The
    answer says how many (v5+), and Metadata agrees."""
    name = wire.new_name()
    result = create(wire, version, creatable(name, -1, -1))[name]
    expect(result.error_code, ErrorCode.NONE, "error")
    described = eventually(
        lambda: wire.topic_metadata(name),
        lambda topic: topic.error_code == ErrorCode.NONE,
        "the topic is in Metadata",
    )
    rows = each(described.partitions, "partitions")
    replicas = {len(row.replica_nodes) for row in rows}
    expect_that(len(replicas) == 1 and 0 not in replicas, "replicas of each", "as many", replicas)
    if version >= 5:
        told = (result.num_partitions, {result.replication_factor})
        expect(told, (len(rows), replicas), "(partitions, replication factor)")
    wire.wait_for_topic(name, len(rows))


@case("ADMIN-03", "CreateTopics", versions=ALL, spec="class ReplicationControlManager")
def test_an_existing_topic_is_refused_and_the_others_created(wire: Wire, version: int) -> None:
    """A name that exists gets TOPIC_ALREADY_EXISTS (36), whatever else is wrong with the topic;
    other topics of the request are created."""
    topic, name = wire.create_topic(), wire.new_name()
    both_wrong = create(wire, version, creatable(topic.name, 5, no_such_key="1"))[topic.name]
    expect(both_wrong.error_code, ErrorCode.TOPIC_ALREADY_EXISTS, "error of an unknown key, too")
    results = create(wire, version, creatable(topic.name, 5), creatable(name))
    expect(results[topic.name].error_code, ErrorCode.TOPIC_ALREADY_EXISTS, "error of the old one")
    expect(results[name].error_code, ErrorCode.NONE, "error of the new one")
    wire.wait_for_topic(name, 1)
    wire.wait_for_topic(topic.name, 1)


@pytest.mark.parametrize("partitions", [0, -2], ids="partitions={}".format)
@case("ADMIN-04", "CreateTopics", versions=ALL, spec="ReplicationControlManager.createTopic")
def test_an_impossible_number_of_partitions_is_refused(
    wire: Wire, version: int, partitions: int
) -> None:
    """0 or -2 partitions get INVALID_PARTITIONS (37)."""
    expect_refused(
        wire, version, creatable(wire.new_name(), partitions), ErrorCode.INVALID_PARTITIONS
    )


@pytest.mark.parametrize("factor", [0, -2], ids="factor={}".format)
@case("ADMIN-05", "CreateTopics", versions=ALL, spec="ReplicationControlManager.createTopic")
def test_an_impossible_replication_factor_is_refused(wire: Wire, version: int, factor: int) -> None:
    """Replication factor 0 or -2 gets INVALID_REPLICATION_FACTOR (38)."""
    expect_refused(
        wire, version, creatable(wire.new_name(), 1, factor), ErrorCode.INVALID_REPLICATION_FACTOR
    )


@case("ADMIN-06", "CreateTopics", versions=ALL, spec="class StripedReplicaPlacer")
def test_more_replicas_than_brokers_are_refused(wire: Wire, version: int) -> None:
    """A replication factor beyond the number of brokers gets INVALID_REPLICATION_FACTOR (38)."""
    brokers = len(wire.call("Metadata", topics=[]).brokers)
    expect_refused(
        wire,
        version,
        creatable(wire.new_name(), 1, brokers + 1),
        ErrorCode.INVALID_REPLICATION_FACTOR,
    )


@pytest.mark.parametrize("name", BAD_NAMES, ids=BAD_NAME_IDS)
@case("ADMIN-07", "CreateTopics", versions=ALL, spec="class Topic, validate")
def test_an_invalid_name_is_refused(wire: Wire, version: int, name: str) -> None:
    """A name that is empty, . or .., longer than 249, or not of [a-zA-Z0-9._-], gets
    INVALID_TOPIC_EXCEPTION (17)."""
    expect_refused(wire, version, creatable(name), ErrorCode.INVALID_TOPIC_EXCEPTION)


@case("ADMIN-08", "CreateTopics", versions=ALL, spec="class Topic, hasCollision", priority="P1")
def test_names_that_differ_in_dot_and_underscore_collide(wire: Wire, version: int) -> None:
    """a.b and a_b would share their metrics' name: the second gets INVALID_TOPIC_EXCEPTION (17)."""
    stem = wire.new_name()
    wire.create_topic(name=f"{stem}_x")
    expect_refused(wire, version, creatable(f"{stem}.x"), ErrorCode.INVALID_TOPIC_EXCEPTION)


@pytest.mark.parametrize(
    "config",
    [{"no_such_key": "1"}, {"retention_ms": "abc"}, {"cleanup_policy": "shred"}],
    ids=["unknown-key", "bad-number", "bad-word"],
)
@case("ADMIN-09", "CreateTopics", versions=ALL, spec="class LogConfig, validate")
def test_a_wrong_config_is_refused(wire: Wire, version: int, config: dict[str, str]) -> None:
    """An unknown key or a value that does not fit gets INVALID_CONFIG (40) with a message."""
    topic = creatable(wire.new_name(), 1, 1, **config)
    result = create(wire, version, topic)[topic.name]
    expect(result.error_code, ErrorCode.INVALID_CONFIG, "error")
    expect_that(bool(result.error_message), "error message", "a sentence", result.error_message)
    expect(
        wire.topic_metadata(topic.name).error_code,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "Metadata afterwards",
    )


@case("ADMIN-10", "CreateTopics", versions=ALL, spec="ReplicationControlManager", priority="P1")
def test_a_config_without_a_value_is_refused(wire: Wire, version: int) -> None:
    """A config whose value is null gets INVALID_CONFIG (40)."""
    topic = creatable(wire.new_name(), 1, 1, retention_ms=None)
    expect_refused(wire, version, topic, ErrorCode.INVALID_CONFIG)


@case("ADMIN-11", "CreateTopics", versions=ALL, spec="KIP-4, field ValidateOnly")
def test_validate_only_creates_nothing(wire: Wire, version: int) -> None:
    """validate_only answers as the real request would, NONE or INVALID_PARTITIONS (37), and creates
    nothing."""
    name = wire.new_name()
    result = create(wire, version, creatable(name, 2), validate_only=True)[name]
    expect(result.error_code, ErrorCode.NONE, "error of a good topic")
    bad = wire.new_name()
    refused = create(wire, version, creatable(bad, 0), validate_only=True)[bad]
    expect(refused.error_code, ErrorCode.INVALID_PARTITIONS, "error of a bad one")
    for tried in (name, bad):
        expect(
            wire.topic_metadata(tried).error_code,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "Metadata afterwards",
        )


@case("ADMIN-12", "CreateTopics", versions=ALL, spec="ControllerApis.createTopics", priority="P1")
def test_a_name_twice_in_a_request_is_refused(wire: Wire, version: int) -> None:
    """A topic named twice in one request gets INVALID_REQUEST (42)."""
    name = wire.new_name()
    answer = wire.call(
        "CreateTopics", version, topics=[creatable(name, 1), creatable(name, 2)], timeout_ms=20_000
    )
    errors = sorted({result.error_code for result in answer.topics})
    expect(errors, [ErrorCode.INVALID_REQUEST], "errors")
    expect(
        wire.topic_metadata(name).error_code,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "Metadata afterwards",
    )


@case(
    "ADMIN-15",
    "CreateTopics",
    versions=ALL,
    spec="CreateTopicsRequestTest, cluster metadata",
    priority="P1",
)
def test_the_metadata_topic_cannot_be_created(wire: Wire, version: int) -> None:
    """Creating __cluster_metadata, KRaft's own topic, gets INVALID_REQUEST (42), and it is never
    created."""
    result = create(wire, version, creatable("__cluster_metadata"))["__cluster_metadata"]
    expect(result.error_code, ErrorCode.INVALID_REQUEST, "error")


@case(
    "ADMIN-16", "CreateTopics", versions=ALL, spec="class ReplicationControlManager", priority="P2"
)
def test_far_too_many_partitions_are_refused(wire: Wire, version: int) -> None:
    """More than 10,000 partitions in one request, in one topic or in several, by number or by
    assignment, get POLICY_VIOLATION (44) for each of its topics; 9,999 are valid."""
    expect_refused(wire, version, creatable(wire.new_name(), 10_001), ErrorCode.POLICY_VIOLATION)
    home = min(wire.brokers())
    assigned = creatable(wire.new_name(), -1, -1)
    assigned.assignments = [
        part("CreateTopics", "CreatableReplicaAssignment", partition_index=n, broker_ids=[home])
        for n in range(4_001)
    ]
    several = [creatable(wire.new_name(), 6_000), assigned]
    # Not `create`: after this error it asks again for one of them alone, which is valid.
    answer = wire.call(
        "CreateTopics", version, topics=several, timeout_ms=20_000, validate_only=True
    )
    errors = {result.name: result.error_code for result in answer.topics}
    expect(errors, {t.name: ErrorCode.POLICY_VIOLATION for t in several}, "errors of two topics")
    most = creatable(wire.new_name(), 9_999)
    error = create(wire, version, most, validate_only=True)[most.name].error_code
    expect(error, ErrorCode.NONE, "error of 9,999 partitions")


@case(
    "ADMIN-16",
    "CreateTopics",
    versions=ALL,
    spec="class QuorumController, MAX_RECORDS_PER_USER_OP",
    priority="P2",
)
def test_more_records_than_a_batch_has_are_refused(wire: Wire, version: int) -> None:
    """A request that needs more than 10,000 records of metadata, one for each topic, partition and
    configuration, gets POLICY_VIOLATION (44) for each of its topics; a topic that gets
    INVALID_TOPIC_EXCEPTION (17) needs none."""
    for partitions, configs in ((10_000, {}), (9_999, {"retention_ms": "86400000"})):
        topic = creatable(wire.new_name(), partitions, 1, **configs)
        error = create(wire, version, topic, validate_only=True)[topic.name].error_code
        expect(error, ErrorCode.POLICY_VIOLATION, f"error of {partitions:,} partitions")
    most, refused = creatable(wire.new_name(), 9_998, retention_ms="86400000"), creatable("a/b")
    found = create(wire, version, most, refused, validate_only=True)
    errors = {name: result.error_code for name, result in found.items()}
    expected = {most.name: ErrorCode.NONE, "a/b": ErrorCode.INVALID_TOPIC_EXCEPTION}
    expect(errors, expected, "errors of 10,000 records")


@case("ADMIN-18", "CreateTopics", versions=ALL, spec="KIP-590", priority="P1")
def test_every_broker_takes_the_request(wire: Wire, version: int) -> None:
    """Every broker, not only the controller, accepts CreateTopics and creates the topic."""
    for broker in each(wire.call("Metadata", topics=[]).brokers, "brokers"):
        name = wire.new_name()
        connection = wire.connect(address=(broker.host, broker.port))
        answer = connection.call(
            "CreateTopics", version, topics=[creatable(name)], timeout_ms=20_000
        )
        expect(
            [(t.name, t.error_code) for t in answer.topics],
            [(name, 0)],
            f"(topic, error) of broker {broker.node_id}",
        )
        wire.wait_for_topic(name, 1)


@case("ADMIN-19", "CreateTopics", versions=(5, 7), spec="KIP-525", priority="P1")
def test_the_answer_shows_the_configuration_in_force(wire: Wire, version: int) -> None:
    """The answer (v5+) has every configuration of the new topic once: the keys of the request with
    source 1 (dynamic topic), the others as DescribeConfigs describes them."""
    name = wire.new_name()
    given = {"retention_ms": "86400000", "cleanup_policy": "compact"}
    result = create(wire, version, creatable(name, 1, 1, **given))[name]
    expect((result.error_code, result.topic_config_error_code), (0, 0), "errors")
    wire.wait_for_topic(name, 1)
    described = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=2,
        resource_name=name,
        configuration_keys=None,
    )
    in_force = wire.call("DescribeConfigs", resources=[described]).results[0].configs
    expect(
        sorted(
            (c.name, c.value, c.config_source, c.is_sensitive, c.read_only) for c in result.configs
        ),
        sorted((c.name, c.value, c.config_source, c.is_sensitive, c.read_only) for c in in_force),
        "(name, value, source, sensitive, read only) of each configuration",
    )
    dynamic = sorted(c.name for c in result.configs if c.config_source == 1)
    expect(dynamic, sorted(key.replace("_", ".") for key in given), "configurations of source 1")
