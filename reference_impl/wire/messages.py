"""Every message of a Kafka version, by name or by api key.

Source: the message definitions inside Apache's jars (`schemas/derive.py`). Requests, responses,
headers, data (`ConsumerProtocolSubscription`), coordinator keys and values, metadata records.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from reference_impl.wire.codec.schema import Definition
from reference_impl.wire.malformed import Malformed

LATEST = "4.3.1"
KAFKA_VERSIONS = (LATEST, "3.9.1")
"""The Kafka versions with field tables: the latest, and the last with the versions of messages that
4.0 removed (KIP-896)."""


def table(kafka_version: str = LATEST) -> dict[str, dict[str, Any]]:
    """Return the derived field tables of one Kafka version: name of a message -> its row. Raise
    ValueError for a version without tables."""
    return _table(kafka_version)


@lru_cache(None)
def _table(kafka_version: str) -> dict[str, dict[str, Any]]:
    if kafka_version not in KAFKA_VERSIONS:
        raise ValueError(
            f"no field tables of Kafka {kafka_version}; there are tables of"
            f" {' and '.join(KAFKA_VERSIONS)}: use one of them, or derive the tables from its jars"
        )
    source = files("reference_impl.wire.schemas") / f"kafka-{kafka_version}.json"
    rows: dict[str, dict[str, Any]] = json.loads(source.read_text("utf-8"))
    return rows


def names(kafka_version: str = LATEST) -> tuple[str, ...]:
    """Return the names of all messages of this Kafka version."""
    return tuple(table(kafka_version))


def definition(name: str, kafka_version: str = LATEST) -> Definition:
    """Return a message by Kafka's name, e.g. "ProduceRequest" or "OffsetCommitKey". Raise
    ValueError if this Kafka has no such message."""
    return _definition(name, kafka_version)


# Apart, because a cache sees f(x) and f(x, default) as two calls: there must be one class each.
@lru_cache(None)
def _definition(name: str, kafka_version: str) -> Definition:
    rows = table(kafka_version)
    if name not in rows:
        raise ValueError(f"Kafka {kafka_version} has no message {name!r}")
    return Definition(name, rows[name])


@lru_cache(None)
def _by_api_key(kafka_version: str) -> dict[tuple[str, int], str]:
    return {
        (row["type"], row["api_key"]): name
        for name, row in table(kafka_version).items()
        if row["type"] in ("request", "response")
    }


@lru_cache(None)
def _of_api(kind: str, api_key: int, kafka_version: str) -> Definition:
    name = _by_api_key(kafka_version).get((kind, api_key))
    if name is None:
        raise Malformed(f"api key {api_key} is not one of Kafka {kafka_version}")
    return definition(name, kafka_version)


def request_definition(api_key: int, kafka_version: str = LATEST) -> Definition:
    """Return the request of an API. Raise Malformed if this Kafka version lacks it."""
    return _of_api("request", api_key, kafka_version)


def response_definition(api_key: int, kafka_version: str = LATEST) -> Definition:
    """Return the response of an API. Raise Malformed if this Kafka version lacks it."""
    return _of_api("response", api_key, kafka_version)


@lru_cache(None)
def api_keys(kafka_version: str = LATEST) -> tuple[int, ...]:
    """Return the API keys of this Kafka version, in ascending order. Raise ValueError for a version
    without tables."""
    kinds = _by_api_key(kafka_version)
    return tuple(sorted(key for kind, key in kinds if kind == "request"))
