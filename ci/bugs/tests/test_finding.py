"""A hunt calls a bug caught if a checker of its own found it, and the clean broker is valid."""

from __future__ import annotations

import json

import pytest

from ci.bugs.finding import Attempt, Ending, Finding, exit_status
from ci.bugs.pages import as_json, markdown, render_bugs, summary
from linearizability.verdict import CheckerVerdict, Validity, Verdict
from reference_impl.bugs import BUGS, Kind


def attempt(*accusers: str, validity: Validity | None = None, reason: str = "") -> Attempt:
    found = Validity.INVALID if accusers else Validity.VALID
    return Attempt(1, validity or found, accusers, reason, "run", "touchstone chaos run", 40.0)


def not_run(reason: str) -> Attempt:
    return Attempt(1, None, (), reason, "", "touchstone chaos run", 1.0)


def finding(*attempts: Attempt, clean: Attempt | None = None, left_out: str = "") -> Finding:
    found = Finding("lose-it", Kind.RARE, ("lost_writes", "duplicates"), "first command")
    found.left_out = left_out
    for each in attempts:
        found.add(each)
    found.clean = clean
    return found


CAUGHT = finding(attempt(), attempt("lost_writes", "poll_skips"), clean=attempt())
UNKNOWN = attempt(validity=Validity.UNKNOWN, reason="a final read was cut short")


@pytest.mark.parametrize(
    ("found", "ending", "words"),
    [
        (CAUGHT, Ending.CAUGHT, "by lost_writes; 2 runs"),
        (finding(attempt(), attempt()), Ending.MISSED, "lost_writes and duplicates found nothing"),
        (finding(UNKNOWN), Ending.MISSED, "a final read was cut short"),
        (finding(attempt("poll_skips")), Ending.UNRELATED, "poll_skips found something, but not"),
        (
            finding(attempt("duplicates"), clean=attempt("poll_order")),
            Ending.ACCUSED,
            "poll_order accuses the clean broker",
        ),
        (finding(attempt("duplicates"), clean=UNKNOWN), Ending.NOT_JUDGED, "cut short"),
        (finding(attempt("duplicates")), Ending.NOT_JUDGED, "it was not run"),
        (finding(not_run("no port is free")), Ending.NOT_JUDGED, "no port is free"),
        (finding(left_out="it takes root"), Ending.NOT_JUDGED, "it takes root"),
    ],
)
def test_how_it_ended(found: Finding, ending: Ending, words: str) -> None:
    assert found.ending is ending
    assert words in found.said


def test_only_a_hunt_that_caught_everything_is_green() -> None:
    missed, accused = finding(attempt()), finding(attempt("duplicates"), clean=attempt("x"))
    assert exit_status([CAUGHT, CAUGHT]) == 0
    assert exit_status([CAUGHT, missed]) == exit_status([accused]) == 1
    assert exit_status([finding(attempt("poll_skips"))]) == 1
    assert exit_status([CAUGHT, finding(left_out="it takes root")]) == exit_status([]) == 3


def test_a_verdict_names_its_accusers() -> None:
    checkers = {
        name: CheckerVerdict(name, validity, 1)
        for name, validity in (("a", Validity.VALID), ("b", Validity.INVALID))
    }
    verdict = Verdict(Validity.INVALID, "polars", checkers)
    assert Attempt.of(7, verdict, "run", "command", 1.0).accusers == ("b",)


def test_the_command_is_that_of_the_run_that_caught_it() -> None:
    assert CAUGHT.command == "touchstone chaos run"
    assert finding(attempt()).command == "first command"


def test_every_page_names_bug_checker_runs_and_command() -> None:
    for page in (summary([CAUGHT]), markdown([CAUGHT]), as_json([CAUGHT])):
        for word in ("lose-it", "lost_writes", "2", "80", "touchstone chaos run"):
            assert word in page
    assert "1 planted bugs: 1 caught" in summary([CAUGHT])
    assert json.loads(as_json([CAUGHT]))[0]["ending"] == "caught"


def test_the_list_has_every_bug_under_its_kind() -> None:
    text = render_bugs()
    assert all(f"\n{name}\n" in text for name in BUGS)
    assert all(f"== {kind.value}" in text for kind in Kind)
