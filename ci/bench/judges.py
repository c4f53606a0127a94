"""Measure all checkers on large and small histories, by polars and by Spark, and porcupine.

The bounds are absolute: they compare with Jepsen's own checker, which takes 63 to 71 CPU s and 5 GB
on two cores for a history like the one of 500,000 operations here. They limit CPU time (user plus
system), which is stable on a busy machine: 60 s on two cores are 120 CPU s. For Spark, CPU time and
peak memory are those of the JVM and all its workers. The local engine's time excludes loading the
history. `TOUCHSTONE_BENCH_ROWS=50000000` measures only Spark, on its smallest history and on one of
that many rows, which must be judged with the heap size that `touchstone` uses.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pyarrow.parquet as pq

from ci import doctor
from ci.bench import family, jepsen_shaped
from ci.bench.table import Ratio, Table
from linearizability import history
from linearizability.checkers.base import COLUMNS_READ
from linearizability.self_test.model.histories import joined, valid_rows

OPERATIONS = 500_000
SMALL_OPERATIONS = 1_000
SPARK_ROWS = (1_000_000, 10_000_000)
LARGER = "TOUCHSTONE_BENCH_ROWS"
SPARK_MASTER = "local[2]"
BLOCK_ROWS = 50_000
"""The number of rows in one block of the model's history. The block is written repeatedly, each
time with other partitions."""
TURNS = 6_000
BLOCK_APART = 10_000_000_000
PORCUPINE_KEYS, PORCUPINE_OPERATIONS, PORCUPINE_AT_ONCE = 10, 100_000, 10

Figures = dict[str, Any]
T = TypeVar("T")


def run() -> Table:
    """Measure one row per history and engine, and return the table. Each history is judged in a
    separate process. Rows that need porcupine or Spark are left out where these are not
    installed."""
    table = Table(("what", "size", "verdict", "wall s", "CPU s", "peak MiB", "bound"))
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch:
        if LARGER in os.environ:
            _spark(table, Path(scratch), (SPARK_ROWS[0], int(os.environ[LARGER])))
            return table
        _local(table, Path(scratch))
        if doctor.found("porcupine"):
            _porcupine(table)
        if doctor.found("spark"):
            _spark(table, Path(scratch), SPARK_ROWS)
    return table


def _local(table: Table, scratch: Path) -> None:
    file, made = scratch / "jepsen.jsonl", scratch / "jepsen.parquet"
    jepsen_shaped.write(file, OPERATIONS)
    taken = _measured("import", file, made)
    file.unlink()
    found = _measured("local", made)
    size = f"{OPERATIONS:,} operations"
    what = "import of Jepsen's JSON lines"
    _add(table, f"{what}, CPU s", size, taken, Ratio(taken["cpu_s"], at_most=8))
    _add(table, f"{what}, peak GiB", size, taken, Ratio(taken["peak_mib"] / 1024, at_most=1))
    _add(table, "local, CPU s", size, found, Ratio(found["cpu_s"], at_most=10))
    _add(table, "local, peak GiB", size, found, Ratio(found["peak_mib"] / 1024, at_most=1.5))
    both = taken["cpu_s"] + found["cpu_s"]
    _add(table, "import and local, CPU s", size, found, Ratio(both, at_most=15))
    jepsen_shaped.write(file, SMALL_OPERATIONS)
    small = _measured("warm", file)
    size = f"{SMALL_OPERATIONS:,} operations"
    _add(table, "local and warm, CPU ms", size, small, Ratio(small["cpu_s"] * 1000, at_most=150))


def _spark(table: Table, scratch: Path, sizes: Sequence[int]) -> None:
    file = scratch / "history.parquet"
    took: list[tuple[int, float]] = []
    for wanted in sizes:
        rows = write_history(file, wanted)
        found = _measured("spark", file)
        took.append((rows, found["cpu_s"]))
        bound = Ratio(found["cpu_s"], at_most=120) if wanted == SPARK_ROWS[-1] else ""
        _add(table, f"Spark {SPARK_MASTER}, CPU s", f"{rows:,} rows", found, bound)
    (few, briefly), (many, long) = took[0], took[-1]
    growth = math.log(long / briefly) / math.log(many / few)
    table.add(
        "Spark, CPU s grow by rows to the power",
        f"{few:,} to {many:,}",
        "",
        "",
        "",
        "",
        Ratio(growth, at_most=1.1),
    )


def _porcupine(table: Table) -> None:
    """Add a row with the ratio of the time of a call through the Python binding to porcupine's own
    time."""
    from linearizability.porcupy import OperationsBuilder, RegisterKind, check

    builder = OperationsBuilder()
    for number in range(PORCUPINE_OPERATIONS // PORCUPINE_KEYS):
        # Writes overlap, so that there is something to search; the last of each round is read.
        place, start = number % PORCUPINE_AT_ONCE, number // PORCUPINE_AT_ONCE * 100
        for key in range(PORCUPINE_KEYS):
            if place < PORCUPINE_AT_ONCE - 1:
                builder.add(start, start + 50, RegisterKind.WRITE, key=key, client=place, a=number)
            else:
                builder.add(start + 60, start + 90, RegisterKind.READ, key=key, c=number - 1)
    operations = builder.build()
    started = time.monotonic()
    result = check("register", operations)
    wall_s = time.monotonic() - started
    own_s = sum(partition.seconds for partition in result.partitions)
    table.add(
        "porcupine, time with binding to own time",
        f"{PORCUPINE_OPERATIONS:,} operations",
        result.verdict.value,
        wall_s,
        "",
        "",
        Ratio(wall_s / own_s, at_most=1.1),
    )


def _add(table: Table, what: str, size: object, found: Figures, bound: object) -> None:
    table.add(
        what,
        f"{size:,}" if isinstance(size, int) else size,
        found["verdict"],
        found["wall_s"],
        found["cpu_s"],
        found["peak_mib"],
        bound,
    )


def write_history(file: Path, rows: int) -> int:
    """Write a valid history of at least `rows` rows, copies of one block of the model's histories;
    return the number of rows."""
    parts: list[Any] = []
    while sum(map(len, parts)) < min(rows, BLOCK_ROWS):
        parts.append(valid_rows(len(parts), TURNS))
    block = joined(parts)
    copies = -(-rows // block.height)
    with pq.ParquetWriter(file, history.arrow_schema(), compression="zstd") as writer:
        for number in range(copies):
            writer.write_table(_moved(block, number).to_arrow().cast(history.arrow_schema()))
    return copies * block.height


def _moved(block: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return a copy of the block whose operations, values, processes, groups and topics are
    distinct from those of other blocks."""
    numbers = [
        pl.col(column) + number * BLOCK_APART for column in ("op_id", "value", "txn", "producer_id")
    ]
    process = pl.col("process") + number * 1_000_000 % 2_000_000_000
    names = pl.col("topic", "group") + f"-{number}"
    return block.with_columns(*numbers, process, names)


def _measured(what: str, *files: Path) -> Figures:
    made = subprocess.run(
        [sys.executable, "-m", "ci.bench.judges", what, *map(str, files)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    figures: Figures = json.loads(made.stdout.splitlines()[-1])
    return figures


# Each of these runs in its own process, returns a verdict, and may name the time of its main part.


def _import(source: str, target: str) -> Figures:
    from linearizability.importers import jepsen

    _, took = _timed(lambda: jepsen.convert(Path(source), Path(target)))
    return took | {"verdict": ""}


def _by_local(file: str) -> Figures:
    from linearizability.judging import check

    _, loading = _timed(lambda: history.scan(Path(file)).select(COLUMNS_READ).collect().height)
    verdict, took = _timed(lambda: check(Path(file), engine="local"))
    apart = {figure: took[figure] - loading[figure] for figure in took}
    return apart | {"verdict": verdict.validity.value}


def _by_spark(file: str) -> Figures:
    from linearizability.engine.session import spark_session, stop_spark
    from linearizability.judging import check

    spark_session(SPARK_MASTER)  # the start of the JVM is not measured
    cpu_s = family.cpu_s()
    verdict, took = _timed(lambda: check(Path(file), engine="spark", spark_master=SPARK_MASTER))
    of_all = {"cpu_s": family.cpu_s() - cpu_s, "peak_mib": family.peak_mib()}
    stop_spark()
    return took | of_all | {"verdict": verdict.validity.value}


def _warm(file: str) -> Figures:
    from linearizability.importers import jepsen
    from linearizability.judging import check_frame

    events = jepsen.read(Path(file))
    check_frame(events)
    made = [_timed(lambda: check_frame(events)) for _ in range(9)]
    middle = {k: statistics.median(took[k] for _, took in made) for k in ("wall_s", "cpu_s")}
    return middle | {"verdict": made[0][0].validity.value}


def _timed(work: Callable[[], T]) -> tuple[T, Figures]:
    wall, cpu = time.monotonic(), time.process_time()
    answer = work()
    return answer, {"wall_s": time.monotonic() - wall, "cpu_s": time.process_time() - cpu}


_TASKS: Mapping[str, Callable[..., Figures]] = {
    "import": _import,
    "local": _by_local,
    "spark": _by_spark,
    "warm": _warm,
}


def _main(what: str, *files: str) -> None:
    """Perform one measurement in this process, and print its figures as JSON. what: the name of the
    measurement."""
    import resource

    figures = _TASKS[what](*files)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak_mib": peak_mib, **figures}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
