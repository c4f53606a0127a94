"""Test the names of a scenario's endings, and which of them make a night fail."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ci.nightly.outcome import Ending, Outcome, exit_status
from ci.nightly.tests.made import outcome


@pytest.mark.parametrize(
    ("expected", "verdicts", "ending"),
    [
        ("valid", ["valid"], Ending.AS_EXPECTED),
        ("invalid", ["invalid"], Ending.AS_EXPECTED),
        ("valid", ["invalid"], Ending.RED),
        ("invalid", ["valid", "valid"], Ending.RED),
        ("valid", ["unknown"], Ending.NOT_JUDGED),
        ("invalid", ["unknown"], Ending.NOT_JUDGED),
        ("valid", [], Ending.NOT_JUDGED),
        ("valid", ["invalid", "valid"], Ending.FLAKY),
        ("valid", ["valid", "invalid"], Ending.FLAKY),
    ],
)
def test_an_ending_is_green_only_where_every_verdict_is_the_expected_one(
    expected: str, verdicts: Sequence[str], ending: Ending
) -> None:
    assert outcome(expected=expected, verdicts=verdicts).ending is ending


GREEN, RED = outcome(verdicts=["valid"]), outcome(verdicts=["invalid"])
FLAKY, UNKNOWN = outcome(verdicts=["invalid", "valid"]), outcome(verdicts=[])


@pytest.mark.parametrize(
    ("outcomes", "robustness", "status"),
    [
        ([GREEN], [], 0),
        ([GREEN], [True, True], 0),
        ([GREEN], [True, False], 1),
        ([GREEN, RED], [], 1),
        ([GREEN, FLAKY], [], 1),
        ([GREEN, UNKNOWN], [], 3),
        ([UNKNOWN, RED], [], 1),
        ([], [True], 3),
        ([], [False], 1),
    ],
)
def test_red_beats_not_judged_and_an_idle_night_is_unknown(
    outcomes: Sequence[Outcome], robustness: Sequence[bool], status: int
) -> None:
    assert exit_status(outcomes, robustness) == status


def test_an_outcome_comes_back_from_its_json() -> None:
    assert Outcome.from_dict(FLAKY.as_dict()) == FLAKY
