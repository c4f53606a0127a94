"""Targets: Kafka implementations that can be started here, or that run elsewhere."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from chaos.targets.bootstrap import BootstrapTarget
from chaos.targets.dockerized import in_containers
from chaos.targets.foreign.target import SUFFIX, ForeignTarget
from chaos.targets.kfake import pinned
from chaos.targets.librdkafka_mock import installed_mock
from chaos.targets.mixed import of_both_kinds
from chaos.targets.namespaced.apache import in_namespaces
from chaos.targets.reference import with_bug_or_not
from chaos.targets.zookeeper import of_version
from chaos.values.protocols import Target, TargetError

__all__ = ["FOREIGN", "TARGETS", "parse_target"]


def in_virtual_time(version: str, bug: str | None) -> Target:
    """Return the simulated target. version: its number of controllers, "" for the usual number.
    Raise TargetError if it is no number, or if there is no such bug."""
    # The simulator imports the whole broker, which would slow down every other command.
    from chaos.sim import target

    return target.in_virtual_time(version, bug)


TARGETS: dict[str, Callable[[str, str | None], Target]] = {
    "apache": of_version,
    "docker": in_containers,
    "kfake": pinned,
    "librdkafka-mock": installed_mock,
    "mixed": of_both_kinds,
    "netns": in_namespaces,
    "reference": with_bug_or_not,
    "sim": in_virtual_time,
}
"""Name -> a function that makes the target from the text after the colon ("" if there is none) and
the name of a planted bug."""

FOREIGN: Callable[[str], Target] = BootstrapTarget
"""The target for any other name, which is an address: host:port[,host:port]."""

DESCRIBED: Callable[[Path], Target] = ForeignTarget
"""The target for a FILE.toml, which describes a cluster and its owner's commands."""


def parse_target(text: str, bug: str | None = None) -> Target:
    """Return the target for a name of TARGETS with or without ":VERSION" ("apache" is 4.3.1,
    "apache:3.9" the pinned 3.9.1, "apache:3.9-zookeeper" the same in ZooKeeper mode), for
    host:port[,host:port], or for FILE.toml. Raise TargetError for any other text, with the nearest
    name, for an unknown version, for a bug in a target without planted bugs, and for a file that
    does not describe a cluster. An unknown bug is refused here only by `sim`; the reference broker
    refuses it when the cluster starts."""
    name, colon, rest = text.partition(":")
    if text.endswith(SUFFIX):
        _refuse_bug(text, bug)
        return DESCRIBED(Path(text))
    if name in TARGETS:
        if colon and not rest:
            raise TargetError(
                f"{text!r} names no version; leave out the colon, or write one after it"
            )
        return TARGETS[name](rest, bug)
    if rest.partition(",")[0].isdigit() or text.startswith("["):
        _refuse_bug(text, bug)
        return FOREIGN(text)
    nearest = difflib.get_close_matches(name, TARGETS, n=1, cutoff=0.4)
    hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
    known = ", ".join(TARGETS)
    raise TargetError(
        f"unknown target {text!r}{hint}; use {known}, apache:VERSION, host:port or FILE.toml"
    )


def _refuse_bug(text: str, bug: str | None) -> None:
    if bug:
        raise TargetError(
            f"{text} has no planted bugs, so no {bug!r}; only the reference has: use `reference`"
        )
