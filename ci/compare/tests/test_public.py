"""Test the dated table of implementations, and that the page in docs is what the command writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ci import places
from ci.cli import app
from ci.compare.public import as_json, as_page, stored
from ci.compare.tests.test_comparing import entry, failed, files_of, target
from conformance.reporting.results import SUITE, Results

DOCS = places.ROOT / "docs"


def written(out: Path, *files: str) -> Result:
    return CliRunner().invoke(app, ["implementations", *files, "--out", str(out)])


def test_the_page_in_docs_is_what_the_command_writes_from_the_stored_rows() -> None:
    rows = stored(DOCS / "implementations.json")
    assert rows
    assert (DOCS / "implementations.md").read_text() == as_page(rows)
    assert (DOCS / "implementations.json").read_text() == as_json(rows)


def test_an_examination_becomes_a_row_and_replaces_an_older_one(tmp_path: Path) -> None:
    one = target("kfake", entry("META-01"), failed("PROD-02"), entry("TXN-02", "unsupported"))
    new = {"suite": SUITE, "date": "2026-11-27T08:00:00Z"}
    results = dict(one.results) | new
    path, out = tmp_path / "r.json", tmp_path / "table.md"
    path.write_text(json.dumps(results))
    [old] = files_of(tmp_path, target("kfake:2", entry("META-01")))
    assert written(out, old, f"kfake:1={path}").exit_code == 0
    page = out.read_text()
    assert "| kfake | 1 | 1.0 | 2026-11-27 | 1 | 1 | 1 |" in page
    assert "| kfake | 2 | not stated |" in page
    assert "| core | none | P0 |" in page
    assert "| PROD | 0 / 1 / 0 | – |" in page
    assert written(out).exit_code == 0
    assert out.read_text() == page
    path.write_text(json.dumps(results | {"date": "2026-12-01T08:00:00Z"}))
    assert written(out, f"kfake:1={path}").exit_code == 0
    assert [row.date for row in stored(tmp_path / "table.json") if row.version == "1"] == [
        "2026-12-01"
    ]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"ended": "the target is gone"}, "not whole: the target is gone"),
        ({"not_run": 3}, "3 cases were not run"),
        ({"passed": 0, "failed": 0}, "nothing was judged"),
    ],
)
def test_results_that_are_not_whole_get_no_row(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    path, out = tmp_path / "r.json", tmp_path / "table.md"
    path.write_text(json.dumps(dict(target("kfake", entry("META-01")).results) | changed))
    done = written(out, str(path))
    assert done.exit_code == 2
    assert why in done.output
    assert not out.exists()


@pytest.mark.parametrize("words", [["no/such.json"], [], ["=x.json"]])
def test_what_gives_no_row_is_refused(tmp_path: Path, words: list[str]) -> None:
    assert written(tmp_path / "table.md", *words).exit_code == 2


def test_a_file_of_others_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text('{"mine": 1}')
    [path] = files_of(tmp_path, target("kfake", entry("META-01")))
    assert written(tmp_path / "table.md", path).exit_code == 2
    assert (tmp_path / "table.json").read_text() == '{"mine": 1}'


def test_results_and_version_name_the_suite() -> None:
    told = Results("kfake").as_dict()
    assert told["suite"] == SUITE
    assert told["date"].endswith("Z")
    assert f"(suite {SUITE})" in CliRunner().invoke(app, ["--version"]).output
