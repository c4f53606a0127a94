"""A requirement names what its case compares, no more and no less."""

from __future__ import annotations

from dataclasses import replace

from conformance.case import expect
from conformance.reporting.clauses import clause_table, clauses_of
from conformance.reporting.listing import Listed, all_cases
from reference_impl.wire import ErrorCode

CASES = all_cases()


def test_requirements_and_comparisons_name_the_same_errors() -> None:
    assert [found for listed in CASES for found in clauses_of(listed).violations()] == []


def test_the_table_has_every_case_with_what_it_compares() -> None:
    rows = clause_table(CASES).splitlines()[2:]
    assert len(rows) == len(CASES)
    assert [row for row in rows if row.endswith("|  |")] == []


def compares_an_error() -> None:
    expect(0, ErrorCode.INVALID_REQUEST, "error")


def said(requirement: str) -> Listed:
    stated = replace(CASES[0].case, requirement=requirement, function="test_it")
    return Listed(stated, "a.py", compares_an_error)  # type: ignore[arg-type]


def test_a_requirement_that_names_another_error_is_a_violation() -> None:
    assert list(clauses_of(said("It gets UNKNOWN_MEMBER_ID (25).")).violations()) == [
        "a.py: test_it: the requirement names UNKNOWN_MEMBER_ID, which no line compares with",
        "a.py: test_it: it compares with INVALID_REQUEST, which the requirement does not name",
    ]


def test_an_error_under_a_wrong_number_is_a_violation() -> None:
    told = list(clauses_of(said("It gets INVALID_REQUEST (43).")).violations())
    assert told == ["a.py: test_it: INVALID_REQUEST is 42, not 43"]


def test_the_same_error_on_both_sides_is_none() -> None:
    assert list(clauses_of(said("It gets INVALID_REQUEST (42).")).violations()) == []
