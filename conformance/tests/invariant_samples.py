"""The right answers of APIs with invariants, and the wrong values that must be named in each."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.tests.fake import piece, response
from conformance.tests.invariant_answers import (
    ALL_OF_TOPIC,
    LATER,
    OFFSETS,
    acls,
    acls_asked,
    configs,
    configs_asked,
    created,
    created_asked,
    described8,
    fetch_asked,
    fetched,
    joined,
    metadata,
    transactions,
)
from conformance.wire import batch, part, request
from reference_impl.wire import Struct, patched


@dataclass(frozen=True)
class Sample:
    """A right answer of one API, and what of it may not be."""

    api: str
    version: int
    asked: Callable[[], Struct]
    answer: Callable[[], Struct]
    wrong: tuple[tuple[str, Any], ...]
    """(path, value); a number in a path is an index."""


def with_value(answer: Struct, path: str, value: Any) -> Struct:
    """Set what a path names."""
    *above, last = path.split(".")
    found: Any = answer
    for word in above:
        found = found[int(word)] if word.isdigit() else getattr(found, word)
    setattr(found, last, value)
    return answer


PARTITION = "responses.0.partitions.0."
SAMPLES = (
    Sample(
        "Fetch",
        17,
        fetch_asked,
        fetched,
        (
            (PARTITION + "high_watermark", -1),
            (PARTITION + "last_stable_offset", -2),
            (PARTITION + "log_start_offset", -2),
            (PARTITION + "preferred_read_replica", 0),
            (PARTITION + "current_leader.leader_id", 0),
            (PARTITION + "current_leader.leader_epoch", 0),
            (PARTITION + "diverging_epoch.epoch", 0),
            (PARTITION + "snapshot_id.end_offset", 0),
            (PARTITION + "error_code", 1),
            (
                PARTITION + "aborted_transactions",
                [piece("Fetch", "AbortedTransaction", producer_id=1, first_offset=0)],
            ),
            (PARTITION + "records", OFFSETS[:-1] + b"x"),
            (PARTITION + "records", patched(OFFSETS, crc=1)),
            (PARTITION + "records", LATER + OFFSETS),
            (PARTITION + "records", batch(b"c", base_offset=0).encode()),
            ("session_id", 1),
            ("throttle_time_ms", -1),
            ("node_endpoints", [piece("Fetch", "NodeEndpoint", node_id=1, host="h", port=1)]),
        ),
    ),
    Sample(
        "Metadata",
        12,
        lambda: request("Metadata"),
        metadata,
        (
            ("brokers", []),
            ("brokers.0.port", 0),
            ("brokers.0.host", ""),
            ("controller_id", 2),
            ("cluster_id", ""),
            ("topics.0.is_internal", True),
            ("topics.0.topic_authorized_operations", 0),
            ("topics.0.partitions.0.partition_index", 1),
            ("topics.0.partitions.0.leader_id", 2),
            ("topics.0.partitions.0.leader_id", -1),
            ("topics.0.partitions.0.leader_epoch", -2),
            ("topics.0.partitions.0.isr_nodes", [3]),
            ("topics.0.partitions.0.isr_nodes", []),
            ("topics.0.partitions.0.offline_replicas", [1]),
            ("topics.0.partitions.0.replica_nodes", [1, 2, 2]),
            ("topics.0.partitions.0.error_code", 5),
        ),
    ),
    Sample(
        "Metadata",
        12,
        lambda: request("Metadata", include_topic_authorized_operations=True),
        lambda: with_value(metadata(), "topics.0.topic_authorized_operations", ALL_OF_TOPIC),
        (
            ("topics.0.topic_authorized_operations", 0),
            ("topics.0.topic_authorized_operations", -(2**31)),
            ("topics.0.topic_authorized_operations", ALL_OF_TOPIC + 1),
            ("topics.0.topic_authorized_operations", ALL_OF_TOPIC | 1 << 16),
        ),
    ),
    Sample(
        "DescribeConfigs",
        4,
        configs_asked,
        configs,
        (
            ("results.0.configs.0.name", "b"),
            ("results.0.configs.0.is_sensitive", True),
            ("results.0.configs.0.config_source", -1),
            ("results.0.configs.0.config_type", -1),
            ("results.0.configs.0.documentation", "d"),
            (
                "results.0.configs.0.synonyms",
                [piece("DescribeConfigs", "DescribeConfigsSynonym", name="a", value="1", source=5)],
            ),
            ("results.0.error_code", 87),
        ),
    ),
    Sample(
        "DescribeAcls",
        3,
        acls_asked,
        acls,
        (
            ("resources.0.resource_type", 3),
            ("resources.0.resource_name", "u"),
            ("resources.0.pattern_type", 4),
            ("resources.0.acls", []),
            ("resources.0.acls.0.principal", "User:b"),
            ("resources.0.acls.0.host", ""),
            ("resources.0.acls.0.operation", 0),
            ("resources.0.acls.0.permission_type", 2),
        ),
    ),
    Sample(
        "JoinGroup",
        9,
        lambda: request(
            "JoinGroup",
            protocol_type="consumer",
            protocols=[part("JoinGroup", "JoinGroupRequestProtocol", name="range")],
        ),
        joined,
        (
            ("generation_id", -1),
            ("protocol_type", "connect"),
            ("protocol_name", "uniform"),
            ("leader", ""),
            ("leader", "n"),
            ("member_id", "n"),
            ("members.0.member_id", "n"),
            ("members.0.group_instance_id", "i"),
            ("error_code", 25),
        ),
    ),
    Sample(
        "ConsumerGroupDescribe",
        1,
        lambda: request("ConsumerGroupDescribe"),
        described8,
        (
            ("groups.0.group_state", "Stabil"),
            ("groups.0.group_state", "Empty"),
            ("groups.0.group_epoch", 1),
            ("groups.0.assignment_epoch", -1),
            ("groups.0.assignor_name", ""),
            ("groups.0.authorized_operations", 8),
            ("groups.0.members.0.member_id", "n"),
            ("groups.0.members.0.member_epoch", 3),
            ("groups.0.members.0.member_type", 2),
            ("groups.0.members.0.assignment.topic_partitions.0.partitions", [1]),
            ("groups.0.members.0.assignment.topic_partitions.0.topic_name", ""),
            ("groups.0.members.0.target_assignment.topic_partitions.0.topic_id", uuid.UUID(int=0)),
            ("groups.0.error_code", 69),
        ),
    ),
    Sample(
        "CreateTopics",
        7,
        created_asked,
        created,
        (
            ("topics.0.num_partitions", 3),
            ("topics.0.replication_factor", -1),
            ("topics.0.configs.0.config_source", 5),
        ),
    ),
    Sample(
        "EndTxn",
        5,
        lambda: request("EndTxn", producer_id=5, producer_epoch=3),
        lambda: response("EndTxn", producer_id=5, producer_epoch=4),
        (("producer_epoch", 2), ("producer_epoch", 5), ("producer_id", -1), ("producer_id", 6)),
    ),
    Sample(
        "ListTransactions",
        1,
        lambda: request(
            "ListTransactions", state_filters=["Ongoing", "x"], producer_id_filters=[5]
        ),
        transactions,
        (
            ("transaction_states.0.producer_id", 6),
            ("transaction_states.0.transaction_state", "Empty"),
            ("unknown_state_filters", ["y"]),
        ),
    ),
)
