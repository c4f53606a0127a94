"""Helpers of the cases about configurations: describe a resource, alter resources, wait for the
change."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from conformance.case import expect
from conformance.wire import Connection, Wire, eventually, part
from reference_impl.wire import Struct

TOPIC, BROKER = 2, 4
"""ConfigResource.Type."""


class Source(IntEnum):
    """The origin of a configuration value (DescribeConfigsResponse.ConfigSource)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class Type(IntEnum):
    """DescribeConfigsResponse.ConfigType (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Operation(IntEnum):
    """AlterConfigOp.OpType."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


def describe(
    wire: Wire,
    name: str,
    keys: list[str] | None = None,
    version: int | None = None,
    *,
    resource_type: int = TOPIC,
    connection: Connection | None = None,
    **options: Any,
) -> Struct:
    """Return the entry of one resource in DescribeConfigs. A broker describes itself unless another
    connection is given."""
    resource = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=resource_type,
        resource_name=name,
        configuration_keys=keys,
    )
    asked = connection or asked_about(wire, resource_type, name)
    version = wire.version("DescribeConfigs") if version is None else version
    answer = asked.call("DescribeConfigs", version, resources=[resource], **options)
    expect(
        [(r.resource_type, r.resource_name) for r in answer.results],
        [(resource_type, name)],
        "resources in the answer",
    )
    return answer.results[0]  # type: ignore[no-any-return]


def asked_about(wire: Wire, resource_type: int, name: str) -> Connection:
    """Return the broker to ask about a resource: a broker only answers about itself, any broker
    about the rest."""
    if resource_type == BROKER and name.isdigit() and int(name) in wire.brokers():
        return wire.broker(int(name))
    return wire.bootstrap


def setting(
    wire: Wire,
    name: str,
    key: str,
    resource_type: int = TOPIC,
    connection: Connection | None = None,
) -> tuple[str | None, int]:
    """Return one configuration of a resource: (value, source)."""
    found = describe(wire, name, [key], resource_type=resource_type, connection=connection)
    expect((found.error_code, [c.name for c in found.configs]), (0, [key]), "(error, keys)")
    return found.configs[0].value, found.configs[0].config_source


def change(key: str, value: str | None, operation: Operation = Operation.SET) -> Struct:
    return part(
        "IncrementalAlterConfigs",
        "AlterableConfig",
        name=key,
        value=value,
        config_operation=int(operation),
    )


def alter(
    wire: Wire,
    version: int | None,
    changes: dict[str, list[Struct]],
    *,
    resource_type: int = TOPIC,
    validate_only: bool = False,
    connection: Connection | None = None,
) -> dict[str, int]:
    """Send IncrementalAlterConfigs for resources of one type; return name -> error code. The first
    resource says which broker is asked unless a connection is given."""
    resources = [
        part(
            "IncrementalAlterConfigs",
            "AlterConfigsResource",
            resource_type=resource_type,
            resource_name=name,
            configs=configs,
        )
        for name, configs in changes.items()
    ]
    version = wire.version("IncrementalAlterConfigs") if version is None else version
    asked = connection or asked_about(wire, resource_type, next(iter(changes)))
    answer = asked.call(
        "IncrementalAlterConfigs", version, resources=resources, validate_only=validate_only
    )
    return {r.resource_name: r.error_code for r in answer.responses}


def wait_for(wire: Wire, topic: str, key: str, value: str) -> None:
    """Wait until every broker has applied a change that the controller accepted."""
    for connection in wire.everywhere():
        eventually(
            lambda asked=connection: setting(wire, topic, key, connection=asked)[0],  # type: ignore[misc]
            lambda found: found == value,
            f"{key} of {topic} becomes {value}",
            at_once=True,
        )
