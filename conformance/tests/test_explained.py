"""A setting of the target excuses exactly the requests that it forbids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.brokers import Brokers
from conformance.refusals import Closure, Refusal, Refusals
from conformance.target.explained import (
    DENIALS,
    EXPLANATIONS,
    OF_CONNECTIONS,
    Told,
    why_unsupported,
)
from conformance.target.permissions import has_authorizer
from conformance.tests.fake import FakeKafka, piece, response
from conformance.tests.suite import Suite
from conformance.wire import batch, part, request
from reference_impl.wire import ErrorCode, Struct

pytest_plugins = ["pytester"]


def of(api: str, error: ErrorCode, version: int = 9, members: int = 0, **fields: Any) -> Refusal:
    """Return a refusal of a request with these fields."""
    return Refusal(error, api, version, request(api, **fields), members)


def produced(size: int, error: ErrorCode) -> Refusal:
    """Return the refusal of records of about this size."""
    row = part("Produce", "PartitionProduceData", records=batch(b"x" * size).encode())
    return of(
        "Produce", error, topic_data=[part("Produce", "TopicProduceData", partition_data=[row])]
    )


def synced(error: ErrorCode) -> Refusal:
    """Return the refusal of an assignment of three bytes."""
    row = part("SyncGroup", "SyncGroupRequestAssignment", assignment=b"abc")
    return of("SyncGroup", error, assignments=[row])


def committed(api: str, metadata: str) -> Refusal:
    """Return the refusal of a commit with this metadata."""
    row = part(api, f"{api}RequestPartition", committed_metadata=metadata)
    topics = [part(api, f"{api}RequestTopic", partitions=[row])]
    return of(api, ErrorCode.OFFSET_METADATA_TOO_LARGE, topics=topics)


def created(replicas: int) -> Refusal:
    """Return the refusal of a topic with so many replicas."""
    topics = [part("CreateTopics", "CreatableTopic", replication_factor=replicas)]
    return of("CreateTopics", ErrorCode.INVALID_REPLICATION_FACTOR, topics=topics)


FULL = ErrorCode.GROUP_MAX_SIZE_REACHED
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
DISABLED = ErrorCode.TOPIC_DELETION_DISABLED
VIOLATED = ErrorCode.POLICY_VIOLATION
LATE, LASTING = ErrorCode.INVALID_SESSION_TIMEOUT, ErrorCode.INVALID_TRANSACTION_TIMEOUT
PROTOCOLS = "group.coordinator.rebalance.protocols"


@pytest.mark.parametrize(
    ("setting", "forbids", "allows", "refusal"),
    [
        ("delete.topic.enable", "false", "true", of("DeleteTopics", DISABLED)),
        ("delete.topic.enable", "false", "true", of("DeleteTopics", ErrorCode.INVALID_REQUEST, 1)),
        ("group.max.size", "2", "3", of("JoinGroup", FULL, members=2)),
        ("group.consumer.max.size", "2", "3", of("ConsumerGroupHeartbeat", FULL, members=2)),
        ("group.share.max.size", "2", "3", of("ShareGroupHeartbeat", FULL, members=2)),
        ("group.streams.max.size", "2", "3", of("StreamsGroupHeartbeat", FULL, members=2)),
        (
            PROTOCOLS,
            "classic",
            "classic,consumer",
            of("ConsumerGroupHeartbeat", ErrorCode.UNSUPPORTED_VERSION),
        ),
        (
            PROTOCOLS,
            "classic,consumer",
            "classic, STREAMS",
            of("StreamsGroupHeartbeat", ErrorCode.UNSUPPORTED_VERSION),
        ),
        (
            "group.min.session.timeout.ms",
            "7001",
            "7000",
            of("JoinGroup", LATE, session_timeout_ms=7000),
        ),
        ("group.max.session.timeout.ms", "7", "8", of("JoinGroup", LATE, session_timeout_ms=8)),
        (
            "transaction.max.timeout.ms",
            "7",
            "8",
            of("InitProducerId", LASTING, transaction_timeout_ms=8),
        ),
        ("offset.metadata.max.bytes", "2", "3", committed("OffsetCommit", "abc")),
        ("offset.metadata.max.bytes", "2", "3", committed("TxnOffsetCommit", "abc")),
        ("message.max.bytes", "1000", "9000", produced(1000, ErrorCode.MESSAGE_TOO_LARGE)),
        ("message.max.bytes", "2", "3", synced(ErrorCode.UNKNOWN_SERVER_ERROR)),
        ("message.max.bytes", "2", "3", synced(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)),
        ("log.segment.bytes", "1000", "9000", produced(1000, ErrorCode.RECORD_LIST_TOO_LARGE)),
        ("create.topic.policy.class.name", "a.Policy", "", of("CreateTopics", VIOLATED)),
        ("alter.config.policy.class.name", "a.Policy", "", of("AlterConfigs", VIOLATED)),
        ("default.replication.factor", "2", "1", created(-1)),
        *(
            (key, "2", "1", of("FindCoordinator", ErrorCode.COORDINATOR_NOT_AVAILABLE, key_type=n))
            for n, key in enumerate(
                (
                    "offsets.topic.replication.factor",
                    "transaction.state.log.replication.factor",
                    "share.coordinator.state.topic.replication.factor",
                )
            )
        ),
        ("authorizer.class.name", "an.Authorizer", "", of("DescribeCluster", DENIED)),
    ],
    ids=lambda value: f"{value.api}-{value.version}" if isinstance(value, Refusal) else None,
)
def test_a_setting_explains_what_it_forbids_and_nothing_else(
    setting: str, forbids: str, allows: str, refusal: Refusal
) -> None:
    def explained(told: dict[str, str]) -> list[str]:
        return [e.setting for e in EXPLANATIONS if e.explains(Told(told), refusal)]

    assert explained({setting: forbids}) == [setting]
    assert explained({setting: allows}) == []
    assert explained({}) == []
    assert not any(
        e.explains(Told({setting: forbids}), Refusal(99, refusal.api, 9, refusal.asked))
        for e in EXPLANATIONS
    )


def test_each_explanation_that_asks_for_a_setting_is_tested_above() -> None:
    (marked,) = test_a_setting_explains_what_it_forbids_and_nothing_else.pytestmark  # type: ignore[attr-defined]
    tested = {row[0] for row in marked.args[1]}
    assert {e.setting for e in EXPLANATIONS} - tested == {
        "the quota controller_mutation_rate",
        "an authorizer limits this client",
    }


@pytest.mark.parametrize(
    ("setting", "default", "refusal"),
    [
        ("group.min.session.timeout.ms", "6000", of("JoinGroup", LATE, session_timeout_ms=5999)),
        (
            "group.max.session.timeout.ms",
            "1800000",
            of("JoinGroup", LATE, session_timeout_ms=1_800_001),
        ),
        (
            "transaction.max.timeout.ms",
            "900000",
            of("InitProducerId", LASTING, transaction_timeout_ms=900_001),
        ),
        ("offset.metadata.max.bytes", "4096", committed("OffsetCommit", "x" * 4097)),
        ("message.max.bytes", "1048588", produced(1_048_588, ErrorCode.MESSAGE_TOO_LARGE)),
    ],
    ids=lambda value: value.api if isinstance(value, Refusal) else None,
)
def test_a_default_limit_explains_nothing(setting: str, default: str, refusal: Refusal) -> None:
    """A case that exceeds it on purpose and then finds the refused record in the log fails."""
    assert not any(e.explains(Told({setting: default}), refusal) for e in EXPLANATIONS)


def test_a_quota_explains_that_topics_are_throttled() -> None:
    refusal = of("CreateTopics", ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    for has in (True, False):
        told = Told({}, has_mutation_quota=has)
        assert any(e.explains(told, refusal) for e in EXPLANATIONS) is has


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("error", sorted(DENIALS))
@pytest.mark.parametrize("api", ["DescribeConfigs", "ListGroups", "CreateAcls", "Produce"])
def test_an_authorizer_explains_every_denial(api: str, error: ErrorCode, *, has: bool) -> None:
    told, refusal = Told({}, has_authorizer=has), of(api, error)
    assert any(e.explains(told, refusal) for e in EXPLANATIONS) is has
    asked_for = told.without({"authorizer.class.name"})
    assert not any(e.explains(asked_for, refusal) for e in EXPLANATIONS)


ALL_ALLOWED = 1 << 5 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12


@pytest.mark.parametrize(
    ("acls", "allowed", "denied", "has"),
    [
        (ErrorCode.SECURITY_DISABLED, ALL_ALLOWED, True, False),
        (ErrorCode.SECURITY_DISABLED, 0, True, False),
        (ErrorCode.NONE, ALL_ALLOWED, False, False),
        (ErrorCode.NONE, ALL_ALLOWED, True, True),
        (ErrorCode.NONE, ALL_ALLOWED & ~(1 << 10), False, True),
        (ErrorCode.NONE, 0, False, True),
        (DENIED, ALL_ALLOWED, False, True),
        (None, None, False, False),
        (None, None, True, True),
    ],
)
def test_a_target_confirms_its_authorizer(
    acls: ErrorCode | None, allowed: int | None, *, denied: bool, has: bool
) -> None:
    one = piece("DescribeCluster", "DescribeClusterBroker", broker_id=1, host="h", port=1)
    told = {"brokers": [one], "controller_id": 1, "cluster_id": "c"}
    broker = FakeKafka(
        {
            "DescribeAcls": lambda *_: response("DescribeAcls", error_code=acls),
            "DescribeCluster": lambda *_: response(
                "DescribeCluster", cluster_authorized_operations=allowed, **told
            ),
        }
    )
    served = {"DescribeAcls": (1, 3)} if acls is not None else {}
    served |= {"DescribeCluster": (0, 2)} if allowed is not None else {}
    target = Brokers(broker.bootstrap, served)
    try:
        assert has_authorizer(target, is_denied=denied) is has
    finally:
        target.close()
        broker.stop()


@pytest.mark.parametrize(
    ("setting", "lawful", "unlawful"),
    [
        ("connections.max.idle.ms", Closure(1.0, 10, 1), Closure(0.5, 10, 1)),
        ("socket.request.max.bytes", Closure(0.0, 1001, 1), Closure(0.0, 1000, 1)),
        ("max.connections", Closure(0.0, 10, 1000), Closure(0.0, 10, 999)),
        ("max.connections.per.ip", Closure(0.0, 10, 1000), Closure(0.0, 10, 999)),
    ],
)
def test_a_closed_connection_is_explained_within_a_bound(
    setting: str, lawful: Closure, unlawful: Closure
) -> None:
    makes_close = dict(OF_CONNECTIONS)[setting]
    assert makes_close(1000.0, lawful)
    assert not makes_close(1000.0, unlawful)


def test_members_are_counted_by_group() -> None:
    refusals = Refusals()
    for group in ("g", "g", "other", "g"):
        refusals.asked("JoinGroup", request("JoinGroup", group_id=group))
    refusals.answered(
        "JoinGroup", 0, request("JoinGroup", group_id="g"), response("JoinGroup", error_code=81)
    )
    assert [(refusal.error, refusal.members) for refusal in refusals.answers] == [(81, 2)]


def test_an_error_beside_an_answer_is_a_refusal_too() -> None:
    row = piece("CreateTopics", "CreatableTopicResult", topic_config_error_code=29)
    refusals = Refusals()
    asked, answer = request("CreateTopics"), response("CreateTopics", topics=[row])
    refusals.answered("CreateTopics", 7, asked, answer)
    assert [refusal.error for refusal in refusals.answers] == [29]


# --- a whole examination --------------------------------------------------------------------------

SESSION = '''
@case("GRPC-01", "JoinGroup", spec="KIP-62, one")
def test_a_member_joins(wire):
    """A member joins with 30 s."""
    answer = wire.call("JoinGroup", group_id="g", session_timeout_ms=30_000)
    expect(answer.error_code, 0, "error")

@case("GRPC-02", "JoinGroup", spec="KIP-62, two")
def test_b_an_answer_that_is_not_read(wire):
    """A member joins with 30 s."""
    import select
    from conformance.wire import request
    version = wire.version("JoinGroup")
    wire.bootstrap.send(
        "JoinGroup", version, request("JoinGroup", group_id="g", session_timeout_ms=30_000)
    )
    select.select([wire.bootstrap.socket], [], [], 20)
    expect(0, 1, "members")

@case("GRPC-03", "JoinGroup", spec="KIP-62, three")
def test_c_another_failure(wire):
    """One is two."""
    expect(1, 2, "number")
'''


class Limited(FakeKafka):
    """A broker that allows sessions of at most so many milliseconds, says so, and refuses all."""

    def __init__(self, longest_ms: int) -> None:
        self.longest_ms = longest_ms
        super().__init__(
            {
                "Metadata": self.metadata,
                "DescribeConfigs": self.configs,
                "JoinGroup": lambda *_: response("JoinGroup", error_code=LATE),
            }
        )

    def metadata(self, _version: int, _request: Struct) -> Struct:
        host, port = self.address
        broker = piece("Metadata", "MetadataResponseBroker", node_id=1, host=host, port=port)
        return response("Metadata", brokers=[broker])

    def configs(self, _version: int, asked: Struct) -> Struct:
        row = piece(
            "DescribeConfigs",
            "DescribeConfigsResourceResult",
            name="group.max.session.timeout.ms",
            value=str(self.longest_ms),
            config_source=4,
        )
        name = asked.resources[0].resource_name
        found = piece(
            "DescribeConfigs",
            "DescribeConfigsResult",
            resource_type=4,
            resource_name=name,
            configs=[row],
        )
        return response("DescribeConfigs", results=[found])


@pytest.mark.parametrize(
    ("longest_ms", "expected"),
    [(29_999, ["unsupported", "unsupported", "failed"]), (30_000, ["failed"] * 3)],
)
def test_a_case_is_unsupported_only_if_the_setting_forbids_it(
    suite: Suite, tmp_path: Path, longest_ms: int, expected: list[str]
) -> None:
    broker, out = Limited(longest_ms), tmp_path / "found.json"
    try:
        suite.run_plain(SESSION, "--bootstrap", broker.bootstrap, "--results-json", str(out))
    finally:
        broker.stop()
    found = json.loads(out.read_text())["cases"]
    assert [entry["result"] for entry in found] == expected
    for entry in found:
        if entry["result"] == "unsupported":
            assert entry["actual"] == (
                "group.max.session.timeout.ms is 29999 here, so that JoinGroup gets"
                " INVALID_SESSION_TIMEOUT(26)"
            )


def test_a_setting_that_the_case_has_given_its_target_explains_nothing() -> None:
    """The cases about ACLs start a broker with an authorizer, which refuses much in each of them:
    their failures are failures."""
    broker, refusals = Limited(29_999), Refusals()
    asked = request("JoinGroup", group_id="g", session_timeout_ms=30_000)
    refusals.answered("JoinGroup", 9, asked, response("JoinGroup", error_code=LATE))
    target = Brokers(broker.bootstrap, {"Metadata": (0, 12), "DescribeConfigs": (0, 4)})
    try:
        assert why_unsupported(target, refusals) is not None
        assert why_unsupported(target, refusals, {"group.max.session.timeout.ms"}) is None
    finally:
        target.close()
        broker.stop()
