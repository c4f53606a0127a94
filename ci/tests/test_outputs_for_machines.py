"""JSON by its schemas, SARIF and summaries: of a real examination and of real attacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ci import places
from ci.cli import app
from ci.tests.schema import unknown_properties, violations

ATTACK = ("chaos", "run", "--target", "reference", "--engine", "local")


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a planted bug that fails some cases and passes others."""
    out = tmp_path_factory.mktemp("examined")
    status, said = run(
        *("conform", "--target", "reference", "--bug", "serve-undecided-records"),
        *("-k", "committed and not GUAR", "--out", str(out / "conform.json")),
        *("--sarif", str(out / "conform.sarif"), "--summary", str(out / "summary.md")),
    )
    assert status == 1, said
    return out


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a planted bug that shows records of open transactions."""
    out = tmp_path_factory.mktemp("attacked")
    status, said = run(
        *(*ATTACK, "--workload", "transactions", "--bug", "serve-undecided-records"),
        *("--seconds", "8", "--runs", str(out), "--sarif", str(out / "run.sarif")),
        *("--summary", str(out / "summary.md")),
    )
    assert status == 1, said
    return out


def test_results_of_an_examination_follow_their_schema(examined: Path) -> None:
    results = json.loads((examined / "conform.json").read_text())
    assert violations("conform-1", results) == []
    assert {each["result"] for each in results["cases"]} >= {"passed", "failed"}
    assert unknown_properties("conform-1", results) == set()


def test_a_run_directory_follows_its_schemas(attacked: Path) -> None:
    [directory] = [each for each in attacked.iterdir() if each.is_dir()]
    for file, schema in (("run.json", "run-1"), ("verdict.json", "verdict-1")):
        document = json.loads((directory / file).read_text())
        assert violations(schema, document) == []
        assert unknown_properties(schema, document) == set()
    status, said = run("check", str(directory), "--engine", "local", "--json")
    assert status == 1
    assert violations("verdict-1", json.loads(said)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "$.version is 2, not 1"),
        ({"seed": "1"}, "$.seed is '1', not of type integer"),
        ({"problems": [1]}, "$.problems[0] is 1, not of type string"),
    ],
)
def test_the_validator_sees_what_is_wrong(
    attacked: Path, change: dict[str, Any], told: str
) -> None:
    [directory] = [each for each in attacked.iterdir() if each.is_dir()]
    document = json.loads((directory / "run.json").read_text())
    assert violations("run-1", document | change) == [told]
    del document["reproduce"]
    assert violations("run-1", document) == ["$ lacks reproduce"]


def test_a_run_of_a_newer_version_is_refused_in_a_sentence(attacked: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"version": 2}')
    status, said = run("check", str(tmp_path))
    assert status == 2
    assert "a newer touchstone made it (run.json has version 2" in said


def test_failed_cases_are_results_of_sarif_with_rule_place_and_command(examined: Path) -> None:
    sarif = json.loads((examined / "conform.sarif").read_text())
    [of_run] = sarif["runs"]
    results = json.loads((examined / "conform.json").read_text())
    failed = [each for each in results["cases"] if each["result"] == "failed"]
    assert len(of_run["results"]) == len(failed) > 0
    rules = {rule["id"] for rule in of_run["tool"]["driver"]["rules"]}
    for found, case in zip(of_run["results"], failed, strict=True):
        assert found["ruleId"] == case["id"] in rules
        assert case["reproduce"] in found["message"]["text"]
        place = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert (places.ROOT / place).is_file()
    summary = (examined / "summary.md").read_text()
    assert f"{len(failed)} failed" in summary and failed[0]["id"] in summary


def test_anomalies_are_results_of_sarif_by_cause(attacked: Path) -> None:
    [of_run] = json.loads((attacked / "run.sarif").read_text())["runs"]
    assert of_run["results"]
    assert all("reproduce: touchstone chaos run" in r["message"]["text"] for r in of_run["results"])
    assert {r["ruleId"] for r in of_run["results"]} <= {
        rule["id"] for rule in of_run["tool"]["driver"]["rules"]
    }
    assert "INVALID" in (attacked / "summary.md").read_text().upper()


@pytest.mark.parametrize("option", ["--sarif", "--summary", "--out", "--junit"])
def test_a_place_that_cannot_be_written_is_refused_at_once(option: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, said = run("conform", "--target", "reference", option, str(tmp_path / "file" / "x"))
    assert status == 2
    assert said.startswith(f"touchstone: {option} ") and "name a file that can be written" in said


@pytest.mark.parametrize("option", ["--sarif", "--summary", "--out", "--junit"])
def test_a_refused_examination_leaves_no_empty_file(option: str, tmp_path: Path) -> None:
    """A step that uploads it would fail for another reason than the one that matters."""
    at = tmp_path / "results"
    status, said = run("conform", "--bootstrap", "127.0.0.1:1", option, str(at))
    assert status == 2 and "nothing listens at 127.0.0.1:1" in said
    assert not at.exists()


@pytest.mark.parametrize("command", ["report", "claims", "findings"])
def test_a_page_that_cannot_be_written_is_refused_in_a_sentence(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "given").write_text("")
    status, said = run(command, str(tmp_path / "given"), "--out", str(tmp_path))
    assert status == 2
    assert (
        said == f"touchstone: --out {tmp_path}: Is a directory; name a file that can be written\n"
    )
