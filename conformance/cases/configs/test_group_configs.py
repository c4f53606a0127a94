"""Configurations of groups, which override those of the brokers for one group (KIP-848)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.case import Unsupported, case, each, expect, expect_that
from conformance.cases.configs.configs import Operation, Source, Type, alter, change, describe
from conformance.clients.consumer_members import ConsumerMember, partitions_of, settle
from conformance.target.variants import SHORT_LIVED
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

SPEC = "KIP-848, Group Configurations; class GroupConfig"
GROUP, FROM_GROUP = 32, 8
"""ConfigResource.Type of a group, and the ConfigSource of a value that was set for it."""
TIMEOUT, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
BETWEEN_TARGETS, BETWEEN_TARGETS_MS = "consumer.assignment.interval.ms", 2000
SLACK_S = 0.3
"""The longest difference between two readings of the clock, one here and one there."""


def shown(wire: Wire, group: str, version: int | None = None) -> dict[str, tuple[str | None, int]]:
    """Return key -> (value, source) of a group."""
    found = describe(wire, group, None, version, resource_type=GROUP)
    expect(found.error_code, ErrorCode.NONE, "error")
    return {c.name: (c.value, c.config_source) for c in found.configs}


@contextmanager
def configured(wire: Wire, version: int | None, group: str, key: str, value: str) -> Iterator[None]:
    """Set one key of a group, and take it back."""
    errors = alter(wire, version, {group: [change(key, value)]}, resource_type=GROUP)
    expect(errors, {group: 0}, "errors")
    try:
        yield
    finally:
        removal = change(key, None, Operation.DELETE)
        alter(wire, version, {group: [removal]}, resource_type=GROUP)


@case("CONF-17", "IncrementalAlterConfigs", spec=SPEC, priority="P2")
def test_a_group_is_configured_and_again_as_the_brokers(wire: Wire, version: int) -> None:
    """A value that was set for a group is described with source 8 (group), its other keys and other
    groups keep theirs; after DELETE the group has the broker's value again."""
    group, other = wire.new_name("group"), wire.new_name("group")
    before = shown(wire, group)
    expect_that({TIMEOUT, INTERVAL} <= set(before), "keys", f"with {TIMEOUT}", sorted(before))
    value = str(int(before[TIMEOUT][0] or 0) + 1)
    with configured(wire, version, group, TIMEOUT, value):
        expected = before | {TIMEOUT: (value, FROM_GROUP)}
        eventually(lambda: shown(wire, group), lambda found: found == expected, "configuration")
        expect(shown(wire, other), before, "configuration of another group")
    eventually(
        lambda: shown(wire, group), lambda found: found == before, "configuration afterwards"
    )


@case("CONF-17", "IncrementalAlterConfigs", spec=SPEC, priority="P2", config=SHORT_LIVED)
def test_what_is_set_for_a_group_takes_effect(wire: Wire, version: int) -> None:
    """The heartbeat interval and the session timeout that were set for a group are in force for it:
    its members are told the interval, and a silent one stays longer than one of another group."""
    topic = wire.create_topic()
    patient = ConsumerMember.of(wire, topic)
    with (
        configured(wire, version, patient.group, INTERVAL, "1234"),
        configured(wire, version, patient.group, TIMEOUT, "40000"),
    ):
        patient.join()
        told = eventually(
            lambda: patient.acknowledge().heartbeat_interval_ms,
            lambda interval_ms: interval_ms == 1234,
            "the member is told the interval of its group",
        )
        expect(told, 1234, "heartbeat interval")
        other = ConsumerMember.stable(wire, topic)
        eventually(
            lambda: len(other.described().members),
            lambda count: count == 0,
            "the silent member of another group goes",
        )
        expect(patient.member_ids(), [patient.member_id], "members of the group")


@case("CONF-17", "DescribeConfigs", versions=(3, 4), spec=SPEC, priority="P2")
def test_a_group_that_nobody_configured_is_as_the_brokers(wire: Wire, version: int) -> None:
    """A group need not exist to be described: each key has a type and a value, whose source is not
    the group. An empty name gets INVALID_REQUEST (42)."""
    found = describe(wire, wire.new_name("group"), None, version, resource_type=GROUP)
    configs = {c.name: c for c in each(found.configs, "configurations")}
    expect(configs[TIMEOUT].config_type, Type.INT, f"type of {TIMEOUT}")
    for config in configs.values():
        expect_that(config.value is not None, f"value of {config.name}", "some", config.value)
        expect_that(config.config_type != 0, f"type of {config.name}", "a known one", "unknown")
        expect(
            config.config_source,
            {Source.DYNAMIC_BROKER, Source.DYNAMIC_DEFAULT_BROKER, Source.STATIC_BROKER}
            | {Source.DEFAULT},
            f"source of {config.name}",
        )
    refused = describe(wire, "", None, version, resource_type=GROUP)
    expect(
        (refused.error_code, refused.configs),
        (ErrorCode.INVALID_REQUEST, []),
        "(error, configurations) of no name",
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [(TIMEOUT, "1"), (TIMEOUT, "soon"), (INTERVAL, "3600000"), ("no.such.key", "1")],
    ids=["session-short", "session-word", "interval-long", "unknown-key"],
)
@case("CONF-17", "IncrementalAlterConfigs", spec=SPEC, priority="P2")
def test_an_impossible_group_configuration_is_refused(
    wire: Wire, version: int, key: str, value: str
) -> None:
    """A session timeout below the broker's minimum, a heartbeat interval above its maximum, a value
    that is no number and an unknown key get INVALID_CONFIG (40), and nothing is set."""
    group = wire.new_name("group")
    before = shown(wire, group)
    errors = alter(wire, version, {group: [change(key, value)]}, resource_type=GROUP)
    expect(errors, {group: ErrorCode.INVALID_CONFIG}, "errors")
    with configured(wire, version, group, TIMEOUT, str(int(before[TIMEOUT][0] or 0) + 1)):
        # By the time a later change is described, the refused one would be, too.
        eventually(lambda: shown(wire, group), lambda found: found != before, "a later change")
    eventually(
        lambda: shown(wire, group), lambda found: found == before, "configuration afterwards"
    )


@case("CONF-17", "IncrementalAlterConfigs", spec=SPEC, priority="P2")
def test_a_group_without_a_name_is_not_configured(wire: Wire, version: int) -> None:
    """A group whose name is empty gets INVALID_REQUEST (42)."""
    errors = alter(wire, version, {"": [change(TIMEOUT, "45000")]}, resource_type=GROUP)
    expect(errors, {"": ErrorCode.INVALID_REQUEST}, "errors")


@contextmanager
def seldom_assigned(wire: Wire, group: str) -> Iterator[None]:
    """Let a group get a new target at most once in BETWEEN_TARGETS_MS. Raise Unsupported if the
    target cannot set that."""
    if BETWEEN_TARGETS not in shown(wire, group):
        raise Unsupported(f"the target has no {BETWEEN_TARGETS}")
    value = str(BETWEEN_TARGETS_MS)
    with configured(wire, None, group, BETWEEN_TARGETS, value):
        eventually(
            lambda: shown(wire, group)[BETWEEN_TARGETS],
            lambda found: found == (value, FROM_GROUP),
            "the interval of the group",
        )
        yield


@case(
    "GRP8-30",
    "ConsumerGroupHeartbeat",
    spec="KIP-848; group.consumer.assignment.interval.ms",
    priority="P2",
)
def test_a_group_gets_no_new_target_within_its_interval(wire: Wire, version: int) -> None:
    """The members of a group that has another target are moved to it only when the assignment
    interval that was set for the group is over since the target before."""
    topic = wire.create_topic(2)
    first = ConsumerMember.of(wire, topic, version=version)
    with seldom_assigned(wire, first.group):
        began = time.monotonic()
        first.join()
        settle(first)
        second = first.partner()
        second.join()
        settle(first, second)
        took_s = time.monotonic() - began
    expect_that(
        took_s >= BETWEEN_TARGETS_MS / 1000 - SLACK_S,
        "time from the first target to the second",
        f"{BETWEEN_TARGETS_MS} ms or more",
        f"{took_s:.2f} s",
    )


@case(
    "GRP8-30",
    "ConsumerGroupHeartbeat",
    spec="KIP-848; class CurrentAssignmentBuilder, updateCurrentAssignment",
    priority="P2",
)
def test_who_unsubscribes_gives_up_at_once(wire: Wire, version: int) -> None:
    """A member that no longer subscribes to a topic is told at once that its partitions are not its
    own any more, although the group gets no new target within its assignment interval."""
    kept, left = wire.create_topic(2), wire.create_topic(2)
    member = ConsumerMember.of(wire, kept, left, version=version)
    with seldom_assigned(wire, member.group):
        member.join()
        settle(member)
        member.beat(subscribed_topic_names=[kept.name])
        expect(member.owned, partitions_of(kept), "partitions after the heartbeat")
