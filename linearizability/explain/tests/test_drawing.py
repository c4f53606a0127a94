"""Drawings tell the truth about time, faults, unknown outcomes and what depends on what."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from linearizability.excuses.fault_spans import Fault
from linearizability.explain.around import arrows_of, deciding
from linearizability.explain.drawing import Around, Arrow, timeline
from linearizability.explain.page import explain
from linearizability.explain.words import in_words, operations_of
from linearizability.hand_written.rows import END, LOG, P, Row, S
from linearizability.history import frame, write
from linearizability.importers.formats import imported
from linearizability.judging import check

SECOND = 1_000_000_000
KILL = '{"fault": "Kill", "nodes": [2]}'
HEAL = '{"fault": "Heal", "nodes": []}'


def at(row: Row, began_s: float, ended_s: float | None, op_id: int) -> Row:
    ends = None if ended_s is None else int(ended_s * SECOND)
    return row | {"op_id": op_id, "t_invoke_ns": int(began_s * SECOND), "t_complete_ns": ends}


def drawn(rows: list[Row], around: Around) -> ElementTree.Element:
    return ElementTree.fromstring(timeline(operations_of(frame(rows)), around))


def boxes(svg: ElementTree.Element, *classes: str) -> list[tuple[float, float]]:
    """Return where the rectangles of these classes begin and end."""
    found = [box for box in svg.iter("rect") if box.attrib["class"] in classes]
    edges = [(float(box.attrib["x"]), float(box.attrib["width"])) for box in found]
    return [(x, x + width) for x, width in edges]


def test_bars_and_faults_lie_where_their_times_are_and_ticks_are_seconds() -> None:
    rows = [at(S(1, 0), 110.0, 112.0, 1), at(P(1, 0), 114.0, 120.0, 2)]
    faults = [Fault("Kill", (2,), 11.0, 15.0, True, ""), Fault("Pause", (1,), 90.0, 95.0, True, "")]
    svg = drawn(rows, Around(100 * SECOND, faults))
    ticks = {
        text.text: float(text.attrib["x"])
        for text in svg.iter("text")
        if text.attrib["class"] == "tick"
    }
    second = (ticks["18"] - ticks["12"]) / 6
    assert ticks["20 s"] - ticks["12"] == pytest.approx(8 * second, abs=0.2)

    def where(seconds: float) -> float:
        return ticks["12"] + (seconds - 12) * second

    (send,), (poll,) = boxes(svg, "send ok"), boxes(svg, "read ok")
    assert send == pytest.approx((where(10), where(12)), abs=0.3)
    assert poll == pytest.approx((where(14), where(20)), abs=0.3)
    (band,) = boxes(svg, "band")  # the other fault is far away
    assert band == pytest.approx((where(11), where(15)), abs=0.3)
    assert "Kill node 2" in [text.text for text in svg.iter("text")]


def test_an_unknown_operation_is_dashed_and_may_take_effect_until_the_end() -> None:
    rows = [at(S(1), 0.0, None, 1), at(S(2), 1.0, 2.0, 2), at(P(2, 0), 3.0, 8.0, 3)]
    svg = drawn(rows, Around(0))
    first, second = boxes(svg, "unknown")
    (tail,) = boxes(svg, "tail")
    (axis,) = [line for line in svg.iter("line") if line.attrib["class"] == "axis"][:1]
    edge = float(axis.attrib["x2"])
    assert first[1] == pytest.approx(edge, abs=0.2)
    assert tail == pytest.approx((second[1], edge), abs=0.2)
    assert not boxes(svg, "send ok")


def test_a_circle_of_transactions_has_an_arrow_for_each_step() -> None:
    rows = [
        at(S(1, 0, txn=1), 0, 1, 0),
        at(S(2, 1, txn=2), 0, 1, 1),
        at(P(2, 1, txn=1), 2, 3, 2),
        at(P(1, 0, txn=2), 2, 3, 3),
        at(END("commit", 1), 4, 5, 4),
        at(END("commit", 2), 6, 7, 5),
    ]
    operations = operations_of(frame(rows))
    second, third = "operation 2 read record 2", "operation 3 read record 1"
    assert list(arrows_of(operations)) == [Arrow(1, 2, second), Arrow(0, 3, third)]
    svg = ElementTree.fromstring(
        timeline(operations, Around(0, arrows=tuple(arrows_of(operations))))
    )
    titles = [found.text for found in svg.iterfind(".//path/title")]
    assert titles == [f"1 before 2: {second}", f"0 before 3: {third}"]


def test_real_time_between_commits_is_an_arrow_where_no_read_says_the_same() -> None:
    rows = [at(END("commit", 1), 0, 1, 0), at(END("commit", 2), 2, 3, 1)]
    assert list(arrows_of(operations_of(frame(rows)))) == [
        Arrow(0, 1, "operation 0 was acknowledged before the other began")
    ]


def test_what_stands_in_the_place_of_a_lost_record_is_shown_with_its_writer(tmp_path: Path) -> None:
    rows = [
        at(S(11, 0), 0, 1, 0),
        at(S(12, 1), 1, 2, 1),
        at({"f": "nemesis", "process": -1, "detail": KILL}, 3, 3.1, 2),
        at({"f": "nemesis", "process": -1, "detail": HEAL}, 4, 4.1, 3),
        at(S(13, 1), 5, 6, 4),
        *(at(row, 8, 9, 1000) for row in LOG(11, 13)),
    ]
    file = tmp_path / "history.parquet"
    write(file, frame(rows))
    page = explain(file, check(file, engine="local"), tmp_path / "explained.html").read_text()
    lost = page[page.index("lost-write") :]
    assert "found this at offset 1 instead" in lost
    assert "wrote the record that stands there instead" in lost
    assert re.search(r">in the end<.*?>13<", lost, re.DOTALL)
    assert "Kill node 2" in lost


def test_what_decided_an_unknown_send_is_told_from_the_history() -> None:
    rows = [S(1), S(2, 1), P(1, 0), P(1, 0)]
    events = frame(rows)
    (found,) = deciding(events.lazy(), events.head(1))
    assert found.why == {2: "shows that operation 0 took effect"}
    assert list(deciding(events.lazy(), events[1:2])) == []


def test_what_decided_an_unknown_end_is_told_from_the_history() -> None:
    rows = [S(1, 0, txn=5), END("commit", 5, type="info"), P(1, 0)]
    events = frame(rows)
    (found,) = deciding(events.lazy(), events[1:2])
    assert found.why == {2: "shows that operation 1 took effect"}


def jepsen(*events: tuple[int, str, list[object]]) -> str:
    """Lines of a history of transactions, a tenth of a second apart; indexes begin at 40."""
    return "".join(
        json.dumps(
            {
                "index": 40 + n,
                "time": n * SECOND // 10,
                "process": process,
                "type": type_,
                "f": "txn",
                "value": value,
            }
        )
        + "\n"
        for n, (process, type_, value) in enumerate(events)
    )


def test_the_poll_that_decided_an_imported_operation_stays_and_numbers_are_the_files(
    tmp_path: Path,
) -> None:
    """The operation with index 43 polled one record of a transaction of unknown end. So the
    transaction committed, and its other record is lost, since the poll of index 47 skips it."""
    sends: list[object] = [["send", 0, 1], ["send", 0, 2]]
    file = tmp_path / "history.jsonl"
    file.write_text(
        jepsen(
            (0, "invoke", sends),
            (0, "info", sends),
            (1, "invoke", [["poll"]]),
            (1, "ok", [["poll", {"0": [[0, 1]]}]]),
            (2, "invoke", [["send", 0, 3]]),
            (2, "ok", [["send", 0, [2, 3]]]),
            (1, "invoke", [["poll"]]),
            (1, "ok", [["poll", {"0": [[2, 3]]}]]),
        )
    )
    with imported(file, "jepsen") as ours:
        verdict = check(ours, engine="local")
        page = explain(ours, verdict, tmp_path / "explained.html").read_text()
    assert verdict.groups
    assert "unknown in the file, but operation 43 was given a record of it" in page
    assert "shows that operation 41 took effect" in page
    assert 'class="unknown"' in page
    named = {int(number) for number in re.findall(r"<li><code>(\d+):", page)}
    assert named <= {41, 43, 45, 47}


def test_an_imported_operation_says_that_it_was_decided() -> None:
    detail = "unknown in the file, but operation 7 was given a record of it"
    ((row,),) = operations_of(frame([S(1, 0, detail=detail)]))
    assert in_words([row]) == f"0: process 0 send t-0 1 at 0: info, {detail}"
