"""An anomaly planted into a history of the model is found again in a handful of operations."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from linearizability.bounds import Bounds
from linearizability.engine import local
from linearizability.explain.drawing import LINES_MAX, logs, timeline
from linearizability.explain.page import explain
from linearizability.explain.shrink import ddmin, is_same, shrink
from linearizability.explain.words import in_words, operations_of
from linearizability.hand_written.rows import (
    ASKS,
    BEGINS,
    COMMITS,
    END,
    LOG,
    PLACE,
    RAW,
    SAYS,
    SENDS_OFFSET,
    TOPIC,
    WHOLE,
    P,
    Row,
    S,
)
from linearizability.history import frame, write
from linearizability.judging import check
from linearizability.self_test.clauses import MUTATORS, broken
from linearizability.self_test.model.histories import rows_with_truth
from linearizability.self_test.truth import stripped
from linearizability.verdict import Anomaly

HANDFUL = 15
FOREVER = float("inf")


SHRINK_LONG = ("group_liveness", "torn_transactions")


def planted(name: str) -> list[Row]:
    """Plant an anomaly in the shortest of five histories, because leaving out is tried for every
    operation."""
    attempts = (broken(name, rows_with_truth(seed), Random(seed)) for seed in range(100, 200))
    return stripped(min(islice(filter(None, attempts), 5), key=len))


@pytest.mark.sliced(3)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.nightly if name in SHRINK_LONG else ())
        for name in MUTATORS
    ],
)
def test_a_planted_anomaly_shrinks_to_a_handful_and_is_still_there(name: str) -> None:
    events = frame(planted(name))
    (opinion,) = local.run(events.lazy(), [name])
    anomaly = opinion.anomalies[0]
    shrunk = shrink(events.lazy(), name, anomaly, seconds_max=60)
    assert shrunk is not None
    assert shrunk.is_minimal
    assert len(shrunk.operations) <= HANDFUL < events["op_id"].n_unique()
    (again,) = local.run(shrunk.rows.lazy(), [name])
    assert any(is_same(found, anomaly) for found in again.anomalies)


def test_ddmin_finds_the_pieces_that_matter_and_no_other() -> None:
    pieces, is_minimal = ddmin(range(100), lambda some: {3, 50, 51, 99} <= {*some}, FOREVER)
    assert (list(pieces), is_minimal) == ([3, 50, 51, 99], True)
    assert ddmin([1], lambda _: True, FOREVER) == ([1], True)
    for wanted in ({0}, {1}, {0, 2}, {0, 1, 2}):
        found, _ = ddmin(range(3), lambda some, w=wanted: w <= {*some}, FOREVER)  # type: ignore[misc]
        assert {*found} == wanted


def test_ddmin_ends_when_its_time_is_up() -> None:
    assert ddmin([1, 2], lambda _: True, time.monotonic() - 1) == ([1, 2], False)


def test_transactions_are_looked_up_where_operations_do_not_show_it_alone() -> None:
    rows = [S(1, 0, txn=1), END("abort", 1), S(2, 5), P(2, 5), P(1, 0)]
    events = frame(rows)
    (opinion,) = local.run(events.lazy(), ["aborted_reads"])
    (anomaly,) = opinion.anomalies
    assert anomaly.operations == (0, 4)
    shrunk = shrink(events.lazy(), "aborted_reads", anomaly)
    assert shrunk is not None
    assert shrunk.operations == [0, 1, 4]


def test_an_anomaly_that_the_history_does_not_show_is_not_explained() -> None:
    foreign = Anomaly("lost-write", (0,), "of another history", {"topic": "t", "partition": 0})
    assert shrink(frame([S(1, 0)]).lazy(), "lost_writes", foreign) is None


def test_operations_are_told_in_words() -> None:
    (send,), (end,) = operations_of(frame([S(7, 3, txn=2), END("abort", 2, type="info")]))
    assert in_words([send]) == "0: process 0 send t-0 7 at 3 in transaction 2: ok"
    assert in_words([end]) == "1: process 0 abort in transaction 2: info"


def test_what_proves_an_anomaly_of_groups_and_producers_is_told() -> None:
    member = {"group": "g", "member_id": "m", "generation": 3}
    rows = [
        COMMITS(2, **member),
        PLACE | member | {"f": "owned"},
        member | {"f": "owned"},
        SENDS_OFFSET(4),
        BEGINS(2, asked="committed", asked_offset=2),
        BEGINS(None, asked="latest"),
        {"f": "init_producer", "producer_id": 7, "producer_epoch": 1},
    ]
    assert [in_words(operation) for operation in operations_of(frame(rows))] == [
        "0: process 0 commit_offsets t-0 next 2 in group g, generation 3: ok",
        "1: process 0 owned t-0 in group g, generation 3: ok",
        "2: process 0 owned nothing in group g, generation 3: ok",
        "3: process 0 send_offsets t-0 next 4 in group g in transaction 1: ok",
        "4: process 1 position t-0 from 2 (asked for committed 2): ok",
        "5: process 1 position t-0 nothing (asked for latest): ok",
        "6: process 0 init_producer producer 7, epoch 1: ok",
    ]


def test_drawings_have_a_line_per_operation_and_a_column_per_offset() -> None:
    operations = operations_of(frame([S(1, 0), S(2, 0), S(3, t_complete_ns=None), P(None, None)]))
    drawn = ElementTree.fromstring(timeline(operations))
    bars = [bar for bar in drawn.findall("rect") if bar.attrib["class"] != "tail"]
    assert [bar.attrib["class"] for bar in bars] == ["send ok", "send ok", "unknown", "read ok"]
    tops = [float(t.attrib["y"]) for t in drawn.findall("text") if t.attrib["class"] == "words"]
    assert len(tops) == 4
    assert tops == sorted(set(tops))
    text = logs(operations)
    assert "Partition t-0" in text
    assert text.count("cell differs") == 2  # two values at one offset


def test_answers_without_records_are_told_by_what_they_say() -> None:
    rows = [
        SAYS(2, last_stable_offset=1),
        COMMITS(4),
        ASKS(None),
        TOPIC('{"retention.ms": "1"}'),
        WHOLE(3),
        {"f": "nemesis", "process": -1, "detail": '{"fault": "Kill", "nodes": [2]}'},
        P(None, None),
        RAW(None, 5, control="abort", replica=2),
    ]
    rows = [row | {"t_invoke_ns": n, "op_id": n} for n, row in enumerate(rows)]
    assert [in_words(operation) for operation in operations_of(frame(rows))] == [
        "0: process 0 poll t-0 high watermark 2, last stable offset 1: ok",
        "1: process 0 commit_offsets t-0 next 4 in group g: ok",
        "2: process 0 fetch_offsets t-0 nothing in group g: ok",
        '3: process 0 topic t-0 {"retention.ms": "1"}: ok',
        "4: process 9 read_all t-0 high watermark 3, log start 0: ok",
        "5: fault Kill",
        "6: process 1 poll t-0 nothing: ok",
        "7: process 9 poll t-0 replica 2 ABORT at 5: ok",
    ]


def test_replicas_are_lines_of_their_own_and_attributes_stand_below() -> None:
    rows = [*LOG(1, 2, leader_epoch=3), *LOG(1, 7, replica=2, leader_epoch=4)]
    text = logs(operations_of(frame(rows)), ["leader_epoch"])
    assert text.count("1000: poll<") == 1
    assert text.count("1000: poll replica 2<") == 1
    assert text.count(">   leader epoch<") == 2
    assert text.count("cell differs") == 2  # offset 1, of both


def test_a_value_at_two_offsets_is_marked_and_a_marker_is_not() -> None:
    marker = {"control": "abort", "op_id": 2}
    rows = [S(1, 0), P(1, 4), RAW(None, 5, **marker), RAW(None, 6, **marker)]
    assert logs(operations_of(frame(rows))).count("cell twice") == 2


def test_long_histories_are_drawn_as_far_as_one_can_read() -> None:
    operations = operations_of(frame([S(n, n) for n in range(LINES_MAX + 5)]))
    assert timeline(operations).count('class="send ok"') == LINES_MAX


def test_the_page_tells_and_draws_each_anomaly(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    write(file, frame([S(11, 0), S(2, 1), S(3, 2), P(2, 1), P(3, 2)]))
    verdict = check(file, engine="local")
    text = explain(file, verdict, tmp_path / "explained.html").read_text()
    sentence = "t-0: record 11 was acknowledged at offset 0, but no read up to offset 2 contains it"
    assert sentence in text
    assert "2 operations show it" in text
    assert text.count("<svg") == 2


def test_a_stale_read_shrinks_with_the_bound_that_it_was_found_by(tmp_path: Path) -> None:
    file, bounds = tmp_path / "history.parquet", Bounds(stale_after_s=1.0)
    polls = [P(None, None, t_invoke_ns=n * 10**9, t_complete_ns=n * 10**9) for n in range(1, 9)]
    write(file, frame([S(1, 0), P(1, 0), S(2, 1), *polls]))
    verdict = check(file, engine="local", bounds=bounds)
    assert [name for name, _ in verdict.anomalies] == ["stale_reads"]
    text = explain(file, verdict, tmp_path / "explained.html", bounds=bounds).read_text()
    assert "operations show it" in text


def test_a_page_without_anomalies_says_so(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    write(file, frame([S(1, 0), P(1, 0)]))
    text = explain(file, check(file, engine="local"), tmp_path / "explained.html").read_text()
    assert "There is no anomaly to explain" in text
