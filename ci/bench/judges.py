"""All checkers over one large valid history: polars beside Spark, in time and memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from ci import doctor
from ci.bench.table import Table
from linearizability import history
from linearizability.self_test.model import joined, valid_rows

ROWS = 1_000_000
TURNS = 6_000


def run() -> Table:
    """One row per engine; each judges the same file in a process of its own."""
    table = Table(("engine", "rows", "wall s", "CPU s of Python", "peak MiB of Python", "verdict"))
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch:
        file = Path(scratch) / "history.parquet"
        rows = write_history(file, ROWS)
        for engine in ("local", "spark") if doctor.found("spark") else ("local",):
            made = subprocess.run(
                [sys.executable, "-m", "ci.bench.judges", str(file), engine],
                stdout=subprocess.PIPE, check=True, text=True,
            )  # fmt: skip
            figures = json.loads(made.stdout.splitlines()[-1])
            table.add(figures["engine"], f"{rows:,}", figures["wall_s"], figures["cpu_s"],
                      figures["peak_mib"], figures["verdict"])  # fmt: skip
    return table


def write_history(file: Path, rows: int) -> int:
    """A valid history of about so many rows; how many there are."""
    parts = []
    seed = found = 0
    while found < rows // 20:
        part = valid_rows(seed, TURNS)
        parts.append(part)
        found += len(part)
        seed += 1
    base = joined(parts)
    copies = []
    for number in range(max(1, rows // base.height)):
        shift = number * 10_000_000_000
        moved = [
            (pl.col(column) + shift).alias(column)
            for column in ("op_id", "value", "txn", "producer_id")
        ]
        renamed = (pl.col("topic") + f"-{number}").alias("topic")
        process = (pl.col("process") + number * 1_000_000).alias("process")
        copies.append(base.with_columns(*moved, renamed, process))
    whole = pl.concat(copies)
    history.write(file, whole)
    return whole.height


def _judge(file: str, engine: str) -> None:
    """In a process of its own: judge, and print the figures as JSON."""
    import time

    from linearizability.check import check

    started = time.monotonic()
    verdict = check(Path(file), engine=engine)
    wall_s = time.monotonic() - started
    own = os.times()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({
        "engine": verdict.engine, "wall_s": wall_s,
        "cpu_s": own.user + own.system + children.ru_utime + children.ru_stime,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "verdict": verdict.validity.value,
    }))  # fmt: skip


if __name__ == "__main__":
    _judge(*sys.argv[1:])
