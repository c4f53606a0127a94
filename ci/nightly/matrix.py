"""Run every combination of some workloads and nemeses with several seeds, and print one row for
each run.

A row tells whether the run made progress (records acknowledged, transactions decided, the longest
gap) and whether the replicas agreed after the heal, beside the verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from chaos.record.run_directory import Scenario
from chaos.scenarios.fitting import why_not
from chaos.values.protocols import TargetError
from ci.attack import Judged, attack_as_planned
from linearizability import history
from linearizability.history import F, Type
from linearizability.verdict import EXIT_STATUS, Validity, Verdict

WORKLOADS = ("appends", "transactions", "transform", "groups-consumer-positions")
NEMESES = (
    "kill-leader",
    "kill-controller",
    "pause",
    "partition-leader",
    "partition-link",
    "isolate-controller",
    "partition-ring",
    "rolling-restart",
)
"""The default combinations: they make leaders, controllers and coordinators move."""
AGREEMENT = "replica_agreement"
NOT_RUN = "not run"
TITLES = (
    "workload",
    "nemesis",
    "seed",
    "verdict",
    "acknowledged",
    "decided transactions",
    "longest gap (s)",
    "records equal on replicas",
    "errors of clients",
    "run, or reason",
)
ENDED = pl.col("f").is_in([F.COMMIT.value, F.ABORT.value]) & (pl.col("type") == Type.OK.value)


@dataclass(frozen=True)
class Row:
    """The result of one run. decided: transactions whose commit or abort was acknowledged.
    replicas: the number of records that were found equal on all replicas, or that they differ.
    errors: the errors that clients met before the end, to compare with those of another target.
    run: the name of its directory, "" if it was not run. reason: why its verdict is not VALID."""

    scenario: Scenario
    verdict: Validity
    acknowledged: int = 0
    decided: int = 0
    longest_gap_s: float = 0.0
    replicas: str = "0"
    errors: str = ""
    reason: str = ""
    run: str = ""
    served: float = 0.0
    """The share of the time, from the first request to the last, outside of gaps."""
    recovery_s: float | None = None
    """The most seconds from a heal until something succeeded; None without a heal, or if nothing
    succeeded after one."""

    @property
    def result(self) -> str:
        """Return the verdict in a word, or NOT_RUN."""
        return self.verdict.value if self.verdict is not Validity.NOT_APPLICABLE else NOT_RUN

    def cells(self) -> tuple[str, ...]:
        one = self.scenario
        return (
            one.workload,
            one.nemesis,
            str(one.seed),
            self.result,
            f"{self.acknowledged:,}",
            f"{self.decided:,}",
            f"{self.longest_gap_s:.1f}",
            self.replicas,
            self.errors,
            ": ".join(filter(None, (self.run, self.reason))),
        )


def scenarios_of(
    first: Scenario, workloads: Sequence[str], nemeses: Sequence[str], seeds: int
) -> Iterator[Scenario]:
    """Yield every combination with the first scenario's seed, then with the following seeds. seeds:
    how many seeds to use."""
    for seed, nemesis, workload in product(range(seeds), nemeses, workloads):
        yield replace(first, workload=workload, nemesis=nemesis, seed=first.seed + seed)


def run_matrix(
    scenarios: Iterable[Scenario], runs: Path, engine: str, progress: TextIO
) -> list[Row]:
    """Run the scenarios one after another, and write each row to `progress` when its run ends.
    Return the rows. Raise KeyboardInterrupt after Ctrl-C."""
    rows = []
    for scenario in scenarios:
        print(f"\n== {scenario.command()}", file=progress, flush=True)
        rows.append(_row(scenario, runs, engine))
        print(line(rows[-1].cells()), file=progress, flush=True)
    return rows


def _row(scenario: Scenario, runs: Path, engine: str) -> Row:
    """Run one scenario and return its row. If it cannot run here, the row has the reason."""
    if reason := why_not(scenario):
        return Row(scenario, Validity.NOT_APPLICABLE, reason=reason)
    try:
        return row_of(scenario, attack_as_planned(scenario, runs, engine))
    except TargetError as error:
        return Row(scenario, Validity.UNKNOWN, reason=str(error))


def row_of(scenario: Scenario, judged: Judged) -> Row:
    """Return the row of a run that was judged."""
    verdict = judged.verdict
    agreement = verdict.checkers.get(AGREEMENT)
    differ = agreement is not None and agreement.validity is Validity.INVALID
    events = history.scan(judged.path)
    decided = events.filter(ENDED).select(pl.col("op_id").n_unique()).collect()
    served: Mapping[str, Any] = verdict.availability or {}
    return Row(
        scenario,
        verdict.validity,
        int(judged.run.get("counts", {}).get("records_acknowledged", 0)),
        int(decided.item()),
        float(served.get("longest_gap_s", 0.0)),
        "they differ" if differ else f"{agreement.checked if agreement else 0:,}",
        errors_in(events),
        _reason(verdict),
        judged.path.name,
        float(served.get("share", 0.0)),
        _longest_recovery_s(served.get("recoveries", ())),
    )


def _reason(verdict: Verdict) -> str:
    """Return why a verdict is not VALID, "" if it is. If checkers could not decide, return why
    not."""
    undecided = [c for c in verdict.checkers.values() if c.validity is Validity.UNKNOWN]
    if verdict.validity is Validity.UNKNOWN and undecided:
        return "; ".join(f"{c.name}: {c.reason}" for c in undecided)
    return verdict.reason or ""


def _longest_recovery_s(recoveries: Sequence[Mapping[str, Any]]) -> float | None:
    seconds = [each["seconds"] for each in recoveries]
    return None if None in seconds else max(seconds, default=None)


def errors_in(events: pl.LazyFrame) -> str:
    """Return the errors of operations before the final phase, the most frequent first, each with
    the number of its operations."""
    met = events.filter(pl.col("error").is_not_null() & ~pl.col("final").fill_null(False))
    counts = met.group_by("error").agg(operations=pl.col("op_id").n_unique())
    rows = counts.sort("operations", "error", descending=[True, False]).collect().iter_rows()
    return ", ".join(f"{error} {operations:,}" for error, operations in rows)


def exit_status(rows: Sequence[Row]) -> int:
    """Return 1 if a run is INVALID; else 3 if one is UNKNOWN or none was run; else 0."""
    run = [row.verdict for row in rows if row.verdict is not Validity.NOT_APPLICABLE]
    for worst in (Validity.INVALID, Validity.UNKNOWN):
        if worst in run:
            return EXIT_STATUS[worst]
    return EXIT_STATUS[Validity.VALID if run else Validity.UNKNOWN]


def markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table, and a line that counts the verdicts."""
    counted = ", ".join(
        f"{sum(row.verdict is validity for row in rows)} "
        + (NOT_RUN if validity is Validity.NOT_APPLICABLE else validity.value)
        for validity in Validity
    )
    rule = f"|{'---|' * len(TITLES)}"
    return "\n".join([line(TITLES), rule, *(line(row.cells()) for row in rows), "", counted])


def rows_as_json(rows: Sequence[Row]) -> str:
    """Return the rows as JSON, each with the command of its run."""
    told = [
        asdict(row) | {"scenario": row.scenario.command(), "verdict": row.result} for row in rows
    ]
    return json.dumps(told, indent=2)


def line(cells: Sequence[str]) -> str:
    """Return the cells as one row of a Markdown table; a `|` in a cell becomes `/`."""
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
