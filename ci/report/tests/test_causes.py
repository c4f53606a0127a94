"""From an anomaly to its fault, to its log on each replica, and to the nodes' own logs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ci.report.building import report_run
from ci.report.causes import Span, faults_of, wall_clock_s
from ci.report.model import AnomalyReport, RunReport
from ci.report.recorded import load
from ci.report.runs import run_report
from ci.report.tests.runs import HEAL, KILL, History, Row, write_run
from ci.report.tests.test_page import Seen, look

WALL = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
"""The wall clock at second 0 of the history."""


def rows() -> list[Row]:
    """Return a history in which 77 was acknowledged at offset 1 while node 2 was dead; the leader
    and node 3 hold 88 there in the end, node 2 still holds 77."""
    made = History()
    made.add(
        0.0,
        process=-1,
        f="topic",
        topic="appends",
        partition=0,
        timestamp_ms=int(WALL.timestamp() * 1000),
    )
    made.send(0.0, 0, 66, 0)
    made.fault(0.5, KILL, 2)
    made.send(0.6, 1, 77, 1)
    made.fault(2.0, HEAL)
    made.send(2.2, 0, 88, 1)
    for replica, held in ((None, (66, 88)), (2, (66, 77)), (3, (66, 88))):
        op = made.next_op
        place: dict[str, Any] = {
            "topic": "appends",
            "partition": 0,
            "process": 9,
            "final": True,
            "client": "raw",
            "isolation": "read_uncommitted",
            "replica": replica,
        }
        for offset, value in enumerate(held):
            made.next_op = op
            made.add(4.0, f="poll", offset=offset, value=value, record_index=offset, **place)
        made.next_op = op
        made.add(4.0, f="read_all", record_index=2, log_start=0, high_watermark=2, **place)
    return made.rows


def log_line(seconds: float, text: str, zone_h: int = 0) -> str:
    shown = WALL + timedelta(seconds=seconds, hours=zone_h)
    return f"[{shown:%Y-%m-%d %H:%M:%S},{shown.microsecond // 1000:03}] {text}\n"


def with_log(run: Path, node: int, *lines: str) -> None:
    file = run / "nodes" / str(node) / "server.log"
    file.parent.mkdir(parents=True)
    file.write_text("".join(lines))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = write_run(tmp_path / "run", rows())
    many = [log_line(0.5 + n / 100, f"INFO chatter {n}") for n in range(50)]
    with_log(
        made,
        2,
        log_line(-3600, "INFO of the day before"),
        *many,
        log_line(0.55, "INFO [Partition appends-0 broker=2] cut to offset 1"),
        log_line(0.7, "WARN the disk is slow"),
        "\tat a.stack.trace(Line.java)\n",
        log_line(300, "ERROR long after"),
    )
    return made


def told(run: Path) -> RunReport:
    return run_report(load(run), "run-1")


def moved(report: RunReport) -> AnomalyReport:
    return next(a for a in report.anomalies if a.checker == "inconsistent_offsets")


def test_the_fault_that_was_under_way_is_named_and_linked(run: Path) -> None:
    report = told(run)
    assert moved(report).cause.faults == (("run-1-fault-1", "Kill node 2", "under way"),)
    assert report.faults[0].anchor == "run-1-fault-1"


def test_without_a_fault_under_way_the_next_one_is_named_else_the_last(run: Path) -> None:
    recorded = load(run)
    assert faults_of(recorded, Span(0.0, 0.2)) == [(0, "struck next")]
    assert faults_of(recorded, Span(1.0, 1.1)) == [(0, "under way")]
    assert faults_of(recorded, Span(3.0, 3.1)) == [(0, "the last before")]
    assert faults_of(recorded, None) == []


def test_each_replica_shows_what_it_held_around_the_offset(run: Path) -> None:
    (log,) = moved(told(run)).cause.replicas
    assert log.replicas == ("leader, 0 to 2", "node 2, 0 to 2", "node 3, 0 to 2")
    assert log.lines == ((0, ("66", "66", "66"), False, False), (1, ("88", "77", "88"), True, True))


def test_the_lines_of_a_node_are_those_of_that_time_and_the_partition_comes_first(
    run: Path,
) -> None:
    (log,) = moved(told(run)).cause.logs
    texts = [line.text for line in log.lines]
    assert (log.node, log.file) == ("2", "nodes/2/server.log")
    assert "INFO [Partition appends-0 broker=2] cut to offset 1" in texts
    assert [line.time for line in log.lines if line.is_grave] == ["0.700"]
    assert not any("day before" in text or "long after" in text for text in texts)
    assert len(texts) + log.left_out == 52
    assert len(texts) == 8


@pytest.mark.parametrize("zone_h", [-5, 2])
def test_a_node_in_another_time_zone_is_read_as_such(tmp_path: Path, zone_h: int) -> None:
    run = write_run(tmp_path / "run", rows())
    lines = [log_line(at, f"WARN at {at}", zone_h) for at in (0.6, 4.0)]
    with_log(run, 1, *lines)
    (log,) = moved(told(run)).cause.logs
    assert [line.time for line in log.lines] == ["0.600", "4.000"]


def test_a_log_of_another_day_and_one_without_times_say_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", rows())
    with_log(run, 1, log_line(-86_000, "WARN yesterday"))
    with_log(run, 2, "ready 127.0.0.1:9092\n", "\x00\xff\n")
    assert moved(told(run)).cause.logs == ()


def test_without_a_wall_clock_no_line_is_guessed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [row for row in rows() if row["f"] != "topic"])
    with_log(run, 1, log_line(0.6, "WARN x"))
    assert wall_clock_s(load(run)) is None
    assert moved(told(run)).cause.logs == ()


CLICKS = (Path(__file__).parent / "clicks.js").read_text()


@pytest.mark.needs("chromium")
def test_an_anomaly_leads_to_its_fault_its_replicas_its_logs_and_the_timeline(run: Path) -> None:
    page = report_run(run)
    html = page.read_text()
    assert 'href="#run-1-fault-1">Kill node 2</a> (under way)' in html
    page.write_text(html.replace("</body>", f"<script>{CLICKS}</script></body>"))
    looked: Seen = look(page)
    assert looked.console == []
    assert looked.facts["dead_links"] == []
    assert looked.facts["headers_without_scope"] == 0
    assert "cut to offset 1" in looked.text
    seen = json.loads(looked.text[looked.text.index('{"whole"') :])
    assert float(seen["whole"]) == pytest.approx(4.1)
    assert seen["disabled"] == ["out", "earlier", "later", "back", "all"]
    start, end = seen["anomaly"]
    assert start <= 0.5
    assert end >= 2.3
    assert seen["bars"] >= 1
    assert seen["ticks"][-1].endswith(" s")
    assert seen["said"] == f"Shown: {start:.3f} – {end:.3f} s"
    assert seen["closer"] == pytest.approx((end - start) / 2)
    assert seen["later"] > start
    assert seen["back"] == pytest.approx([start, end])
    assert seen["dragged"] == pytest.approx([0, 2.05], abs=0.02)
    assert 0 < seen["closest"] < 0.01
    assert seen["all"] == [0, pytest.approx(4.1)]
    assert seen["left_over"] == 0
