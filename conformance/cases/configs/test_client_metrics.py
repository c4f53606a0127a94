"""Subscriptions to clients' metrics, which are configured like topics and brokers (KIP-714)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.configs.configs import Operation, alter, change, describe
from conformance.cases.configs.test_config_resources import CLIENT_METRICS, listed
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

SPEC = "KIP-714, Client metrics subscription; class ClientMetricsConfigs"
GIVEN = {"interval.ms": "1000", "match": "client_id=case-.*", "metrics": "org.apache.kafka."}
SUBSCRIPTION, DEFAULT = 7, 5
"""DescribeConfigsResponse.ConfigSource of a value that was given, and of one that was not."""


def shown(wire: Wire, name: str, version: int | None = None) -> dict[str, tuple[str | None, int]]:
    """Return key -> (value, source)."""
    found = describe(wire, name, None, version, resource_type=CLIENT_METRICS)
    expect(found.error_code, ErrorCode.NONE, "error")
    expect(len(found.configs), len({c.name for c in found.configs}), "keys, each once")
    return {c.name: (c.value, c.config_source) for c in found.configs}


@contextmanager
def subscribed(wire: Wire, name: str, version: int | None = None) -> Iterator[None]:
    """Create a subscription, and remove it afterwards: nobody else should be asked for metrics."""
    changes = [change(key, value) for key, value in GIVEN.items()]
    expect(alter(wire, version, {name: changes}, resource_type=CLIENT_METRICS), {name: 0}, "error")
    try:
        yield
    finally:
        removals = [change(key, None, Operation.DELETE) for key in GIVEN]
        alter(wire, version, {name: removals}, resource_type=CLIENT_METRICS)


@case("CONF-18", "IncrementalAlterConfigs", spec=SPEC, priority="P2")
def test_a_subscription_is_described_listed_and_removed(wire: Wire, version: int) -> None:
    """The values that were set are described with source 7 (client metrics) and the subscription is
    listed; once all of it is removed the defaults are described and the subscription is no longer.
    """
    name = wire.new_name("subscription")
    kinds = wire.version("ListConfigResources", 0)
    with subscribed(wire, name, version):
        eventually(
            lambda: shown(wire, name),
            lambda found: found == {k: (v, SUBSCRIPTION) for k, v in GIVEN.items()},
            "(value, source) of each key",
        )
        asked = [CLIENT_METRICS] if kinds else []
        expect_that(
            (CLIENT_METRICS, name) in listed(wire, kinds, asked),
            "subscriptions",
            f"with {name}",
            listed(wire, kinds, asked),
        )
    eventually(
        lambda: listed(wire, kinds, asked),
        lambda found: (CLIENT_METRICS, name) not in found,
        "the subscription is no longer listed",
    )
    expect(
        [source for _, source in shown(wire, name).values()],
        [DEFAULT] * len(GIVEN),
        "sources afterwards",
    )


@case("CONF-19", "ListConfigResources", versions=(0, 0), spec="KIP-1000; KIP-1142", priority="P2")
def test_version_0_lists_client_metrics_alone(wire: Wire, version: int) -> None:
    """Version 0, which was called ListClientMetricsResources, lists subscriptions, no topics and no
    brokers."""
    topic, name = wire.create_topic().name, wire.new_name("subscription")
    brokers = {str(broker.node_id) for broker in wire.call("Metadata", topics=[]).brokers}
    with subscribed(wire, name):
        # This version tells no types.
        names = eventually(
            lambda: {found for _, found in listed(wire, version, [])},
            lambda found: name in found,
            "the subscription is listed",
        )
    others = names & {topic, *brokers}
    expect_that(not others, "topics and brokers in the list", "none", others)


@case("CONF-18", "DescribeConfigs", spec=SPEC, priority="P2")
def test_a_subscription_that_nobody_made_has_defaults(wire: Wire, version: int) -> None:
    """A name under which nothing is set is described with the three keys and their defaults; an
    empty name gets INVALID_REQUEST (42)."""
    found = shown(wire, wire.new_name("nobody"), version)
    expect(sorted(found), sorted(GIVEN), "keys")
    expect([source for _, source in found.values()], [DEFAULT] * len(GIVEN), "sources")
    refused = describe(wire, "", None, version, resource_type=CLIENT_METRICS)
    expect(
        (refused.error_code, refused.configs),
        (ErrorCode.INVALID_REQUEST, []),
        "(error, configurations) of no name",
    )


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("interval.ms", "99", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "3600001", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "soon", ErrorCode.INVALID_CONFIG),
        ("match", "client_id", ErrorCode.INVALID_CONFIG),
        ("match", "no_such_thing=.*", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=[", ErrorCode.INVALID_CONFIG),
        ("no.such.key", "1", ErrorCode.INVALID_REQUEST),
    ],
    ids=[
        "interval-short",
        "interval-long",
        "interval-word",
        "match-word",
        "match-unknown",
        "match-pattern",
        "key",
    ],
)
@case("CONF-18", "IncrementalAlterConfigs", spec=SPEC, priority="P2")
def test_a_subscription_that_cannot_be_is_refused(
    wire: Wire, version: int, key: str, value: str, code: ErrorCode
) -> None:
    """An interval outside 100 ms to 1 h, an unknown key or an empty name gets INVALID_REQUEST (42),
    an unparsable value INVALID_CONFIG (40); nothing is set."""
    name = wire.new_name("subscription")
    errors = alter(wire, version, {name: [change(key, value)]}, resource_type=CLIENT_METRICS)
    expect(errors, {name: code}, "error")
    errors = alter(wire, version, {"": [change("metrics", "*")]}, resource_type=CLIENT_METRICS)
    expect(errors, {"": ErrorCode.INVALID_REQUEST}, "error of no name")
    expect(
        [source for _, source in shown(wire, name).values()],
        [DEFAULT] * len(GIVEN),
        "sources afterwards",
    )
