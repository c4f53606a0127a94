"""Test comparisons of results: levels, groups of deviations, the page and the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ci.cli import app
from ci.compare.comparing import Compared, as_dict, changed, differing, versions_of
from ci.compare.pages import DATA, PAGE, TEXT, as_html, as_markdown
from ci.compare.profiles import PROFILES, standing
from ci.errors import UsageError
from ci.report.browser import open_page
from conformance.connection import api_key, request
from reference_impl.wire import encode_request

METADATA = encode_request(api_key("Metadata"), 1, 7, "c", request("Metadata", topics=[]))


def entry(id: str, result: str = "passed", **changed: Any) -> dict[str, Any]:
    """Return one entry of an examination's results."""
    area = id.partition("-")[0]
    usual = {
        "id": id,
        "name": f"test_{area.lower()}",
        "area": area,
        "api": "Metadata",
        "version": 1,
        "priority": "P0",
        "requirement": "It answers.",
        "spec": "KIP-1",
        "result": result,
        "what": None,
        "expected": None,
        "actual": None,
        "reproduce": f"pytest -k {id}",
        "exchange": [],
    }
    return usual | changed


def failed(id: str, actual: str = "NONE(0)", **changed: Any) -> dict[str, Any]:
    """Return the entry of a failed case."""
    sides = {"what": "error", "expected": "INVALID_REQUEST(42)", "actual": actual}
    return entry(id, "failed", **(sides | changed))


def target(name: str, *entries: dict[str, Any], ended: str | None = None) -> Compared:
    counts = {
        kind: sum(each["result"] == kind for each in entries)
        for kind in ("passed", "failed", "unsupported")
    }
    return Compared(name, {"target": name, "ended": ended, "cases": list(entries), **counts})


def test_a_missing_api_counts_against_the_level_and_other_reasons_do_not() -> None:
    core = PROFILES[0]
    lacks = entry("META-01", "unsupported", priority="P1", actual="Metadata is not advertised")
    alone = entry("PROD-26", "unsupported", actual="the case needs a target of three brokers")
    assert standing(core, [entry("WIRE-01"), alone]).level == "P0"
    found = standing(core, [entry("WIRE-01"), entry("PROD-02", priority="P1"), lacks])
    assert (found.level, found.passed, found.missing) == ("P0", 2, 1)
    assert standing(core, [entry("SEC-01")]).level == "none"
    assert standing(core, [entry("WIRE-01"), failed("WIRE-02")]).level == "none"


def test_the_same_difference_is_one_group_whatever_the_names_in_it() -> None:
    one = target(
        "kfake",
        failed("META-08", what="error of touchstone-00ff-case-7"),
        failed("META-08", what="error of touchstone-00ff-case-81", name="test_other"),
        failed("ADMIN-07", what="error", api="CreateTopics"),
        failed("CONF-03", what="error", api="DescribeConfigs"),
    )
    groups = [(cause.what, cause.ids, len(cause.entries)) for cause in one.causes()]
    assert groups == [
        ("error of NAME", ["META-08"], 2),
        ("error of CreateTopics", ["ADMIN-07"], 1),
        ("error of DescribeConfigs", ["CONF-03"], 1),
    ]


def test_cases_differ_if_any_target_has_another_result() -> None:
    a = target("a", entry("WIRE-01"), entry("WIRE-01", version=2), entry("META-01"))
    b = target("b", entry("WIRE-01"), failed("WIRE-01", version=2), entry("META-01"))
    c = target("c", entry("WIRE-01"))
    assert differing([a, b]) == [("WIRE-01", "test_wire", ["passed", "failed"])]
    assert ("META-01", "test_meta", ["passed", "-"]) in differing([a, c])
    assert as_dict([a, b])["summary"]["b"] == {"passed": 2, "failed": 1, "unsupported": 0}


def test_versions_are_told_of_the_apis_on_which_targets_differ() -> None:
    def advertising(name: str, **advertised: list[int]) -> Compared:
        return Compared(name, {**target(name).results, "advertised": advertised})

    both = [advertising("a", Fetch=[4, 17], Produce=[3, 12]), advertising("b", Fetch=[4, 17])]
    assert versions_of(both) == {"Produce": ["3-12", None]}
    assert as_dict(both)["versions"] == {"Produce": {"a": "3-12", "b": None}}
    assert "| Produce | 3-12 | not advertised |" in as_markdown(both)
    assert "not advertised" in as_html(both)
    older = [both[0], target("c")]
    assert versions_of(older)["Fetch"] == ["4-17", "not stated"]
    assert "Versions" not in as_markdown([target("c"), target("d")])


def files_of(tmp_path: Path, *all_of: Compared) -> list[str]:
    paths = []
    for number, one in enumerate(all_of):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(one.results))
        paths.append(str(path))
    return paths


def two(tmp_path: Path, ended: str | None = None) -> list[str]:
    exchange = [{"direction": "request", "bytes": len(METADATA), "hex": METADATA.hex()}]
    exchange[0] |= {"api": "Metadata", "version": 1}
    right = target("apache:4.3.1", entry("META-01"), entry("WIRE-01"))
    wrong = target("kfake", failed("META-01", exchange=exchange), entry("WIRE-01"), ended=ended)
    return files_of(tmp_path, right, wrong)


def test_the_command_writes_page_text_and_data_and_exits_with_0(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["compare", *two(tmp_path), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["summary"]["kfake"] == {"passed": 1, "failed": 1, "unsupported": 0}
    assert told == json.loads((out / DATA).read_text())
    assert "META-01: error of Metadata: expected" in (out / TEXT).read_text()
    page = (out / PAGE).read_text()
    assert METADATA.hex() in page
    assert "topics=[]" in page  # the decoded request


def test_a_target_that_was_not_examined_to_the_end_is_no_whole_comparison(tmp_path: Path) -> None:
    paths = two(tmp_path, ended="the target is gone")
    done = CliRunner().invoke(app, ["compare", *paths, "--out", str(tmp_path / "out")])
    assert done.exit_code == 3
    assert "the target is gone" in (tmp_path / "out" / PAGE).read_text()


def test_the_same_target_twice_gets_two_columns(tmp_path: Path) -> None:
    paths = files_of(
        tmp_path, target("kfake", entry("WIRE-01")), target("kfake", failed("WIRE-01"))
    )
    done = CliRunner().invoke(app, ["compare", *paths, "--out", str(tmp_path / "o"), "--json"])
    assert list(json.loads(done.stdout)["summary"]) == ["kfake", "kfake #2"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["kfake"], "at least two"),
        (["kfake", "no/such.json"], "no such file"),
        (["kfake", "kfakr"], "did you mean"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_starts(
    words: list[str], why: str
) -> None:
    done = CliRunner().invoke(app, ["compare", *words])
    assert done.exit_code == 2
    assert why in done.output


def test_values_of_a_target_are_escaped() -> None:
    evil = failed("META-01", actual="<script>alert(1)</script>")
    page = as_html([target("a", entry("META-01")), target("b", evil)])
    assert "<script>alert" not in page


@pytest.mark.needs("chromium")
def test_a_browser_opens_the_page_without_an_error(tmp_path: Path) -> None:
    out = tmp_path / "out"
    CliRunner().invoke(app, ["compare", *two(tmp_path), "--out", str(out)])
    try:
        dom, log = open_page(out / PAGE, "--dump-dom")
    except UsageError as error:
        pytest.fail(str(error))
    assert "level P0" in dom
    assert "CONSOLE" not in log


def test_one_target_at_two_times_is_a_regression_report() -> None:
    before = target("apache:3.9", entry("WIRE-01"), failed("META-01"), failed("META-02"))
    after = target("apache:4.3.1", failed("WIRE-01"), entry("META-01"), failed("META-02"))
    found = changed([before, after])
    assert found is not None
    assert found.worse == (("WIRE-01", "test_wire"),)
    assert found.better == (("META-01", "test_meta"),)
    assert "from apache:3.9 to apache:4.3.1: 1 more cases fail, 1 that failed pass" in found.told()
    assert r"- WIRE-01 test\_wire fails now" in as_markdown([before, after])
    assert "meta: passes now" in as_html([before, after])
    assert as_dict([before, after])["changed"]["after"] == "apache:4.3.1"


@pytest.mark.parametrize(
    ("first", "second"), [("kfake", "reference"), ("10.0.0.1:9092", "10.0.0.1:9093")]
)
def test_two_targets_are_no_regression_report(first: str, second: str) -> None:
    both = [target(first, entry("WIRE-01")), target(second, failed("WIRE-01"))]
    assert changed(both) is None
    assert "Regression report" not in as_html(both)
