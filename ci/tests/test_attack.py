"""Judging a run directory: what kept a run from its end forbids VALID, and never hides INVALID."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ci.attack import judge
from linearizability import history
from linearizability.judging import VERDICT_FILE
from linearizability.verdict import Validity

SENT = {"f": "send", "topic": "t", "partition": 0, "acks": -1, "idempotent": True, "value": 1}
READ = {"f": "poll", "topic": "t", "partition": 0, "value": 1, "isolation": "read_uncommitted"}
VALID = [{**SENT, "offset": 0}, {**READ, "offset": 0}]
INVALID = [*VALID, {**READ, "offset": 1, "process": 1}]
ENDED = "2026-01-01T00:00:00.000+00:00"


def run_directory(tmp_path: Path, rows: list[dict[str, Any]], **facts: object) -> Path:
    (tmp_path / "run.json").write_text(json.dumps({"ended": ENDED, "problems": []} | facts))
    history.write(tmp_path / "history.parquet", history.frame(rows))
    return tmp_path


@pytest.mark.parametrize(
    ("rows", "facts", "expected"),
    [
        (VALID, {}, Validity.VALID),
        (INVALID, {}, Validity.INVALID),
        (VALID, {"problems": ["the cluster did not recover"]}, Validity.UNKNOWN),
        (INVALID, {"problems": ["the cluster did not recover"]}, Validity.INVALID),
        (VALID, {"ended": None}, Validity.UNKNOWN),
        (VALID, {"judged_by": ["duplicates"]}, Validity.VALID),
        (VALID, {"judged_by": ["aborted_reads"]}, Validity.UNKNOWN),
        ([], {}, Validity.UNKNOWN),
    ],
    ids=["valid", "invalid", "problem", "problem-invalid", "killed", "named", "idle", "empty"],
)
def test_a_run_is_green_only_if_it_came_to_its_end_and_was_judged(
    tmp_path: Path, rows: list[dict[str, Any]], facts: Mapping[str, object], expected: Validity
) -> None:
    judged = judge(run_directory(tmp_path, rows, **facts), engine="local")
    assert judged.verdict.validity is expected
    written = json.loads((tmp_path / VERDICT_FILE).read_text())
    assert written["validity"] == expected.value
    assert written["engine"] == "local (polars)"
