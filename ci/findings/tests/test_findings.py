"""Test that findings are made of completed runs that concern a claim, and of no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from chaos.nemeses import NEMESES
from chaos.workloads import WORKLOADS
from ci.cli import app
from ci.errors import UsageError
from ci.findings import findings_of, write_findings
from ci.findings.claims import CLAIMS, FLUSHED, Claim
from linearizability import history
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

SECOND = 1_000_000_000
FACTS: dict[str, Any] = {
    "version": 1,
    "target": "apache:4.3.1",
    "nodes": 3,
    "workload": "appends",
    "nemesis": "power-loss-all",
    "seed": 1,
    "config": {},
    "bug": None,
    "ended": "now",
    "problems": [],
    "reproduce": "touchstone chaos run --target apache:4.3.1 --seed 1",
}


def make_run(runs: Path, name: str, validity: str = "invalid", **facts: object) -> Path:
    """Write a run in which three records are acknowledged in three seconds and the log holds
    two."""
    run = runs / name
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps(FACTS | facts))
    (run / "verdict.json").write_text(
        json.dumps({"validity": validity, "engine": "local", "checkers": {}, "reason": "because"})
    )
    at = {"topic": "t", "partition": 0}
    sent = [
        {
            "f": "send",
            "value": n,
            "offset": n,
            "t_invoke_ns": n * SECOND,
            "t_complete_ns": n * SECOND + 1,
            **at,
        }
        for n in range(3)
    ]
    read = [
        {"f": "poll", "client": "raw", "final": True, "value": n, "offset": n, **at}
        for n in range(2)
    ]
    whole = [{"f": "read_all", "client": "raw", "final": True, **at}]
    history.write(run / "history.parquet", history.frame(sent + whole + read))
    return run


def test_a_finding_has_claim_seed_verdict_picture_and_command(tmp_path: Path) -> None:
    make_run(tmp_path / "runs", "1")
    out = tmp_path / "findings.md"
    (finding,) = write_findings([tmp_path / "runs"], out)
    page = out.read_text()
    for words in (
        "**Claim DUR-4.**",
        "1 of 3 acknowledged records are gone.",
        "seed: 1",
        "**invalid** (because)",
        f"findings/{finding.slug}.svg",
        FACTS["reproduce"],
    ):
        assert words in page
    picture = ElementTree.parse(tmp_path / "findings" / f"{finding.slug}.svg").getroot()
    drawn = [each.get("class") for each in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert drawn.count("lost") == 2  # one bar and the legend's
    assert drawn.count("kept") == 3


def test_the_settings_decide_which_claim_a_run_speaks_of(tmp_path: Path) -> None:
    make_run(tmp_path, "1")
    make_run(tmp_path, "2", config=FLUSHED)
    titles = [finding.claim.title for finding in findings_of([tmp_path])]
    assert titles == [
        "Loss of power of all nodes, default flushing",
        "Loss of power of all nodes, each record flushed",
    ]


def test_of_several_runs_the_last_is_told(tmp_path: Path) -> None:
    for name in ("20260101", "20260103", "20260102"):
        make_run(tmp_path, name)
    (finding,) = findings_of([tmp_path])
    assert finding.run.name == "20260103"


@pytest.mark.parametrize(
    "facts",
    [
        {"nemesis": "kill-minority"},
        {"bug": "a-bug"},
        {"ended": None},
        {"problems": ["not recovered"]},
        {"config": {"num.partitions": "3"}},
    ],
    ids=["no-claim", "planted-bug", "killed", "problem", "other-settings"],
)
def test_runs_that_tell_nothing_of_a_claim_are_left_out(
    facts: dict[str, Any], tmp_path: Path
) -> None:
    make_run(tmp_path, "1", **facts)
    assert findings_of([tmp_path]) == []


def test_a_run_that_nobody_judged_is_left_out(tmp_path: Path) -> None:
    (make_run(tmp_path, "1") / "verdict.json").unlink()
    assert findings_of([tmp_path]) == []


def test_nothing_lost_means_that_the_claim_holds_only_where_the_judges_agree(
    tmp_path: Path,
) -> None:
    for name, validity in (("1", "valid"), ("2", "unknown")):
        run = make_run(tmp_path / validity, name, validity)
        rows = history.frame(
            [
                {"f": "send", "value": 0, "offset": 0, "topic": "t", "partition": 0},
                {"f": "read_all", "client": "raw", "final": True, "topic": "t", "partition": 0},
                {
                    "f": "poll",
                    "client": "raw",
                    "final": True,
                    "value": 0,
                    "offset": 0,
                    "topic": "t",
                    "partition": 0,
                },
            ]
        )
        history.write(run / "history.parquet", rows)
    (holds,) = findings_of([tmp_path / "valid"])
    (open_,) = findings_of([tmp_path / "unknown"])
    assert holds.meaning == holds.claim.kept
    assert "see the verdict" in open_.meaning


@pytest.mark.parametrize("note", ["t-0 on node 1: its high watermark stayed at 1", "it rained"])
def test_a_claim_can_be_broken_by_what_a_run_notes(tmp_path: Path, note: str) -> None:
    """Records lost under acks=1 do not matter for it."""
    facts = {"workload": "appends-acks1", "nemesis": "lone-tail", "notes": [note]}
    make_run(tmp_path / "runs", "1", "valid", **facts)
    (finding,) = write_findings([tmp_path / "runs"], tmp_path / "f.md")
    broken = "high watermark" in note
    assert finding.meaning == (finding.claim.lost if broken else finding.claim.kept)
    assert (note in (tmp_path / "f.md").read_text()) is broken


def test_folders_without_runs_and_runs_without_claims_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds none"):
        write_findings([tmp_path], tmp_path / "f.md")
    make_run(tmp_path, "1", nemesis="none")
    done = CliRunner().invoke(app, ["findings", str(tmp_path), "--out", str(tmp_path / "f.md")])
    assert done.exit_code == 2
    assert not (tmp_path / "f.md").exists()


def test_every_claim_names_what_there_is_and_none_stands_twice() -> None:
    for claim in CLAIMS:
        assert claim.nemesis in NEMESES
        assert claim.workload in WORKLOADS
    keys = [(c.workload, c.nemesis, tuple(sorted(c.config.items()))) for c in CLAIMS]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.accused_by])
def test_an_accusation_can_contradict_a_claim_although_readers_were_held_up(
    tmp_path: Path, claim: Claim
) -> None:
    facts: dict[str, Any] = {
        "workload": claim.workload,
        "nemesis": claim.nemesis,
        "config": dict(claim.config),
    }
    run = make_run(tmp_path, "1", problems=["not read"], **facts)
    verdict = json.loads((run / "verdict.json").read_text())
    found = tuple(Anomaly("k", (1,), f"t-{n}: it hangs") for n in (2, 1))
    accuser = CheckerVerdict(claim.accused_by, Validity.INVALID, 2, found, 2)
    verdict["checkers"] = {claim.accused_by: accuser.as_dict()}
    (run / "verdict.json").write_text(json.dumps(verdict))
    make_run(tmp_path, "0", "valid", **facts, target="reference")
    write_findings([tmp_path], tmp_path / "findings.md")
    page = (tmp_path / "findings.md").read_text()
    assert f"In t-1: it hangs. The same in 1 more. {claim.lost}" in page
    assert claim.kept in page
