"""The documents' guarantee tables as scenarios: each cell says that records must never, or may, be
lost, doubled or reordered.

"Never" must hold in one run. "May" must be *shown* by the run of some seed: if it were never shown,
the harness might be unable to see it. Claims: DUR-1 to DUR-4, ELE-3, IDM-1, ORD-2, SEM-1 and SEM-2
of the claims about Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from chaos.record.run_directory import Scenario
from chaos.run.fitting import family_of
from chaos.scenarios.effects import Effect
from chaos.scenarios.fitting import nodes_of, seconds_of
from chaos.scenarios.regression import FLUSH_EACH

ONE_IN_SYNC = {"min.insync.replicas": "1"}
TWO_COPIES = {"default.replication.factor": "2", **ONE_IN_SYNC}
THREE_IN_SYNC = {"min.insync.replicas": "3"}


@dataclass(frozen=True)
class Cell:
    """One promise of a guarantee table (records "may be" or "never" are lost, for example), and the
    scenario that tests it, perhaps with another seed."""

    table: str
    row: str
    column: str
    effect: Effect
    may: bool
    scenario: Scenario

    def with_seed(self, seed: int) -> Scenario:
        return replace(self.scenario, seed=seed)

    @property
    def promise(self) -> str:
        return f"may be {self.effect.value}" if self.may else f"never {self.effect.value}"


@dataclass(frozen=True)
class Row:
    """One configuration of writers. may: the failures (columns) that may lose records under it."""

    label: str
    workload: str
    may: frozenset[str]
    config: Mapping[str, str] = field(default_factory=dict)
    blank: frozenset[str] = frozenset()
    """The columns in which nothing is promised, and no run could show anything."""


@dataclass(frozen=True)
class DurabilityTable:
    """The table of writer and topic settings against failures. Each cell says whether acknowledged
    records may be lost."""

    columns: Mapping[str, str]
    """Nemesis -> the name of the failure in the document."""
    rows: tuple[Row, ...]


CUT_OFF, UNCLEAN, ONE, LAST, ALL = (
    "partition-leader",
    "unclean-election",
    "power-loss-one",
    "last-replica-standing",
    "power-loss-all",
)
EVERY = frozenset({CUT_OFF, UNCLEAN, ONE, LAST, ALL})
DURABILITY: Mapping[str, DurabilityTable] = {
    "apache": DurabilityTable(
        {
            CUT_OFF: "the leader is cut off",
            UNCLEAN: "the leader dies, and one that fell behind is elected",
            ONE: "one node loses its power",
            LAST: "a follower dies, then the leader loses its power",
            ALL: "all nodes lose their power",
        },
        (
            Row("acks=0", "appends-acks0", EVERY),
            # After a loss of power the disk fails the next append, but followers can still fetch
            # for a moment. So with three copies, no record is the leader's alone.
            Row("acks=1", "appends-acks1", EVERY, blank=frozenset({ONE, LAST})),
            Row(
                "acks=all, 2 copies, 1 in sync",
                "appends",
                frozenset({UNCLEAN, LAST, ALL}),
                TWO_COPIES,
            ),
            Row("acks=all, 3 copies, 2 in sync", "appends", frozenset({ALL})),
            Row("acks=all, 3 copies, 3 in sync", "appends", frozenset({ALL}), THREE_IN_SYNC),
            Row("acks=all, 3 copies, flushed", "appends", frozenset(), FLUSH_EACH),
        ),
    ),
    "reference": DurabilityTable(
        {"kill": "the broker is killed", ALL: "the broker loses its power"},
        (
            Row("acks=0", "appends-acks0", frozenset({"kill", ALL})),
            Row("acks=1", "appends-acks1", frozenset({ALL})),
            Row("acks=all", "appends", frozenset({ALL})),
            Row("acks=all, flushed", "appends", frozenset(), FLUSH_EACH),
        ),
    ),
}
"""Family of targets -> its table: a single node has other failures than a cluster."""

SEMANTICS: tuple[tuple[str, str, frozenset[Effect]], ...] = (
    ("at most once: acks=0, never sent again", "appends-acks0", frozenset({Effect.LOST})),
    (
        "at least once: acks=all, sent again",
        "appends-not-idempotent",
        frozenset({Effect.DOUBLED, Effect.REORDERED}),
    ),
    ("each once and in order: idempotent", "appends", frozenset()),
)
"""(row, workload, the effects that it may have); it must have no other effect."""
SEMANTICS_NEMESIS = "kill"
"""The nemesis of this table: responses are held back and lost, so that clients send appended
records again."""


def cells(target: str) -> Iterator[Cell]:
    """Yield every cell of every table for one target. Yield nothing for a target whose family has
    no table."""
    table = DURABILITY.get(family_of(target))
    if table is None:
        return
    for row in table.rows:
        for nemesis, failure in table.columns.items():
            if nemesis in row.blank:
                continue
            scenario = _scenario(target, row.workload, nemesis, row.config)
            may = nemesis in row.may
            yield Cell("durability", row.label, failure, Effect.LOST, may, scenario)
    for label, workload, possible in SEMANTICS:
        for effect in Effect:
            scenario = _scenario(target, workload, SEMANTICS_NEMESIS, {})
            may = effect in possible
            yield Cell("delivery and order", label, effect.value, effect, may, scenario)


def _scenario(target: str, workload: str, nemesis: str, config: Mapping[str, str]) -> Scenario:
    return Scenario(
        target, workload, nemesis, nodes_of(target), seconds_of(target), 1, dict(config)
    )
