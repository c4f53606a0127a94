"""The figures of a run: operations per second, latencies, errors."""

from __future__ import annotations

import json
from pathlib import Path

from linearizability import history
from linearizability.history import frame
from linearizability.measures.summary import summarise

S = 1_000_000_000
MS = 1_000_000
SEND = {"f": "send", "topic": "t", "partition": 0}
ROWS = [
    SEND | {"op_id": 1, "offset": 0, "t_invoke_ns": 5 * S, "t_complete_ns": 5 * S + 10 * MS},
    SEND
    | {
        "op_id": 1,
        "offset": 1,
        "record_index": 1,
        "t_invoke_ns": 5 * S,
        "t_complete_ns": 5 * S + 20 * MS,
    },
    SEND | {"op_id": 2, "offset": 2, "t_invoke_ns": 5 * S, "t_complete_ns": 5 * S + 40 * MS},
    SEND
    | {
        "op_id": 3,
        "type": "info",
        "error": "_MSG_TIMED_OUT",
        "t_invoke_ns": 5 * S,
        "t_complete_ns": 7 * S,
    },
    SEND
    | {
        "op_id": 4,
        "type": "fail",
        "error": "INVALID_RECORD",
        "t_invoke_ns": 6 * S,
        "t_complete_ns": 7 * S + 1,
    },
    SEND | {"op_id": 5, "type": "info", "t_invoke_ns": 8 * S, "t_complete_ns": None},
    {"op_id": 6, "f": "nemesis", "process": -1, "t_invoke_ns": 0, "t_complete_ns": 99 * S},
]


def test_operations_are_counted_in_the_second_they_completed(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    history.write(file, frame(ROWS))
    summary = summarise(file)
    assert summary.seconds == 3.0
    assert summary.series.rows(named=True) == [
        {
            "t_s": 0,
            "f": "send",
            "ok": 2,
            "fail": 0,
            "info": 0,
            "records": 3,
            "p50_ms": 30.0,
            "p99_ms": 39.8,
        },
        {
            "t_s": 2,
            "f": "send",
            "ok": 0,
            "fail": 1,
            "info": 1,
            "records": 0,
            "p50_ms": None,
            "p99_ms": None,
        },
        {
            "t_s": 3,
            "f": "send",
            "ok": 0,
            "fail": 0,
            "info": 1,
            "records": 0,
            "p50_ms": None,
            "p99_ms": None,
        },
    ]
    assert summary.errors.rows() == [("send", "INVALID_RECORD", 1), ("send", "_MSG_TIMED_OUT", 1)]
    plain = json.loads(json.dumps(summary.as_dict()))
    assert plain["series"]["send"]["ok"] == [2, 0, 0]
    assert len(summary.to_pandas()) == 3


def test_an_empty_history_has_an_empty_summary(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    history.write(file, frame([]))
    summary = summarise(file)
    assert summary.seconds == 0
    assert summary.series.is_empty()
    assert summary.as_dict()["series"] == {}
