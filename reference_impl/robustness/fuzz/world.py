"""Create the topics and coordinators that the attack needs, by ordinary requests."""

from __future__ import annotations

import time
from uuid import UUID

from reference_impl.robustness.fuzz.broker import Broker, Violation
from reference_impl.robustness.fuzz.values import TOPICS
from reference_impl.robustness.process import PATIENCE_S
from reference_impl.wire import ApiKey, request_definition

INTERNAL = ("__consumer_offsets", "__transaction_state")


def make_internal_topics(broker: Broker) -> None:
    """Ask for a group coordinator and a transaction coordinator until both exist. Raise Violation
    if that takes too long."""
    with broker.client() as client:
        for key_type in (0, 1):
            body = {"key_type": key_type, "coordinator_keys": ["warm-up"]}
            deadline = time.monotonic() + PATIENCE_S
            while client.call(ApiKey.FIND_COORDINATOR, 4, **body).coordinators[0].error_code:
                if time.monotonic() > deadline:
                    raise Violation(
                        f"there is no coordinator of kind {key_type} (0: groups, 1: transactions)"
                        f" after {PATIENCE_S} s"
                    )
                time.sleep(0.1)


def make_topics(broker: Broker) -> dict[str, UUID]:
    """Create those fuzzed topics that do not exist. Return topic name -> id of all of them."""
    of = request_definition(ApiKey.CREATE_TOPICS)
    wanted = [
        of.struct("CreatableTopic", name=name, num_partitions=2, replication_factor=1)
        for name in TOPICS
    ]
    with broker.client() as client:
        client.call(ApiKey.CREATE_TOPICS, 7, topics=wanted, timeout_ms=10_000)
        rows = client.call(ApiKey.METADATA, 12, topics=None).topics
    return {row.name: row.topic_id for row in rows if row.name in TOPICS}


def remove_everything(broker: Broker, spared: str) -> None:
    """Delete all topics except `spared` and the internal ones, and all empty groups."""
    with broker.client() as client:
        topics = client.call(ApiKey.METADATA, 9, topics=None).topics
        names = [row.name for row in topics if row.name not in (spared, *INTERNAL)]
        client.call(ApiKey.DELETE_TOPICS, 5, topic_names=names, timeout_ms=10_000)
        groups = client.call(ApiKey.LIST_GROUPS, 2).groups
        client.call(ApiKey.DELETE_GROUPS, 2, groups_names=[row.group_id for row in groups])
