"""Profiles: what an implementation is for, and the level that it reaches there.

A profile is a set of areas of the catalogue. Within it a case that is unsupported because the API
or the version is not advertised counts as missing: nobody passes by advertising less. A case that
cannot be examined for another reason (it restarts the target, or needs several nodes) does not
count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Entry = Mapping[str, Any]
"""One entry of `cases` in the results of an examination (docs/schemas/conform-1.json)."""


@dataclass(frozen=True)
class Profile:
    """The areas of the case catalogue that one use of Kafka needs."""

    name: str
    meaning: str
    areas: tuple[str, ...]


PROFILES = (
    Profile(
        "core",
        "produce and consume: framing, versions, metadata, records, offsets of a log",
        ("WIRE", "APIV", "META", "PROD", "BATCH", "FETCH", "LIST"),
    ),
    Profile(
        "groups",
        "consumer groups of both protocols, and committed offsets",
        ("GRPC", "GRP8", "OFFS"),
    ),
    Profile("transactions", "idempotent and transactional producers", ("IDEM", "TXN")),
    Profile("admin", "topics and configurations", ("ADMIN", "CONF")),
    Profile("security", "SASL, TLS, ACLs and delegation tokens", ("SEC",)),
    Profile(
        "operations",
        "retention and compaction, replication, the quorum, quotas",
        ("LOG", "REPL", "KRFT", "QUOT"),
    ),
)
BY_NAME: Mapping[str, Profile] = {profile.name: profile for profile in PROFILES}
LEVELS = ("P0", "P1", "P2")
NOT_ADVERTISED = "not advertised"


@dataclass(frozen=True)
class Standing:
    """The runs of cases of one target in one profile, by result, and its level."""

    profile: str
    passed: int
    failed: int
    missing: int
    not_judged: int
    level: str
    """The last of LEVELS in which something passed, and up to which nothing fails and nothing is
    missing, or "none"."""

    @property
    def is_met(self) -> bool:
        """Return whether some case of the profile passed, and none failed or is missing."""
        return bool(self.passed) and not self.failed and not self.missing

    def told(self) -> str:
        """Return the standing as one line for a person."""
        counts = f"{self.passed} passed, {self.failed} failed, {self.missing} missing"
        counts += f", {self.not_judged} not judged"
        return f"profile {self.profile}: level {self.level} ({counts})"

    def as_dict(self) -> dict[str, int | str]:
        """Return the standing as JSON values."""
        return {
            "level": self.level,
            "passed": self.passed,
            "failed": self.failed,
            "missing": self.missing,
            "not_judged": self.not_judged,
        }


def is_missing(entry: Entry) -> bool:
    """Return whether a case is unsupported because the target lacks an API or a version."""
    return entry["result"] == "unsupported" and NOT_ADVERTISED in str(entry["actual"])


def standing(profile: Profile, entries: Iterable[Entry]) -> Standing:
    """Return the results and the level that a target reaches in a profile."""
    own = [entry for entry in entries if entry["area"] in profile.areas]
    failed = [entry for entry in own if entry["result"] == "failed"]
    missing = [entry for entry in own if is_missing(entry)]
    passed = [entry for entry in own if entry["result"] == "passed"]
    rest = len(own) - len(failed) - len(missing) - len(passed)
    level = _level(passed, [*failed, *missing])
    return Standing(profile.name, len(passed), len(failed), len(missing), rest, level)


def _level(passed: Sequence[Entry], against: Sequence[Entry]) -> str:
    reached = "none"
    for level in LEVELS:
        if any(entry["priority"] == level for entry in against):
            break
        if any(entry["priority"] == level for entry in passed):
            reached = level
    return reached
