"""The framework: three results, what a failure prints, targets that die, reports."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conformance.connection import api_key
from conformance.tests.fake import FakeKafka, errors_of, piece, response
from conformance.tests.suite import HEAD, PASSES, UNSUPPORTED, Suite
from reference_impl.wire import Struct

pytest_plugins = ["pytester"]


def test_a_case_passes_fails_or_is_unsupported(suite: Suite) -> None:
    fails = PASSES.replace("accepted", "refused").replace(", 0,", ", 25,")
    result = suite.run(PASSES + fails + UNSUPPORTED, {"Heartbeat": errors_of([0, 0])})
    result.assert_outcomes(passed=1, failed=1, skipped=0)
    result.stdout.fnmatch_lines(
        [
            "GRPC   1 passed, 1 failed, 0 unsupported",
            "TXN    0 passed, 0 failed, 1 unsupported",
            "*fake: 1 passed, 1 failed, 1 unsupported (2 cases of the catalogue)*",
        ]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_version_that_is_not_advertised_is_not_asked_for(suite: Suite) -> None:
    """A broker of another age closes the connection on it, which says nothing against it."""

    def narrow(_version: int, _request: Struct) -> Struct:
        ranges = {"ApiVersions": (0, 4), "Heartbeat": (0, 2)}
        rows = [
            piece(
                "ApiVersions", "ApiVersion", api_key=api_key(api), min_version=low, max_version=high
            )
            for api, (low, high) in ranges.items()
        ]
        return response("ApiVersions", api_keys=rows)

    newer = PASSES.replace('spec="KIP-62, one"', 'versions=(3, 4), spec="KIP-62, one"')
    newer = newer.replace("(wire)", "(wire, version)", 1)
    newer = newer.replace("heartbeat(wire)", 'wire.bootstrap.call("Heartbeat", version).error_code')
    older = newer.replace("(3, 4)", "(0, 2)").replace("accepted", "accepted_of_old")
    answers = {"Heartbeat": errors_of([0, 0]), "ApiVersions": narrow}
    result = suite.run(newer + older, answers)
    result.stdout.fnmatch_lines(["*fake: 2 passed, 0 failed, 2 unsupported*"])


BESIDE = '''
@case("TXN-28", "EndTxn", spec="KIP-588, two")
def test_a_transaction_ends(wire):
    """EndTxn ends a transaction."""
    heartbeat(wire)
    expect(wire.call("EndTxn").error_code, 0, "error")
'''


def negative_throttle(_version: int, _request: Struct) -> Struct:
    return response("Heartbeat", throttle_time_ms=-1)


@pytest.mark.parametrize(
    ("cases", "end", "outcomes", "told"),
    [
        (PASSES + BESIDE, 0, {"failed": 1, "passed": 1}, "throttle_time_ms"),
        (BESIDE + BESIDE.replace("a_tran", "the_tran"), 0, {"failed": 1, "passed": 1}, "throttle"),
        (PASSES + PASSES.replace("accepted", "taken"), 0, {"failed": 2}, "throttle_time_ms"),
        (BESIDE, 48, {"failed": 1}, "error: 48"),
        (BESIDE.replace('call("EndTxn")', 'call("ListGroups")'), 0, {"failed": 1}, "throttle"),
    ],
    ids=["own API", "only others", "own API again", "own assertion", "unsupported"],
)
def test_a_wrong_answer_on_the_way_hides_nothing_of_the_cases_about_other_apis(
    cases: str, end: int, outcomes: dict[str, int], told: str, suite: Suite
) -> None:
    """It is told once, or by the cases about its own API, which it fails always."""
    result = suite.run(
        cases,
        {
            "Heartbeat": negative_throttle,
            "EndTxn": lambda _version, _request: response(
                "EndTxn", error_code=end, producer_id=0, producer_epoch=0
            ),
        },
    )
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines([f"actual: *{told}*"])


def test_what_matters_comes_first_and_malformed_bytes_last(suite: Suite) -> None:
    """Also across files: an examination that ends early has then seen the most."""
    suite.pytester.makepyfile(test_malformed=HEAD + PASSES.replace("a_heartbeat", "third"))
    later = PASSES.replace('one")', 'one", priority="P2")').replace("a_heartbeat", "second")
    first = PASSES.replace("a_heartbeat", "first").replace("GRPC-22", "TXN-01")
    result = suite.run(later + first, {"Heartbeat": errors_of([0, 0, 0])}, "-v")
    result.stdout.fnmatch_lines(["*::test_first*", "*::test_second*", "*::test_third*"])


def test_a_failure_says_what_must_be_and_how_to_see_it_again(suite: Suite) -> None:
    result = suite.run(PASSES, {"Heartbeat": errors_of([25])})
    result.stdout.fnmatch_lines(
        [
            "MUST:      A member's Heartbeat gets NONE.",
            "case:      GRPC-22 (P0)",
            "spec:      KIP-62, one",
            "expected:  error: 0",
            "actual:    error: 25",
            "target:    fake",
            "reproduce: touchstone conform --only *::test_a_heartbeat_is_accepted --target fake",
        ]
    )


def test_the_reproduce_line_runs_that_case_alone(suite: Suite) -> None:
    """Also where the id has spaces and quotes."""
    awkward = PASSES.replace("(wire)", "(wire, name)", 1).replace(
        "@case",
        """import pytest
@pytest.mark.parametrize("name", ["it's a", "b"], ids=repr)
@case""",
        1,
    )
    result = suite.run(awkward, {"Heartbeat": errors_of([25, 25])})
    line = next(line for line in result.stdout.lines if line.startswith("reproduce:"))
    command = shlex.split(line.removeprefix("reproduce:"))
    assert command[:3] == ["touchstone", "conform", "--only"]
    suite.target.answers = {"Heartbeat": errors_of([0])}
    again = suite.run_plain(awkward, *command[3:])
    again.assert_outcomes(passed=1)


def test_an_error_number_is_shown_by_its_name(suite: Suite) -> None:
    named = PASSES.replace(", 0,", ", ErrorCode.NONE,")
    cases = "from reference_impl.wire import ErrorCode\n" + named
    result = suite.run(cases, {"Heartbeat": errors_of([25])})
    result.stdout.fnmatch_lines(
        ["expected:  error: NONE(0)", "actual:    error: UNKNOWN_MEMBER_ID(25)"]
    )


def test_a_closed_connection_fails_the_case(suite: Suite) -> None:
    result = suite.run(PASSES, {"Heartbeat": lambda _version, _request: None})
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["actual:    ConnectionClosed: the target closed the connection"])


def test_a_target_that_dies_fails_the_case_and_is_started_again(suite: Suite) -> None:
    """Even a case that has seen what it wanted fails, and the next one has a target again."""

    def die(_version: int, _request: object) -> None:
        suite.target.clusters[0].stop()

    kills = PASSES.replace("accepted", "fatal").replace(
        'expect(heartbeat(wire), 0, "error")',
        'try:\n        wire.call("ListGroups")\n    except Exception:\n        pass',
    )
    answers = {"ListGroups": die, "Heartbeat": errors_of([0])}
    result = suite.run(kills + PASSES, answers)
    result.assert_outcomes(passed=1, failed=1)
    assert suite.target.clusters[0].restarts == 1
    result.stdout.fnmatch_lines(
        ["actual:    the target after this case: the target died during this case*"]
    )


def test_max_failures_ends_it(suite: Suite, tmp_path: Path) -> None:
    cases = "".join(PASSES.replace("accepted", name) for name in ("one", "two", "three"))
    found = tmp_path / "results.json"
    suite.run(
        cases,
        {"Heartbeat": errors_of([0, 25, 25])},
        "--max-failures",
        "1",
        "--results-json",
        str(found),
    )
    results = json.loads(found.read_text())
    assert (results["passed"], results["failed"], results["not_run"]) == (1, 1, 1)
    assert results["ended"] == "1 case has failed (--max-failures)"


def test_an_answer_that_a_case_cannot_read_is_no_traceback(suite: Suite) -> None:
    """A KeyError is nothing that a user can read."""
    careless = PASSES.replace('expect(heartbeat(wire), 0, "error")', "{}[heartbeat(wire)]")
    result = suite.run(careless, {"Heartbeat": errors_of([0])})
    result.stdout.fnmatch_lines(
        [
            "expected:  the requirement above to hold",
            "actual:    an answer that this case cannot read (KeyError: 0, at *:*)",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "def test_" not in result.stdout.str()


@pytest.mark.parametrize("option", ["--results-json", "--results-junit"])
def test_unwritable_places_are_refused(suite: Suite, option: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in ("/dev/null", str(tmp_path), str(tmp_path / "file" / "below"), "/proc/1/found"):
        result = suite.run_plain(PASSES, option, path)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        (line,) = (line for line in result.stderr.lines if line)
        assert f"{option} {path}: " in line


def test_the_results_are_written_as_json_and_junit(suite: Suite, tmp_path: Path) -> None:
    as_json, as_xml = tmp_path / "results.json", tmp_path / "junit.xml"
    suite.run(
        PASSES + UNSUPPORTED,
        {"Heartbeat": errors_of([25])},
        "--results-json",
        str(as_json),
        "--junitxml",
        str(as_xml),
    )
    results = json.loads(as_json.read_text())
    assert (results["passed"], results["failed"], results["unsupported"]) == (0, 1, 1)
    entry = results["cases"][0]
    expected = {
        "id": "GRPC-22",
        "area": "GRPC",
        "api": "Heartbeat",
        "result": "failed",
        "priority": "P0",
        "requirement": "A member's Heartbeat gets NONE.",
        "expected": "0",
        "actual": "25",
    }
    assert {key: entry[key] for key in expected} == expected
    assert entry["reproduce"].endswith("--target fake")
    case = next(ElementTree.parse(as_xml).iter("testcase"))
    assert case.find("failure") is not None
    assert case.find("properties/property[@name='case']").attrib["value"] == "GRPC-22"  # type: ignore[union-attr]


def test_a_case_runs_on_the_first_and_last_shared_version(suite: Suite) -> None:
    versions: list[int] = []

    def note(version: int, _request: object) -> object:
        versions.append(version)
        return response("Heartbeat")

    versioned = (
        PASSES.replace("(wire)", "(wire, version)", 1)
        .replace("heartbeat(wire)", 'wire.call("Heartbeat", version, group_id="g").error_code')
        .replace('spec="', 'versions=(1, 3), spec="')
    )
    suite.run(versioned, {"Heartbeat": note}).assert_outcomes(passed=2)  # type: ignore[dict-item]
    assert versions == [1, 3]
    suite.run(versioned, {"Heartbeat": note}, "--all-versions").assert_outcomes(passed=3)  # type: ignore[dict-item]
    assert versions == [1, 3, 1, 2, 3]


@pytest.mark.parametrize("wanted", ["TXN-28", "txn-28 or PROD-99", "transaction_ends"])
def test_cases_are_chosen_by_id_or_name(suite: Suite, wanted: str) -> None:
    result = suite.run(PASSES + UNSUPPORTED, {"Heartbeat": errors_of([])}, "-k", wanted)
    result.stdout.fnmatch_lines("*0 passed, 0 failed, 1 unsupported*")


def test_cases_beyond_the_priority_are_not_run(suite: Suite) -> None:
    later = PASSES.replace('one"', 'one", priority="P1"').replace("accepted", "later")
    result = suite.run(PASSES + later, {"Heartbeat": errors_of([0])}, "--priority", "P0")
    result.assert_outcomes(passed=1, deselected=1)


def test_a_case_without_requirement_is_refused(suite: Suite) -> None:
    silent = PASSES.replace('    """A member\'s Heartbeat gets NONE."""\n', "")
    result = suite.run(silent, {"Heartbeat": errors_of([])})
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a case states its requirement as docstring*"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "conformance: nothing to examine; give --target NAME or --bootstrap host:port"),
        (("--bootstrap", "nonsense"), "'nonsense' is not an address"),
        (("--target", "refrence"), "did you mean 'reference'"),
        (("--target", "a", "--bootstrap", "b:1"), "give --target or --bootstrap, not both"),
        (("--priority", "P9"), "--priority takes P0, P1 or P2"),
    ],
    ids=["nothing", "no-address", "typo", "both", "priority"],
)
def test_bad_use_is_one_sentence(suite: Suite, options: tuple[str, ...], sentence: str) -> None:
    result = suite.run_plain(PASSES, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.stderr.lines if line]
    assert len(lines) == 1, lines
    assert sentence in lines[0]


def test_an_unreachable_address_is_one_sentence(suite: Suite) -> None:
    kafka = FakeKafka({})
    kafka.stop()
    result = suite.run_plain(PASSES, "--bootstrap", kafka.bootstrap)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.stderr.lines if line]
    assert len(lines) == 1, lines
    assert kafka.bootstrap in lines[0]


def test_cases_with_equal_settings_share_a_second_instance(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.target.examination.CONFIGURED", ("fake",))
    one, two = (
        PASSES.replace('one"', 'one", config={"a.key": "1"}').replace("accepted", name)
        for name in ("good", "better")
    )
    result = suite.run(one + PASSES + two, {"Heartbeat": errors_of([0, 0, 0])})
    result.stdout.fnmatch_lines(["*fake: 3 passed, 0 failed, 0 unsupported*"])
    assert [config.get("a.key") for config in suite.target.configs] == [None, "1"]
    assert not any(cluster.alive() for cluster in suite.target.clusters)


def test_a_case_with_settings_is_unsupported_where_the_target_takes_none(suite: Suite) -> None:
    result = suite.run(PASSES.replace('one"', 'one", config={"a.key": "1"}'), {})
    result.stdout.fnmatch_lines(["*fake: 0 passed, 0 failed, 1 unsupported*"])
    assert len(suite.target.configs) == 1


PLACES = [
    "between cases",
    "in a case",
    "before a fixture that fails",
    "while the cases are collected",
]


@pytest.mark.parametrize("place", PLACES)
def test_an_interruption_is_told_in_a_word_wherever_it_comes(
    suite: Suite, tmp_path: Path, place: str
) -> None:
    strike = "__import__('os').kill(__import__('os').getpid(), 15)"
    cases = PASSES
    if place == "in a case":
        cases = PASSES.replace("    expect(", f"    {strike}\n    expect(")
    elif place == "before a fixture that fails":
        suite.pytester.makeconftest(
            "import pytest\n\n@pytest.fixture(autouse=True)\ndef fails():\n    yield\n    1 / 0\n"
        )
        cases = PASSES.replace("    expect(", f"    {strike}\n    expect(")
    elif place == "between cases":
        suite.pytester.makeconftest(f"def pytest_runtest_logstart():\n    {strike}\n")
    else:
        cases += strike + "\n"
    path = tmp_path / "found.json"
    result = suite.run(cases, {"Heartbeat": errors_of([0])}, "--results-json", str(path))
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["*ended early: interrupted*"])
    assert json.loads(path.read_text())["ended"] == "interrupted"
