"""Client settings by Kafka's own names, for the Java clients and the reference clients.

Both clients use the same settings, so that they differ in nothing but their code. librdkafka has
names and limits of its own (confluent/config.py).
"""

from __future__ import annotations

from typing import Any

from chaos.values.protocols import ClientSettings

REQUEST_TIMEOUT_MS = 3_000


def common_config() -> dict[str, Any]:
    """Return the settings that all clients share: short back-offs, since a run lasts a minute."""
    return {
        "socket.connection.setup.timeout.ms": 2_000,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "retry.backoff.ms": 50,
        "retry.backoff.max.ms": 500,
        "metadata.max.age.ms": 5_000,
    }


def producer_config(settings: ClientSettings, max_block_ms: int) -> dict[str, Any]:
    """Return the producer settings that the workload needs, under Kafka's names."""
    config = common_config() | {
        "acks": settings.acks,
        "enable.idempotence": settings.idempotent or settings.transactional,
        "delivery.timeout.ms": settings.delivery_timeout_ms,
        "request.timeout.ms": REQUEST_TIMEOUT_MS,
        "max.block.ms": max_block_ms,
        "linger.ms": 0,
        "compression.type": settings.compression,
        **({"batch.size": 1} if settings.batches_of_one else {}),
    }
    if settings.transactional:
        config["transactional.id"] = settings.transactional_id
        config["transaction.timeout.ms"] = settings.transaction_timeout_ms
    return config


def consumer_config(isolation: str, fetch_bytes: int | None = None) -> dict[str, Any]:
    """Return the settings of a reader that owns its positions: it joins no group, and no position
    is reset automatically. fetch_bytes: None leaves the sizes of fetches to the client."""
    sizes = ("fetch.max.bytes", "max.partition.fetch.bytes") if fetch_bytes else ()
    return common_config() | {
        "auto.offset.reset": "none",
        "isolation.level": isolation,
        "fetch.max.wait.ms": 100,
        "request.timeout.ms": 5_000,
        "allow.auto.create.topics": False,
        **dict.fromkeys(sizes, fetch_bytes),
    }
