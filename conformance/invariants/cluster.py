"""Invariants of Metadata and related APIs: consistent brokers, leaders and replicas."""

from __future__ import annotations

from conformance.case import expect_that
from conformance.invariants.shared import NONE, endpoint, once_each, permissions, rows
from reference_impl.wire import ErrorCode, Struct

ALWAYS_INTERNAL = ("__consumer_offsets", "__transaction_state")


def brokers(version: int, asked: Struct, answer: Struct) -> None:
    """Require at least one broker, each once and with an address to which clients can connect,
    fenced ones only if the request asked for them, a controller that is one of them or unknown
    (-1), and no empty cluster id."""
    described = hasattr(answer, "endpoint_type")
    if getattr(answer, "error_code", NONE) != NONE:
        return
    ids = [broker.broker_id if described else broker.node_id for broker in answer.brokers]
    once_each(ids, "broker ids")
    # Metadata that is refused as a whole says so in its topics, and has nothing else.
    refused = not described and any(topic.error_code != NONE for topic in answer.topics)
    expect_that(bool(ids) or refused, "brokers", "at least one", ids)
    for node_id, broker in zip(ids, answer.brokers, strict=True):
        fenced = described and version >= 2 and broker.is_fenced
        expect_that(
            not fenced or asked.include_fenced_brokers,
            f"is_fenced of broker {node_id}",
            False,
            True,
        )
        if not fenced:
            endpoint(node_id, broker.host, broker.port)
    controllers = {-1, *ids}
    if described or version >= 1:
        expect_that(
            answer.controller_id in controllers, "controller id", controllers, answer.controller_id
        )
    if described or version >= 2:
        expect_that(answer.cluster_id != "", "cluster id", "not empty", repr(answer.cluster_id))


def topics(version: int, asked: Struct, answer: Struct) -> None:
    """Require of each topic without an error a name, the right is_internal, all partitions without
    a gap, and leaders, in-sync and offline replicas that are among the replicas."""
    in_metadata = hasattr(answer, "brokers")
    living = {b.node_id for b in answer.brokers} if in_metadata else None
    for topic in answer.topics:
        if topic.error_code != NONE:
            continue
        expect_that(bool(topic.name), "name of a topic", "one", topic.name)
        if not in_metadata or version >= 1:
            internal = topic.name in ALWAYS_INTERNAL
            expect_that(topic.is_internal >= internal, f"is_internal of {topic.name}", True, False)
            own = topic.name.startswith("_")
            expect_that(own or not topic.is_internal, f"is_internal of {topic.name}", False, True)
        indexes = sorted(p.partition_index for p in topic.partitions)
        first = 0 if in_metadata else min(indexes, default=0)
        expect_that(
            indexes == list(range(first, first + len(indexes))),
            f"partitions of {topic.name}",
            "each once, none left out",
            indexes,
        )
        for partition in topic.partitions:
            _replicas(partition, living)
        if not in_metadata:
            permissions(
                topic.topic_authorized_operations, "topic_authorized_operations", asked=True
            )


def _replicas(partition: Struct, living: set[int] | None) -> None:
    where = f"of partition {partition.partition_index}"
    replicas = list(partition.replica_nodes)
    once_each(replicas, f"replicas {where}")
    parts = {
        "in-sync replicas": list(partition.isr_nodes),
        "offline replicas": list(partition.offline_replicas),
        "eligible leader replicas": list(
            getattr(partition, "eligible_leader_replicas", None) or ()
        ),
        "last known leaders": list(getattr(partition, "last_known_elr", None) or ()),
    }
    for name, found in parts.items():
        once_each(found, f"{name} {where}")
        expect_that(set(found) <= set(replicas), f"{name} {where}", f"some of {replicas}", found)
    eligible = set(parts["in-sync replicas"]) & set(parts["eligible leader replicas"])
    expect_that(not eligible, f"eligible leader replicas {where}", "not in sync", eligible)
    leader, epoch = partition.leader_id, partition.leader_epoch
    expect_that(epoch >= -1, f"leader epoch {where}", ">= -1", epoch)
    if partition.error_code == ErrorCode.LEADER_NOT_AVAILABLE:
        expect_that(leader == -1, f"leader {where}", "-1, since there is none", leader)
    elif partition.error_code == NONE:
        leaders = [r for r in replicas if r not in parts["offline replicas"]]
        if living is not None:
            leaders = [r for r in leaders if r in living]
        expect_that(
            leader in leaders or (living is None and leader == -1),
            f"leader {where}",
            f"one of the living replicas {leaders}",
            leader,
        )
        in_sync = parts["in-sync replicas"]
        expect_that(
            leader in in_sync or leader == -1,
            f"in-sync replicas {where}",
            f"the leader {leader} among them",
            in_sync,
        )


def next_cursor(version: int, asked: Struct, answer: Struct) -> None:
    """Require a page within its limit, and a cursor that names the first partition after it."""
    cursor = answer.next_cursor
    if cursor is not None:
        valid = bool(cursor.topic_name) and cursor.partition_index >= 0
        expect_that(
            valid,
            "next cursor",
            "a topic and a partition",
            (cursor.topic_name, cursor.partition_index),
        )
    listed = [(t.name or "", p.partition_index) for t in answer.topics for p in t.partitions]
    limit = asked.response_partition_limit
    expect_that(len(listed) <= limit or limit <= 0, "partitions", f"<= {limit}", len(listed))
    if cursor is not None and listed:
        at = (cursor.topic_name, cursor.partition_index)
        expect_that(at > max(listed), "next cursor", f"behind {max(listed)}", at)


def metadata_permissions(version: int, asked: Struct, answer: Struct) -> None:
    """Require authorized operations if, and only if, the request asked for them (KIP-430)."""
    if version < 8 or getattr(answer, "error_code", NONE) != NONE:
        return
    for topic in answer.topics:
        if topic.error_code == NONE:
            permissions(
                topic.topic_authorized_operations,
                "topic_authorized_operations",
                asked=asked.include_topic_authorized_operations,
            )
    if version <= 10:
        permissions(
            answer.cluster_authorized_operations,
            "cluster_authorized_operations",
            asked=asked.include_cluster_authorized_operations,
            seen=False,
        )


def cluster_permissions(version: int, asked: Struct, answer: Struct) -> None:
    """Require the cluster's authorized operations if the request asked for them, and the requested
    endpoint type."""
    if answer.error_code == NONE:
        permissions(
            answer.cluster_authorized_operations,
            "cluster_authorized_operations",
            asked=asked.include_cluster_authorized_operations,
            seen=False,
        )
        if version >= 1:
            told = answer.endpoint_type
            expect_that(told == asked.endpoint_type, "endpoint type", asked.endpoint_type, told)


def coordinators(version: int, asked: Struct, answer: Struct) -> None:
    """Require a coordinator to which a client can connect."""
    for found in answer.coordinators if version >= 4 else [answer]:
        if found.error_code == NONE:
            endpoint(found.node_id, found.host, found.port)


def api_versions(version: int, asked: Struct, answer: Struct) -> None:
    """Require each API once, with a valid range, and finalized features within the supported range
    (KIP-584)."""
    once_each((key.api_key for key in answer.api_keys), "API keys")
    for key in answer.api_keys:
        told = (key.api_key, key.min_version, key.max_version)
        expect_that(
            0 <= key.min_version <= key.max_version and key.api_key >= 0,
            "(API key, first, last version)",
            "a range",
            told,
        )
    for kind in ("supported_features", "finalized_features"):
        once_each((feature.name for feature in getattr(answer, kind)), kind)
    supported = {f.name: (f.min_version, f.max_version) for f in answer.supported_features}
    for name, (low, high) in supported.items():
        expect_that(
            0 <= low <= high and bool(name), f"range of the feature {name}", "a range", (low, high)
        )
    for found in answer.finalized_features:
        low, high = found.min_version_level, found.max_version_level
        expect_that(0 <= low <= high, f"finalized range of {found.name}", "a range", (low, high))
        # Before v4 supported features whose range begins at 0 are not shown.
        known = supported.get(found.name, (0, -1) if version >= 4 else (0, high))
        expect_that(high <= known[1], f"finalized level of {found.name}", f"one of {known}", high)
    expect_that(
        answer.finalized_features_epoch >= -1,
        "finalized_features_epoch",
        ">= -1",
        answer.finalized_features_epoch,
    )
    ready = answer.zk_migration_ready
    expect_that(not ready, "zk_migration_ready of a broker", False, ready)


def quorum(version: int, asked: Struct, answer: Struct) -> None:
    """Require a leader that is a voter and whose log reaches the high watermark, observers that are
    not voters, and nodes with addresses, all voters among them."""
    for found in rows(answer, "topics partitions"):
        if found.error_code != NONE:
            continue
        voters = [voter.replica_id for voter in found.current_voters]
        once_each([*voters, *(o.replica_id for o in found.observers)], "voters and observers")
        expect_that(
            found.leader_id in voters, "leader of the quorum", f"one of {voters}", found.leader_id
        )
        leader = next(v for v in found.current_voters if v.replica_id == found.leader_id)
        # A new leader knows none, and answers -1, until another voter has fetched from it
        # (LeaderState.highWatermark); one that is the only voter knows it at once.
        least = -1 if len(voters) > 1 else 0
        expect_that(
            least <= found.high_watermark <= leader.log_end_offset,
            "high watermark",
            f"{least} to the leader's end {leader.log_end_offset}",
            found.high_watermark,
        )
        expect_that(found.leader_epoch >= 0, "leader epoch", ">= 0", found.leader_epoch)
        for member in (*found.current_voters, *found.observers):
            told = (
                member.log_end_offset,
                member.last_fetch_timestamp,
                member.last_caught_up_timestamp,
            )
            expect_that(min(told) >= -1, f"offsets and times of {member.replica_id}", ">= -1", told)
        if version >= 2:
            nodes = {node.node_id for node in answer.nodes}
            expect_that(set(voters) <= nodes, "nodes", f"all voters {voters}", nodes)
    once_each((node.node_id for node in answer.nodes), "nodes")
    for node in answer.nodes:
        for listener in node.listeners:
            endpoint(node.node_id, listener.host, listener.port)
            expect_that(bool(listener.name), "name of a listener", "one", listener.name)
