"""Test the recorder: the rows of each operation, and the rows that a killed run keeps."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from chaos.record.recorder import HistoryRecorder, measure_overhead, recover
from chaos.values.faults import Heal, Kill
from chaos.values.operations import (
    CommitPosition,
    CreateTopic,
    DeletePositions,
    DeleteRecords,
    FetchPositions,
    Recreate,
    Seek,
    SeekToTime,
)
from chaos.values.protocols import (
    Abort,
    Assign,
    Begin,
    Commit,
    Completion,
    Operation,
    Outcome,
    Performed,
    Poll,
    ReadAll,
    Record,
    Send,
    TopicSpec,
)
from linearizability import history
from linearizability.excuses.faults import is_heal
from linearizability.history import HistoryError

OK = Completion(Outcome.OK)


def recorded(tmp_path: Path, *pairs: tuple[Operation, Completion]) -> pl.DataFrame:
    """Return the history of these operations, one after the other by process 3."""
    recorder = HistoryRecorder(tmp_path, "run")
    recorder.topic_ids["t"] = "the-id"
    for number, (operation, completion) in enumerate(pairs):
        op_id = recorder.next_op_id()
        recorder.invoked(op_id, 3, operation, number * 10, {"session": 1})
        recorder.record(op_id, 3, operation, completion, number * 10, number * 10 + 5, {})
    return history.scan(recorder.close()).collect()


def test_keys_and_tombstones_are_named_where_they_may_matter(tmp_path: Path) -> None:
    rows = recorded(
        tmp_path,
        (Send("t", 0, (1, 2), ("a", "b"), (False, True)), OK),
        (Send("t", 0, (3,), ("a",)), OK),
        (Send("t", 0, (4,), filling=(9,)), OK),
    )
    assert rows.select("value", "key", "tombstone").rows() == [
        (1, "a", False),
        (2, "b", True),
        (3, "a", False),
        (4, None, None),
    ]


def test_a_topic_made_anew_has_its_own_id_and_settings(tmp_path: Path) -> None:
    spec = TopicSpec("t", 2, {"cleanup.policy": "compact"})
    rows = recorded(
        tmp_path,
        (CreateTopic(spec), OK),
        (Recreate(spec), Completion(Outcome.INFO, (), "WireError")),
    )
    settings = '{"cleanup.policy": "compact"}'
    assert set(rows["settings"]) == {settings} and set(rows["topic_id"]) == {"the-id"}
    assert rows.select("f", "type", "topic", "partition").rows() == [
        ("topic", "ok", "t", 0),
        ("topic", "ok", "t", 1),
        ("topic", "info", "t", 0),
        ("topic", "info", "t", 1),
    ]


def test_an_id_that_an_operation_brings_goes_before_the_name_s(tmp_path: Path) -> None:
    recorder = HistoryRecorder(tmp_path, "run")
    recorder.topic_ids |= {"t": "the-id", "u": "another"}
    for context in ({}, {"topic_id": "the next"}, {"topic_id": ""}):
        recorder.record(recorder.next_op_id(), 3, Send("t", 0, (1, 2)), OK, 0, 1, context)
    recorder.record(recorder.next_op_id(), 3, Send("u", 0, (3,)), OK, 0, 1, {})
    rows = history.scan(recorder.close()).collect()
    ids = ["the-id"] * 2 + ["the next"] * 2 + [""] * 2 + ["another"]
    assert rows["topic_id"].to_list() == ids


def test_positions_committed_and_asked_for(tmp_path: Path) -> None:
    told = [Record("t", 0, None, 5), Record("t", 1, None, None)]
    rows = recorded(
        tmp_path,
        (CommitPosition("g", "t", 0, 5), Completion(Outcome.INFO, (), "NOT_COORDINATOR")),
        (FetchPositions("g", "t", (0, 1)), Completion(Outcome.OK, told)),
        (FetchPositions("g", "t", (0,)), Completion(Outcome.FAIL, (), "WireError")),
        (DeleteRecords("t", 0, None), OK),
    )
    assert rows.select("f", "type", "group", "partition", "offset", "error").rows() == [
        ("commit_offsets", "info", "g", 0, 5, "NOT_COORDINATOR"),
        ("fetch_offsets", "ok", "g", 0, 5, None),
        ("fetch_offsets", "ok", "g", 1, None, None),
        ("fetch_offsets", "fail", "g", 0, None, "WireError"),
        ("delete_records", "ok", None, 0, None, None),
    ]


def test_positions_of_one_request_have_rows_and_outcomes_of_their_own(tmp_path: Path) -> None:
    commit = CommitPosition("g", "t", 0, 5, beside=(("u", 1, 6),))
    told = (
        Record("t", 0, None, 5, extra={"detail": "leader epoch 1, x"}),
        Record("u", 1, None, 6, Outcome.INFO, "NOT_COORDINATOR", extra={"detail": None}),
    )
    delete = DeletePositions("g", (("t", 0), ("u", 0)))
    rows = recorded(
        tmp_path,
        (commit, Completion(Outcome.INFO, told, "NOT_COORDINATOR")),
        (commit, Completion(Outcome.FAIL, (), "WireError")),
        (delete, OK),
        (FetchPositions("g", "t", (0,), ("u",)), Completion(Outcome.OK, told)),
    )
    columns = ("f", "type", "topic", "partition", "offset", "detail")
    assert rows.select(columns).rows() == [
        ("commit_offsets", "ok", "t", 0, 5, "leader epoch 1, x"),
        ("commit_offsets", "info", "u", 1, 6, None),
        ("commit_offsets", "fail", "t", 0, 5, None),
        ("commit_offsets", "fail", "u", 1, 6, None),
        ("commit_offsets", "ok", "t", 0, None, None),
        ("commit_offsets", "ok", "u", 0, None, None),
        ("fetch_offsets", "ok", "t", 0, 5, "leader epoch 1, x"),
        ("fetch_offsets", "ok", "u", 0, None, None),
    ]


def test_a_send_is_one_row_per_value_each_with_its_own_outcome(tmp_path: Path) -> None:
    records = (
        Record("t", 2, 10, 77, Outcome.OK, None, 3),
        Record("t", 2, 11, None, Outcome.INFO, "_MSG_TIMED_OUT", 4),
    )
    rows = recorded(
        tmp_path, (Send("t", 2, (10, 11)), Completion(Outcome.INFO, records, "_MSG_TIMED_OUT"))
    )
    columns = (
        "op_id",
        "record_index",
        "f",
        "type",
        "topic_id",
        "partition",
        "value",
        "offset",
        "error",
        "t_complete_ns",
    )
    assert rows.select(columns).rows() == [
        (1, 0, "send", "ok", "the-id", 2, 10, 77, None, 3),
        (1, 1, "send", "info", "the-id", 2, 11, None, "_MSG_TIMED_OUT", 4),
    ]


def test_a_value_of_which_the_client_said_nothing_shares_the_fate_of_the_whole(
    tmp_path: Path,
) -> None:
    rows = recorded(
        tmp_path,
        (Send("t", 0, (1, 2)), Completion(Outcome.INFO, (Record("t", 0, 2, 5),), "_FATAL")),
    )
    assert rows.select("value", "type", "offset", "error").rows() == [
        (1, "info", None, "_FATAL"),
        (2, "ok", 5, None),
    ]


def test_an_empty_poll_is_one_row_without_an_offset(tmp_path: Path) -> None:
    rows = recorded(tmp_path, (Poll(), OK), (Poll(), Completion(Outcome.FAIL, (), "_X")))
    assert rows.select("f", "type", "offset", "error").rows() == [
        ("poll", "ok", None, None),
        ("poll", "fail", None, "_X"),
    ]


def test_a_read_is_its_records_and_a_statement_about_each_partition(tmp_path: Path) -> None:
    done = {"f": "read_all", "log_start": 0, "high_watermark": 2}
    records = (
        Record("t", 0, 5, 0, extra={"producer_id": 9}),
        Record("t", 0, None, 1, extra={"control": "commit", "producer_id": 9}),
        Record("t", 0, None, None, extra=done),
    )
    rows = recorded(tmp_path, (ReadAll((("t", 0),), raw=True), Completion(Outcome.OK, records)))
    columns = ("f", "value", "offset", "control", "producer_id", "high_watermark")
    assert rows.select(columns).rows() == [
        ("poll", 5, 0, None, 9, None),
        ("poll", None, 1, "commit", 9, None),
        ("read_all", None, None, None, None, 2),
    ]
    assert set(rows["isolation"]) == {"read_uncommitted"}


def test_transactions_and_assignments_are_plain_rows(tmp_path: Path) -> None:
    assign = Assign((("t", 0), ("t", 1)))
    rows = recorded(
        tmp_path, (Begin(), OK), (Commit(), OK), (Abort(), Completion(Outcome.INFO)), (assign, OK)
    )
    assert rows.select("f", "type", "partition", "asked", "offset").rows() == [
        ("begin", "ok", None, None, None),
        ("commit", "ok", None, None, None),
        ("abort", "info", None, None, None),
        ("assign", "ok", 0, None, None),
        ("assign", "ok", 1, None, None),
        ("position", "ok", 0, "offset", 0),
        ("position", "ok", 1, "offset", 0),
    ]


def test_where_a_reader_begins_is_told_once_it_is_set(tmp_path: Path) -> None:
    failed = Completion(Outcome.FAIL, (), "_STATE")
    rows = recorded(
        tmp_path,
        (Assign((("t", 0),)), failed),
        (Assign((("t", 0),), from_log_start=True), OK),
        (Seek("t", 0, 7), OK),
        (Seek("t", 0, 7), failed),
        (SeekToTime("t", 0, 1_000), Completion(Outcome.OK, [Record("t", 0, None, 5)])),
        (SeekToTime("t", 0, 2_000), OK),
    )
    columns = ("op_id", "f", "type", "asked", "asked_offset", "offset")
    assert rows.select(columns).rows() == [
        (1, "assign", "fail", None, None, None),
        (2, "assign", "ok", None, None, None),
        (2, "position", "ok", "earliest", None, None),
        (3, "position", "ok", "offset", 7, 7),
        (4, "position", "fail", "offset", 7, 7),
        (5, "position", "ok", "timestamp", 1_000, 5),
        (6, "position", "ok", "timestamp", 2_000, None),
    ]


def test_what_an_operation_tells_beside_stands_before_its_own_rows(tmp_path: Path) -> None:
    owned = {"f": "owned", "topic": "t", "partition": 1, "generation": 3, "t_complete_ns": 2}
    records = [Record("t", 1, 8, 4), Record("t", 1, 9, 5)]
    checksums = {"checksum": [11, 12], "generation": 4}
    rows = recorded(
        tmp_path, (Poll(), Completion(Outcome.OK, records, columns=checksums, more_rows=(owned,)))
    )
    columns = ("op_id", "record_index", "f", "topic_id", "offset", "generation", "t_complete_ns")
    assert rows.select(columns).rows() == [
        (1, 0, "owned", "the-id", None, 3, 2),
        (1, 1, "poll", "the-id", 4, None, 5),
        (1, 2, "poll", "the-id", 5, None, 5),
    ]


def test_a_fault_is_a_row_with_the_nodes_it_struck(tmp_path: Path) -> None:
    recorder = HistoryRecorder(tmp_path, "run")
    recorder.nemesis(Performed(Kill("leader"), (2,)), 10, 20)
    recorder.nemesis(Performed(Kill("leader"), (), 'no "leader"'), 30, 31)
    rows = history.scan(recorder.close()).collect()
    assert rows.select("f", "process", "type", "node").rows() == [
        ("nemesis", -1, "ok", 2),
        ("nemesis", -1, "info", None),
    ]
    details = rows["detail"].str.json_decode(
        pl.Struct({"fault": pl.String, "nodes": pl.List(pl.Int64), "note": pl.String})
    )
    assert details.to_list() == [
        {"fault": "Kill", "nodes": [2], "note": None},
        {"fault": "Kill", "nodes": [], "note": 'no "leader"'},
    ]


def test_a_heal_that_failed_is_no_heal(tmp_path: Path) -> None:
    """Judges take a heal for the end of all faults; what it said may have several lines."""
    recorder = HistoryRecorder(tmp_path, "run")
    recorder.nemesis(Performed(Heal(), (), "links hang:\n\\o/", failed=True), 10, 20)
    recorder.nemesis(Performed(Heal(), (), "toxiproxy hung, and was replaced"), 30, 31)
    details = history.scan(recorder.close()).collect()["detail"].to_list()
    assert [is_heal(detail) for detail in details] == [False, True]
    assert json.loads(details[0]) == {
        "fault": "FailedHeal",
        "nodes": [],
        "note": "links hang:\n\\o/",
    }


def test_an_operation_that_never_completed_is_unknown_without_an_end(tmp_path: Path) -> None:
    recorder = HistoryRecorder(tmp_path, "run")
    recorder.invoked(recorder.next_op_id(), 1, Send("t", 0, (8,)), 100, {})
    rows = history.scan(recorder.close()).collect()
    assert rows.select("value", "type", "t_invoke_ns", "t_complete_ns").rows() == [
        (8, "info", 100, None)
    ]


def test_a_killed_run_leaves_parts_in_which_every_value_read_was_sent(tmp_path: Path) -> None:
    """After a kill -9 at any moment, sends in progress whose values were read are in the open
    set."""
    recording = subprocess.Popen([sys.executable, "-m", "chaos.tests.recording", str(tmp_path)])
    parts = tmp_path / "history.parts"
    deadline = time.monotonic() + 60
    try:
        while len(list(parts.glob("part-*.parquet"))) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        recording.kill()
        recording.wait()
    with pytest.raises(HistoryError):
        history.scan(tmp_path)
    rows = history.scan(recover(tmp_path)).collect()
    read = set(rows.filter(f="poll")["value"].drop_nulls())
    sent = set(rows.filter(f="send")["value"])
    assert len(read) > 20
    assert read <= sent
    assert rows.filter(f="send", type="info").height > 0
    assert not parts.exists()
    assert recover(tmp_path) == tmp_path / "history.parquet"


def test_a_directory_where_nothing_was_recorded_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="nothing was recorded here"):
        recover(tmp_path)


def test_the_overhead_is_measured_against_the_same_client(tmp_path: Path) -> None:
    def perform() -> tuple[Operation, Completion]:
        time.sleep(0.001)
        return Send("t", 0, (1,)), Completion(Outcome.OK, (Record("t", 0, 1, 1),))

    overhead = measure_overhead(perform, tmp_path, slice_s=0.1, slices=2)
    assert 0 < overhead.rate_with < 1_000 and 0 < overhead.rate_without < 1_000
    assert overhead.cpu_rate_without > overhead.rate_without  # it mostly sleeps
    assert 0 <= overhead.share < 1


def test_columns_of_runs_and_of_single_values_come_out_row_by_row(tmp_path: Path) -> None:
    """Values that an operation's rows share are written once and repeated: rows must not shift."""

    def send(*values: int) -> tuple[Operation, Completion]:
        records = [Record("t", 1, value, value * 10) for value in values]
        return Send("t", 1, values), Completion(Outcome.OK, records)

    rows = recorded(tmp_path, send(1, 2), (Begin(), OK), send(3), (Begin(), OK), send(4, 5, 6))
    columns = ("op_id", "record_index", "f", "partition", "topic_id", "value", "offset", "final")
    assert rows.select(columns).rows() == [
        (1, 0, "send", 1, "the-id", 1, 10, False),
        (1, 1, "send", 1, "the-id", 2, 20, False),
        (2, 0, "begin", None, None, None, None, False),
        (3, 0, "send", 1, "the-id", 3, 30, False),
        (4, 0, "begin", None, None, None, None, False),
        (5, 0, "send", 1, "the-id", 4, 40, False),
        (5, 1, "send", 1, "the-id", 5, 50, False),
        (5, 2, "send", 1, "the-id", 6, 60, False),
    ]
