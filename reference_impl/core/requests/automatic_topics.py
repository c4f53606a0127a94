"""The topics that a broker creates when they are needed first, without being asked to.

Source: AutoTopicCreationManager.scala; GroupCoordinatorConfig.java, TransactionStateManager.java.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.broker import Broker
from reference_impl.core.controller.topic_changes import BY_DEFAULT, plan_topic, publish_topic
from reference_impl.core.groups import group_log
from reference_impl.core.transactions import transaction_log


def ensure_groups_topic(broker: Broker) -> None:
    """Create `__consumer_offsets` if it does not exist, or raise Refused."""
    config = broker.config
    _ensure(
        broker,
        group_log.TOPIC,
        config.number("offsets.topic.num.partitions"),
        config.number("offsets.topic.replication.factor"),
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": config.text("offsets.topic.segment.bytes"),
        },
    )


def ensure_transactions_topic(broker: Broker) -> None:
    """Create `__transaction_state` if it does not exist, or raise Refused."""
    config = broker.config
    _ensure(
        broker,
        transaction_log.TOPIC,
        config.number("transaction.state.log.num.partitions"),
        config.number("transaction.state.log.replication.factor"),
        {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": config.text("transaction.state.log.min.isr"),
            "segment.bytes": config.text("transaction.state.log.segment.bytes"),
            "unclean.leader.election.enable": "false",
        },
    )


def _ensure(
    broker: Broker,
    name: str,
    partitions: int,
    replication_factor: int,
    configs: dict[str, str | None],
) -> None:
    if name not in broker.image.topics:
        create_topic(broker, name, partitions, replication_factor, configs)


def create_topic(
    broker: Broker,
    name: str,
    partitions: int = BY_DEFAULT,
    replication_factor: int = BY_DEFAULT,
    configs: Mapping[str, str | None] | None = None,
) -> None:
    """Have the controller create a topic, which exists once its records are committed. Raise
    Refused if it may not be created."""
    controller = broker.controller
    if name in controller.image.topics:
        return  # somebody's request has created it, and that is not committed yet
    plan = plan_topic(controller, name, partitions, replication_factor, configs=configs)
    publish_topic(controller, plan)
    if (topic := broker.image.topics.get(name)) is not None:
        for index in sorted(topic.partitions):
            broker.replicas.open((name, index))
