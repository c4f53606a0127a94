"""Targets: implementations that can be started here, or are already running elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from chaos.protocols import Target, TargetError
from chaos.targets import apache

TARGETS: dict[str, Callable[[str], Target]] = {
    "apache": apache.of_version,
}
"""Name -> what makes the target, given what follows the colon (empty if nothing does)."""


def parse_target(text: str) -> Target:
    name, _, rest = text.partition(":")
    if name not in TARGETS:
        raise TargetError(f"no target {text!r}")
    return TARGETS[name](rest)
