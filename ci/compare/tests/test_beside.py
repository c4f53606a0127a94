"""Test how the messages of a failed case are set beside those of another target."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ci.cli import app
from ci.compare.beside import Beside, beside
from ci.compare.comparing import Compared, as_dict
from ci.compare.decoding import SIZE_BYTES
from ci.compare.pages import as_html, as_markdown
from ci.compare.tests.test_comparing import entry, failed, files_of, target
from ci.report.tests.test_page import CONTRAST_MIN, DARK, PHONE, look
from conformance.connection import api_key, part, request
from reference_impl.wire import encode_request, encode_response, response_definition

Messages = list[dict[str, Any]]


def step(topic: str, error: int, version: int = 1) -> Messages:
    """Return the messages of a Metadata request for one topic, and of its response."""
    key = api_key("Metadata")
    topics = [part("Metadata", "MetadataRequestTopic", name=topic)]
    asked = encode_request(key, version, 7, "c", request("Metadata", topics=topics))
    struct = response_definition(key).struct
    row = struct("MetadataResponseTopic", name=topic, error_code=error)
    body = struct("MetadataResponse", topics=[row])
    answered = encode_response(key, version, 7, body)[SIZE_BYTES:]
    return [
        {
            "direction": "request",
            "bytes": len(asked),
            "hex": asked.hex(),
            "api": "Metadata",
            "version": version,
        },
        {"direction": "response", "bytes": len(answered), "hex": answered.hex()},
    ]


NAME, OTHER = "touchstone-00000000000000aa-case-7", "touchstone-00000000000000bb-case-8"
OWN = step(NAME, 0)
THEIRS = step(OTHER, 3)


def found(own: Messages, other: Messages, **changed: Any) -> Beside:
    """Return a failed case with its own messages beside one that passed with others."""
    passed = entry("META-01", exchange=other, **changed)
    set_beside = beside(failed("META-01", exchange=own), [("apache:4.3.1", [passed])])
    assert set_beside is not None
    return set_beside


def test_a_field_that_differs_is_marked_and_a_name_is_not() -> None:
    asked, answered = found(OWN, THEIRS).pairs
    assert asked.own.as_dict()["differs"] == []
    assert answered.own.as_dict()["differs"] == ["topics[0].error_code"]
    assert answered.other is not None
    assert answered.other.as_dict()["fields"]["topics[0].error_code"] == "3"
    assert found(OWN, THEIRS).differing() == ("topics[0].error_code=0", "topics[0].error_code=3")


def test_the_bytes_that_differ_are_marked_and_none_is_lost() -> None:
    _, answered = found(step(NAME, 0), step(NAME, 3)).pairs
    assert [part for part, differs in answered.own.hex if differs] == ["00"]
    assert answered.other is not None
    assert [part for part, differs in answered.other.hex if differs] == ["03"]
    longer = found(step("ab", 0), step("axyb", 0)).pairs[1]
    assert longer.other is not None
    assert "".join(part for part, _ in longer.own.hex) == step("ab", 0)[1]["hex"]
    assert "7879" in "".join(part for part, differs in longer.other.hex if differs)


def test_a_step_is_beside_the_same_step_though_the_other_target_went_on() -> None:
    others = [*step("first", 0), *step("second", 5), *step("third", 0), *step("third", 0)]
    pairs = found([*step("second", 0)], others).pairs
    assert pairs[1].other is not None
    assert pairs[1].other.as_dict()["fields"]["topics[0].error_code"] == "5"
    repeated = found([*step("t", 0), *step("t", 0), *step("t", 0)], step("t", 5)).pairs
    assert [pair.other is not None for pair in repeated] == [False] * 4 + [True] * 2


@pytest.mark.parametrize(
    ("others", "note"),
    [
        ([], "the case was not run there"),
        ([entry("META-01")], "no messages of this case were recorded there; it passed"),
        ([entry("META-01", "unsupported")], "recorded there; it was unsupported"),
        ([entry("META-01", exchange=THEIRS[1:])], "other messages; the case passed"),
    ],
)
def test_a_target_without_messages_says_why(others: list[dict[str, Any]], note: str) -> None:
    set_beside = beside(failed("META-01", exchange=OWN), [("reference", others)])
    assert set_beside is not None
    assert note in str(set_beside.note)
    assert {pair.other for pair in set_beside.pairs} == {None}
    own, other = target("kfake", failed("META-01", exchange=OWN)), target("reference", *others)
    assert note in as_html([own, other])
    assert note in as_markdown([own, other])
    assert as_dict([own, other])["deviations"]["kfake"][0]["beside"]["note"] == set_beside.note


def test_the_target_beside_is_one_that_passed_and_the_version_is_the_same() -> None:
    wrong = failed("META-01", exchange=OWN, nodeid="a[v1]")
    others = [
        ("a", [failed("META-01", exchange=THEIRS)]),
        ("b", [entry("META-01", exchange=step(OTHER, 9), nodeid="a[v9]"), entry("META-02")]),
        ("c", [entry("META-01", nodeid="a[v1]")]),
    ]
    set_beside = beside(wrong, others)
    assert set_beside is not None
    assert set_beside.target == "b"
    others[1][1].append(entry("META-01", exchange=THEIRS, nodeid="a[v1]"))
    set_beside = beside(wrong, others)
    assert set_beside is not None
    assert set_beside.pairs[1].other is not None
    assert set_beside.pairs[1].other.as_dict()["fields"]["topics[0].error_code"] == "3"
    assert beside(wrong, []) is None


def test_bytes_that_nobody_can_decode_are_shown_as_they_are() -> None:
    raw = {"direction": "request", "bytes": 3, "hex": "0000ff"}
    own, other = [raw], [raw | {"hex": "0001ff"}]
    [pair] = found(own, other).pairs
    assert pair.own.as_dict() == {
        "title": "request, 3 bytes",
        "fields": {},
        "differs": [],
        "hex": "0000ff",
    }


def both() -> list[Compared]:
    right = target("apache:4.3.1", entry("META-01", exchange=THEIRS), entry("WIRE-01"))
    return [right, target("kfake", failed("META-01", exchange=OWN), entry("WIRE-01"))]


def test_page_text_and_data_show_both_answers() -> None:
    page, text = as_html(both()), as_markdown(both())
    assert "<mark>topics[0].error_code=0</mark>" in page
    assert "<mark>topics[0].error_code=3</mark>" in page
    shown = re.sub("</?mark>", "", page)
    assert OWN[1]["hex"] in shown
    assert THEIRS[1]["hex"] in shown
    assert r"  - kfake answered topics\[0\].error\_code=0" in text
    assert r"  - apache:4.3.1 answered topics\[0\].error\_code=3" in text
    told = json.loads(json.dumps(as_dict(both())))["deviations"]["kfake"][0]["beside"]
    assert (told["target"], told["result"]) == ("apache:4.3.1", "passed")
    assert told["messages"][1]["other"]["hex"] == THEIRS[1]["hex"]


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(
    ("options", "width"),
    [((), 1240), ((DARK,), 1240), ((), PHONE), ((DARK,), PHONE)],
    ids=["light", "dark", "light, narrow", "dark, narrow"],
)
def test_both_sides_are_legible(tmp_path: Path, options: tuple[str, ...], width: int) -> None:
    page = tmp_path / "comparison.html"
    opened = as_html(both()).replace("<details", "<details open")
    # The page forbids scripts, and the probe is one.
    page.write_text(opened.replace("default-src 'none'", "default-src 'unsafe-inline'"))
    seen = look(page, *options, width=width)
    assert "topics[0].error_code=3" in seen.text
    assert seen.console == []
    assert seen.facts["overflow"] <= 0, seen.facts["widest"]
    assert any(what.startswith("MARK") for what, _ in seen.facts["contrast"])
    assert not {what: each for what, each in seen.facts["contrast"] if each < CONTRAST_MIN}


def test_the_command_keeps_what_a_passed_case_exchanged(tmp_path: Path) -> None:
    kept, usual = tmp_path / "kept.json", tmp_path / "usual.json"
    words = ["conform", "META-01", "--target", "reference", "-q", "--out"]
    for path, more in ((kept, ["--all-messages"]), (usual, [])):
        done = CliRunner().invoke(app, [*words, str(path), *more])
        assert done.exit_code == 0, done.output
    [first, *_] = json.loads(kept.read_text())["cases"]
    assert {each["direction"] for each in first["exchange"]} == {"request", "response"}
    assert not any(each["exchange"] for each in json.loads(usual.read_text())["cases"])


def test_results_of_old_files_are_compared_as_before(tmp_path: Path) -> None:
    paths = files_of(tmp_path, target("a", entry("META-01")), target("b", failed("META-01")))
    done = CliRunner().invoke(app, ["compare", *paths, "--out", str(tmp_path / "o"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["deviations"]["b"][0]["beside"]
    assert told["note"] == "no messages of this case were recorded there; it passed"
