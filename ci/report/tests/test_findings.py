"""A report shows faults, anomalies, explanations and second opinions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ci.report import runs
from ci.report.anomalies import ANOMALIES_MAX
from ci.report.building import report_run
from ci.report.evidence import ROWS_MAX
from ci.report.model import Tone
from ci.report.recorded import load
from ci.report.runs import DRAWINGS_MAX, run_report
from ci.report.tests.runs import HEAL, KILL, History, invalid_rows, valid_rows, write_run
from linearizability.explain.page import FILE as EXPLAINED
from linearizability.explain.page import explain
from linearizability.judging import check
from linearizability.measures.availability import measure
from linearizability.measures.summary import Summary, summarise
from linearizability.verdict import Anomaly, CheckerVerdict, Validity, merge


def test_a_heal_ends_every_fault_and_an_unhealed_fault_lasts_to_the_end(tmp_path: Path) -> None:
    made = History()
    made.send(0.0, 0, 1, 0)
    made.fault(1.0, '{"fault": "DelayAnswers", "node": 1, "latency_ms": 9, "nodes": [1]}')
    made.fault(1.5, KILL, 2)
    made.fault(2.0, HEAL)
    made.fault(3.0, "not JSON", 3)
    made.read_all(5.0, {0: 1})
    faults = load(write_run(tmp_path / "run", made.rows)).faults
    assert [(f.name, f.nodes, f.is_healed) for f in faults] == [
        ("DelayAnswers", (1,), True),
        ("Kill", (2,), True),
        ("not JSON", (3,), False),
    ]
    assert [f.start_s for f in faults] == pytest.approx([1.0, 1.5, 3.0])
    assert [f.end_s for f in faults] == pytest.approx([2.1, 2.1, 5.1])
    assert faults[0].note == "latency_ms 9"
    assert faults[1].note == "aimed at: leader"


def _with_anomalies(run: Path, *anomalies: Anomaly, count: int = 0) -> None:
    opinion = CheckerVerdict("lost_writes", Validity.INVALID, 9, anomalies, count or len(anomalies))
    verdict = merge([opinion], engine="local (polars)")
    (run / "verdict.json").write_text(verdict.to_json())


def test_of_a_long_read_the_records_are_shown_that_the_sentence_names(tmp_path: Path) -> None:
    made = History()
    sent = made.send(0.0, 0, 777_777, 5000)
    read = made.read_all(2.0, {offset: 10_000_000 + offset for offset in range(9000)})
    run = write_run(tmp_path / "run", made.rows)
    message = (
        "t-0: record 777777 was acknowledged at offset 5000, but no read up to offset 8999 "
        "contains it"
    )
    scope = {"topic": "appends", "partition": 0}
    _with_anomalies(run, Anomaly("lost-write", (sent, read), message, scope))
    (told,) = run_report(load(run), "run-1").anomalies
    assert [(row.operation, row.offset) for row in told.evidence if row.f == "send"] == [
        (sent, "5000")
    ]
    shown = {row.offset for row in told.evidence if row.operation == read}
    assert {"4999", "5000", "5001", "8998", "8999"} <= shown
    assert len(shown) <= ROWS_MAX
    assert told.left_out == 9000 + 1 + 1 - len(told.evidence)


def test_many_anomalies_are_counted_and_all_their_operations_framed(tmp_path: Path) -> None:
    made = History()
    operations = [made.send(n * 0.2, n % 3, n, n) for n in range(60)]
    run = write_run(tmp_path / "run", made.rows)
    anomalies = [Anomaly("lost-write", (op,), f"{op} is lost") for op in operations]
    _with_anomalies(run, *anomalies, count=4711)
    told = run_report(load(run), "run-1")
    assert len(told.anomalies) == ANOMALIES_MAX
    assert f"{4711 - ANOMALIES_MAX:,} more in verdict.json" in report_run(run).read_text()
    assert str(told.figures[0].svg).count('class="proof"') == 60


def test_an_operation_that_the_history_lacks_is_no_catastrophe(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", valid_rows())
    _with_anomalies(run, Anomaly("lost-write", (12345,), "12345 is lost"))
    assert "The history holds none of these operations." in report_run(run).read_text()


def test_a_few_drawings_are_embedded_and_the_others_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", invalid_rows())
    (run / "porcupine").mkdir()
    for number in range(DRAWINGS_MAX + 1):
        (run / "porcupine" / f"part-{number}.html").write_text("<p>drawn</p>")
    (run / "porcupine" / "huge.html").write_text("x" * 1_000_000)
    told = run_report(load(run), "run-1")
    assert len(told.drawings) == DRAWINGS_MAX
    assert len(told.drawings_left_out) == 2
    assert "huge.html" in report_run(run).read_text()


def test_explanations_are_embedded_where_somebody_asked_for_them(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", invalid_rows())
    summary = "The fewest operations that show each anomaly"
    assert summary not in report_run(run).read_text()
    verdict = load(run).verdict
    assert verdict is not None
    explain(run, verdict, run / EXPLAINED)
    assert "operations show it" in run_report(load(run), "run-1").explained
    assert summary in report_run(run).read_text()


def test_figures_are_by_polars_where_spark_fails_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", valid_rows())
    judged = json.loads((run / "verdict.json").read_text()) | {"engine": "spark local[*]"}
    (run / "verdict.json").write_text(json.dumps(judged))
    from_polars = summarise

    def without_spark(path: Path, engine: str) -> Summary:
        if engine == "spark":
            raise RuntimeError("the JVM went away\n  at some.Java")
        return from_polars(path, engine)

    monkeypatch.setattr(runs, "summarise", without_spark)
    told = run_report(load(run), "run-1")
    assert told.figures
    assert ("figures by", "local (polars)") in told.facts
    assert told.notes[-1].endswith("Spark could not make them: the JVM went away")
    assert told.line.tone is Tone.GOOD


def test_the_line_of_availability_falls_to_zero_in_an_outage_whatever_polls_say(
    tmp_path: Path,
) -> None:
    """From 2.6 s to 9.5 s nothing is served, and a poll each second returns no record."""
    made = History()
    for n in range(6):
        made.send(n / 2, 0, n, n)
    for n in range(3, 10):
        made.add(float(n), f="poll", process=4, topic="appends", partition=0, client="confluent")
    made.send(9.4, 0, 99, 6)
    run = write_run(tmp_path / "run", made.rows, judge=False)
    verdict = check(run, engine="local").as_dict()
    verdict["availability"] = measure(run).as_dict()
    (run / "verdict.json").write_text(json.dumps(verdict))
    figures = {figure.title: figure for figure in run_report(load(run), "run-1").figures}
    told = str(figures["Availability"].svg)
    shares = dict(re.findall(r"succeeded, second (\d+): ([\d.]+)", told))
    assert [shares[str(second)] for second in range(3, 9)] == ["0"] * 6
    assert [shares[str(second)] for second in (0, 1)] == ["100", "100"]
    assert "Served 27.4% of the time." in figures["Availability"].caption
