"""A baseline: known failures stay green; new ones, and known ones that pass now, are red."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.expectations import HOME, difference_from_expected, file_of
from conformance.reporting.baseline import Difference, Known, difference, read_baseline
from conformance.reporting.listing import all_cases


def results(**by_test: str) -> dict[str, Any]:
    """Return results with a case PROD-05 in version 3, by test and result."""
    cases = [
        {"id": "PROD-05", "name": name, "version": 3, "nodeid": f"a.py::{name}", "result": result}
        for name, result in by_test.items()
    ]
    return {"target": "here", "cases": cases, "ended": None}


def of(found: dict[str, Any], *known: Known) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is new and what is mended."""
    answer = difference(found, known, "known.toml")
    return answer.new, answer.mended


def with_exchange(text: str) -> str:
    """Return results in which the only case has this JSON as its exchange."""
    found = results(test_a="failed")
    found["cases"][0]["exchange"] = json.loads(text)
    return json.dumps(found)


KNOWN = Known("PROD-05", "by hand", "test_a")


def test_a_known_failure_is_green() -> None:
    assert of(results(test_a="failed", test_b="passed"), KNOWN) == ((), ())
    assert not difference(results(test_a="failed"), [KNOWN], "known.toml").is_red()


def test_a_failure_that_the_baseline_does_not_name_is_new() -> None:
    assert of(results(test_a="failed", test_b="failed"), KNOWN) == (("a.py::test_b",), ())


def test_a_known_failure_that_passes_is_to_be_removed() -> None:
    assert of(results(test_a="passed"), KNOWN) == ((), ("PROD-05 test_a",))
    assert of(results(test_a="passed", test_b="failed"), Known("PROD-05", "all")) == ((), ())


def test_a_known_failure_is_only_what_says_so() -> None:
    """A case that fails in another way is a new failure."""
    known = Known("PROD-05", "lost", actual="ABORT marker")
    found = results(test_a="failed")
    for actual, new in (("invalid: an ABORT marker follows", ()), ("a timeout", ("a.py::test_a",))):
        found["cases"][0]["actual"] = actual
        assert of(found, known) == (new, ())


def test_a_failure_that_not_every_run_shows_may_pass() -> None:
    assert of(results(test_a="passed"), Known("PROD-05", "race", sometimes=True)) == ((), ())


@pytest.mark.parametrize("result", ["unsupported", None])
def test_what_was_not_judged_is_neither(result: str | None) -> None:
    assert of(results(test_a=result) if result else results(), KNOWN) == ((), ())


@pytest.mark.parametrize(
    ("narrowed", "is_meant"),
    [
        (Known("PROD-05", "r", version=3), True),
        (Known("PROD-05", "r", version=4), False),
        (Known("PROD-06", "r"), False),
        (Known("PROD-05", "r", "test_b"), False),
    ],
)
def test_a_row_means_the_test_and_the_version_that_it_names(
    narrowed: Known, is_meant: bool
) -> None:
    assert narrowed.means(results(test_a="failed")["cases"][0]) is is_meant


def test_the_results_of_an_earlier_run_are_a_baseline(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results(test_a="failed", test_b="passed")))
    assert read_baseline(file) == (Known("PROD-05", "failed on here", "test_a", 3),)


def test_a_baseline_is_kept_by_hand_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text('[[deviation]]\ncase = "PROD-05"\nversion = 3\nreason = "by hand"\n')
    assert read_baseline(file) == (Known("PROD-05", "by hand", version=3),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[deviation]]\ncase = 5\nreason = 'r'", "case = 5 is not understood"),
        ("[[deviation]]\ncase = 'PROD-05'", "deviation 1 lacks 'reason'"),
        ("[[deviation]]\ncase = 'PROD-05'\nreason = 'r'\nwho = 'x'", "who = 'x' is not understood"),
        ("[[deviation]]\ncase = 'PROD-05'\nreason = 'r'\nactual = '('", "actual is not a pattern"),
        ("[known]\nx = 1", "'known' is not a table of a baseline"),
        ("deviation = 5", "write [[deviation]] above each"),
        ("deviation = ['PROD-05']", "write [[deviation]] above each"),
        ("{", "not complete JSON"),
        ("[" * 10**5, "not complete JSON"),
        ('{"a": 1}', "it has no cases"),
        ('{"cases": [], "version": 2}', "it has version 2"),
        ('{"cases": [], "target": "t"}', "how that ended"),
        ('{"cases": [1], "target": "t", "ended": null}', "case 1 has no result"),
        ('{"cases": [{"result": "failed"}], "target": "t", "ended": null}', "case 1 has no id"),
        (with_exchange("7"), "case 1 has an exchange that holds no messages"),
        (with_exchange('[{"direction": "request", "bytes": 1, "hex": "0g"}]'), "no messages"),
        ("= nothing", "Invalid"),
    ],
)
def test_a_baseline_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / ("known.json" if text.startswith("[[[") else "known")
    file.write_text(text)
    with pytest.raises(ValueError) as refused:
        read_baseline(file)
    assert said in str(refused.value)


def test_a_known_failure_is_named_with_its_reason() -> None:
    found = difference(results(test_a="failed", test_b="failed"), [KNOWN], "known.toml")
    assert list(found.lines()) == [
        "known.toml: known failures: 1, new: 1",
        "  known: PROD-05: by hand",
        "  new: a.py::test_b",
    ]


DEVIATIONS = sorted(HOME.glob("*.toml"))


@pytest.mark.parametrize("file", DEVIATIONS, ids=lambda file: file.stem)
def test_each_known_deviation_is_about_a_case(file: Path) -> None:
    cases = {(each.case.id, each.case.function) for each in all_cases()}
    assert file_of(file.stem.replace("-", ":", 1)) == file
    for known in read_baseline(file):
        assert (known.case, known.test) in cases


@pytest.mark.parametrize(
    ("target", "has_deviations"),
    [
        ("apache", True),
        ("apache:4.3", True),
        ("docker:apache:4.3.1", True),
        ("apache:3.9", False),
        ("apache:3.9-zookeeper", False),
        ("reference", False),
        ("127.0.0.1:9092", False),
    ],
)
def test_known_deviations_are_those_of_the_target(target: str, has_deviations: bool) -> None:
    first = read_baseline(HOME / "apache-4.3.1.toml")[0]
    entry = {"id": first.case, "name": first.test, "version": 0, "nodeid": "a"}
    assert file_of("apache") == HOME / "apache-4.3.1.toml"

    def found(result: str) -> Difference | None:
        return difference_from_expected({"target": target, "cases": [entry | {"result": result}]})

    failed, passed, unsupported = map(found, ("failed", "passed", "unsupported"))
    assert unsupported is None
    if not has_deviations:
        assert (failed, passed) == (None, None)
        return
    assert failed is not None and passed is not None
    assert (failed.is_red(), passed.is_red()) == (False, True)
    assert any(first.reason in line for line in failed.lines())


def test_a_mode_has_deviations_of_its_own() -> None:
    file = HOME / "apache-3.9.1-zookeeper.toml"
    assert file_of("apache:3.9-zookeeper") == file_of("apache:3.9.1-zookeeper") == file
    assert file_of("apache:3.9") == HOME / "apache-3.9.1.toml"


def test_a_missing_baseline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        read_baseline(tmp_path / "nothing.toml")
