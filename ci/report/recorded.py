"""Read a run directory with polars: its facts, operations, faults and verdict.

Times are seconds since the first invocation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from chaos.record.run_directory import why_unreadable
from ci.errors import UsageError
from linearizability import history
from linearizability.excuses.fault_spans import Fault, fault_spans
from linearizability.history import F, HistoryError, Type
from linearizability.measures.backlog import Backlog, backlog
from linearizability.stories.grouping import with_groups
from linearizability.verdict import Verdict

NANOSECONDS = 1_000_000_000
WRITES = (F.SEND.value,)
READS = (F.POLL.value, F.READ_ALL.value)
TRANSACTIONS = (F.BEGIN.value, F.COMMIT.value, F.ABORT.value)


@dataclass(frozen=True)
class Recorded:
    """The content of a run directory. rows: the history, or None if it cannot be read. problem: why
    it cannot, or ""."""

    directory: Path
    facts: dict[str, Any]
    verdict: Verdict | None
    rows: pl.LazyFrame | None
    problem: str = ""

    @cached_property
    def bounds_ns(self) -> tuple[int, int]:
        """The times of the first invocation and of the last invocation or completion, of clients or
        the nemesis, in nanoseconds, or (0, 0) without a readable history."""
        if self.rows is None:
            return 0, 0
        found = (
            self.rows.select(
                pl.col("t_invoke_ns").min(),
                pl.max_horizontal("t_invoke_ns", "t_complete_ns").max().alias("end"),
            )
            .collect()
            .row(0)
        )
        return found[0] or 0, found[1] or 0

    @property
    def seconds(self) -> float:
        start, end = self.bounds_ns
        return max((end - start) / NANOSECONDS, 0.001)

    def at(self, column: str) -> pl.Expr:
        """Return a time column as seconds since the first invocation."""
        return (pl.col(column) - self.bounds_ns[0]) / NANOSECONDS

    @cached_property
    def operations(self) -> pl.DataFrame:
        """One row per client operation, with the columns op_id, process, kind, outcome, start, end,
        final, open. An operation that never completed is `open`, and ends with the run."""
        if self.rows is None:
            return pl.DataFrame()
        ok, info = pl.col("type") == Type.OK.value, pl.col("type") == Type.INFO.value
        f = pl.col("f")
        kind = (
            pl.when(f.is_in(WRITES).any())
            .then(pl.lit("send"))
            .when(f.is_in(TRANSACTIONS).any())
            .then(pl.lit("txn"))
            .when(f.is_in(READS).any() & pl.col("offset").is_not_null().any())
            .then(pl.lit("read"))
            .when(f.is_in(READS).any())
            .then(pl.lit("wait"))
            .otherwise(pl.lit("other"))
        )
        outcome = pl.when(ok.all()).then(pl.lit("ok")).when(info.any()).then(pl.lit("info"))
        return (
            self.rows.filter(f != F.NEMESIS.value)
            .group_by("op_id")
            .agg(
                process=pl.col("process").first(),
                kind=kind,
                outcome=outcome.otherwise(pl.lit("fail")),
                start=self.at("t_invoke_ns").min(),
                end=self.at("t_complete_ns").max(),
                final=pl.col("final").any(),
            )
            .with_columns(open=pl.col("end").is_null(), end=pl.col("end").fill_null(self.seconds))
            .sort("process", "start")
            .collect()
        )

    @cached_property
    def backlog(self) -> Backlog | None:
        """The backlog of readers over time, or None if the history is too large or cannot be
        read."""
        return None if self.rows is None else backlog(self.directory)

    @cached_property
    def roles(self) -> dict[int, str]:
        """Process -> its role, such as "writer 0", "reader 4" or "final read 6"."""
        found = {}
        grouped = self.operations.group_by("process", maintain_order=True).agg(
            pl.col("kind").unique(), pl.col("final").all()
        )
        for process, kinds, final in grouped.sort("process").iter_rows():
            role = "final read" if final else "writer" if "send" in kinds else "reader"
            # Below zero: what the harness itself has noted, such as the settings of a topic.
            found[process] = f"{role} {process}" if process >= 0 else "the run"
        return found

    @cached_property
    def final_s(self) -> float | None:
        """The time at which the final reads began, or None if they did not."""
        final = self.operations.filter(pl.col("final")) if self.operations.height else None
        return None if final is None or not final.height else float(final["start"].min())  # type: ignore[arg-type]

    @cached_property
    def replica_reads(self) -> pl.DataFrame:
        """The rows of the final raw reads of each replica: one per record, and one with the log's
        first and last offset. The leader's rows have a null replica."""
        columns = ["f", "topic", "partition", "replica", "offset", "value", "control"]
        columns += ["log_start", "high_watermark"]
        if self.rows is None:
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.Null))
        is_raw = pl.col("final") & (pl.col("client") == "raw") & pl.col("f").is_in(READS)
        return self.rows.filter(is_raw).select(columns).collect()

    @cached_property
    def faults(self) -> list[Fault]:
        """Every fault, with the heal that ended it."""
        return [] if self.rows is None else fault_spans(self.rows, *self.bounds_ns)


def load(directory: Path) -> Recorded:
    """Return the content of a run directory. Raise UsageError if it is not one, or if its run.json
    or a verdict is damaged. A broken history does not raise; `problem` describes it."""
    if not directory.is_dir():
        raise UsageError(
            f"{directory} is not a run directory; name one that `touchstone chaos run` made"
        )
    facts = _json(file := directory / "run.json", "record the run again")
    if not file.exists() and not (directory / "history.parquet").exists():
        raise UsageError(
            f"{directory} holds neither run.json nor history.parquet; "
            "name a directory that `touchstone chaos run` made"
        )
    if file.exists() and (why := why_unreadable(facts)):
        raise UsageError(f"{file}: {why}")
    rows, problem = None, ""
    try:
        rows = history.scan(directory)
    except HistoryError as error:
        problem = str(error)
    verdict = _verdict(directory / "verdict.json")
    if verdict is not None and rows is not None and not verdict.groups:
        verdict = with_groups(verdict, rows)  # an older verdict has no groups
    return Recorded(directory, facts, verdict, rows, problem)


def _json(file: Path, advice: str) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        facts = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read ({error}); {advice}") from error
    if not isinstance(facts, dict):
        raise UsageError(f"{file} is not a JSON object; {advice}")
    return facts


def _verdict(file: Path) -> Verdict | None:
    again = f"`touchstone check {file.parent}` writes it again"
    data = _json(file, again)
    try:
        return Verdict.from_dict(data) if data else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{file} is not a verdict ({error}); {again}") from error
