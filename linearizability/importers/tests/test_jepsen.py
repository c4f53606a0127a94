"""Jepsen's histories: what becomes of them, and what is refused, by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from linearizability import history
from linearizability.history import SCHEMA, HistoryError
from linearizability.importers import edn, edn_lines, jepsen, nemesis
from linearizability.importers.events import Event
from linearizability.importers.formats import chosen_format, imported
from linearizability.judging import check
from linearizability.opinions.profiles import under_profile
from linearizability.verdict import Validity

INVOKE = {"index": 0, "time": 5, "process": 0, "type": "invoke", "f": "send"}
INVOKE_SEND = INVOKE | {"value": [["send", 1, 42]]}
SEEK: dict[str, Any] = {"seek-to-beginning?": True}
OK_SEND = INVOKE | {"index": 1, "time": 9, "type": "ok", "value": [["send", 1, [7, 42]]]}


def written(directory: Path, *events: dict[str, Any]) -> Path:
    file = directory / "history.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    return file


def operation(
    index: int, f: str, value: Any, kind: str = "ok", process: int = 0, **more: Any
) -> list[dict[str, Any]]:
    """Return an invocation and its completion; `index` is that of the completion."""
    event = {"process": process, "f": f, "value": value} | more
    return [
        event | {"index": index - 1, "time": index - 1, "type": "invoke"},
        event | {"index": index, "time": index, "type": kind},
    ]


def sessions(directory: Path, *events: dict[str, Any]) -> list[int]:
    """Return the session of each record polled, in order."""
    is_record = (pl.col("f") == "poll") & pl.col("offset").is_not_null()
    polls = jepsen.read(written(directory, *events)).filter(is_record)
    return polls["session"].to_list()


def poll(index: int, *offsets: int, **more: Any) -> list[dict[str, Any]]:
    return operation(index, "poll", [["poll", {"1": [[n, n] for n in offsets]}]], **more)


def test_a_send_becomes_a_committed_transaction_of_one_record(tmp_path: Path) -> None:
    send, commit, end = jepsen.read(written(tmp_path, INVOKE_SEND, OK_SEND)).rows(named=True)
    assert (send["f"], send["type"], send["value"], send["offset"]) == ("send", "ok", 42, 7)
    assert (send["topic"], send["partition"], send["acks"]) == ("jepsen", 1, -1)
    assert (send["op_id"], send["t_invoke_ns"], send["t_complete_ns"]) == (1, 5, 9)
    assert (commit["f"], commit["type"], commit["txn"]) == ("commit", "ok", send["txn"])
    assert (end["f"], end["partition"], end["t_invoke_ns"]) == ("read_all", 1, 10)


@pytest.mark.parametrize(
    ("kind", "end", "outcome"),
    [("ok", "commit", "ok"), ("info", "commit", "info"), ("fail", "abort", "ok")],
)
def test_a_completion_is_the_end_of_a_transaction(
    tmp_path: Path, kind: str, end: str, outcome: str
) -> None:
    value = [["send", 1, [7, 42]], ["poll", {"2": [[5, 40]]}]]
    rows = jepsen.read(written(tmp_path, *operation(1, "txn", value, kind))).rows(named=True)
    assert [(r["f"], r["type"]) for r in rows[:3]] == [
        ("send", "ok"),
        ("poll", kind),
        (end, outcome),
    ]
    assert {row["txn"] for row in rows[:3]} == {1}
    assert rows[1]["isolation"] == "read_committed"


def test_what_was_never_answered_is_unknown(tmp_path: Path) -> None:
    send, commit, _ = jepsen.read(written(tmp_path, INVOKE_SEND)).rows(named=True)
    assert (send["type"], send["offset"], send["t_complete_ns"]) == ("info", None, None)
    assert (commit["f"], commit["type"]) == ("commit", "info")


def test_edn_and_json_lines_give_the_same_history(tmp_path: Path) -> None:
    file = tmp_path / "history.edn"
    file.write_text(
        "; a comment\n#jepsen.history.Op{:index 0, :time 5 :process 0 :type :invoke :f :send\n"
        ' :value [[:send 1 42]], :note "a \\"word\\"", :x #{1 2.5 3/4 nil \\a} #_ (left out)}\n'
        "{:type :info, :process :nemesis, :f :kill, :index 1 :time 6, :value {n1 :killed}}\n"
        "{:index 2N :time 9 :process 0 :type :ok :f :send :value [[:send 1 [7 42]]]}\n"
    )
    kill = {"index": 1, "time": 6, "process": "nemesis", "type": "info", "f": "kill"}
    other = written(tmp_path, INVOKE_SEND, kill, OK_SEND | {"index": 2})
    assert jepsen.read(file).equals(jepsen.read(other))
    file.write_text(f"[{file.read_text()}]")
    assert jepsen.read(file).equals(jepsen.read(other))


def test_positions_last_from_one_ok_operation_to_the_next(tmp_path: Path) -> None:
    first, second = sessions(tmp_path, *poll(1, 0), *poll(3, 1))
    assert first == second


@pytest.mark.parametrize(
    "between",
    [
        operation(3, "crash", None, "info") + operation(5, "assign", [1]),
        operation(3, "assign", [2]) + operation(5, "assign", [1]),
        operation(3, "subscribe", [1]) + operation(5, "assign", [1]),
        operation(3, "assign", [1], "ok", 0, **SEEK) + operation(5, "assign", [1]),
    ],
    ids=["crash", "key dropped", "subscribe", "seek"],
)
def test_positions_begin_anew(tmp_path: Path, between: list[dict[str, Any]]) -> None:
    first, second = sessions(tmp_path, *poll(1, 0), *between, *poll(7, 1))
    assert first != second


@pytest.mark.parametrize(
    ("how", "kind", "kinds"),
    [(SEEK, "ok", {"poll-skip"}), (SEEK, "info", set()), ({}, "ok", set())],
    ids=["sought", "nobody knows", "not sought"],
)
def test_a_process_that_sought_the_beginning_reads_from_there(
    tmp_path: Path, how: dict[str, Any], kind: str, kinds: set[str]
) -> None:
    file = written(
        tmp_path,
        *operation(1, "send", [["send", 1, [0, 0]]]),
        *operation(3, "send", [["send", 1, [1, 1]]]),
        *poll(5, 0, 1, process=1),
        *operation(7, "assign", [1], kind, 2, **how),
        *poll(9, 1, process=2),
    )
    verdict = check(file)
    assert {anomaly.kind for _, anomaly in verdict.anomalies} == kinds
    with imported(file) as same:
        by_jepsen = under_profile(verdict, same, "jepsen")
    assert by_jepsen.validity is Validity.VALID


def test_a_key_that_stays_assigned_keeps_its_position(tmp_path: Path) -> None:
    first, second = sessions(tmp_path, *poll(1, 0), *operation(3, "assign", [2, 1]), *poll(5, 1))
    assert first == second


def test_a_failed_operation_is_compared_and_leaves_positions_as_they_were(tmp_path: Path) -> None:
    """`readers.steps` takes into account that a failed operation leaves positions unchanged."""
    ok, failed, again = sessions(tmp_path, *poll(1, 0), *poll(3, 1, kind="fail"), *poll(5, 1))
    assert ok == failed == again
    log = {"rebalance-log": [{"keys": [1]}]}
    ok, failed, again = sessions(
        tmp_path, *poll(1, 0), *poll(3, 1, kind="fail", **log), *poll(5, 1)
    )
    assert ok == again != failed


def test_an_unknown_poll_is_compared_and_nobody_knows_positions_behind_it(tmp_path: Path) -> None:
    ok, unknown, again = sessions(tmp_path, *poll(1, 0), *poll(3, 1, kind="info"), *poll(5, 1))
    assert ok == unknown != again
    sent = operation(3, "send", [["send", 1, 42]], "info")
    ok, again = sessions(tmp_path, *poll(1, 0), *sent, *poll(5, 1))
    assert ok == again


def test_a_decided_commit_is_done_when_it_is_first_seen(tmp_path: Path) -> None:
    """Its other records are owed to readers only where somebody passed them."""
    txn = operation(1, "txn", [["send", 1, [0, 0]], ["send", 2, [None, 7]]], "info")
    seen = [*txn, *poll(11, 0)]
    rows = jepsen.read(written(tmp_path, *seen)).filter(txn=1)
    first, second, commit = rows.rows(named=True)
    assert [row["type"] for row in (first, second, commit)] == ["ok", "ok", "ok"]
    assert (first["t_complete_ns"], second["t_complete_ns"]) == (1, None)
    assert commit["t_complete_ns"] == 11
    later = operation(13, "send", [["send", 2, 8]])
    shown = operation(15, "poll", [["poll", {"2": [[4, 8]]}]])
    passed = jepsen.read(written(tmp_path, *seen, *later, *shown)).filter(txn=1, value=7)
    assert passed["t_complete_ns"].to_list() == [1]


def test_a_rebalance_within_an_operation_ends_its_positions(tmp_path: Path) -> None:
    log = {"rebalance-log": [{"keys": [1]}]}
    subscribed = operation(1, "subscribe", [1])
    first, second = sessions(tmp_path, *subscribed, *poll(3, 0, 1, **log))
    assert first != second
    first, second, third = sessions(tmp_path, *subscribed, *poll(3, 0, 1), *poll(5, 2))
    assert first == second != third


def heals(*actions: str) -> list[str]:
    """Return the recorded faults for a series of nemesis actions that were invoked and
    completed."""
    return faults(*(f for action in actions for f in (action, action)))


def faults(*named: str, **failed: Any) -> list[str]:
    """Return the recorded faults for these nemesis events; the last one may have failed."""
    raw: list[dict[str, Any]] = [{}] * (len(named) - 1) + [failed]
    events = [Event("t", n, n, n, None, "info", f, None, raw[n]) for n, f in enumerate(named)]
    return [json.loads(detail)["fault"] for _, detail in nemesis.faults(events)]


def test_faults_of_the_nemesis_end_when_the_last_of_them_has_ended() -> None:
    assert heals("start-partition", "stop-partition") == ["start-partition", "Heal"]
    assert heals("kill", "pause", "start", "resume") == ["kill", "pause", "Heal"]
    assert heals("start", "stop", "stop") == ["start", "Heal"]
    assert heals("bump-clock", "check-clock-offsets", "reset-clock") == ["bump-clock", "Heal"]
    assert heals("start", "start-partition", "stop-partition") == ["start", "start-partition"]
    assert heals("leave-node", "join-node") == ["leave-node", "Heal", "join-node", "Heal"]
    assert heals("resume", "stop-partition") == []


def test_an_action_of_the_nemesis_that_never_ended_or_failed_heals_nothing() -> None:
    kill, start = ["kill", "kill"], ["start", "start"]
    assert faults("kill", *start, *kill) == ["kill", "Heal", "kill"]
    assert faults(*kill, "start") == ["kill"]
    assert faults(*kill, *start, exception={"via": []}) == ["kill"]
    assert faults(*kill, *start, *start, error="timeout") == ["kill", "Heal"]


def test_a_marked_final_read_begins_where_it_is_marked(tmp_path: Path) -> None:
    events = [*operation(1, "send", [["send", 1, [0, 0]]]), *poll(5, 0, final=True)]
    (end,) = jepsen.read(written(tmp_path, *events)).filter(f="read_all").rows(named=True)
    assert end["t_invoke_ns"] == 4


def test_a_plain_send_to_several_keys_may_come_in_in_part(tmp_path: Path) -> None:
    """Only f=txn is atomic."""
    sent = operation(1, "send", [["send", 1, [None, 7]], ["send", 2, [None, 8]]], "info")
    seen = poll(3, 5)[1] | {"value": [["poll", {"1": [[0, 7]]}]]}
    rows = jepsen.read(written(tmp_path, *sent, poll(3, 5)[0], seen)).filter(op_id=1)
    one, other, commit, unknown = rows.rows(named=True)
    assert [row["type"] for row in (one, other, commit, unknown)] == ["ok", "info", "ok", "info"]
    assert one["txn"] == commit["txn"] != other["txn"] == unknown["txn"]


def test_events_of_one_time_are_ordered_by_their_index(tmp_path: Path) -> None:
    events = [event | {"time": 7} for event in [*poll(1, 0), *poll(3, 1)]]
    rows = jepsen.read(written(tmp_path, *events)).filter(f="poll")
    assert rows["t_complete_ns"][0] < rows["t_invoke_ns"][1]
    unnumbered = [{k: v for k, v in event.items() if k != "index"} for event in events]
    rows = jepsen.read(written(tmp_path, *unnumbered)).filter(f="poll")
    assert rows["t_complete_ns"][0] == rows["t_invoke_ns"][1]


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"no\.edn: no such history"):
        jepsen.read(tmp_path / "no.edn")
    with pytest.raises(HistoryError, match=r"holds neither history\.edn nor history\.jsonl"):
        jepsen.read(tmp_path)
    (tmp_path / "a.edn").write_bytes(b"{\xff")
    with pytest.raises(HistoryError, match="byte 1 is not UTF-8"):
        jepsen.read(tmp_path / "a.edn")


def test_the_format_is_chosen_by_the_suffix(tmp_path: Path) -> None:
    assert (
        chosen_format(Path("a.edn"), "auto") == chosen_format(Path("a.jsonl"), "auto") == "jepsen"
    )
    assert chosen_format(Path("a.parquet"), "auto") == chosen_format(tmp_path, "auto")
    with pytest.raises(HistoryError, match="format 'xml' is not one of auto, touchstone, jepsen"):
        chosen_format(tmp_path, "xml")
    with imported(written(tmp_path, INVOKE_SEND, OK_SEND)) as file:
        assert history.scan(file).collect().columns == list(SCHEMA)
    assert not file.exists()


@pytest.mark.parametrize(
    "line",
    [
        "{:type :ok, :f :txn, :value [[:poll {1 [[5 40] [7 41]], 2 []}] [:send 5 [nil 1]]]}",
        "#jepsen.history.Op{:index 7, :value nil, :nil [nil true false -1 2.5]}",
        "{:value [[:poll {}]], :a/b :c.d*+!?-_<>=%&, }",
        "{:value [:poll {1 [[5 40]]}]}",
        "{:value {:a {:b 1}}}",
        "{1 2, 3N 4}",
        "{:a null}",
        "{:a NaN, :b Infinity, :c 007}",
        "{:a[1]}",
        "{ :a 1 }",
        "{}",
        "{:a {}}",
        "{:a 1}{:b 2}",
        "{:value [[:poll [1 2]] [:poll 3] [:poll []]]}",
    ],
)
def test_a_line_that_is_read_by_way_of_json_is_what_its_tokens_are(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = list(edn.forms([(1, line)], "t"))
    monkeypatch.setattr(edn_lines, "event", lambda text: None)
    assert fast == list(edn.forms([(1, line)], "t"))


def test_lines_as_jepsen_writes_them_are_read_by_way_of_json() -> None:
    line = "{:type :ok, :f :txn, :value [[:poll {1 [[5 40] [7 41]], 2 []}] [:send 5 [nil 1]]]}\n"
    assert edn_lines.event(line) == {
        "type": "ok",
        "f": "txn",
        "value": [["poll", {1: [[5, 40], [7, 41]], 2: []}], ["send", 5, [None, 1]]],
    }


def test_edn_has_every_kind_of_value() -> None:
    text = '{:a [1 -2N 2.5M 1e3] "k" (nil true false sym) 3 #{:b/c}}'
    assert list(edn.forms([(1, text)], "t")) == [
        (1, {"a": [1, -2, 2.5, 1000.0], "k": [None, True, False, "sym"], 3: ["b/c"]}, None)
    ]
