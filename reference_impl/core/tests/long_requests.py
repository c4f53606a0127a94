"""Requests with as many elements as one likes: one for each array of each API that is served."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reference_impl.core.handlers import BROKER
from reference_impl.wire import API_NAMES, Struct, request_definition
from reference_impl.wire.codec.fields import Field, StructType

NAMES = {"group_id": "g", "transactional_id": "tx", "v3_and_below_transactional_id": "tx"}
"""The values of fields that say to which group, topic or transaction the elements belong."""
TOPIC_NAMES = ("name", "topic", "topic_name")
FIELDS: dict[str, Any] = {
    "allow_auto_topic_creation": False,
    "timeout_ms": 60_000,
    "num_partitions": 1,
    "replication_factor": 1,
    "count": 2,
    "resource_type": 2,
    "resource_pattern_type": 3,
    "resource_type_filter": 2,
    "pattern_type_filter": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
    "entity_type": "user",
    "mechanism": 1,
    "iterations": 4096,
    "salt": b"salt",
    "salted_password": bytes(32),
    "session_timeout_ms": 10_000,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "committed_offset": 1,
    "partition_max_bytes": 1 << 20,
    "max_bytes": 1 << 20,
    "response_partition_limit": 2000,
    "acks": -1,
    "election_type": 0,
    "match_type": 0,
    "member_id": "",
}


@dataclass(frozen=True)
class Long:
    """A request of one API in one version, with many elements in one of its arrays."""

    api_key: int
    version: int
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{API_NAMES[self.api_key]}-v{self.version}-{'.'.join(self.path)}"

    def body(self, count: int, topics: list[str], *, hollow: bool = False) -> Struct:
        """Return the request with so many elements; those that name topics name these in turn.
        hollow: there is nothing in the elements' own arrays."""
        root = request_definition(self.api_key).root
        message = _filled(root, self.version, self.path, count, topics, 0)
        if hollow:
            _hollow(message, self.path)
        return message


def long_requests() -> list[Long]:
    """Return one for each array of each API, in the last version that is served and has it."""
    found = []
    for key, api in sorted(BROKER.items()):
        root = request_definition(key).root
        newest = {
            path: version
            for version in (api.min_version, api.max_version)
            for path in _arrays(root, version)
        }
        found += [Long(key, version, path) for path, version in newest.items()]
    return found


def _arrays(struct: StructType, version: int) -> Iterator[tuple[str, ...]]:
    for field in struct.fields:
        if version in field.versions:
            if field.is_array:
                yield (field.name,)
            if field.struct is not None:
                for rest in _arrays(field.struct, version):
                    yield field.name, *rest


def _filled(
    struct: StructType, version: int, path: tuple[str, ...], count: int, topics: list[str], at: int
) -> Struct:
    message = struct.cls()
    for field in struct.fields:
        if version not in field.versions:
            continue
        if path and field.name == path[0]:
            times = count if len(path) == 1 else 1
            value = [_item(field, version, path[1:], count, topics, n) for n in range(times)]
            setattr(message, field.name, value if field.is_array else value[0])
        elif field.name in TOPIC_NAMES:
            setattr(message, field.name, topics[at % len(topics)])
        elif field.type == "string" and not field.is_array:
            text = NAMES.get(field.name) or FIELDS.get(field.name)
            setattr(message, field.name, f"x-{at}" if text is None else text)
        elif field.name in FIELDS:
            setattr(message, field.name, FIELDS[field.name])
        elif field.struct is not None:
            if field.is_array:
                inner = _filled(field.struct, version, (), count, topics, at)
                setattr(message, field.name, [inner])
        elif "partition" in field.name or field.name == "index":
            setattr(message, field.name, [0] if field.is_array else at)
    return message


def _hollow(message: Struct, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        inner = getattr(message, name)
        message = inner[0] if isinstance(inner, list) else inner
    for element in getattr(message, path[-1]):
        if isinstance(element, Struct):
            for name in element._names:
                if isinstance(getattr(element, name), list):
                    setattr(element, name, [])


def _item(
    field: Field, version: int, path: tuple[str, ...], count: int, topics: list[str], at: int
) -> Any:
    if field.struct is not None:
        return _filled(field.struct, version, path, count, topics, at)
    if field.type == "string":
        return topics[at % len(topics)] if "topic" in field.name else f"x-{at}"
    return b"" if field.type in ("bytes", "records") else at % 100
