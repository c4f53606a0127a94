"""`touchstone check FILE --format jepsen --json`: each kind of anomaly that Jepsen knows, by hand.

Each history is written here as what clients did, one after the other; its expectation is the
checker, the kind, and the operations, numbered by the index of their completion (1, 3, 5, …).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ci.cli import app

Did = tuple[int, str, str, Any, dict[str, Any]]
Proofs = set[tuple[str, str, tuple[int, ...]]]


def did(process: int, f: str, value: Any, type: str = "ok", **more: Any) -> Did:
    return process, type, f, value, more


def sent(process: int, *records: tuple[int | None, int], key: int = 1, type: str = "ok") -> Did:
    """Return one send operation; records: (offset, value)."""
    return did(process, "send", [["send", key, list(record)] for record in records], type)


def polled(process: int, *records: tuple[int, int], type: str = "ok", **more: Any) -> Did:
    return did(process, "poll", [poll(*records)], type, **more)


def txn(process: int, *micro: Any, type: str = "ok") -> Did:
    return did(process, "txn", list(micro), type)


def send(offset: int | None, value: int, key: int = 1) -> list[Any]:
    return ["send", key, [offset, value]]


def poll(*records: tuple[int, int], key: int = 1) -> list[Any]:
    return ["poll", {str(key): [list(record) for record in records]}]


ASSIGN = [did(process, "assign", [1]) for process in (8, 9)]
"""Two readers who end by reading everything, so that nothing is unseen."""
REBALANCED: dict[str, Any] = {"rebalance-log": [{"keys": [1]}]}
WHOLE = polled(9, (0, 100), (1, 101), (2, 102))
THREE = [sent(0, (0, 100)), sent(0, (1, 101)), sent(0, (2, 102))]

INVALID: dict[str, tuple[list[Did], Proofs]] = {
    "lost write": (
        [*THREE, polled(9, (0, 100)), polled(8, (2, 102))],
        {("lost_writes", "lost-write", (3, 9)), ("unseen_writes", "unseen-write", (3,))},
    ),
    "unseen": ([*THREE, polled(9, (0, 100), (1, 101))], {("unseen_writes", "unseen-write", (5,))}),
    "duplicate": (
        [sent(0, (0, 100)), polled(9, (0, 100), (1, 100))],
        {("duplicates", "duplicate", (1, 3))},
    ),
    "inconsistent offsets": (
        [sent(0, (0, 100)), sent(0, (None, 101)), polled(9, (0, 100)), polled(8, (0, 101))],
        {("inconsistent_offsets", "inconsistent-offset", (1, 7))},
    ),
    "aborted read (G1a)": (
        [txn(0, send(0, 100), type="fail"), polled(9, (0, 100))],
        {("aborted_reads", "aborted-read", (1, 3))},
    ),
    "poll skip": (
        [*THREE, WHOLE, *ASSIGN, polled(8, (0, 100)), polled(8, (2, 102))],
        {("poll_skips", "poll-skip", (3, 13, 15))},
    ),
    "poll skip within an operation": (
        [*THREE, WHOLE, *ASSIGN, polled(8, (0, 100), (2, 102))],
        {("poll_skips", "poll-skip", (3, 13))},
    ),
    "nonmonotonic poll": (
        [*THREE, WHOLE, polled(9, (1, 101))],
        {("poll_order", "poll-goes-back", (7, 9))},
    ),
    "nonmonotonic poll within an operation": (
        [*THREE, WHOLE, polled(8, (0, 100), (0, 100))],
        {("poll_order", "poll-repeats", (9,))},
    ),
    "nonmonotonic send": (
        [sent(0, (1, 101)), sent(0, (0, 100)), polled(9, (0, 100), (1, 101))],
        {("append_order", "append-order", (1, 3))},
    ),
    "nonmonotonic send within an operation": (
        [sent(0, (1, 101), (0, 100)), polled(9, (0, 100), (1, 101))],
        {("producer_order", "sends-reordered", (1,))},
    ),
    "precommitted read": (
        [txn(0, send(0, 100), poll((0, 100)))],
        {("own_uncommitted_reads", "own-uncommitted-read", (1,))},
    ),
    "record that nobody sent": (
        [sent(0, (0, 100)), polled(9, (0, 100), (1, 999))],
        {("phantom_records", "phantom-record", (3,))},
    ),
}

VALID: dict[str, list[Did]] = {
    "what was sent is read": [*THREE, WHOLE],
    "a failed transaction is not read": [
        txn(0, send(0, 100)),
        txn(0, send(2, 101), type="fail"),
        txn(0, send(4, 102)),
        polled(9, (0, 100), (4, 102)),
    ],
    "an unknown send without offset is read": [
        sent(0, (None, 100), type="info"),
        sent(1, (1, 101)),
        polled(9, (0, 100), (1, 101)),
    ],
    "an unknown send is never read": [
        did(0, "send", [["send", 1, 100]], "info"),
        sent(1, (1, 101)),
        polled(9, (1, 101)),
    ],
    "the rebalance log excuses what one operation skips": [
        did(9, "subscribe", [1]),
        *THREE,
        WHOLE,
        did(8, "subscribe", [1]),
        polled(8, (0, 100), (2, 102), **REBALANCED),
    ],
    "a key that is dropped begins anew": [
        *ASSIGN,
        *THREE,
        WHOLE,
        did(9, "assign", [2]),
        did(9, "assign", [1]),
        polled(9, (0, 100)),
    ],
    "a crash begins anew": [*THREE, WHOLE, did(9, "crash", None, "info"), polled(9, (0, 100))],
    "a failed poll is rewound": [*THREE, polled(9, (0, 100), (1, 101), type="fail"), WHOLE],
}


def judged(file: Path, history: list[Did]) -> tuple[int, dict[str, Any]]:
    """Exit status and JSON of the command."""
    events = []
    for number, (process, type, f, value, more) in enumerate(history):
        invoked = {"type": "invoke", "value": _asked(f, value)}
        completed = {"type": type, "value": value, **more}
        for index, event in enumerate((invoked, completed), 2 * number):
            events.append({"index": index, "time": index, "process": process, "f": f, **event})
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    outcome = CliRunner().invoke(app, ["check", str(file), "--format", "jepsen", "--json"])
    return outcome.exit_code, json.loads(outcome.stdout)


def _asked(f: str, value: Any) -> Any:
    """Return the invocation's value: sends without offsets, polls without records."""
    if f not in ("send", "poll", "txn"):
        return value
    return [["poll"] if m[0] == "poll" else [*m[:2], _value(m[2])] for m in value]


def _value(recorded: Any) -> Any:
    return recorded[1] if isinstance(recorded, list) else recorded


@pytest.mark.parametrize("name", INVALID)
def test_an_anomaly_is_told_by_its_kind_and_operations(tmp_path: Path, name: str) -> None:
    history, expected = INVALID[name]
    status, verdict = judged(tmp_path / "history.jsonl", history)
    found = {
        (checker, anomaly["kind"], tuple(anomaly["operations"]))
        for checker, opinion in verdict["checkers"].items()
        if "porcupine" not in checker  # a second opinion, where it is built
        for anomaly in opinion["anomalies"]
    }
    assert found == expected
    assert (status, verdict["validity"]) == (1, "invalid")


@pytest.mark.parametrize("name", VALID)
def test_what_jepsen_allows_or_excuses_is_valid(tmp_path: Path, name: str) -> None:
    status, verdict = judged(tmp_path / "history.jsonl", VALID[name])
    assert {n: c["anomalies"] for n, c in verdict["checkers"].items() if c["anomalies"]} == {}
    assert (status, verdict["validity"]) == (0, "valid")


def test_the_json_has_its_documented_shape(tmp_path: Path) -> None:
    _, verdict = judged(tmp_path / "history.jsonl", INVALID["duplicate"][0])
    assert verdict["engine"].startswith("local")
    for opinion in verdict["checkers"].values():
        assert opinion["validity"] in ("valid", "invalid", "unknown", "not_applicable")
        assert isinstance(opinion["checked"], int)
    (anomaly,) = verdict["checkers"]["duplicates"]["anomalies"]
    assert anomaly["operations"] == [1, 3]
    assert anomaly["kind"] == "duplicate"
    assert "100 was sent once" in anomaly["message"]
