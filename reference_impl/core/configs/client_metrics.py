"""The configuration keys of a subscription to clients' metrics, which clients may be asked to send.

Source: KIP-714; ClientMetricsConfigs.java. telemetry.py tells clients which metrics are requested.
Patterns have RE2's syntax (topic_regex.py), not Java's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reference_impl.core.configs.keys import BadConfig, ConfigKey, ConfigType, split_list, table
from reference_impl.core.groups.consumer.patterns.topic_regex import BadRegex, TopicRegex
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode

INTERVAL, MATCH, METRICS = "interval.ms", "match", "metrics"
INTERVAL_MS_MIN, INTERVAL_MS_MAX = 100, 3_600_000
DEFAULT_INTERVAL_MS = 300_000
ALL_METRICS = "*"
MATCHED = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""The attributes by which a client can be chosen."""
PATTERN_CHARACTERS_MAX = 1 << 20
"""The longest that the patterns of all subscriptions may be together: each is kept compiled, and
is matched against each new client."""

CLIENT_METRICS_CONFIGS = table(
    ConfigKey(INTERVAL, ConfigType.INT, str(DEFAULT_INTERVAL_MS)),
    ConfigKey(MATCH, ConfigType.LIST, ""),
    ConfigKey(METRICS, ConfigType.LIST, ""),
)


def check_client_metrics(overrides: Mapping[str, str], other_characters: int) -> None:
    """Raise Refused for an unknown key or an interval out of bounds, BadConfig for other settings
    that a subscription may not have. other_characters:
    the length of all other subscriptions' patterns, which are limited together."""
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
        _parsed(pattern)
    if not overrides.get(MATCH):
        return
    characters = other_characters + len(overrides[MATCH])
    if characters > PATTERN_CHARACTERS_MAX:
        raise BadConfig(
            f"the patterns of all subscriptions would have {characters} characters, but at most"
            f" {PATTERN_CHARACTERS_MAX} are kept; delete a subscription or shorten its {MATCH}"
        )


@dataclass(frozen=True)
class Subscription:
    """An administrator's subscription: the metrics wanted, their interval, and the clients that
    shall push them."""

    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, TopicRegex]

    def is_for(self, attributes: Mapping[str, str]) -> bool:
        """Return whether a client with these attributes is chosen: every pattern must match."""
        return all(
            name in attributes and pattern.matches(attributes[name])
            for name, pattern in self.patterns.items()
        )


def subscription_of(overrides: Mapping[str, str]) -> Subscription:
    """Return the subscription that results from these settings, which were checked before; a
    missing one has its default."""
    return Subscription(
        tuple(split_list(overrides.get(METRICS, ""))),
        int(overrides.get(INTERVAL, DEFAULT_INTERVAL_MS)),
        dict(_parsed(pattern) for pattern in split_list(overrides.get(MATCH, ""))),
    )


def _parsed(pattern: str) -> tuple[str, TopicRegex]:
    """Return (name, regular expression) of a pattern NAME=REGULAR-EXPRESSION, which selects
    clients. Raise BadConfig for anything else."""
    name, separator, expression = (part.strip() for part in pattern.partition("="))
    bad = BadConfig(f"Illegal client matching pattern: {pattern}")
    if not separator or name not in MATCHED:
        raise bad
    try:
        return name, TopicRegex.compile(expression)
    except BadRegex:
        raise bad from None
