"""Small run directories, written as the recorder and the judges write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linearizability import history
from linearizability.judging import check
from linearizability.verdict import CheckerVerdict, Validity, merge

Row = dict[str, Any]
SECOND = 1_000_000_000
KILL = '{"fault": "Kill", "node": "leader", "nodes": [2]}'
HEAL = '{"fault": "Heal", "nodes": []}'


class History:
    """Rows in the order of their invocation; every operation takes a tenth of a second."""

    def __init__(self, topic: str = "appends") -> None:
        self.topic = topic
        self.rows: list[Row] = []
        self.next_op = 1

    def add(self, at: float, took: float | None = 0.1, **row: Any) -> int:
        start = int((at + 100) * SECOND)
        end = None if took is None else start + int(took * SECOND)
        self.rows.append({"op_id": self.next_op, "t_invoke_ns": start, "t_complete_ns": end, **row})
        self.next_op += 1
        return self.next_op - 1

    def send(self, at: float, process: int, value: int, offset: int | None, **more: Any) -> int:
        row: Row = {"f": "send", "acks": -1, "idempotent": True, "client": "confluent"} | more
        return self.add(
            at, process=process, topic=self.topic, partition=0, value=value, offset=offset, **row
        )

    def read_all(self, at: float, values: Mapping[int, int]) -> int:
        """Add a final raw read of the whole partition: offset -> value."""
        op = self.next_op
        place: Row = {
            "topic": self.topic,
            "partition": 0,
            "process": 9,
            "final": True,
            "client": "raw",
            "isolation": "read_uncommitted",
        }
        for index, (offset, value) in enumerate(values.items()):
            self.next_op = op
            self.add(at, f="poll", offset=offset, value=value, record_index=index, **place)
        self.next_op = op
        return self.add(
            at,
            f="read_all",
            record_index=len(values),
            log_start=0,
            high_watermark=max(values, default=-1) + 1,
            **place,
        )

    def fault(self, at: float, detail: str, node: int | None = None) -> int:
        return self.add(at, f="nemesis", process=-1, detail=detail, node=node)


def write_run(directory: Path, rows: Sequence[Row], *, judge: bool = True, **facts: Any) -> Path:
    """history.parquet, run.json and (by the local engine) verdict.json."""
    directory.mkdir(parents=True)
    history.write(directory / "history.parquet", history.frame(rows))
    run = {
        "version": 1,
        "run": directory.name,
        "target": "reference",
        "workload": "appends",
        "nemesis": "kill-leader",
        "nodes": 3,
        "seconds": 30.0,
        "seed": 7,
        "config": {},
        "bug": None,
        "judged_by": [],
        "reproduce": "touchstone chaos run --seed 7",
        "commit": "0123abc",
        "versions": {"python": "3.11"},
        "started": "2026-01-01T00:00:00Z",
        "ended": "2026-01-01T00:01:00Z",
        "problems": [],
        "notes": [],
        "counts": {"ok": 6, "fail": 1, "info": 1, "records_acknowledged": 3, "faults": 2},
    }
    (directory / "run.json").write_text(json.dumps(run | facts))
    if judge:
        verdict = check(directory, engine="local")
        (directory / "verdict.json").write_text(verdict.to_json())
    return directory


def valid_rows() -> list[Row]:
    """Return three acknowledged records, all there at the end; a fault, a failure, an unknown
    one."""
    made = History()
    made.send(0.0, 0, 1, 0)
    made.fault(0.5, KILL, 2)
    made.send(0.6, 1, 2, 1)
    made.send(1.0, 0, 3, None, type="fail", error="NOT_LEADER_OR_FOLLOWER")
    made.fault(2.0, HEAL)
    made.send(2.2, 1, 4, None, type="info", error="REQUEST_TIMED_OUT")
    made.send(2.4, 0, 5, 2)
    made.read_all(4.0, {0: 1, 1: 2, 2: 5})
    return made.rows


def invalid_rows(topic: str = "appends") -> list[Row]:
    """Return a history in which value 77 is acknowledged at offset 1 (operation 3) and the final
    read finds 88 there."""
    made = History(topic)
    made.send(0.0, 0, 66, 0)
    made.fault(0.5, KILL, 2)
    made.send(0.6, 1, 77, 1)
    made.fault(2.0, HEAL)
    made.send(2.2, 0, 88, 1)
    made.send(2.4, 0, 99, 2)
    made.read_all(4.0, {0: 66, 1: 88, 2: 99})
    return made.rows


def results(target: str, *outcomes: tuple[str, str, str]) -> dict[str, Any]:
    """Return results as conformance.reporting.results writes them: id, behaviour, result."""
    cases = [
        {
            "id": id,
            "name": f"test_{name}",
            "nodeid": f"cases/{name}[{n}]",
            "area": id.split("-")[0],
            "api": "Produce",
            "version": 3 + n,
            "priority": "P0",
            "requirement": f"It must be so that {name}.",
            "spec": "KIP-98",
            "result": result,
            "expected": "NONE(0)" if result == "failed" else None,
            "actual": "CORRUPT_MESSAGE(2)" if result == "failed" else None,
            "seconds": 0.1,
            "reproduce": f"touchstone conform --only 'cases/{name}[{n}]' --target {target}",
        }
        for n, (id, name, result) in enumerate(outcomes)
    ]
    counts = [outcome[2] for outcome in outcomes]
    return {
        "target": target,
        "passed": counts.count("passed"),
        "failed": counts.count("failed"),
        "unsupported": counts.count("unsupported"),
        "cases": cases,
    }


def unknown_verdict(directory: Path, reason: str) -> None:
    """Return the verdict of a judge that did not finish."""
    opinion = CheckerVerdict("run", Validity.UNKNOWN, 0, reason=reason)
    verdict = merge([opinion], engine="local (polars)")
    (directory / "verdict.json").write_text(verdict.to_json())
