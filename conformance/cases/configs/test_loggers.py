"""The levels of a broker's loggers, which are configured like a resource of their own (KIP-412)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.case import Unsupported, case, each, expect, expect_that
from conformance.cases.configs.configs import Operation, alter, change, describe
from conformance.cases.configs.test_broker_configs import NOBODY, a_broker
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

SPEC = "KIP-412; class LoggingController"
LOGGER, FROM_LOGGER = 8, 6
"""ConfigResource.Type of a broker's loggers, and the ConfigSource of their levels."""
LEVELS = frozenset({"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"})


def levels(wire: Wire, broker: str, version: int | None = None) -> dict[str, str | None]:
    """Return logger -> level. Raise Unsupported if the broker has no loggers to configure."""
    found = describe(wire, broker, None, version, resource_type=LOGGER)
    if found.error_code == ErrorCode.INVALID_REQUEST:
        raise Unsupported("the broker's loggers are not configured by requests")
    expect(found.error_code, ErrorCode.NONE, "error")
    others = [c.name for c in each(found.configs, "loggers") if c.config_source != FROM_LOGGER]
    expect(others, [], f"loggers whose source is not {FROM_LOGGER}")
    return {c.name: c.value for c in found.configs}


def some_logger(wire: Wire, broker: str) -> str:
    """Return a logger whose level, and those of all loggers above it, are the root's. Raise
    Unsupported if there is none."""
    found = levels(wire, broker)
    for name in sorted(set(found) - {"root"}):
        words = name.split(".")
        line = {".".join(words[:count]) for count in range(1, len(words) + 1)}
        if {found.get(above, found["root"]) for above in line} == {found["root"]}:
            return name
    raise Unsupported("each logger has a level of its own")


@contextmanager
def leveled(wire: Wire, version: int, broker: str, logger: str, level: str) -> Iterator[None]:
    """Give a logger a level, and take it back."""
    errors = alter(wire, version, {broker: [change(logger, level)]}, resource_type=LOGGER)
    expect(errors, {broker: 0}, "errors")
    try:
        yield
    finally:
        removal = change(logger, None, Operation.DELETE)
        errors = alter(wire, version, {broker: [removal]}, resource_type=LOGGER)
        expect(errors, {broker: 0}, "errors of taking it back")


@case("CONF-20", "DescribeConfigs", spec=SPEC, priority="P2")
def test_every_logger_of_a_broker_has_a_level(wire: Wire, version: int) -> None:
    """Of a broker's loggers each is described with a level that log4j knows, the root among them;
    another broker's id gets INVALID_REQUEST (42)."""
    found = levels(wire, a_broker(wire), version)
    expect_that("root" in found, "loggers", "with root", sorted(found)[:5])
    strange = {name: level for name, level in found.items() if level not in LEVELS}
    expect(strange, {}, "levels that log4j does not know")
    other = describe(wire, NOBODY, None, version, resource_type=LOGGER)
    expect(
        (other.error_code, other.configs),
        (ErrorCode.INVALID_REQUEST, []),
        "(error, loggers) of another broker",
    )


@case("CONF-20", "IncrementalAlterConfigs", spec=SPEC, priority="P2")
def test_a_logger_gets_a_level_and_loses_it(wire: Wire, version: int) -> None:
    """A level that was SET is described, the other loggers keep theirs, and after DELETE the logger
    has the root's level."""
    broker = a_broker(wire)
    before, logger = levels(wire, broker), some_logger(wire, broker)
    level = "ERROR" if before["root"] != "ERROR" else "WARN"
    with leveled(wire, version, broker, logger, level):
        eventually(lambda: levels(wire, broker).get(logger), lambda v: v == level, "level")
        after = levels(wire, broker)
        changed = {n for n, v in before.items() if n in after and after[n] != v}
        expect_that(changed <= {logger}, "loggers that changed", f"{logger} alone", changed)
    eventually(
        lambda: levels(wire, broker).get(logger),
        lambda found: found == before["root"],
        "level afterwards",
    )


@pytest.mark.parametrize(
    ("logger", "level", "operation", "code"),
    [
        (None, "LOUD", Operation.SET, ErrorCode.INVALID_CONFIG),
        ("no.such.Logger", "INFO", Operation.SET, ErrorCode.INVALID_CONFIG),
        ("root", None, Operation.DELETE, ErrorCode.INVALID_REQUEST),
        (None, "INFO", Operation.APPEND, ErrorCode.INVALID_REQUEST),
    ],
    ids=["level", "logger", "delete-root", "append"],
)
@case("CONF-20", "IncrementalAlterConfigs", spec=SPEC, priority="P2")
def test_an_impossible_level_is_refused(
    wire: Wire, version: int, logger: str | None, level: str | None, operation: int, code: ErrorCode
) -> None:
    """A level or a logger that does not exist gets INVALID_CONFIG (40); deleting the root's level,
    and appending to a level, get INVALID_REQUEST (42). No level changes."""
    broker = a_broker(wire)
    before = levels(wire, broker)
    wrong = change(logger or some_logger(wire, broker), level, Operation(operation))
    errors = alter(wire, version, {broker: [wrong]}, resource_type=LOGGER)
    expect(errors, {broker: code}, "errors")
    after = levels(wire, broker)
    expect({n: v for n, v in before.items() if after.get(n, v) != v}, {}, "levels that changed")
