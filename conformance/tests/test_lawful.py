"""A correct broker that differs from Apache Kafka wherever it may is never accused."""

from __future__ import annotations

import struct
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from chaos.targets import parse_target
from conformance.cases.security.secured_wire import words_of
from conformance.connection import api_key, request
from conformance.target.controlled import acl, create
from conformance.target.examination import advertised_versions
from conformance.tests.fake import FakeKafka, errors_of, piece, response
from conformance.tests.lawful import (
    LONGER,
    NOBODY,
    NODE,
    NODE_TOLD,
    UNKNOWN_TAG,
    VENDORS_API,
    Variation,
    lawful,
)
from conformance.wire import Connection, Wire, batch
from reference_impl.wire import decode_request, decode_response, encode_request, encode_response
from reference_impl.wire.acls import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    AclPermissionType,
    ResourceType,
)

CASES = Path(__file__).parent.parent / "cases"
OTHER_DEFAULTS = {
    "auto.create.topics.enable": "false",
    "num.partitions": "3",
    "compression.type": "lz4",
    "log.message.timestamp.type": "LogAppendTime",
    "message.max.bytes": "2000000",
    "fetch.max.bytes": "2000000",
    "offset.metadata.max.bytes": "2048",
    "group.min.session.timeout.ms": "1000",
    "group.max.session.timeout.ms": "600000",
    "transaction.max.timeout.ms": "600000",
    "max.incremental.fetch.session.cache.slots": "500",
}
"""Settings that an operator may well choose, and that are not the defaults."""


HASTY = {"group.initial.rebalance.delay.ms": "0"}
SETTINGS_OF_OPERATORS = {
    "small": {
        "num.partitions": "7",
        "message.max.bytes": "20000",
        "fetch.max.bytes": "100000",
        "log.index.interval.bytes": "128",
        "log.segment.bytes": "1048576",
        "log.retention.ms": "60000",
        "offset.metadata.max.bytes": "8",
        "max.connections.per.ip": "40",
        "connections.max.idle.ms": "5000",
        "max.incremental.fetch.session.cache.slots": "0",
    },
    "narrow": {
        "auto.create.topics.enable": "false",
        "delete.topic.enable": "false",
        "group.coordinator.rebalance.protocols": "classic,consumer",
        "group.max.size": "1",
        "group.consumer.max.size": "1",
        "log.cleanup.policy": "compact",
        "log.message.timestamp.before.max.ms": "3600000",
        "log.roll.ms": "10000",
        "producer.id.expiration.ms": "5000",
        "transaction.max.timeout.ms": "20000",
        "transaction.partition.verification.enable": "false",
    },
}
"""Sets of settings with which a correct broker was accused."""


def variation() -> Variation:
    return Variation(("localhost", 9999), ("127.0.0.1", 9092))


def test_a_varied_answer_says_the_same_in_other_words() -> None:
    rows = [
        piece("Metadata", "MetadataResponsePartition", partition_index=index, leader_id=NODE)
        for index in range(2)
    ]
    topic = piece(
        "Metadata", "MetadataResponseTopic", name="t", topic_id=uuid.uuid4(), partitions=rows
    )
    broker = piece("Metadata", "MetadataResponseBroker", node_id=NODE, host="127.0.0.1", port=9092)
    answer = response("Metadata", brokers=[broker], topics=[topic], cluster_id="c")
    key = api_key("Metadata")
    frame = encode_response(key, 13, 7, answer)[4:]
    told = decode_response(variation().response(key, 13, frame)[4:], key, 13)[1]
    at = [(b.node_id, b.host, b.port) for b in told.brokers]
    assert at == [(NODE_TOLD, "localhost", 9999)]
    assert told.cluster_id == "c" + LONGER
    leaders = [(p.partition_index, p.leader_id) for p in told.topics[0].partitions]
    assert sorted(leaders) == [(0, NODE_TOLD), (1, NODE_TOLD)]
    assert UNKNOWN_TAG in told.topics[0].unknown_tags


def test_rows_come_in_another_order_each_time() -> None:
    varied, orders = variation(), set()
    for _ in range(9):
        rows = [piece("ApiVersions", "ApiVersion", api_key=key) for key in range(4)]
        answer = response("ApiVersions", api_keys=rows)
        varied.vary("ApiVersions", answer)
        orders.add(tuple(row.api_key for row in answer.api_keys if row.api_key != VENDORS_API))
        assert len(answer.api_keys) == 5
    assert len(orders) > 1
    assert {tuple(sorted(order)) for order in orders} == {tuple(range(4))}


def test_a_broker_may_repeat_the_name_of_who_is_refused() -> None:
    told = [response("SaslAuthenticate", error_message=f"{name} may not") for name in ("a1", "b2")]
    assert words_of(told[0], "a1") == words_of(told[1], "b2")
    assert words_of(response("SaslAuthenticate", error_message="nobody is b2"), "a1") != words_of(
        told[0], "a1"
    )


@pytest.mark.parametrize(("told", "real"), [(NODE_TOLD, NODE), (NODE, NOBODY), (-1, -1)])
def test_requests_name_the_broker_by_the_id_that_it_has(told: int, real: int) -> None:
    body = request("UnregisterBroker", broker_id=told)
    frame = encode_request(api_key("UnregisterBroker"), 0, 7, "c", body)[4:]
    assert decode_request(variation().request(frame)[4:])[1].broker_id == real


def test_generations_begin_at_another_number() -> None:
    answer = response("JoinGroup", generation_id=1, member_id="m")
    variation().vary("JoinGroup", answer)
    assert answer.generation_id == 101
    for told, given in ((101, 1), (-1, -1), (0, 0), (1, 1_000_001)):
        body = request("Heartbeat", group_id="g", generation_id=told, member_id="m")
        frame = encode_request(api_key("Heartbeat"), 4, 7, "c", body)[4:]
        assert decode_request(variation().request(frame)[4:])[1].generation_id == given


def test_any_other_request_passes_byte_for_byte() -> None:
    for frame in (b"\0\x03\0\x63nonsense", b"", b"\0"):
        assert variation().request(frame) == struct.pack(">i", len(frame)) + frame


def test_of_several_batches_the_first_is_answered() -> None:
    records = batch(b"a").encode()
    row = piece("Fetch", "PartitionData", records=records + batch(b"b").encode())
    answer = response(
        "Fetch", responses=[piece("Fetch", "FetchableTopicResponse", partitions=[row])]
    )
    variation().vary("Fetch", answer)
    assert answer.responses[0].partitions[0].records == records


def test_a_case_gets_an_answer_through_the_proxy() -> None:
    kafka = FakeKafka({"Heartbeat": errors_of([25])})
    try:
        with lawful(kafka.bootstrap) as proxy:
            host, _, port = proxy.bootstrap.rpartition(":")
            connection = Connection(host, int(port))
            answer = connection.call("Heartbeat", 4, group_id="g", member_id="m")
            assert answer.error_code == 25
            assert UNKNOWN_TAG in (answer.unknown_tags or {})
            connection.close()
        assert proxy.failures == []
    finally:
        kafka.stop()


@pytest.mark.nightly
def test_no_case_fails_on_a_broker_that_differs_lawfully(tmp_path: Path) -> None:
    target = parse_target("reference")
    cluster = target.start(tmp_path / "broker", 1, OTHER_DEFAULTS)
    try:
        with lawful(cluster.bootstrap) as proxy:
            examine(proxy.bootstrap)
    finally:
        cluster.stop()
    assert proxy.failures == []


@pytest.mark.nightly
@pytest.mark.parametrize("settings", SETTINGS_OF_OPERATORS.values(), ids=SETTINGS_OF_OPERATORS)
@pytest.mark.parametrize("target", ["reference", "apache:4.3.1"])
def test_no_case_fails_because_of_a_setting(
    tmp_path: Path, target: str, settings: dict[str, str]
) -> None:
    cluster = parse_target(target).start(tmp_path / "broker", 1, HASTY | settings)
    try:
        examine(cluster.bootstrap)
    finally:
        cluster.stop()


@pytest.mark.nightly
@pytest.mark.parametrize("ahead_s", [7200, -7200])
def test_no_case_fails_because_of_the_clock_of_the_target(tmp_path: Path, ahead_s: int) -> None:
    cluster = parse_target("reference").start(tmp_path / "broker", 1, HASTY)
    try:
        examine(cluster.bootstrap, "-p", "conformance.tests.clock", f"--clock-ahead={ahead_s}")
    finally:
        cluster.stop()


DENIED_ON = {
    "settings": {
        ResourceType.CLUSTER: [AclOperation.DESCRIBE_CONFIGS],
        ResourceType.TOPIC: [AclOperation.DESCRIBE_CONFIGS],
        ResourceType.GROUP: [AclOperation.DESCRIBE_CONFIGS],
    },
    "administration": {
        ResourceType.CLUSTER: [
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.CLUSTER_ACTION,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        ],
        ResourceType.TOPIC: [
            AclOperation.ALTER,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        ],
        ResourceType.GROUP: [AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS],
    },
    "deletion": {
        ResourceType.TOPIC: [AclOperation.DELETE],
        ResourceType.GROUP: [AclOperation.DELETE],
    },
    "groups": {ResourceType.GROUP: [AclOperation.ALL]},
    "transactions": {ResourceType.TRANSACTIONAL_ID: [AclOperation.ALL]},
}
"""Sets of operations that an operator may well forbid the client that examines a cluster."""


@pytest.mark.nightly
@pytest.mark.parametrize("denied", DENIED_ON.values(), ids=DENIED_ON)
def test_no_case_fails_because_a_permission_is_missing(
    tmp_path: Path, denied: dict[ResourceType, list[AclOperation]]
) -> None:
    authorizes = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    cluster = parse_target("reference").start(tmp_path / "broker", 1, HASTY | authorizes)
    try:
        forbid(cluster.bootstrap, denied)
        examine(cluster.bootstrap)
    finally:
        cluster.stop()


def forbid(bootstrap: str, denied: dict[ResourceType, list[AclOperation]]) -> None:
    """Allow everything on the types of resources, except for these operations."""
    rows = [
        acl(
            operation=operation,
            permission_type=AclPermissionType.ALLOW if allows else AclPermissionType.DENY,
            resource_type=kind,
            resource_name=CLUSTER_NAME if kind == ResourceType.CLUSTER else WILDCARD,
            principal=WILDCARD_PRINCIPAL,
        )
        for kind in denied
        for allows, operations in ((True, [AclOperation.ALL]), (False, denied[kind]))
        for operation in operations
    ]
    wire = Wire(bootstrap, advertised_versions(bootstrap))
    try:
        assert set(create(wire, *rows)) == {0}
    finally:
        wire.close()


def examine(bootstrap: str, *options: str) -> None:
    """Run the cases up to P1, none of which may fail."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", str(CASES), "-q"),
            *("-p", "no:cacheprovider", "--priority", "P1"),
            *("--bootstrap", bootstrap),
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert ", 0 failed, " in done.stdout, done.stdout[-10_000:]
