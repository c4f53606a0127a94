"""Many stored runs, made by varying three that were written and judged once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ci.report.building import report_run
from ci.report.tests.runs import invalid_rows, results, unknown_verdict, valid_rows, write_run

TARGETS = ("apache:4.3.1", "apache:3.9.1", "kfake", "reference")
WORKLOADS = ("appends", "transactions", "groups")
NEMESES = ("kill-leader", "pause", "none")
FIRST = datetime(2026, 1, 1, 1, 0, tzinfo=UTC)
COMMIT = "c0ffee0000c0ffee0000c0ffee0000c0ffee0000"


def three_models(folder: Path) -> dict[str, Path]:
    """Write one run of each verdict, with its report: what the others are copies of."""
    models = {
        "valid": write_run(folder / "valid", valid_rows()),
        "invalid": write_run(folder / "invalid", invalid_rows()),
        "unknown": write_run(folder / "unknown", valid_rows(), judge=False),
    }
    unknown_verdict(models["unknown"], "the judge ran out of memory")
    for run in models.values():
        report_run(run)
    return models


def store(runs: Path, models: Mapping[str, Path], verdict: str, number: int, **facts: Any) -> Path:
    """Store the run of a number: a copy of a model, with facts of its own."""
    begun = FIRST + timedelta(hours=number)
    target = facts.setdefault("target", TARGETS[number % 4])
    workload = facts.setdefault("workload", WORKLOADS[number // 4 % 3])
    nemesis = facts.setdefault("nemesis", NEMESES[number // 12 % 3])
    seed = facts.setdefault("seed", number)
    name = f"{begun:%Y%m%dT%H%M%SZ}-{target.replace(':', '_')}-{workload}-{nemesis}-{seed}"
    run = runs / name
    run.mkdir(parents=True)
    for file in ("history.parquet", "verdict.json", "report.html"):
        os.link(models[verdict] / file, run / file)
    command = f"touchstone chaos run --target {target} --workload {workload} --nemesis {nemesis}"
    told = json.loads((models[verdict] / "run.json").read_text()) | {
        "run": name,
        "commit": COMMIT,
        "uncommitted_changes": False,
        "started": begun.isoformat(timespec="milliseconds"),
        "ended": (begun + timedelta(minutes=1)).isoformat(timespec="milliseconds"),
        "versions": {"target": target.partition(":")[2] or "0.1.0"},
        "reproduce": f"{command} --seed {seed}",
    }
    (run / "run.json").write_text(json.dumps(told | facts))
    log = run / "nodes" / "1" / "node.log"
    log.parent.mkdir(parents=True)
    log.write_text(f"{begun:%Y-%m-%dT%H:%M:%S},000 INFO started\n")
    return run


def many(runs: Path, models: Mapping[str, Path], count: int) -> list[Path]:
    """Store `count` runs: each tenth is invalid, each twenty-fifth unknown."""
    return [
        store(runs, models, "invalid" if n % 10 == 3 else "unknown" if n % 25 == 7 else "valid", n)
        for n in range(count)
    ]


def examinations(runs: Path) -> None:
    """Store conformance results of two targets, which differ in one case."""
    runs.mkdir(exist_ok=True)
    for target, result in (("reference", "passed"), ("kfake", "failed")):
        told = results(target, ("PROD-01", "appended", "passed"), ("PROD-02", "refused", result))
        (runs / f"{target}.json").write_text(json.dumps(told | {"not_run": 0, "ended": None}))
