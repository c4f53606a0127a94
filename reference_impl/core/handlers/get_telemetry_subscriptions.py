"""GetTelemetrySubscriptions (API key 71): a client asks which metrics it should push.

Spec: KIP-714; ClientMetricsManager.java.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.wire import Compression, definition

RESPONSE = definition("GetTelemetrySubscriptionsResponse")
ACCEPTED = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)
"""The codecs that the broker accepts for pushed metrics, the preferred one first."""


def handle_get_telemetry_subscriptions(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the client's id, the metrics that it shall push, and the interval. Refuse a
    client that asks again too early."""
    yield from broker.telemetry.parse_changes(request)
    try:
        # VALIDATE. DEDUPLICATE: a second request within an interval is refused. APPLY
        instance = broker.telemetry.asked(request)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(error_code=refused.code))
        return
    # RESPOND
    body = RESPONSE.new(
        client_instance_id=instance.id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=list(ACCEPTED),
        push_interval_ms=instance.interval_ms,
        telemetry_max_bytes=broker.config.number("telemetry.max.bytes"),
        delta_temporality=True,
        requested_metrics=list(instance.metrics),
    )
    yield Respond(request, body)
