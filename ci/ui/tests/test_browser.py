"""The page of runs as a reader has it: two hundred stored runs in a headless browser."""

from __future__ import annotations

import json
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from ci.report.browser import open_page
from ci.report.tests.test_page import CONTRAST_MIN, DARK, PHONE, look
from ci.ui import write_static
from ci.ui.page import PAGE_BYTES_MAX
from ci.ui.tests.stored import examinations, many, store, three_models

pytestmark = pytest.mark.needs("chromium")

STEPS = (Path(__file__).parent / "steps.js").read_text()
OPENED_S_MAX = 2.0
FLAKY = "apache:4.3.1 × 3, appends, pause"


def stored(folder: Path, count: int) -> Path:
    """Store runs, among them a flaky scenario, one that cannot be read, and conformance results;
    return the page."""
    runs, models = folder / "runs", three_models(folder / "models")
    many(runs, models, count)
    facts = {"target": "apache:4.3.1", "workload": "appends", "nemesis": "pause", "seed": 12}
    store(runs, models, "invalid", count + 1, **facts)
    broken = runs / "20260301T000000Z-reference-appends-none-1"
    broken.mkdir()
    (broken / "run.json").write_text('{"version": 1, "tar')
    examinations(runs)
    return write_static(runs, runs)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("two-hundred"), 200)


def walk(page: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the observations of the steps, and the browser's errors."""
    walked = page.with_name("walked.html")
    walked.write_text(page.read_text().replace("</body>", f"<script>{STEPS}</script></body>"))
    dom, logged = open_page(walked, "--dump-dom", "--virtual-time-budget=20000")
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL)
    assert found, f"the steps did not run to their end: {logged}"
    seen = json.loads(unescape(found[1]))
    assert "error" not in seen, seen
    return seen, [line for line in logged.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def seen(page: Path) -> dict[str, Any]:
    found, complaints = walk(page)
    assert complaints == []
    return found


def test_the_newest_runs_stand_first_and_the_rest_is_one_button_away(seen: dict[str, Any]) -> None:
    assert seen["first"]["said"].startswith("201 of 201 runs")
    assert seen["first"]["rows"] == 200
    assert seen["first"]["more"] == "Show the other 1"
    assert seen["all_rows"] == 201


def test_filters_leave_the_runs_that_were_asked_for(seen: dict[str, Any]) -> None:
    filtered = seen["filtered"]
    assert filtered["said"].startswith("10 of 201 runs")
    assert filtered["hash"] == "#runs?target=reference&verdict=invalid"
    assert {row[1] for row in filtered["rows"]} == {"✗invalid"}
    assert all(row[3].startswith("reference × 3, ") for row in filtered["rows"])
    assert all("lost" in row[6] for row in filtered["rows"])
    assert all(link.endswith("/report.html") for link in filtered["reports"])
    assert set(seen["by_date"]["days"]) <= {"2026-01-03", "2026-01-04", "2026-01-05"}
    assert len(seen["by_date"]["days"]) == 3


def test_a_filter_that_leaves_nothing_says_so(seen: dict[str, Any]) -> None:
    assert seen["none"]["said"].startswith("0 of 201 runs")
    assert "No run matches the filters. Clear a filter" in seen["none"]["text"]
    assert seen["cleared"].startswith("201 of 201 runs")


def test_keys_choose_two_runs_and_compare_them(seen: dict[str, Any]) -> None:
    assert seen["keys"] == {"chosen": "Compare 2 chosen", "focus": "open"}
    assert seen["compared_by_keys"].count("run=") == 2


def test_scenarios_stand_with_the_flaky_one_first(seen: dict[str, Any]) -> None:
    first = seen["scenarios"][0]
    assert first[0] == f"{FLAKY} flaky"
    assert first[1] == "✗invalid"
    scenario = seen["scenario"]
    assert scenario["heading"] == f"{FLAKY} flaky"
    verdicts = [row[0] for row in scenario["rows"]]
    assert verdicts[0] == "✗invalid"
    assert len(verdicts) == int(first[3]) > 1


def test_two_runs_side_by_side_show_what_differs(seen: dict[str, Any]) -> None:
    compare = seen["compare"]
    rows = {row[0]: row[1:] for row in compare["rows"]}
    assert rows["target"] == ["apache:4.3.1", "apache:4.3.1"]
    assert "seed" not in compare["differs"]
    assert {"lost_writes", "why", "started"} <= set(compare["differs"])
    assert rows["lost_writes"][0].startswith("invalid, ")
    assert rows["lost_writes"][1].startswith("valid, ")
    assert sum("report.html" in link for link in compare["links"]) == 2
    assert sum("node.log" in link for link in compare["links"]) == 2
    assert seen["unknown_run"] == "nothing is not in this page."


def test_two_targets_side_by_side_show_which_scenarios_differ(seen: dict[str, Any]) -> None:
    assert seen["versus"]["head"] == ["Scenario", "apache:3.9.1", "apache:4.3.1"]
    assert re.match(r"\d+ scenarios differ, \d+ are alike", seen["versus"]["said"])
    assert seen["versus_chosen"]["head"] == ["Scenario", "apache:3.9.1", "kfake"]
    assert "verdict=" in seen["versus_chosen"]["link"]


def test_conformance_stands_beside_chaos(seen: dict[str, Any]) -> None:
    assert seen["conformance"]["said"] == "1 of 2 results differ."
    (failures,) = seen["conformance"]["failures"]
    assert "PROD-02" in failures
    assert "CORRUPT_MESSAGE(2)" in failures
    assert seen["conformance"]["headers"] == 0


def test_what_could_not_be_read_is_told_and_an_odd_address_shows_the_list(
    seen: dict[str, Any],
) -> None:
    (unread,) = seen["unread"]
    assert "run.json cannot be read" in unread
    assert seen["fallback"].startswith("201 of 201 runs")
    assert seen["badges"] == 6


@pytest.mark.parametrize(
    ("options", "width"), [((), 1240), ((DARK,), PHONE)], ids=["light, wide", "dark, narrow"]
)
def test_the_page_is_legible_and_fits(page: Path, options: tuple[str, ...], width: int) -> None:
    looked = look(page, *options, width=width)
    assert looked.facts["width"] == width
    assert looked.console == []
    assert looked.facts["overflow"] <= 0, looked.facts["widest"]
    assert looked.facts["headers_without_scope"] == 0
    faint = {what: ratio for what, ratio in looked.facts["contrast"] if ratio < CONTRAST_MIN}
    assert not faint
    assert all("/badges/" in name for name in looked.facts["resources"])


@pytest.mark.nightly
def test_a_thousand_runs_open_in_two_seconds(tmp_path: Path) -> None:
    page, empty = stored(tmp_path, 1000), tmp_path / "empty.html"
    empty.write_text("<title>nothing</title>")
    begun = time.monotonic()
    open_page(empty, "--dump-dom")
    started_s = time.monotonic() - begun
    begun = time.monotonic()
    dom, _ = open_page(page, "--dump-dom")
    assert "1,001 of 1,001 runs" in dom
    assert time.monotonic() - begun - started_s < OPENED_S_MAX
    assert page.stat().st_size < PAGE_BYTES_MAX
    assert walk(page)[0]["all_rows"] == 1001
