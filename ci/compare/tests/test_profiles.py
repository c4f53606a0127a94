"""`touchstone conform --profile` and `--html`: what they select, judge and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ci import conform
from ci.cli import app
from ci.compare.tests.test_comparing import entry, failed, target
from ci.tests.schema import unknown_properties, violations

MISSING = entry("TXN-02", "unsupported", actual="EndTxn is not advertised")


def examined(
    monkeypatch: pytest.MonkeyPatch, entries: list[dict[str, Any]], *words: str
) -> tuple[Result, list[str]]:
    """Run `touchstone conform` on a target that has these results; return its end, and the options
    with which the cases were run."""
    asked: list[str] = []

    def examine(options: list[str], **_: object) -> dict[str, Any]:
        asked.extend(options)
        named = [{"nodeid": "a.py::test_a", "seconds": 1.0} | each for each in entries]
        found = dict(target("kfake", *named).results)
        return found | {"not_run": 0, "version": 1, "distinct_cases": 1, "seconds": 1.0}

    monkeypatch.setattr(conform, "examine", examine)
    return CliRunner().invoke(app, ["conform", "--target", "kfake", *words]), asked


def test_a_profile_selects_its_areas(monkeypatch: pytest.MonkeyPatch) -> None:
    done, asked = examined(monkeypatch, [entry("TXN-01")], "--profile", "Transactions")
    assert done.exit_code == 0, done.output
    assert [asked[n + 1] for n, word in enumerate(asked) if word == "--area"] == ["IDEM", "TXN"]
    assert "profile transactions: level P0 (1 passed, 0 failed, 0 missing" in done.output


def test_a_missing_api_fails_the_profile_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [entry("TXN-01"), MISSING]
    done, _ = examined(monkeypatch, entries, "--profile", "transactions", "--json")
    assert done.exit_code == 1, done.output
    results = json.loads(done.stdout)
    assert results["profiles"]["transactions"]["missing"] == 1
    assert results["profiles"]["transactions"]["level"] == "none"
    assert unknown_properties("conform-1", results) == set()
    assert [v for v in violations("conform-1", results) if "profiles" in v] == []
    assert examined(monkeypatch, entries)[0].exit_code == 0


def test_an_unknown_profile_is_refused_with_all_names() -> None:
    done = CliRunner().invoke(app, ["conform", "--target", "kfake", "--profile", "elle"])
    assert "no profile is called 'elle'; there are core, groups" in done.output


def test_the_page_of_one_target_has_its_deviations(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "found.html"
    entries = [entry("TXN-01"), failed("TXN-02", what="error <b>")]
    done, _ = examined(monkeypatch, entries, "--html", str(page))
    assert done.exit_code == 1, done.output
    text = page.read_text()
    assert "Deviations of kfake: 1 groups" in text
    assert "error &lt;b&gt;" in text
    assert "Cases on which they differ" not in text


def test_a_page_that_cannot_be_written_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done, asked = examined(monkeypatch, [entry("TXN-01")], "--html", str(tmp_path))
    assert "--html" in done.output
    assert asked == []
