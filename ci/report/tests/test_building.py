"""The content of a report, without a browser: runs whole, broken, empty and large; Markdown."""

from __future__ import annotations

import re
import time
from pathlib import Path

import polars as pl
import pytest

from ci.errors import UsageError
from ci.report.building import report_demo, report_run
from ci.report.model import Tone, worst
from ci.report.recorded import load
from ci.report.runs import run_report
from ci.report.tests.runs import (
    HEAL,
    KILL,
    History,
    Row,
    invalid_rows,
    results,
    unknown_verdict,
    valid_rows,
    write_run,
)
from ci.report.tests.test_findings import _with_anomalies
from linearizability import history
from linearizability.explain.page import FILE as EXPLAINED
from linearizability.verdict import Anomaly

REPORT_BYTES_MAX = 3_000_000
PAGE_BYTES_MAX = 2_000_000


def test_a_report_is_the_page_and_its_markdown(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", valid_rows())
    assert report_run(run) == run / "report.html"
    summary = (run / "summary.md").read_text()
    assert summary.startswith("## ✓ Touchstone: reference, appends, kill-leader: valid\n")
    assert "`touchstone chaos run --seed 7`" in summary
    elsewhere = tmp_path / "deep" / "down" / "page.html"
    assert report_run(run, elsewhere) == elsewhere
    assert elsewhere.with_name("summary.md").exists()


def test_the_page_names_no_address_to_load_from(tmp_path: Path) -> None:
    page = report_run(write_run(tmp_path / "run", invalid_rows())).read_text()
    assert not re.search(r"""(src|href)\s*=\s*["']?(?!#|["'])""", page)
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page and "http" not in _without_csp(page)


def _without_csp(page: str) -> str:
    return page.replace("http-equiv", "")


# --- what cannot be shown is said ---------------------------------------------------------------


def test_a_run_that_nobody_judged_is_not_green(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", valid_rows(), judge=False)
    told = run_report(load(run), "run-1")
    assert (told.line.word, told.line.tone) == ("not judged", Tone.UNKNOWN)
    assert "Nobody has judged this run." in report_run(run).read_text()


def test_the_first_screen_gives_the_verdict_its_proof_and_what_to_do(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", invalid_rows())
    told = run_report(load(run), "run-1")
    words = [checker.word for checker in told.checkers]
    assert words == sorted(words, key=["invalid", "unknown", "valid", "not applicable"].index)
    assert told.line.link == told.groups[0].anchor
    assert told.groups[0].links[0] == ("lost_writes", 1, told.anomalies[0].anchor)
    assert told.line.why.endswith(told.groups[0].headline)
    purposes = [command.purpose for command in told.line.commands]
    assert purposes == ["attack again", "judge again", "see the fewest operations that show it"]
    page = report_run(run).read_text()
    assert f'href="#{told.line.link}"' in page and f'id="{told.line.link}"' in page
    (run / EXPLAINED).write_text("explained")
    assert len(run_report(load(run), "run-1").line.commands) == 2


def test_what_the_harness_notes_is_nobodys_reading(tmp_path: Path) -> None:
    rows = [{**row, "process": -2} if row["process"] == 0 else row for row in valid_rows()]
    roles = load(write_run(tmp_path / "run", rows, judge=False)).roles
    assert roles[-2] == "the run" and all(word[-1].isdigit() for p, word in roles.items() if p > 0)


def test_a_history_without_its_run_cannot_be_attacked_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", valid_rows())
    (run / "run.json").unlink()
    assert [command.purpose for command in run_report(load(run), "run-1").line.commands] == [
        "judge again"
    ]


def test_an_unknown_verdict_says_why(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", valid_rows(), problems=["the final read was cut short"])
    unknown_verdict(run, "the final read was cut short")
    page = report_run(run).read_text()
    assert 'class="hero unknown"' in page
    assert '<p class="problem">the final read was cut short</p>' in page
    assert "the final read was cut short" in (run / "summary.md").read_text()


def test_a_truncated_history_is_told_in_the_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", valid_rows(), judge=False)
    file = run / "history.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    told = run_report(load(run), "run-1")
    assert told.line.tone is Tone.UNKNOWN
    assert "not a complete Parquet file" in told.line.why
    assert "there is nothing to draw" in report_run(run).read_text()


def test_a_history_without_rows_and_a_directory_without_run_json(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [])
    assert "there is nothing to draw" in report_run(run).read_text()
    (run / "run.json").unlink()
    assert run_report(load(run), "run-1").title == "run"


def test_a_run_that_did_not_end_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", valid_rows(), ended=None)
    assert "did not come to its end" in report_run(run).read_text()


def test_a_demo_in_which_nothing_could_be_done(tmp_path: Path) -> None:
    out = report_demo(
        tmp_path / "report.html", conformance=[], runs=[], canaries=[], components=[], lines=[]
    )
    page = out.read_text()
    assert 'class="hero unknown"' in page and "Nothing was judged." in page
    assert "No chaos run was made." in page and "No conformance examination was run." in page


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (lambda run: (run / "run.json").write_text("{"), "run.json cannot be read"),
        (lambda run: (run / "run.json").write_text("[1]"), "run.json is not a JSON object"),
        (lambda run: (run / "run.json").write_text('{"version": 99}'), "a newer touchstone made"),
        (lambda run: (run / "verdict.json").write_text('{"a": 1}'), "verdict.json is not a verd"),
        (lambda run: (run / "run.json").write_text("[" * 10**5), "run.json cannot be read"),
        (
            lambda run: (run / "verdict.json").write_text('{"version": 99}'),
            "it has version 99, this touchstone reads version 1.; `touchstone check",
        ),
        (lambda run: (run / "verdict.json").write_text("{"), "touchstone check .* writes it again"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, break_it: object, sentence: str) -> None:
    run = write_run(tmp_path / "run", valid_rows())
    assert callable(break_it)
    break_it(run)
    with pytest.raises(UsageError, match=sentence):
        report_run(run)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run directory"):
        report_run(tmp_path / "nothing")
    with pytest.raises(UsageError, match="holds neither"):
        report_run(tmp_path)


def test_nothing_judged_is_never_good() -> None:
    assert worst([]) is Tone.UNKNOWN
    assert worst([Tone.NONE]) is Tone.UNKNOWN
    assert worst([Tone.GOOD, Tone.UNKNOWN, Tone.NONE]) is Tone.UNKNOWN
    assert worst([Tone.GOOD, Tone.UNKNOWN, Tone.BAD]) is Tone.BAD


def test_unseen_records_and_the_lag_of_each_consumer_are_drawn_above_the_faults(
    tmp_path: Path,
) -> None:
    made = History()
    reader: Row = {
        "process": 4,
        "topic": "appends",
        "partition": 0,
        "client": "confluent",
        "isolation": "read_committed",
    }
    made.add(0.0, f="assign", **reader)
    for n in range(3):
        made.send(0.1 + n, 0, n, n)
    made.fault(0.5, KILL, 2)
    made.fault(2.5, HEAL)
    for n in range(3):
        made.add(5.0 + n, f="poll", offset=n, value=n, **reader)
    run = write_run(tmp_path / "run", made.rows)
    figures = {figure.title: figure for figure in run_report(load(run), "run-1").figures}
    unseen, lag = figures["Unseen records"], figures["Real-time lag"]
    assert unseen.keys == (("send stroke", "appends-0"),)
    assert lag.keys == (("send stroke", "appends-0, process 4"),)
    assert "appends-0, second 3: 3 records" in unseen.svg
    assert "appends-0, second 7: 0" in unseen.svg
    assert "appends-0, process 4, second 3: 3.8 s" in lag.svg  # since 0.2 s, looked at after 4 s
    for figure in (unseen, lag):
        assert figure.svg.count('class="band"') == 1
        assert figure.svg in report_run(run).read_text()


def test_of_many_consumers_the_highest_are_drawn_and_all_are_counted(tmp_path: Path) -> None:
    made = History()
    place: Row = {"topic": "appends", "partition": 0, "client": "confluent"}
    for process in range(10, 19):
        made.add(0.0, f="assign", process=process, **place)
    made.send(0.1, 0, 1, 0)
    for process in range(10, 19):
        made.add(process - 8.0, f="poll", process=process, offset=0, value=1, **place)
    lag = run_report(load(write_run(tmp_path / "run", made.rows)), "run-1").figures[-1]
    assert lag.title == "Real-time lag"
    assert "the 6 highest of 9" in lag.caption
    assert lag.keys[0] == ("send stroke", "appends-0, process 18")


# --- large runs ---------------------------------------------------------------------------------


def test_a_run_of_many_operations_stays_small_and_shows_what_matters(tmp_path: Path) -> None:
    count = 200_000
    number = pl.int_range(count, eager=True)
    start = number * 1_000_000 + 5_000_000_000
    rows = pl.DataFrame(
        {
            "schema_version": 1,
            "op_id": number,
            "record_index": 0,
            "process": number % 16,
            "f": "send",
            "type": pl.select(
                pl.when(number % 1000 == 7).then(pl.lit("info")).otherwise(pl.lit("ok"))
            ).to_series(),
            "t_invoke_ns": start,
            "t_complete_ns": start + 700_000 + (number * 7919) % 9_000_000,
            "topic": "appends",
            "partition": number % 8,
            "value": number,
            "offset": number // 8,
            "acks": -1,
            "final": False,
        }
    )
    missing = [
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in history.SCHEMA.items()
        if name not in rows.columns
    ]
    run = write_run(tmp_path / "run", [], judge=False)
    history.write(run / "history.parquet", rows.with_columns(missing))
    _with_anomalies(run, Anomaly("lost-write", (100_123,), "it is lost"))
    began = time.monotonic()
    page = report_run(run)
    assert time.monotonic() - began < 60
    assert page.stat().st_size < REPORT_BYTES_MAX
    assert "operation 100123 proves an anomaly" in page.read_text()


def test_ten_thousand_anomalies_make_a_page_of_two_megabytes_at_most(tmp_path: Path) -> None:
    made = History()
    sends = [made.send(n / 100, n % 16, n, n) for n in range(10_000)]
    made.read_all(200.0, {})
    run = write_run(tmp_path / "run", made.rows, judge=False)
    scope = {"topic": "appends", "partition": 0}
    lost = (
        Anomaly(
            "lost-write", (op, 10_001), f"{n} was acknowledged at offset {n}; it is gone", scope
        )
        for n, op in enumerate(sends)
    )
    _with_anomalies(run, *lost)
    page = report_run(run)
    assert page.stat().st_size <= PAGE_BYTES_MAX
    text = page.read_text()
    assert "10,000 anomalies with 1 cause." in text
    assert "10,000 records of appends-0: acknowledged, then lost" in text


# --- Markdown -----------------------------------------------------------------------------------


def test_the_summary_has_verdicts_counts_failures_and_commands(tmp_path: Path) -> None:
    bad = write_run(tmp_path / "bad", invalid_rows())
    report_demo(
        tmp_path / "report.html",
        conformance=[results("kfake", ("PROD-02", "a_thing", "failed"), ("A-1", "b", "passed"))],
        runs=[bad],
        canaries=[],
        components=[],
        lines=[("conformance P0 kfake", "1 failed", False)],
    )
    summary = (tmp_path / "summary.md").read_text()
    for line in (
        "| ✗ | conformance P0 kfake | not as expected: 1 failed "
        "| `touchstone conform --target kfake --priority P0` |",
        "| kfake | 1 | 1 | 0 | 2 |",
        "- **PROD-02** a thing (v3)",
        "  - expected NONE(0), actual CORRUPT\\_MESSAGE(2)",
        "  - `touchstone conform --only 'cases/a_thing[0]' --target kfake`",
        "- `lost_writes`: 1",
    ):
        assert line in summary.splitlines()
    assert "77 was acknowledged at offset 1" in summary


def test_hostile_words_stay_words_in_markdown(tmp_path: Path) -> None:
    hostile = "a|b\n<script>x</script> [c](d) `e` @team"
    report_demo(
        tmp_path / "report.html",
        conformance=[],
        runs=[],
        canaries=[],
        components=[],
        lines=[(hostile, hostile, True)],
    )
    summary = (tmp_path / "summary.md").read_text()
    (row,) = [line for line in summary.splitlines() if line.startswith("| ✓")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "<script>" not in summary
    assert "\\[c\\](d) \\`e\\` \\@team" in row
