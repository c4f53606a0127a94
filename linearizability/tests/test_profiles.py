"""Jepsen's rules: each file that Jepsen allows or misses is valid by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linearizability.checkers.table import CHECKERS
from linearizability.hand_written.rows import END, PLACE, P, Row, S
from linearizability.history import HistoryError, frame, write
from linearizability.importers.formats import imported
from linearizability.judging import check
from linearizability.opinions.confirm import NAME as PORCUPINE
from linearizability.opinions.nonmonotonic_sends import NAME as SENDS
from linearizability.opinions.profiles import JEPSEN, under_profile
from linearizability.tests.test_histories import HISTORIES, INVALID
from linearizability.verdict import Anomaly, CheckerVerdict, Validity, Verdict, merge

BY_JEPSEN_VALID = {
    "nothing-returned-for-an-hour.jsonl",
    "aborted-record-in-a-failed-transaction.jsonl",
    "later-send-at-lower-offset.jsonl",
    "read-before-commit.jsonl",
    "a-group-skips-a-record.jsonl",
    "two-members-commit-one-input.jsonl",
    "torn-transaction-of-unknown-outcome.jsonl",
}
"""Jepsen's checker was run on each: it allows or misses what is wrong there (test_histories)."""


@pytest.mark.parametrize("name", INVALID)
def test_the_profile_says_what_jepsen_says(name: str) -> None:
    with imported(HISTORIES / name) as file:
        ours = check(file, engine="local")
        by_jepsen = under_profile(ours, file, "jepsen")
    is_valid = name in BY_JEPSEN_VALID
    assert by_jepsen.validity is (Validity.VALID if is_valid else Validity.INVALID)
    told = [(name, anomaly) for name, anomaly in by_jepsen.anomalies if name != SENDS]
    assert told == list(ours.anomalies)  # reported all the same
    assert by_jepsen.engine.endswith(", profile jepsen")


def judged(tmp_path: Path, rows: list[Row], change: Callable[[Verdict], Verdict]) -> Verdict:
    file = tmp_path / "history.parquet"
    write(file, frame(rows))
    return under_profile(change(check(file, engine="local")), file, "jepsen")


def as_it_is(verdict: Verdict) -> Verdict:
    return verdict


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([S(1, 0), S(2, 1), P(2, 1), P(1, 0)], Validity.INVALID),
        ([S(1, 0), S(2, 1), P(2, 1, member_id="m"), P(1, 0, member_id="m")], Validity.VALID),
        (
            [
                S(1, 0),
                S(2, 1),
                P(2, 1, member_id="m", op_id=5),
                P(1, 0, member_id="m", op_id=5, record_index=1),
            ],
            Validity.INVALID,
        ),
    ],
    ids=["assigned", "subscribed, over two polls", "subscribed, inside one poll"],
)
def test_going_back_is_allowed_between_polls_of_subscribers(
    tmp_path: Path, rows: list[Row], expected: Validity
) -> None:
    assert judged(tmp_path, rows, as_it_is).checkers["poll_order"].validity is expected


@pytest.mark.parametrize(("outcome", "valid"), [("ok", False), ("info", True), ("fail", True)])
def test_aborted_reads_are_looked_for_in_ok_readers(
    tmp_path: Path, outcome: str, valid: bool
) -> None:
    rows = [S(1, 0, txn=1), END("abort", 1), P(1, 0, type=outcome)]
    opinion = judged(tmp_path, rows, as_it_is).checkers["aborted_reads"]
    assert opinion.validity is (Validity.VALID if valid else Validity.INVALID)
    assert opinion.anomaly_count == 1


def test_anomalies_that_nobody_looked_at_are_not_allowed(tmp_path: Path) -> None:
    rows = [S(1, 0), S(2, 1), P(2, 1, member_id="m"), P(1, 0, member_id="m")]

    def many(verdict: Verdict) -> Verdict:
        known = verdict.checkers["poll_order"].anomalies
        more = CheckerVerdict("poll_order", Validity.INVALID, 4, known, 101)
        return merge([more], engine="local")

    verdict = judged(tmp_path, rows, many)
    assert verdict.validity is Validity.UNKNOWN
    assert "the first 1 of 101 are allowed" in str(verdict.checkers["poll_order"].reason)


def test_what_no_checker_said_stands(tmp_path: Path) -> None:
    def stopped(_: Verdict) -> Verdict:
        proof = Anomaly("stopped", (), "the run was stopped")
        return merge([CheckerVerdict("run", Validity.INVALID, 1, (proof,), 1)], engine="local")

    assert judged(tmp_path, [S(1, 0)], stopped).validity is Validity.INVALID


def test_checkers_that_judged_nothing_are_still_unknown(tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    write(file, frame([S(1, 0), P(1, 0)]))
    verdict = check(file, engine="local", named_by_workload=["exactly_once"])
    named = under_profile(verdict, file, "jepsen", named_by_workload=["exactly_once"])
    assert named.validity is Validity.UNKNOWN


@pytest.mark.parametrize(
    ("between", "second", "expected"),
    [
        ([], {}, Validity.INVALID),
        ([], {"process": 1}, Validity.VALID),
        ([PLACE | {"f": "assign"}], {}, Validity.INVALID),
        ([PLACE | {"f": "assign", "partition": 1}], {}, Validity.VALID),
        ([PLACE | {"f": "assign", "partition": 1, "process": 1}], {}, Validity.INVALID),
        ([{"f": "subscribe"}], {}, Validity.VALID),
        ([], {"type": "fail"}, Validity.VALID),
    ],
)
def test_sends_of_one_process_in_the_wrong_order_are_accused(
    tmp_path: Path, between: list[Row], second: Row, expected: Validity
) -> None:
    rows = [S(1, 1), *between, S(2, 0, **second)]
    named = judged(tmp_path, rows, as_it_is)
    assert named.validity is expected
    accused = named.checkers[SENDS].anomaly_count
    assert accused == (expected is Validity.INVALID)


def test_the_table_names_checkers() -> None:
    assert set(JEPSEN) - {PORCUPINE} <= set(CHECKERS)


def test_an_unknown_profile_is_refused(tmp_path: Path) -> None:
    verdict = merge([], engine="local")
    with pytest.raises(HistoryError, match="'elle' is not one of touchstone, jepsen"):
        under_profile(verdict, tmp_path, "elle")
