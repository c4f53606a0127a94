"""Topics that the operator's own policy refuses (KIP-108)."""

from __future__ import annotations

from conformance.case import Unsupported, case, expect, expect_that
from conformance.target.settings import broker_setting
from conformance.wire import Wire, part
from reference_impl.wire import ErrorCode

POLICY, OURS = "create.topic.policy.class.name", "TopicPolicy"
"""The setting that names a policy, and the policy of conformance/tests/java."""
FORBIDDEN = "forbidden"
"""The policy refuses topics with this word in their name."""


@case(
    "ADMIN-17",
    "CreateTopics",
    spec="KIP-108; class ReplicationControlManager, createTopic",
    priority="P2",
)
def test_a_topic_that_the_policy_refuses_is_not_created(wire: Wire, version: int) -> None:
    """A topic that create.topic.policy.class.name refuses gets POLICY_VIOLATION (44), with the
    policy's own words where the version has a message, also with validate_only; it does not exist
    afterwards, and the other topic of the request does."""
    if (found := broker_setting(wire, POLICY)) != OURS:
        raise Unsupported(f"{POLICY} is {found or 'not set'} here; the case needs {OURS}")
    refused, accepted = wire.new_name(FORBIDDEN), wire.new_name()
    topics = [
        part("CreateTopics", "CreatableTopic", name=name, num_partitions=1, replication_factor=1)
        for name in (refused, accepted)
    ]
    for only_validated in ([True] if version >= 1 else []) + [False]:
        answer = wire.call(
            "CreateTopics", version, topics=topics, timeout_ms=20_000, validate_only=only_validated
        )
        rows = {row.name: row for row in answer.topics}
        expect(
            {name: row.error_code for name, row in rows.items()},
            {refused: ErrorCode.POLICY_VIOLATION, accepted: ErrorCode.NONE},
            f"errors, validate_only={only_validated}",
        )
        if version >= 1:
            told = rows[refused].error_message or ""
            expect_that(FORBIDDEN in told, "message", "the policy's words", told)
    wire.wait_for_topic(accepted, 1)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    expect(wire.topic_metadata(refused).error_code, unknown, "error of the refused topic")
