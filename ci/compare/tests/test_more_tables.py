"""Test what a comparison shows besides cases: verdicts under attack, availability and speed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chaos.record.run_directory import Scenario
from chaos.values.protocols import TargetError
from ci.cli import app
from ci.commands import comparing as command
from ci.compare import attacking, measuring
from ci.compare.attacks import Attacks, availability, verdicts, worse_and_better
from ci.compare.comparing import as_dict, changed
from ci.compare.measuring import memory_mib, percentile
from ci.compare.pages import DATA, TEXT, as_html, as_markdown
from ci.compare.speed import MEASURES, Speed, lines
from ci.compare.tests.test_comparing import entry, files_of, target
from ci.nightly.matrix import Row
from linearizability.verdict import Validity
from reference_impl.robustness.usage import peak_mib


def row(verdict: Validity, workload: str = "appends", nemesis: str = "kill", **facts: Any) -> Row:
    scenario = Scenario("reference", workload, nemesis, 1, 5.0, 1)
    usual: dict[str, Any] = {"acknowledged": 1200, "longest_gap_s": 1.25, "served": 0.75}
    usual["run"] = "the-run"
    return Row(scenario, verdict, **(usual | facts))


VALID = row(Validity.VALID, recovery_s=0.5)
INVALID = row(Validity.INVALID, reason="invalid: lost_writes", run="lost")
UNKNOWN = row(Validity.UNKNOWN, reason="node 1 did not start", run="")
UNSUPPORTED = row(Validity.NOT_APPLICABLE, reason="kfake keeps everything in memory", run="")
FAST = Speed(dict.fromkeys(MEASURES, 200.0))
SLOW = Speed(
    dict.fromkeys(MEASURES, 50.0) | {"ack_p50": 1234.5},
    {"read": "unsupported: Fetch is not advertised"},
)


def two() -> list[Any]:
    slow = replace(SLOW, figures={k: v for k, v in SLOW.figures.items() if k != "read"})
    first = target("reference", entry("WIRE-01"))
    second = target("kfake", entry("WIRE-01"))
    return [
        replace(first, attacks=Attacks((VALID,)), speed=FAST),
        replace(second, attacks=Attacks((UNSUPPORTED,)), speed=slow),
    ]


def test_each_attack_is_a_line_with_a_verdict_or_a_reason() -> None:
    all_of = [Attacks((VALID,)), Attacks((INVALID,)), Attacks((UNKNOWN,)), None]
    (line,) = verdicts([*all_of, Attacks((UNSUPPORTED,))])
    assert line.title == "appends × kill"
    assert [cell.text() for cell in line.cells] == [
        "valid",
        "invalid: lost_writes",
        "unknown: node 1 did not start",
        "not measured",
        "unsupported: kfake keeps everything in memory",
    ]
    assert [cell.tone for cell in line.cells] == ["good", "bad", "unknown", "none", "none"]
    assert line.cells[0].link == "runs/the-run/report.html"
    assert line.cells[2].link is None


def test_availability_is_told_of_runs_that_were_made() -> None:
    (line,) = availability([Attacks((VALID,)), Attacks((UNKNOWN,)), Attacks((UNSUPPORTED,))])
    assert [cell.text() for cell in line.cells] == [
        "75.0%: longest gap 1.2 s, back within 0.5 s after a heal, 1,200 records acknowledged",
        "not measured",
        "unsupported",
    ]


def test_only_unknown_runs_leave_a_target_unjudged() -> None:
    assert Attacks((VALID, INVALID, UNSUPPORTED)).are_judged
    assert not Attacks((VALID, UNKNOWN)).are_judged
    told = Attacks((VALID, INVALID, UNSUPPORTED, UNKNOWN, VALID)).told()
    assert told == "under attack: 2 valid, 1 invalid, 1 unknown, 1 unsupported"


def test_figures_stand_beside_their_ratio_to_the_first_targets() -> None:
    by_title = {line.title: line for line in lines([FAST, SLOW, None])}
    latency = by_title[MEASURES["ack_p50"].title]
    assert [cell.text() for cell in latency.cells] == [
        "200 ms",
        "1,234 ms: 6.17 × the first",
        "not measured",
    ]
    noise = by_title[MEASURES["others"].title]
    assert [cell.text() for cell in noise.cells[:2]] == ["200 CPUs", "50 CPUs"]
    assert list(lines([None, None])) == []


def test_page_text_and_data_have_the_tables_only_if_they_were_asked_for() -> None:
    plain = [target("reference", entry("WIRE-01")), target("kfake", entry("WIRE-01"))]
    for text in (as_html(plain), as_markdown(plain)):
        assert "Under attack" not in text
        assert "Speed and memory" not in text
    assert (
        as_dict(plain)["attacks"] == as_dict(plain)["speed"] == {"reference": None, "kfake": None}
    )
    page, text, data = as_html(two()), as_markdown(two()), as_dict(two())
    assert '<a href="runs/the-run/report.html">valid</a>' in page
    assert "unsupported: Fetch is not advertised" in text
    assert "75.0%: longest gap 1.2 s" in text
    assert "([report](runs/the-run/report.html))" in text
    assert data["attacks"]["kfake"][0]["verdict"] == "unsupported"
    assert data["attacks"]["reference"][0]["served_share"] == 0.75
    assert data["speed"]["kfake"]["written"] == {"value": 50.0, "ratio": 0.25, "reason": None}
    assert data["speed"]["kfake"]["read"]["reason"] == "unsupported: Fetch is not advertised"
    assert data["measures"]["memory"]["unit"] == "MiB"


def test_reasons_of_a_target_are_escaped() -> None:
    evil = row(Validity.UNKNOWN, reason="<script>alert(1)</script>", run="")
    all_of = two()
    all_of[1] = replace(all_of[1], attacks=Attacks((evil,)))
    assert "<script>alert" not in as_html(all_of)
    assert "<script>alert" not in as_markdown(all_of)


def test_a_verdict_that_changed_is_part_of_the_regression_report() -> None:
    before = replace(target("apache:3.9", entry("WIRE-01")), attacks=Attacks((VALID,)))
    after = replace(target("apache:4.3.1", entry("WIRE-01")), attacks=Attacks((INVALID,)))
    found = changed([before, after])
    assert found is not None
    assert found.attacks == ("appends × kill: valid before, invalid now",)
    assert "appends × kill: valid before, invalid now" in as_html([before, after])
    assert "valid before, invalid now" in as_markdown([before, after])
    assert list(worse_and_better(Attacks((UNSUPPORTED,)), Attacks((VALID,)))) == []
    assert list(worse_and_better(None, Attacks((INVALID,)))) == []


@pytest.mark.parametrize(("verdict", "status"), [(INVALID, 0), (UNKNOWN, 3), (UNSUPPORTED, 0)])
def test_every_target_is_attacked_and_measured_and_unknown_is_not_judged(
    verdict: Row, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = target("reference", entry("WIRE-01")).results
    asked: list[object] = []

    def attack(name: str, seconds: float, nodes: int, _out: Path) -> Attacks:
        asked.append((name, seconds, nodes))
        return Attacks((verdict,))

    def measure(name: str, seconds: float) -> Speed:
        asked.append((name, seconds))
        return FAST

    monkeypatch.setattr(command, "_results_of", lambda given, _: {**results, "target": given})
    monkeypatch.setattr(attacking, "attack", attack)
    monkeypatch.setattr(measuring, "measure", measure)
    words = ["compare", "reference", "kfake", "--chaos", "5", "--nodes", "3", "--speed", "2"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "o"), "--json"])
    assert done.exit_code == status, done.output
    assert asked == [("reference", 5, 3), ("kfake", 5, 3), ("reference", 2), ("kfake", 2)]
    assert json.loads(done.stdout)["speed"]["kfake"]["memory"]["ratio"] == 1.0


def test_a_file_of_results_cannot_be_attacked_or_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = files_of(tmp_path, target("old", entry("WIRE-01")))
    results = target("kfake", entry("WIRE-01")).results
    read = command._results_of
    monkeypatch.setattr(
        command,
        "_results_of",
        lambda given, words: results if given == "kfake" else read(given, words),
    )
    monkeypatch.setattr(measuring, "measure", lambda *_: FAST)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["compare", file, "kfake", "--speed", "1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "| not measured | 200 ms |" in (out / TEXT).read_text()
    assert json.loads((out / DATA).read_text())["speed"]["old"] is None


@pytest.mark.parametrize("option", ["--chaos", "--speed", "--nodes"])
def test_a_number_that_is_not_above_zero_is_refused_first(option: str) -> None:
    done = CliRunner().invoke(app, ["compare", "reference", "kfake", option, "0"])
    assert done.exit_code == 2
    assert f"{option} 0: give a finite number above zero" in done.output


def test_nodes_without_an_attack_are_refused() -> None:
    done = CliRunner().invoke(app, ["compare", "reference", "kfake", "--nodes", "3"])
    assert done.exit_code == 2
    assert "--nodes 3 is for --chaos" in done.output


def test_a_target_that_does_not_start_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise TargetError("its jars are not here")

    monkeypatch.setattr(measuring, "running", refuse)
    found = measuring.measure("kfake", 0.1)
    assert found.figures == {}
    assert set(found.lacking) == set(MEASURES)
    assert "acknowledgement, p50: not measured: its jars are not here" in capsys.readouterr().err


def test_memory_is_that_of_processes_that_were_started_here() -> None:
    from chaos.targets.bootstrap import BootstrapCluster

    assert peak_mib(os.getpid()) > 10
    with pytest.raises(TargetError, match="not started here"):
        memory_mib(BootstrapCluster("h:1", [("h", 1)], 1))


def test_a_percentile_is_a_value_that_was_seen() -> None:
    assert percentile([5.0, 1.0, 3.0], 0.5) == 3.0
    assert percentile([float(n) for n in range(1, 101)], 0.99) == 99.0
    assert percentile([7.0], 0.99) == 7.0


@pytest.mark.nightly
@pytest.mark.needs("kfake", "toxiproxy")
def test_the_reference_and_kfake_are_compared_in_every_respect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(attacking, "WORKLOADS", ("appends",))
    monkeypatch.setattr(attacking, "NEMESES", ("none", "kill-leader"))
    words = ["reference", "kfake", "-k", "WIRE-01", "--priority", "P0", "--out", str(tmp_path)]
    more = ["--chaos", "6", "--speed", "0.2", "--json"]
    with pytest.raises(SystemExit) as ended:
        app(["compare", *words, *more])
    output = capfd.readouterr()
    assert ended.value.code == 0, output.err
    told = json.loads(output.out)
    seen = {name: [run["verdict"] for run in runs] for name, runs in told["attacks"].items()}
    assert seen == {"reference": ["valid", "valid"], "kfake": ["valid", "unsupported"]}
    for runs in told["attacks"].values():
        assert runs[0]["served_share"] > 0
        assert (tmp_path / runs[0]["run"] / "report.html").is_file()
    for figures in told["speed"].values():
        assert all(figure["value"] > 0 for name, figure in figures.items() if name != "others")
        assert figures["ack_p50"]["value"] <= figures["ack_p99"]["value"]
    assert told["speed"]["reference"]["memory"]["ratio"] == 1.0
