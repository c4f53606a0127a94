"""`history.scan` looks at a history piece by piece, and says of it what it says of the whole."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pytest

from linearizability import history
from linearizability.files import sound_rows
from linearizability.history import HistoryError
from linearizability.plans import collect
from linearizability.self_test.model.histories import joined, valid_rows

ROWS = 12
AT_ONCE = 3


def good(rows: int = ROWS) -> pl.DataFrame:
    """Return a history of one run, a send per row."""
    return history.frame(
        [
            {
                "f": "send",
                "acks": -1,
                "topic": "t",
                "partition": 0,
                "value": number,
                "offset": number,
                "run_id": "one",
            }
            for number in range(rows)
        ]
    )


def said_of(file: Path, rows: pl.DataFrame) -> str:
    """Write these rows in row groups of AT_ONCE, and return the sentence with which the file is
    refused, or ""."""
    rows.write_parquet(file, row_group_size=AT_ONCE)
    try:
        history.scan(file)
    except HistoryError as error:
        return str(error).removeprefix(f"{file}: ")
    return ""


def with_cell(rows: pl.DataFrame, row: int, column: str, value: object) -> pl.DataFrame:
    """Return the same rows but for one cell."""
    here = pl.int_range(pl.len()) == row
    made = pl.when(here).then(pl.lit(value, dtype=rows.schema[column])).otherwise(column)
    return rows.with_columns(made.alias(column))


@pytest.fixture
def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sound_rows, "CHECKED_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(sound_rows, "_ONE_IN", 1)


LAST = ROWS - 1
FIRST_OF_A_PIECE = 2 * AT_ONCE


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize(
    ("row", "column", "value", "problem"),
    [
        (LAST, "f", "sing", "column 'f' is not one of"),
        (LAST, "t_invoke_ns", None, "column 't_invoke_ns' is null"),
        (LAST, "t_complete_ns", 1, "column 't_complete_ns' is before 't_invoke_ns'"),
        (LAST, "run_id", "two", "column 'run_id' names another run"),
        (LAST, "t_invoke_ns", -(10**18), "column 't_invoke_ns' is more than a year from the first"),
        (FIRST_OF_A_PIECE, "op_id", FIRST_OF_A_PIECE - 1, "columns 'op_id' and 'record_index' are"),
    ],
)
def test_a_fault_in_a_later_row_group_is_named_by_its_row(
    tmp_path: Path, row: int, column: str, value: object, problem: str
) -> None:
    said = said_of(tmp_path / "history.parquet", with_cell(good(), row, column, value))
    assert said.startswith(f"row {row}: {problem}")


@pytest.mark.usefixtures("in_small_pieces")
def test_of_two_faults_the_one_that_is_looked_for_first_is_named(tmp_path: Path) -> None:
    spoilt = with_cell(with_cell(good(), 1, "offset", -7), LAST, "type", "done")
    said = said_of(tmp_path / "history.parquet", spoilt)
    assert said == f"row {LAST}: column 'type' is not ok, fail or info"


@pytest.mark.usefixtures("in_small_pieces")
def test_a_run_is_named_for_the_first_time_in_a_later_row_group(tmp_path: Path) -> None:
    file, nameless = tmp_path / "history.parquet", good().with_columns(run_id=pl.lit(None))
    named = with_cell(nameless.cast({"run_id": pl.String}), AT_ONCE + 1, "run_id", "one")
    assert said_of(file, named) == ""
    said = said_of(file, with_cell(named, LAST, "run_id", "two"))
    assert said.startswith(f"row {LAST}: column 'run_id' names another run")


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("row", [FIRST_OF_A_PIECE, FIRST_OF_A_PIECE + 1, LAST])
def test_an_operation_that_comes_again_row_groups_later_is_found(tmp_path: Path, row: int) -> None:
    file, again = tmp_path / "history.parquet", with_cell(good(), row, "op_id", 1)
    said = said_of(file, again)
    assert said.startswith(f"row {row}: columns 'op_id' and 'record_index' are those of the row")
    said = said_of(file, with_cell(again, row, "process", 5))
    assert said.startswith(f"row {row}: column 'op_id' is that of the row before, but the process")


@pytest.mark.usefixtures("in_small_pieces")
def test_the_order_of_operations_may_break_between_row_groups(tmp_path: Path) -> None:
    file, rows = tmp_path / "history.parquet", good()
    assert said_of(file, pl.concat([rows[2 * AT_ONCE :], rows[: 2 * AT_ONCE]])) == ""
    assert said_of(file, rows.reverse()) == ""


def spoilt(rows: pl.DataFrame, chance: Random) -> pl.DataFrame:
    """Return the history with some rows elsewhere, and up to two cells that another row has, or
    none."""
    order = list(range(rows.height))
    for _ in range(chance.choice([0, 0, 1, 5])):
        one, other = chance.randrange(rows.height), chance.randrange(rows.height)
        order[one], order[other] = order[other], order[one]
    rows = rows[order]
    for _ in range(chance.randrange(3)):
        column = chance.choice(["op_id", "process", "record_index", "t_invoke_ns", "run_id", "f"])
        value = chance.choice([None, rows[column][chance.randrange(rows.height)]])
        rows = with_cell(rows, chance.randrange(rows.height), column, value)
    return rows


def test_pieces_are_refused_for_what_the_whole_is_refused_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "history.parquet"
    rows = joined([valid_rows(3)]).head(30).with_columns(run_id=pl.lit("one"))
    made = [spoilt(rows, Random(seed)) for seed in range(40)]
    whole = [said_of(file, some) for some in made]
    assert len({said.partition(": ")[2] for said in whole}) >= 4  # nothing, and many a fault
    for at_once in (4, 11):
        monkeypatch.setattr(sound_rows, "CHECKED_AT_ONCE", at_once)
        monkeypatch.setattr(sound_rows, "_ONE_IN", 1)
        assert [said_of(file, some) for some in made] == whole


@pytest.mark.usefixtures("in_small_pieces")
def test_what_was_looked_through_in_pieces_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    good().write_parquet(file, row_group_size=AT_ONCE)
    assert collect(history.scan(file)).equals(good())
