"""Scenarios whose findings must be found again: the same scenarios and seeds every night. A
scenario that may lose records is expected to be INVALID: if it ended VALID, the harness would no
longer be able to see the loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.record.run_directory import Scenario
from chaos.run.fitting import family_of
from chaos.scenarios.expectation import Expectation, Part
from chaos.scenarios.fitting import nodes_of, seconds_of
from linearizability.verdict import Validity

FLUSH_EACH = {"log.flush.interval.messages": "1"}
LONE_TAIL_S = 8.0
"""The seconds of attack after which clients are cut off, whatever the seed, so that the last writes
are the killed leader's."""
ONE_COPY = {"default.replication.factor": "1", "min.insync.replicas": "1"}
TWO_COPIES_ONE_IN_SYNC = {"default.replication.factor": "2", "min.insync.replicas": "1"}


@dataclass(frozen=True)
class Found:
    """One finding: the families of targets to which it applies (of one version: "apache:4.3.1"),
    the attack that showed it, the verdict expected when it is repeated, and why."""

    families: tuple[str, ...]
    workload: str
    nemesis: str
    seed: int
    verdict: Validity
    why: str
    config: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    """The length of the attack in seconds, if the finding depends on when it ends."""
    by: tuple[str, ...] = ()
    """The checkers of an expected INVALID, at least one of which must report it."""


BOTH = ("apache", "reference")
REGRESSION: tuple[Found, ...] = (
    Found(
        BOTH,
        "appends",
        "power-loss-all",
        1,
        Validity.INVALID,
        "with default flushing a power loss of all nodes loses acknowledged records (DUR-4)",
    ),
    Found(
        BOTH,
        "appends",
        "power-loss-all",
        1,
        Validity.VALID,
        "a record that was flushed before it was acknowledged survives a power loss of all nodes",
        FLUSH_EACH,
    ),
    Found(
        ("apache",),
        "appends",
        "last-replica-standing",
        1,
        Validity.INVALID,
        "acknowledged by the last replica alone, and gone with its power (DUR-2)",
        TWO_COPIES_ONE_IN_SYNC,
    ),
    Found(
        ("apache",),
        "appends",
        "unclean-election",
        1,
        Validity.INVALID,
        "acknowledged by one replica alone, and gone when another is elected uncleanly (ELE-3)",
        {"min.insync.replicas": "1"},
    ),
    Found(
        ("apache",),
        "appends",
        "partition-leader",
        1,
        Validity.VALID,
        "a leader cut off acknowledges nothing that its successor lacks",
    ),
    Found(
        BOTH,
        "appends",
        "kill",
        1,
        Validity.VALID,
        "a batch that is sent again after a kill is appended once (KIP-98)",
    ),
    Found(
        BOTH,
        "transactions",
        "kill",
        1,
        Validity.VALID,
        "transactions are all or nothing through kills of their coordinator",
    ),
    Found(
        ("apache:4.3.1",),
        "transactions",
        "kill-leader",
        1,
        Validity.INVALID,
        "a transaction that ends while a partition has no leader gets no marker there (TXN-2, "
        "KAFKA-20734)",
        ONE_COPY,
        by=("hanging_transactions", "ends_honoured", "torn_transactions"),
    ),
    Found(
        ("apache",),
        "groups-consumer-positions",
        "lost-names",
        1045496250,
        Validity.INVALID,
        "a young partition whose directory name was not synced is lost whole, although its "
        "records were flushed (DUR-4)",
        FLUSH_EACH,
    ),
    Found(
        ("apache",),
        "appends-acks1",
        "lone-tail",
        1,
        Validity.VALID,
        "a follower that truncated its log keeps an old high watermark while no client "
        "writes (REP-3)",
        seconds=LONE_TAIL_S,
    ),
    Found(
        ("apache",),
        "appends",
        "power-loss-majority",
        1,
        Validity.VALID,
        "a record that was flushed before it was acknowledged survives a power loss of two "
        "nodes of three",
        FLUSH_EACH,
    ),
    Found(
        BOTH,
        "appends",
        "disk-dead",
        1,
        Validity.VALID,
        "a disk that dies keeps its data, and nothing is acknowledged without it (KIP-112)",
    ),
    Found(
        BOTH,
        "appends",
        "disk-read-only",
        1,
        Validity.VALID,
        "a disk that turns read-only keeps its data, and no record is acknowledged without "
        "being written (KIP-112)",
    ),
    Found(
        ("apache",),
        "appends",
        "bit-flip-active",
        1,
        Validity.VALID,
        "recovery cuts the log off at the flipped bit, and the leader's copy is fetched (KIP-966)",
    ),
    Found(
        ("apache",),
        "appends",
        "bit-flip-closed",
        1,
        Validity.VALID,
        "after a kill recovery reads all above the recovery point, closed segments too (LogLoader)",
        {"log.roll.ms": "1000"},
    ),
)


def regressions(target: str) -> list[Expectation]:
    """Return the expectations for one target, whether or not this machine can run them
    (fitting.why_not)."""
    family = family_of(target)
    return [
        Expectation(
            Scenario(
                target,
                row.workload,
                row.nemesis,
                nodes_of(target),
                row.seconds or seconds_of(target),
                row.seed,
                dict(row.config),
            ),
            row.verdict,
            Part.REGRESSION,
            row.why,
            row.by,
        )
        for row in REGRESSION
        if family in row.families or target.endswith(row.families)
    ]
