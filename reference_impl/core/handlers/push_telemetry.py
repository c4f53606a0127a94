"""PushTelemetry (API key 72): a client sends the metrics that it was asked for.

Spec: KIP-714; ClientMetricsManager.java.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Report, Respond
from reference_impl.core.events import Request
from reference_impl.core.log.directories.data_directory import uuid_text
from reference_impl.core.refused import Refused
from reference_impl.wire import definition

RESPONSE = definition("PushTelemetryResponse")


def handle_push_telemetry(broker: Broker, request: Request) -> Iterator[Effect]:
    """Take the metrics of a client that pushes under its subscription, at its interval, and report
    its first push under each subscription to the operator. Refuse any other push."""
    yield from broker.telemetry.parse_changes(request)
    try:
        # VALIDATE. DEDUPLICATE: a second push within an interval is refused. APPLY
        instance = broker.telemetry.pushed(request)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(error_code=refused.code))
        return
    if instance.pushes == 1 and request.body.metrics:
        yield Report(
            f"client instance {uuid_text(instance.id)} pushes its metrics,"
            f" every {instance.interval_ms} ms"
        )
    # RESPOND
    yield Respond(request, RESPONSE.new())
