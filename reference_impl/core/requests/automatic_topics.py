"""The topics that a broker creates by itself when they are first needed.

Source: AutoTopicCreationManager.scala; GroupCoordinatorConfig.java, TransactionStateManager.java.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_impl.core.broker import Broker
from reference_impl.core.controller.topic_changes import BY_DEFAULT, plan_topic, publish_topic
from reference_impl.core.effects import Effect, Report
from reference_impl.core.groups import group_log
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.transactions import transaction_log
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

REQUEST = definition("CreateTopicsRequest")
TIMEOUT_MS = 30_000


def ensure_groups_topic(broker: Broker) -> None:
    """Request the creation of `__consumer_offsets` (`create_topic`) if it does not exist. Raise
    Refused if this node already knows that it cannot be created now."""
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
    """Request the creation of `__transaction_state` (`create_topic`) if it does not exist. Raise
    Refused if this node already knows that it cannot be created now."""
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
    """Request a new topic from the controller. It exists once its records are committed: at once if
    this node is the only voter, else after this function has returned. Raise Refused if this node
    already knows that it may not be created, and StorageError if its controller cannot write it."""
    if broker.quorum.active_epoch is None:
        wanted = REQUEST.struct(
            "CreatableTopic",
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[
                REQUEST.struct("CreatableTopicConfig", name=key, value=value)
                for key, value in (configs or {}).items()
            ],
        )
        broker.outbox.post(f"create {name}", ask_for_topic(broker, wanted))
        return
    controller = broker.controller
    if name in controller.image.topics:
        return  # another request has created it, but this is not committed yet
    plan = plan_topic(controller, name, partitions, replication_factor, configs=configs)
    publish_topic(controller, plan)
    if (topic := broker.image.topics.get(name)) is not None:
        for index in sorted(topic.partitions):
            broker.replicas.open((name, index))


def ask_for_topic(broker: Broker, wanted: Struct) -> Iterator[Effect]:
    """Send CreateTopics to the active controller in this broker's own name. If that fails, report
    it; the next request that needs the topic causes another attempt."""
    body = REQUEST.new(topics=[wanted], timeout_ms=TIMEOUT_MS)
    try:
        answer = yield from ask_controller(broker, ApiKey.CREATE_TOPICS, body, TIMEOUT_MS)
        (row,) = answer.topics
        if row.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise Refused(ErrorCode(row.error_code), row.error_message)
    except Refused as refused:
        yield Report(f"topic {wanted.name} is not created: {refused}")
