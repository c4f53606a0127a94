"""The configuration keys of a subscription to clients' metrics, which clients may be asked to send.

Source: KIP-714; ClientMetricsConfigs.java. Subscriptions are kept and told. Nobody here takes in
what clients would send, so that GetTelemetrySubscriptions and PushTelemetry are not served: Apache
Kafka, too, advertises them only where a plugin takes the metrics in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reference_impl.core.config_keys import BadConfig, ConfigKey, ConfigType, split_list, table
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode

INTERVAL, MATCH, METRICS = "interval.ms", "match", "metrics"
INTERVAL_MS_MIN, INTERVAL_MS_MAX = 100, 3_600_000
MATCHED = (
    "client_instance_id", "client_id", "client_software_name", "client_software_version",
    "client_source_address", "client_source_port",
)  # fmt: skip
"""What a client can be chosen by."""

CLIENT_METRICS_CONFIGS = table(
    ConfigKey(INTERVAL, ConfigType.INT, "300000"),
    ConfigKey(MATCH, ConfigType.LIST, ""),
    ConfigKey(METRICS, ConfigType.LIST, ""),
)


def check_client_metrics(overrides: Mapping[str, str]) -> None:
    """Raise BadConfig or Refused unless a subscription may have these."""
    for name, text in overrides.items():
        key = CLIENT_METRICS_CONFIGS.get(name)
        if key is None:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}"
            )
        key.check(text)
    interval_ms = int(overrides.get(INTERVAL, INTERVAL_MS_MAX))
    if not INTERVAL_MS_MIN <= interval_ms <= INTERVAL_MS_MAX:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval_ms} for {INTERVAL}, interval must be between"
            f" {INTERVAL_MS_MIN} and {INTERVAL_MS_MAX} (1 hour)",
        )
    for pattern in split_list(overrides.get(MATCH, "")):
        _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    """Raise BadConfig unless this is NAME=REGULAR-EXPRESSION of something known of a client."""
    name, separator, expression = (part.strip() for part in pattern.partition("="))
    try:
        re.compile(expression)
    except re.error:
        separator = ""
    if not separator or name not in MATCHED:
        raise BadConfig(f"Illegal client matching pattern: {pattern}")
