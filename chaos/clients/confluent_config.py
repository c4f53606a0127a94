"""How librdkafka is configured here, and how its errors are named.

Sources: librdkafka CONFIGURATION.md; rdkafka.h, rd_kafka_resp_err_t.
"""

from __future__ import annotations

import logging
from typing import Any

from confluent_kafka import KafkaError

from chaos.clients.wire_link import kafka_name

_SILENT = logging.getLogger("touchstone.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def common_config(bootstrap: str) -> dict[str, Any]:
    """Short back-offs, since a run lasts a minute; silence, since errors are recorded."""
    return {
        "bootstrap.servers": bootstrap,
        "client.id": "touchstone",
        "broker.address.family": "v4",
        "socket.timeout.ms": 5_000,
        "socket.connection.setup.timeout.ms": 2_000,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 5_000,
        "allow.auto.create.topics": False,
        "log_level": 0,
        "logger": _SILENT,  # level 0 still prints fatal errors, into the middle of the progress
    }


def consumer_config(bootstrap: str, isolation: str, nonce: bytes) -> dict[str, Any]:
    """A reader that owns its positions: no group is joined, and none is reset behind its back."""
    return common_config(bootstrap) | {
        "group.id": f"touchstone-{nonce.hex()}",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "isolation.level": isolation,
        "fetch.wait.max.ms": 100,
        "check.crcs": True,
    }


def name_of(error: KafkaError) -> str:
    """Kafka's name of Kafka's codes (librdkafka's differ), librdkafka's of its own."""
    code = error.code()
    # librdkafka's own codes are below -1, which is Kafka's UNKNOWN_SERVER_ERROR.
    return kafka_name(code) if code >= -1 else str(error.name())
