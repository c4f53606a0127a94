"""Test valid names of targets, and the message for an invalid one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chaos.targets import TARGETS, bootstrap, kfake, parse_target
from chaos.targets.reference import Reference
from chaos.values.faults import CutLink, Heal, Isolate, Kill
from chaos.values.protocols import TargetError

GO_MODULE = Path(__file__).resolve().parents[3] / "ci" / "tools" / "kfake" / "go.mod"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("apache", "apache:4.3.1"),
        ("apache:4.3", "apache:4.3.1"),
        ("apache:4.3.1", "apache:4.3.1"),
        ("apache:3.9", "apache:3.9.1"),
        ("apache:3.9-zookeeper", "apache:3.9.1-zookeeper"),
        ("apache:3.9.1-zookeeper", "apache:3.9.1-zookeeper"),
        ("reference", "reference"),
        ("kfake", "kfake"),
        ("localhost:9092", "localhost:9092"),
        ("a:1, b:2", "a:1,b:2"),
        ("[::1]:9092", "[::1]:9092"),
    ],
)
def test_a_known_name_makes_its_target(text: str, name: str) -> None:
    assert parse_target(text).name == name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("apach", "unknown target 'apach' (did you mean 'apache'?); use apache, docker, "),
        ("redpanda", "unknown target 'redpanda'; use "),
        ("", "unknown target ''; use "),
        ("apache:5", "no Apache Kafka '5' is pinned here; use one of apache:4.3,"),
        ("apache:", "'apache:' names no version; leave out the colon"),
        ("apache:4.3.1-zookeeper", "no Apache Kafka '4.3.1-zookeeper' is pinned here; use one of"),
        ("kfake:1", "write `kfake`"),
        ("reference:1", "write `reference`"),
        ("localhost:70000", "'localhost:70000' is not an address; write host:port"),
        ("a:1,b", "'b' is not an address"),
    ],
)
def test_an_unknown_name_is_answered_by_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(TargetError, match=re.escape(sentence)) as refused:
        parse_target(text)
    assert "\n" not in str(refused.value)


def test_only_the_reference_has_planted_bugs() -> None:
    planted = parse_target("reference", bug="acknowledge-before-append")
    assert isinstance(planted, Reference)
    assert planted.bug == "acknowledge-before-append"
    for text in ("apache", "kfake", "localhost:9092"):
        with pytest.raises(TargetError, match="only the reference has"):
            parse_target(text, bug="acknowledge-before-append")


def test_targets_claim_no_fault_that_they_cannot_perform() -> None:
    able = {name: parse_target(name).faults for name in TARGETS}
    assert able["apache"] >= {Kill, CutLink, Isolate, Heal}
    assert not able["kfake"] & {CutLink, Isolate}
    assert parse_target("localhost:9092").faults == {Heal} == bootstrap.FAULTS


def test_the_version_of_kfake_is_the_pinned_one() -> None:
    assert f"github.com/twmb/franz-go/pkg/kfake {kfake.VERSION}\n" in GO_MODULE.read_text()


@pytest.mark.parametrize(
    ("text", "nodes", "config", "sentence"),
    [
        ("apache", 2, {}, "apache:4.3.1 runs 1 or 3 nodes, not 2"),
        ("reference", 10, {}, "runs 1 to 9 nodes, not 10"),
        ("kfake", 3, {}, "kfake runs 1 node here"),
        ("kfake", 1, {"a": "b"}, "kfake takes no configuration; leave out a"),
        ("localhost:9092", 1, {"a": "b"}, "its configuration cannot be set here: leave out a"),
    ],
)
def test_what_a_target_cannot_start_is_said_before_anything_starts(
    text: str, nodes: int, config: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(TargetError, match=re.escape(sentence)):
        parse_target(text).start(tmp_path, nodes, config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["apache", "kfake"])
def test_what_set_up_did_not_bring_is_named_with_the_command(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    with pytest.raises(TargetError, match="run `make setup`"):
        parse_target(text).start(tmp_path)
