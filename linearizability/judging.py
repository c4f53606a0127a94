"""Judge a history: `check(path) -> Verdict`. The one entry for commands, tests and notebooks.

The package offers it as `linearizability.check`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from linearizability import history
from linearizability.bounds import NOTHING_STATED, Bounds
from linearizability.checkers.table import CHECKERS
from linearizability.engine import local
from linearizability.engine.java import find_java
from linearizability.excuses import clocks, overdue, resent, unclean
from linearizability.history import HistoryError
from linearizability.importers.formats import imported
from linearizability.opinions.confirm import confirm_with_porcupine
from linearizability.stories.grouping import with_groups
from linearizability.verdict import CheckerVerdict, Validity, Verdict, merge

if TYPE_CHECKING:
    import pandas as pd

ENGINES = ("auto", "local", "spark")
LARGE_ROWS = 5_000_000
"""The number of rows above which Spark is used: polars would take too much memory, and the start of
Spark pays off."""
ENGINES_AGREE = "engines agree"
"""The name of the opinion that reports a disagreement between the engines."""
VERDICT_FILE = "verdict.json"
ANOMALIES_FILE = "anomalies.parquet"
ANOMALY_COLUMNS: Mapping[str, Any] = {
    "checker": pl.String,
    "kind": pl.String,
    "message": pl.String,
    "operations": pl.List(pl.Int64),
    "scope": pl.String,
    "blame": pl.String,
    "context": pl.String,
}


def check(
    path: Path | str,
    *,
    engine: str = "auto",
    spark_master: str | None = None,
    named_by_workload: Sequence[str] = (),
    history_format: str = "auto",
    bounds: Bounds = NOTHING_STATED,
    grouped: bool = True,
) -> Verdict:
    """Return the verdict of all checkers on a run directory or a history file. engine: "local"
    (polars), "spark", or "auto": spark if a master is named or the history is large, else local
    (see `chosen_engine`). named_by_workload: checkers that must have judged something.
    history_format: "touchstone", "jepsen", that of a plugin's importer, or "auto", which decides by
    the suffix and asks the plugins' importers. bounds: what the run promised beyond correctness.
    grouped: whether to group the anomalies by cause and describe each group (`stories`). Raise
    HistoryError if there is no valid history under `path`, or if the engine or the format is
    unknown or not available."""
    with imported(Path(path), history_format) as file:
        verdict = _check(file, engine, spark_master, named_by_workload, bounds)
        return in_groups(verdict, file) if grouped else verdict


def in_groups(verdict: Verdict, path: Path) -> Verdict:
    """Return the verdict with its anomalies grouped by cause, unchanged if it has groups already or
    no anomalies. path: the history that was judged."""
    if verdict.groups or not verdict.anomalies:
        return verdict
    return with_groups(verdict, history.scan(path))


def _check(
    path: Path,
    engine: str,
    spark_master: str | None,
    named_by_workload: Sequence[str],
    bounds: Bounds,
) -> Verdict:
    engine = chosen_engine(path, engine, spark_master)
    events = history.scan(path)
    if engine == "local":
        opinions, name = local.run(events, bounds=bounds), local.NAME
    else:
        from linearizability.engine import spark

        opinions = spark.run(path, spark_master, bounds=bounds)
        name = spark.name(spark_master)
    return merge(_excused(opinions, events), engine=name, named_by_workload=named_by_workload)


def check_frame(
    events: pl.DataFrame, *, named_by_workload: Sequence[str] = (), bounds: Bounds = NOTHING_STATED
) -> Verdict:
    """Return the local verdict on a history in memory (the simulator, tests)."""
    opinions = _excused(local.run(events.lazy(), bounds=bounds), events.lazy())
    return merge(opinions, engine=local.NAME, named_by_workload=named_by_workload)


def _excused(opinions: Sequence[CheckerVerdict], events: pl.LazyFrame) -> list[CheckerVerdict]:
    """Return the opinions after the excuses, each in turn, have left out anomalies that faults or
    settings in the history explain."""
    found: list[CheckerVerdict] = list(opinions)
    for why in (overdue, resent, clocks, unclean):
        found = why.excused(found, events)
    return found


def chosen_engine(path: Path, engine: str, spark_master: str | None = None) -> str:
    """Return the engine to use. For "auto" that is "spark" if a master is named, or if the history
    has more than LARGE_ROWS rows and Spark is available; else "local". Raise HistoryError for an
    unknown engine, or if "auto" has to count the rows and there is no history under `path`."""
    if engine not in ENGINES:
        raise HistoryError(f"engine {engine!r} is not one of {', '.join(ENGINES)}")
    if engine != "auto":
        return engine
    if spark_master is not None:
        return "spark"
    is_large = history.rows_in(path) > LARGE_ROWS
    return "spark" if is_large and has_spark() else "local"


def has_spark() -> bool:
    """Return whether Java and PySpark are installed here."""
    return find_spec("pyspark") is not None and find_java() is not None


def disagreement(one: Verdict, other: Verdict) -> CheckerVerdict | None:
    """Return the opinion that two engines judged one history differently, or None if they agree.

    They run the same kernels, so one of them is wrong, and it is not known which: the verdict is
    UNKNOWN.
    """
    said = [
        f"{name}: {_said(one, name)} by {one.engine}, {_said(other, name)} by {other.engine}"
        for name in CHECKERS
        if _facts(one, name) != _facts(other, name)
    ]
    if not said:
        return None
    reason = f"the engines disagree, which is a bug of Touchstone: {'; '.join(said)}"
    return CheckerVerdict(ENGINES_AGREE, Validity.UNKNOWN, 0, reason=reason)


def _said(verdict: Verdict, name: str) -> str:
    validity, checked, anomalies, _ = _facts(verdict, name)
    return f"{validity} ({checked:,} judged, {anomalies:,} anomalies)"


def _facts(verdict: Verdict, name: str) -> tuple[str, int, int, frozenset[tuple[Any, ...]]]:
    opinion = verdict.checkers.get(name)
    if opinion is None:
        return "not asked", 0, 0, frozenset()
    anomalies = frozenset((anomaly.kind, anomaly.operations) for anomaly in opinion.anomalies)
    return opinion.validity.value, opinion.checked, opinion.anomaly_count, anomalies


def write_verdict(directory: Path, verdict: Verdict) -> Path:
    """Write verdict.json into a run directory, and beside it its anomalies as a table. Return the
    path of verdict.json."""
    file = directory / VERDICT_FILE
    file.write_text(verdict.to_json() + "\n")
    anomalies_of(verdict).write_parquet(directory / ANOMALIES_FILE)
    return file


def anomalies_of(verdict: Verdict) -> pl.DataFrame:
    """Return the anomalies as a table with the columns that are written, ANOMALY_COLUMNS; `scope`
    is JSON."""
    rows = [{"checker": name, **anomaly.as_dict()} for name, anomaly in verdict.anomalies]
    for row in rows:
        row["scope"] = json.dumps(row["scope"])
    return pl.DataFrame(rows, schema=ANOMALY_COLUMNS, orient="row")


def to_pandas(verdict: Verdict) -> pd.DataFrame:
    """Return the anomalies as a pandas frame, for notebooks: checker, kind, message, operations,
    …"""
    import pandas as pd

    rows = [{"checker": name, **anomaly.as_dict()} for name, anomaly in verdict.anomalies]
    return pd.DataFrame(rows, columns=list(ANOMALY_COLUMNS))


def checkers_to_pandas(verdict: Verdict) -> pd.DataFrame:
    """Return one row per checker: validity, checked, excused, anomaly_count, reason."""
    import pandas as pd

    rows = [{"checker": name, **opinion.as_dict()} for name, opinion in verdict.checkers.items()]
    columns = ["checker", "validity", "checked", "excused", "anomaly_count", "reason"]
    return pd.DataFrame(rows, columns=columns)


__all__ = [
    "CHECKERS",
    "check",
    "check_frame",
    "checkers_to_pandas",
    "chosen_engine",
    "confirm_with_porcupine",
    "in_groups",
    "to_pandas",
    "write_verdict",
]
