"""The configuration of librdkafka, and the names of its errors.

Sources: librdkafka CONFIGURATION.md; rdkafka.h, rd_kafka_resp_err_t.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError

from chaos.clients.confluent.log import LEVEL, logger_for
from chaos.clients.membership_rows import member_times
from chaos.clients.security import of_librdkafka
from chaos.clients.wire.wire_link import kafka_name
from chaos.values.protocols import ClientSettings, GroupProtocol, GroupSettings
from reference_impl.access import access_of

SOCKET_TIMEOUT_MS = 5_000
STATISTICS_MS = 500
"""The interval of librdkafka's statistics, in milliseconds, for consumers with a rack. The
statistics say which node serves each partition."""


def common_config(bootstrap: str) -> dict[str, Any]:
    """Return the settings common to producers and consumers: the cluster's addresses and security
    settings, short back-offs, since a run lasts a minute, and a logger that keeps messages instead
    of printing them."""
    return {
        "bootstrap.servers": bootstrap,
        "client.id": "touchstone",
        "broker.address.family": "v4",
        "socket.timeout.ms": SOCKET_TIMEOUT_MS,
        "socket.connection.setup.timeout.ms": 2_000,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 5_000,
        "allow.auto.create.topics": False,
        "log_level": LEVEL,
        "logger": logger_for(bootstrap),
        **of_librdkafka(access_of(bootstrap)),
    }


def producer_config(bootstrap: str, settings: ClientSettings) -> dict[str, Any]:
    """Return the producer settings that the workload needs, under librdkafka's names."""
    config = common_config(bootstrap) | {
        "acks": settings.acks,
        "enable.idempotence": settings.idempotent or settings.transactional,
        "message.timeout.ms": settings.delivery_timeout_ms,
        "request.timeout.ms": 3_000,
        "linger.ms": 0,
        "compression.type": settings.compression,
        "retry.backoff.ms": 50,
        "retry.backoff.max.ms": 500,
    }
    if settings.batches_of_one:
        config["batch.num.messages"] = 1
    if settings.transactional:
        config["transactional.id"] = settings.transactional_id
        config["transaction.timeout.ms"] = settings.transaction_timeout_ms
        # librdkafka refuses to wait for longer than the transaction may last.
        for name in ("socket.timeout.ms", "message.timeout.ms"):
            config[name] = min(config[name], settings.transaction_timeout_ms)
    return config


def consumer_config(
    bootstrap: str,
    isolation: str,
    nonce: bytes,
    rack: str | None = None,
    fetch_bytes: int | None = None,
) -> dict[str, Any]:
    """Return the settings of a reader that owns its positions: it joins no group, and no position
    is reset automatically. nonce: the run's, which makes the required group.id unique. rack,
    fetch_bytes: None leaves them to librdkafka."""
    return common_config(bootstrap) | {
        "group.id": f"touchstone-{nonce.hex()}",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "isolation.level": isolation,
        "fetch.wait.max.ms": 100,
        "check.crcs": True,
        **({"client.rack": rack, "statistics.interval.ms": STATISTICS_MS} if rack else {}),
        **(_fetches_of(fetch_bytes) if fetch_bytes else {}),
    }


def _fetches_of(size: int) -> dict[str, Any]:
    """Return fetch settings for messages up to this size in bytes. librdkafka requires that a whole
    response can hold one message of the largest size."""
    return {
        "message.max.bytes": max(1_000, size),
        "fetch.max.bytes": max(1_000, size),
        "max.partition.fetch.bytes": size,
    }


def member_config(bootstrap: str, isolation: str, group: GroupSettings) -> dict[str, Any]:
    """Return all settings of a group member: those of a reader, the group's own, and a start at the
    log start if the group has committed no offset."""
    config = consumer_config(bootstrap, isolation, b"") | {
        **({"group.instance.id": group.instance_id} if group.instance_id else {}),
        "group.id": group.name,
        "group.protocol": group.protocol.value,
        "enable.auto.commit": group.auto_commit,
        "auto.commit.interval.ms": 1_000,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        **member_times(group),
    }
    if group.protocol is GroupProtocol.CONSUMER:  # the broker sets its time-outs
        return config | {"group.remote.assignor": group.assignor}
    return config | {"partition.assignment.strategy": group.assignor}


def name_of(error: KafkaError) -> str:
    """Return the name of an error: Kafka's name if the code is Kafka's (librdkafka names it
    differently), else librdkafka's."""
    code = error.code()
    # librdkafka's own codes are below -1, which is Kafka's UNKNOWN_SERVER_ERROR.
    return kafka_name(code) if code >= -1 else str(error.name())
