"""Every count of a run that somebody reads is the one of verdict.json: page, summary, terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ci.attack import judge, print_verdict
from ci.report.building import report_run
from ci.report.tests.runs import HEAL, KILL, History, Row, invalid_rows, write_run

Facts = Mapping[str, Any]


def many_causes() -> list[Row]:
    """Twenty faults, each of which takes a record; the tenth takes 150."""
    made = History()
    number = 0
    for fault in range(20):
        for _ in range(150 if fault == 10 else 1):
            made.send(10.0 * fault, number % 5, 1_000_000 + number, number)
            number += 1
        made.fault(10.0 * fault + 2, KILL, 2)
        made.fault(10.0 * fault + 4, HEAL)
    made.read_all(300.0, {number: 9_999_999})
    return made.rows


RUNS = {"one cause": invalid_rows, "many causes": many_causes}


@pytest.fixture(scope="module", params=RUNS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = RUNS[request.param]()
    made = write_run(tmp_path_factory.mktemp("counts") / "run", rows, judge=False)
    judge(made, engine="local")
    report_run(made)
    return made


def facts(run: Path) -> Facts:
    found: Facts = json.loads((run / "verdict.json").read_text())
    return found


def number(words: str) -> int:
    return int(words.replace(",", ""))


def proven(verdict: Facts) -> dict[str, int]:
    """Checker -> how many anomalies, of those that accuse."""
    return {
        name: checker["anomaly_count"]
        for name, checker in verdict["checkers"].items()
        if checker["validity"] == "invalid"
    }


def text_of(html: str) -> str:
    """The page as its reader sees it, without scripts, styles and drawings."""
    html = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def check_counted(told: str, verdict: Facts) -> None:
    """Check "160 anomalies (of 302 found) with 12 causes" wherever it stands."""
    found = re.findall(
        r"([\d,]+) anomal(?:y|ies)(?: \(of ([\d,]+) found\))? with ([\d,]+) causes?", told
    )
    assert found
    for kept, all_found, causes in found:
        assert number(kept) == sum(group["anomalies"] for group in verdict["groups"])
        assert number(all_found or kept) == sum(proven(verdict).values())
        assert number(causes) == len(verdict["groups"])


def check_stories(told: str, verdict: Facts) -> None:
    """Each headline's records and anomalies, and each story's sums by checker."""
    assert verdict["groups"]
    told = re.split(r"[Ww]hat went wrong(?! Checkers)|### Anomalies", told, maxsplit=1)[1]
    for group in verdict["groups"][:3]:
        head = group["headline"]
        assert head in told
        assert number(re.findall(r"^(?:at least )?([\d,]+) record", head)[0]) == group["records"]
        after = told[told.index(head) + len(head) :]
        assert number(re.findall(r"([\d,]+) anomal", after)[0]) == group["anomalies"]
        summed = re.findall(r"This explains ([\d,]+) anomal.*? \((.*?)\)\.", after)
        if group["anomalies"] > 1:
            total, by_checker = summed[0]
            assert number(total) == group["anomalies"]
            parts = dict(re.findall(r"([\w() ]+?) ([\d,]+)(?:, |$)", by_checker))
            assert {name.strip(): number(n) for name, n in parts.items()} == {
                name: len(positions) for name, positions in group["members"].items()
            }


def test_groups_hold_each_anomaly_that_the_verdict_keeps_once(run: Path) -> None:
    verdict = facts(run)
    members = [
        (name, position)
        for group in verdict["groups"]
        for name, positions in group["members"].items()
        for position in positions
    ]
    kept = [
        (name, position)
        for name in proven(verdict)
        for position in range(len(verdict["checkers"][name]["anomalies"]))
    ]
    assert sorted(members) == sorted(kept)
    assert all(
        sum(map(len, group["members"].values())) == group["anomalies"]
        for group in verdict["groups"]
    )


def tiles(html: str) -> dict[str, int]:
    found = re.findall(r"<dt>([^<]*)</dt><dd>([\d,]+)</dd></div>", html)
    return {name: number(value) for name, value in found}


def test_every_count_of_the_page(run: Path) -> None:
    verdict, html = facts(run), (run / "report.html").read_text()
    text = text_of(html)
    assert tiles(html)["anomalies"] == sum(proven(verdict).values())
    assert tiles(html)["causes of anomalies"] == len(verdict["groups"])
    recorded = json.loads((run / "run.json").read_text())["counts"]
    assert tiles(html)["operations ok"] == recorded["ok"]
    check_counted(text, verdict)
    check_stories(text, verdict)
    rows: Iterator[tuple[str, str, str]] = iter(
        re.findall(
            r"<th scope=\"row\"><code>([^<]*)</code></th>.*?<td class=\"n checked\">([\d,]+)</td>"
            r"\s*<td class=\"n found\">(?:<a[^>]*>)?([\d,]+)",
            html,
            flags=re.DOTALL,
        )
    )
    table = {name: (number(checked), number(found)) for name, checked, found in rows}
    assert table == {
        name: (checker["checked"], checker["anomaly_count"])
        for name, checker in verdict["checkers"].items()
    }
    for name, count in proven(verdict).items():
        section = html[html.index(f"<h5><code>{name}</code>") :]
        section = section[: section.find("<h5>", 4)]
        assert number(re.findall(r"([\d,]+) anomal", section)[0]) == count
        more = re.findall(r"([\d,]+) more in verdict.json", section)
        told = section.count('<details class="anomaly"')
        assert told + (number(more[0]) if more else 0) == count
    shown = html.count('<p class="headline">')
    left_out = re.findall(r"([\d,]+) more causes in verdict.json", html)
    assert shown + (number(left_out[0]) if left_out else 0) == len(verdict["groups"])


def test_every_count_of_the_summary(run: Path) -> None:
    verdict = facts(run)
    told = (run / "summary.md").read_text().replace("\\", "")
    check_counted(told, verdict)
    check_stories(told, verdict)
    counts = dict(re.findall(r"^- `([^`]+)`: ([\d,]+)$", told, flags=re.MULTILINE))
    assert {name: number(count) for name, count in counts.items()} == proven(verdict)


def test_every_count_of_the_terminal(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = judge(run, engine="local")
    print_verdict(outcome)
    lines = capsys.readouterr().out
    told = re.sub(r"\s+", " ", lines)
    verdict = facts(run)
    check_counted(told, verdict)
    check_stories(told, verdict)
    judged = re.findall(r"^  (\S.*?)\s+(valid|invalid|unknown)\s+([\d,]+) judged(.*)$", lines, re.M)
    assert {name: number(checked) for name, _, checked, _ in judged} == {
        name: checker["checked"]
        for name, checker in verdict["checkers"].items()
        if checker["validity"] != "not_applicable"
    }
    counts = {
        name: number(re.findall(r"([\d,]+) anomal", rest)[0])
        for name, validity, _, rest in judged
        if validity == "invalid"
    }
    assert counts == proven(verdict)
    shown = len(re.findall(r"^  \d+\. ", lines, flags=re.MULTILINE))
    left_out = re.findall(r"… and ([\d,]+) more in verdict.json, under groups", lines)
    assert shown + (number(left_out[0]) if left_out else 0) == len(verdict["groups"])
