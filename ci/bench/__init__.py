"""Measure speed and memory as ratios within one run, one file and one table per benchmark: `make
bench`.

A benchmark returns a Table. The command exits with 1 if a row breaks its bound. The bounds are on
ratios, since absolute times on a shared machine mean little.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module

from ci.bench.table import Table
from ci.errors import UsageError

BENCHMARKS: dict[str, str] = {
    "recorder": "the share of a client's rate that recording takes; bound 10 %",
    "judges": "all checkers over a large history, polars beside Spark",
    "broker": "the reference beside Apache Kafka; its starts and its memory",
    "cluster": "three nodes of the reference beside three of Apache Kafka: replicated writes, "
    "failovers",
    "hostile": "how long other clients wait while hostile clients attack; the reference "
    "beside Apache Kafka",
    "chaos": "the time to apply and heal each fault beside its bound; the cost of a "
    "minute's attack",
}


def run_bench(names: Sequence[str]) -> int:
    """Run the named benchmarks (if none is named, those that $BENCH names, else all), and print
    their tables. Return 1 if a bound is broken, else 0. Raise UsageError for a name that is not a
    benchmark."""
    chosen = list(names) or os.environ.get("BENCH", "").split() or list(BENCHMARKS)
    for name in chosen:
        if name not in BENCHMARKS:
            raise UsageError(f"bench: no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    broken = 0
    for name in chosen:
        print(f"\n== {name}: {BENCHMARKS[name]}", flush=True)
        run: Callable[[], Table] = import_module(f"{__name__}.{name}").run
        before = os.getloadavg()[0]
        table = run()
        print(table.render())
        after = os.getloadavg()[0]
        print(f"load average: {before:.1f} before, {after:.1f} after, on {os.cpu_count()} CPUs")
        broken += len(table.broken)
    return 1 if broken else 0
