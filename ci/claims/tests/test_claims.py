"""Test the table of claims, and the results that examinations give for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ci.claims.claim import Claim
from ci.claims.judging import as_markdown, judged, with_runs
from ci.claims.table import CLAIMS
from ci.cli import app
from conformance.reporting.listing import all_cases

RIGHT = Claim("ONE-1", "it is so", cases=("WIRE-01", "WIRE-02"))
WRONG = Claim("ONE-2", "it is so", "it is not so", ("WIRE-01",))


def results(**by_id: str) -> dict[str, Any]:
    """Return results in which each case has one of passed, failed or unsupported."""
    cases = [
        {"id": id.replace("_", "-"), "result": result, "what": "error", "actual": "NONE(0)"}
        for id, result in by_id.items()
    ]
    return {"target": "kfake", "cases": cases, "ended": None}


def test_every_claim_has_cases_that_exist_or_a_reason() -> None:
    known = {listed.case.id for listed in all_cases()}
    for claim in CLAIMS:
        assert bool(claim.cases) != bool(claim.why_none), claim.id
        assert set(claim.cases) <= known, claim.id
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) == 72
    assert with_runs() <= {claim.id for claim in CLAIMS}


def test_a_claim_holds_where_its_cases_pass_and_differs_where_one_fails() -> None:
    assert judged(RIGHT, results(WIRE_01="passed", WIRE_02="unsupported")).word == "holds"
    found = judged(RIGHT, results(WIRE_01="passed", WIRE_02="failed"))
    assert found.text == "differs (WIRE-02 failed: error: NONE(0))"
    assert judged(RIGHT, results(WIRE_01="unsupported")).text == "unsupported (NONE(0))"
    assert judged(RIGHT, results(META_01="passed")).word == "not examined"


def test_a_corrected_claim_differs_where_its_cases_pass() -> None:
    assert judged(WRONG, results(WIRE_01="passed")).word == "differs, as corrected"
    assert judged(WRONG, results(WIRE_01="failed")).word == "differs"


def test_the_command_prints_the_table_and_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "kfake.json"
    path.write_text(json.dumps(results(WIRE_02="passed", WIRE_03="passed")))
    done = CliRunner().invoke(app, ["claims", str(path), "--out", str(tmp_path / "claims.md")])
    assert done.exit_code == 0, done.output
    assert "kfake: 1 holds" in done.stdout
    table = (tmp_path / "claims.md").read_text()
    assert table == as_markdown([json.loads(path.read_text())])
    assert "| holds (WIRE-02, WIRE-03) |" in table


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "it has no cases"),
        ("{", "it is not complete JSON"),
        (json.dumps(results(WIRE_01="passed") | {"version": 2}), "it has version 2, and this"),
        (json.dumps(results(WIRE_01="won")), "case 1 has no result"),
        (
            json.dumps({"target": "t", "ended": None, "cases": [{"result": "passed"}]}),
            "case 1 has no id",
        ),
    ],
)
@pytest.mark.parametrize("command", [["claims"], ["compare", "kfake"]], ids=" ".join)
def test_a_file_that_holds_no_results_is_refused(
    command: list[str], text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    done = CliRunner().invoke(app, [*command, str(path)])
    assert done.exit_code == 2
    assert f"is not a result of conform: {said}" in done.output
