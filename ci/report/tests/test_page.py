"""The page as a reader has it: opened in a headless browser, which says what it shows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ci.doctor import Component
from ci.report.browser import open_page
from ci.report.building import report_demo, report_run
from ci.report.screenshot import screenshot
from ci.report.tests.runs import invalid_rows, results, valid_rows, write_run

pytestmark = pytest.mark.needs("chromium")

DARK = "--blink-settings=preferredColorScheme=0"
PROBE = (Path(__file__).parent / "probe.js").read_text()
PHONE = 390
WINDOW_MIN = 500
"""Chromium's windows are no narrower; a narrower page is looked at through a frame."""
FRAME = """<iframe src="probed.html" style="border: 0; height: 2000px; width: {}px"></iframe>
<script>addEventListener("message", (e) => document.body.innerHTML = e.data)</script>"""
CONTRAST_MIN = 4.5
"""WCAG 2.2, Success Criterion 1.4.3 Contrast (Minimum), for text of ordinary size."""


@dataclass
class Seen:
    """The findings of the browser (see probe.js), and the errors that it logged."""

    facts: dict[str, Any]
    console: list[str]

    @property
    def text(self) -> str:
        return str(self.facts["text"])


def look(page: Path, *options: str, width: int = 1240) -> Seen:
    """Open the page with a script that looks around once everything is there."""
    probed = page.with_name("probed.html")
    html = page.read_text()
    probed.write_text(html.replace("</body>", f"<script>{PROBE}</script></body>"))
    if width < WINDOW_MIN:
        probed = page.with_name("framed.html")
        probed.write_text(FRAME.format(width))
        options = (*options, "--virtual-time-budget=5000")
    dom, logged = open_page(probed, "--dump-dom", *options, width=width)
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.DOTALL)
    assert found, "the probe did not run to its end"
    console = [line for line in logged.splitlines() if "CONSOLE" in line]
    return Seen(json.loads(unescape(found[1])), console)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a demo with a valid run, a canary, and a target with a failing and an unsupported
    case."""
    folder = tmp_path_factory.mktemp("demo")
    good = write_run(folder / "good", valid_rows())
    bad = write_run(folder / "bad", invalid_rows(), bug="acknowledge-before-append")
    passed = ("PROD-01", "records_are_appended", "passed")
    return report_demo(
        folder / "report.html",
        conformance=[
            results("reference", passed, ("META-01", "topics_are_named", "passed")),
            results(
                "kfake",
                passed,
                ("PROD-02", "a_bad_checksum_is_refused", "failed"),
                ("META-01", "topics_are_named", "unsupported"),
            ),
        ],
        runs=[good],
        canaries=[("acknowledge-before-append", bad)],
        components=[
            Component("java", True, "Java 17", "Spark", "install Java"),
            Component("docker", False, "no daemon", "the Docker backend", "start Docker"),
        ],
        lines=[
            ("conformance P0 reference", "2 passed, 0 failed", True),
            ("conformance P0 kfake", "1 passed, 1 failed", False),
            ("chaos reference appends kill-leader, by local", "valid", True),
            ("canary acknowledge-before-append", "caught by lost_writes", True),
            ("canary of tomorrow", "not run: no toxiproxy", None),
        ],
    )


@pytest.fixture(scope="module")
def seen_demo(demo: Path) -> Seen:
    return look(demo)


@pytest.fixture(scope="module")
def seen_invalid(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return look(report_run(write_run(tmp_path_factory.mktemp("run") / "bad", invalid_rows())))


def test_verdicts_come_first_each_with_symbol_word_reason_and_command(seen_demo: Seen) -> None:
    assert seen_demo.facts["headings"][:2] == ["✗ not everything as expected", "Verdicts"]
    lines = seen_demo.facts["verdicts"]
    assert [line["badge"] for line in lines] == [
        "✓as expected",
        "✗not as expected",
        "✓as expected",
        "✓as expected",
        "?not judged",
    ]
    assert "1 passed, 1 failed" in lines[1]["text"]
    assert lines[1]["commands"] == ["touchstone conform --target kfake --priority P0"]
    assert lines[2]["commands"] == ["touchstone chaos run --seed 7"]
    assert lines[3]["link"] == "#canary-1"


def test_the_matrix_shows_the_counts_of_every_area_and_target(seen_demo: Seen) -> None:
    assert seen_demo.facts["matrix"] == [
        ["META Produce", "✓ 1/1", "– 0/1 1 unsupported"],
        ["PROD Produce", "✓ 1/1", "✗ 1/2 1 failed"],
        ["All", "2 passed, 0 failed, 0 unsupported", "1 passed, 1 failed, 1 unsupported"],
    ]


def test_a_failed_case_says_requirement_expected_actual_and_how_to_see_it(seen_demo: Seen) -> None:
    (case,) = seen_demo.facts["cases"]
    for words in (
        "PROD-02",
        "a bad checksum is refused",
        "It must be so that a_bad_checksum_is_refused.",
        "NONE(0)",
        "CORRUPT_MESSAGE(2)",
        "KIP-98",
        "touchstone conform --only 'cases/a_bad_checksum_is_refused[1]' --target kfake",
    ):
        assert words in case


def test_the_canary_is_shown_as_caught_and_what_was_not_run_is_said(seen_demo: Seen) -> None:
    assert "acknowledge-before-append ✓caught lost_writes" in seen_demo.text
    assert "canary of tomorrow: not run: no toxiproxy" in seen_demo.text
    assert "Not found here: docker (no daemon). Lost without it: the Docker backend." in (
        seen_demo.text
    )
    assert "kfake does not advertise what 1 of its 3 examinations need" in seen_demo.text


def test_an_invalid_run_leads_from_its_verdict_to_the_operations(seen_invalid: Seen) -> None:
    assert seen_invalid.facts["headings"][0] == "✗ invalid"
    assert "lost_writes" in seen_invalid.text
    lost = next(a for a in seen_invalid.facts["anomalies"] if "77" in a["sentence"])
    rows = [row[:7] for row in lost["rows"]]
    assert ["3", "writer 1", "send", "appends-0", "77", "1", "0.6000 – 0.7000"] in rows
    assert ["7", "final read 9", "poll", "appends-0", "88", "1", "4.0000 – 4.1000"] in rows
    assert lost["bars"] >= 2
    assert "#" + lost["id"] in seen_invalid.facts["proofs"]


def test_every_figure_has_its_bands_of_faults_where_the_fault_was(seen_demo: Seen) -> None:
    figures = seen_demo.facts["figures"]
    titles = [figure["title"] for figure in figures]
    assert titles[:4] == [
        "Timeline of operations.",
        "Throughput.",
        "Latency.",
        "Failed and unknown operations.",
    ]
    for figure in figures[:4]:
        (band,) = figure["bands"]
        assert band["title"] == "Kill node 2, 0.5–2.1 s"
        assert band["height"] > 20
        assert pytest.approx(band["from"], abs=0.01) == 0.5 / 4.1
        assert pytest.approx(band["to"], abs=0.01) == 2.1 / 4.1
    assert figures[0]["outcomes"] == {"ok": 4, "fail": 1, "info": 1}
    assert figures[0]["lanes"] == ["faults", "writer 0", "writer 1", "final read 9"]


@pytest.mark.parametrize("width", [1000, PHONE])
def test_nothing_is_loaded_nothing_complains_nothing_sticks_out(demo: Path, width: int) -> None:
    seen = look(demo, width=width)
    assert seen.facts["width"] == width
    assert seen.console == []
    assert seen.facts["resources"] == []
    assert seen.facts["overflow"] <= 0, f"wider than the window: {seen.facts['widest']}"
    assert seen.facts["dead_links"] == []
    assert seen.facts["same_ids"] == []


@pytest.mark.parametrize("options", [(), (DARK,)], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(
    demo: Path, seen_demo: Seen, options: tuple[str, ...]
) -> None:
    seen = look(demo, *options) if options else seen_demo
    assert seen.facts["dark"] is bool(options)
    assert len(seen.facts["contrast"]) > 300
    faint = {what: ratio for what, ratio in seen.facts["contrast"] if ratio < CONTRAST_MIN}
    assert not faint


def test_every_table_has_headers_with_a_scope_and_headings_step_by_one(seen_demo: Seen) -> None:
    assert seen_demo.facts["tables"] > 4
    assert seen_demo.facts["headers_without_scope"] == 0
    levels = seen_demo.facts["levels"]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=\"document.title='owned'\">&amp;</script></style>"
    rows = invalid_rows(topic=hostile)
    rows.append({**rows[0], "op_id": 99, "type": "fail", "offset": None, "error": hostile})
    run = write_run(
        tmp_path / "hostile",
        rows,
        target=hostile,
        notes=[hostile],
        problems=[hostile],
        reproduce=f"touchstone {hostile}",
        config={hostile: hostile},
    )
    (run / "porcupine").mkdir()
    (run / "porcupine" / "x.html").write_text('"><script>parent.document.title="owned"</script>')
    seen = look(report_run(run))
    assert "owned" not in seen.facts["title"].replace(hostile, "")
    assert seen.facts["images"] == 0
    assert seen.text.count(hostile) >= 6
    assert seen.facts["frames"] == 1


def test_a_picture_of_the_page_can_be_taken(demo: Path, tmp_path: Path) -> None:
    picture = screenshot(demo, tmp_path / "docs" / "report.png", width=1000, height=700)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert 10_000 < picture.stat().st_size < 300_000
