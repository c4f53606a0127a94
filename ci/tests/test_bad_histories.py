"""`touchstone check` on what is no sound history: file, row and column are named; exit status 2.

A verdict on half a history would be worse than none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from ci.cli import app
from linearizability import history

ROWS = [
    {
        "f": "send",
        "acks": -1,
        "topic": "t",
        "partition": 0,
        "value": number,
        "offset": number,
        "run_id": "one",
    }
    for number in range(4)
]
GOOD = history.frame(ROWS)
IN_ROW_2 = pl.int_range(pl.len()) == 2


def said_of(file: Path) -> str:
    """Return the standard error of the command for a file that it refuses."""
    outcome = CliRunner().invoke(app, ["check", str(file)])
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stdout == ""
    assert "Traceback" not in outcome.stderr
    assert file.name in outcome.stderr
    return " ".join(outcome.stderr.split())


def in_row_2(column: str, value: object) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Return a maker that puts the value into that row only."""
    return lambda good: good.with_columns(
        pl.when(IN_ROW_2)
        .then(pl.lit(value, dtype=good.schema[column]))
        .otherwise(column)
        .alias(column)
    )


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda good: good.drop("f"), "column 'f' is missing"),
        (lambda good: good.with_columns(offset=pl.lit("x")), "column 'offset' is "),
        (lambda good: good.with_columns(offset=pl.lit(0.5)), "column 'offset' is double"),
        (lambda good: good.with_columns(final=pl.lit(1)), "column 'final' is int32"),
        (lambda good: good.with_columns(process=pl.lit(2**40)), "cannot be read to its end"),
        (in_row_2("t_invoke_ns", None), "row 2: column 't_invoke_ns' is null"),
        (in_row_2("op_id", None), "row 2: column 'op_id' is null"),
        (in_row_2("t_complete_ns", 1), "row 2: column 't_complete_ns' is before 't_invoke_ns'"),
        (in_row_2("type", "done"), "row 2: column 'type' is not ok, fail or info"),
        (in_row_2("f", "sing"), "row 2: column 'f' is not one of send, poll"),
        (in_row_2("offset", -7), "row 2: column 'offset' is negative"),
        (in_row_2("partition", None), "row 2: column 'topic' or 'partition' is null"),
        (in_row_2("schema_version", 99), "row 2: column 'schema_version' is newer than 2"),
        (in_row_2("op_id", 1), "row 2: columns 'op_id' and 'record_index' are those of the row"),
        (
            lambda good: in_row_2("process", 5)(in_row_2("op_id", 1)(good)),
            "row 2: column 'op_id' is that of the row before, but the process is another",
        ),
        (in_row_2("run_id", "two"), "row 2: column 'run_id' names another run"),
        (in_row_2("t_complete_ns", 10**18), "row 2: column 't_complete_ns' is more than a year"),
        (
            lambda good: in_row_2("t_invoke_ns", 10**18)(in_row_2("t_complete_ns", 10**18)(good)),
            "row 2: column 't_invoke_ns' is more than a year from the first row's",
        ),
        (lambda good: pl.concat([good, good]), "row 4: columns 'op_id' and 'record_index' are"),
        (
            lambda good: pl.concat([good, good.with_columns(process=good["process"] + 7)]),
            "row 4: column 'op_id' is that of the row before, but the process is another",
        ),
    ],
)
def test_a_bad_table_is_refused_with_row_and_column(
    tmp_path: Path, spoil: Callable[[pl.DataFrame], pl.DataFrame], problem: str
) -> None:
    file = tmp_path / "history.parquet"
    spoil(GOOD).write_parquet(file)
    assert problem in said_of(file)


def test_a_table_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    GOOD.write_parquet(file)
    whole = file.read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert "not a complete Parquet file" in said_of(file)


def test_the_table_that_is_spoilt_here_is_sound(tmp_path: Path) -> None:
    GOOD.write_parquet(tmp_path / "history.parquet")
    outcome = CliRunner().invoke(app, ["check", "--json", str(tmp_path / "history.parquet")])
    assert json.loads(outcome.stdout)["checkers"]["append_order"]["validity"] == "valid"


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file, table = tmp_path / "history.parquet", GOOD.to_arrow()
    pq.write_table(table.append_column("op_id", table.column("op_id")), file)
    assert "column 'op_id' is there twice" in said_of(file)


def test_rows_need_not_be_in_order(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    GOOD.reverse().write_parquet(file)
    assert CliRunner().invoke(app, ["check", str(file)]).exit_code == 0


JUNK = bytes(range(256)) * 8


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("history.parquet", b"", "not a complete Parquet file"),
        ("history.parquet", JUNK, "not a complete Parquet file"),
        ("history.parquet", b'{"index": 0}', "not a complete Parquet file"),
        ("history.csv", b"a,b\n1,2\n", "no format that touchstone knows; give a run directory"),
        ("history", b"", "no format that touchstone knows; give a run directory"),
        ("renamed", b"PAR1" + JUNK, "not a complete Parquet file"),
        ("history.jsonl", b"", "holds no event"),
        ("history.edn", b" ; nothing", "holds no event"),
        ("history.jsonl", JUNK, "byte 128 is not UTF-8 text"),
        ("history.edn", JUNK, "byte 128 is not UTF-8 text"),
        ("history.edn", b'{:f "\xe9"}', "byte 5 is not UTF-8 text"),
        ("history.jsonl", b"\0" * 9, "line 1: not a complete JSON object"),
        ("history.edn", b"]", "line 1: ']' closes nothing"),
        ("history.json", b"[{}]", "line 1: an event must be a map, not [{}]"),
        ("history.jsonl", b"5", "line 1: an event must be a map, not 5"),
    ],
)
def test_a_file_that_is_no_history_is_refused(
    tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    assert problem in said_of(file)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("of-a-run", "no such history"),
        ("one.parquet", "no such history"),
        ("one.jsonl", "holds neither history.edn nor history.jsonl"),
    ],
)
def test_a_directory_without_a_history_is_refused(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / name).mkdir()
    assert problem in said_of(tmp_path / name)


INVOKED = {
    "index": 0,
    "time": 5,
    "process": 0,
    "type": "invoke",
    "f": "send",
    "value": [["send", 1, 42]],
}
ENDED = INVOKED | {"index": 1, "time": 6, "type": "ok", "value": [["send", 1, [0, 42]]]}


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([ENDED], "line 1: process 0 completes 'send' (type ok), but nothing was invoked"),
        ([INVOKED, ENDED | {"index": 0}], "line 2: index 0 follows index 0"),
        ([INVOKED | {"index": 9}, ENDED], "line 2: index 1 follows index 9"),
        ([INVOKED, ENDED | {"time": 1}], "line 2: time 1 is before time 5 of line 1"),
        ([INVOKED, {k: v for k, v in ENDED.items() if k != "time"}], "line 2: 'time' must be"),
        ([INVOKED, {k: v for k, v in ENDED.items() if k != "process"}], "'process' is missing"),
        ([INVOKED, ENDED | {"value": "all"}], "line 2: the value of 'send' must be a list"),
        ([INVOKED, INVOKED | {"index": 1}], "line 2: process 0 invokes although its operation of"),
        (
            [INVOKED, ENDED | {"f": "poll"}],
            "line 2: process 0 completes 'poll', but line 1 invoked",
        ),
        ([INVOKED, ENDED | {"type": "done"}], "line 2: 'type' must be one of invoke, ok, fail"),
        ([INVOKED | {"value": [["send", 1, "x"]]}], "line 1: a value must be an integer"),
        ([INVOKED, ENDED | {"value": [["send", 1, [-1, 42]]]}], "line 2: an offset must be"),
        ([INVOKED, ENDED | {"value": [["poll", [1]]]}], "line 2: a poll must give a map"),
        ([INVOKED | {"time": float("nan")}], "line 1: 'time' must be an integer from 0 up"),
        ([INVOKED | {"process": 1.5}], "line 1: 'process' must be an integer or a name"),
    ],
)
def test_a_bad_history_of_jepsen_is_refused_with_its_line(
    tmp_path: Path, events: list[dict[str, Any]], problem: str
) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert problem in said_of(file)


def test_a_history_of_jepsen_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text(json.dumps(INVOKED) + "\n" + json.dumps(ENDED)[:-20])
    assert "line 2: not a complete JSON object" in said_of(file)
    edn = tmp_path / "history.edn"
    edn.write_text("{:index 0 :type :invoke")
    assert "line 1: '{' is not closed" in said_of(edn)
