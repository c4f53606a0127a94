"""Create subscriptions to clients' metrics, request them and push metrics (KIP-714)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from conformance.case import expect
from conformance.cases.configs.configs import Operation, alter, change
from conformance.cases.configs.test_config_resources import CLIENT_METRICS
from conformance.connection import Connection, request
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode, Struct

GET, PUSH = "GetTelemetrySubscriptions", "PushTelemetry"
ZERO = UUID(int=0)
METRIC = "org.apache.kafka.producer."


@dataclass
class Client:
    """A connection with a client id of its own."""

    connection: Connection
    client_id: str

    def call(self, api: str, version: int = 0, **fields: Any) -> Struct:
        """Send one request under the client's id; return the answer."""
        body = request(api, **fields)
        self.connection.send(api, version, body, client_id=self.client_id)
        return self.connection.receive(api, version)[1]

    def ask(self, instance_id: UUID = ZERO) -> Struct:
        """Send GetTelemetrySubscriptions; return the answer, whatever it says."""
        return self.call(GET, client_instance_id=instance_id)

    def push(self, told: Struct, **changes: Any) -> int:
        """Send PushTelemetry as the given GetTelemetrySubscriptions answer demands, with these
        changes. Return the error code."""
        fields = {
            "client_instance_id": told.client_instance_id,
            "subscription_id": told.subscription_id,
            "compression_type": 0,
            "metrics": b"measured",
        }
        return int(self.call(PUSH, **(fields | changes)).error_code)


def client(wire: Wire, client_id: str | None = None) -> Client:
    """Connect once more, under a client id of its own."""
    return Client(wire.connect(), client_id or wire.new_name("client"))


def asked(who: Client, instance_id: UUID = ZERO) -> Struct:
    """Send GetTelemetrySubscriptions, which must succeed; return the answer."""
    told = who.ask(instance_id)
    expect(told.error_code, ErrorCode.NONE, "GetTelemetrySubscriptions error")
    return told


def asked_until(who: Client, metrics: list[str]) -> Struct:
    """Ask as a new client, until the broker knows the subscription that was just made."""
    return eventually(  # type: ignore[no-any-return]
        lambda: asked(who),
        lambda told: sorted(told.requested_metrics) == sorted(metrics),
        "the metrics of the subscription are asked for",
        at_once=True,
    )


@contextmanager
def subscribed(
    wire: Wire, match: str, metrics: str = METRIC, interval_ms: int = 100
) -> Iterator[str]:
    """Create a subscription to metrics of matching clients, and remove it afterwards. Yield its
    name."""
    name = wire.new_name("subscription")
    given = {"match": match, "metrics": metrics, "interval.ms": str(interval_ms)}
    _alter(wire, name, [change(key, value) for key, value in given.items()])
    try:
        yield name
    finally:
        _alter(wire, name, [change(key, None, Operation.DELETE) for key in given])


def resubscribe(wire: Wire, name: str, metrics: str) -> None:
    """Replace the metrics of a subscription."""
    _alter(wire, name, [change("metrics", metrics)])


def _alter(wire: Wire, name: str, changes: list[Any]) -> None:
    errors = alter(wire, None, {name: changes}, resource_type=CLIENT_METRICS)
    expect(errors, {name: ErrorCode.NONE}, "IncrementalAlterConfigs error")
