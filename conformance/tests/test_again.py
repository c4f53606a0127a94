"""A foreign target that its owner restarts in the middle of a case: the case runs again, once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.invariants.put_off import PUT_OFF, BrokenInvariant
from conformance.tests import servers
from conformance.tests.suite import PASSES, Suite

pytest_plugins = ["pytester"]

LEFT = '''
@case("GRPC-23", "Heartbeat", spec="KIP-62, two")
def test_b_the_target_leaves(wire):
    """A Heartbeat gets NONE, whether or not the target leaves before it."""
    from conformance.tests import test_again
    test_again.leave()
    expect(heartbeat(wire), 0, "error")
'''
AWAY_S = 0.5


def leave() -> None:
    """Do what a test puts here."""
    raise NotImplementedError


@pytest.fixture
def owned() -> Iterator[servers.GoesBad]:
    kafka = servers.GoesBad()
    yield kafka
    kafka.stop()


def restart(kafka: servers.GoesBad) -> threading.Timer:
    """Stop the target, and start it again after AWAY_S."""
    kafka.stop()
    later = threading.Timer(AWAY_S, kafka.start)
    later.start()
    return later


def examine(
    suite: Suite,
    kafka: servers.GoesBad,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    leaves: Callable[[int], object],
    cases: str = PASSES + LEFT,
) -> tuple[dict[str, Any], str]:
    """Run two cases, in the second of which `leaves` is called with the number of the attempt;
    return the results and what was printed."""
    attempts: list[int] = []

    def counted() -> None:
        attempts.append(len(attempts))
        leaves(len(attempts))

    monkeypatch.setattr("conformance.tests.test_again.leave", counted)
    at = str(path / "found.json")
    result = suite.run_plain(cases, "--bootstrap", kafka.bootstrap, "--results-json", at)
    return dict(json.loads(Path(at).read_text())), result.stdout.str()


def test_a_case_during_which_the_target_was_away_runs_again(
    suite: Suite, owned: servers.GoesBad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, said = examine(
        suite, owned, tmp_path, monkeypatch, lambda n: restart(owned) if n == 1 else None
    )
    assert (found["passed"], found["failed"], found["not_run"]) == (2, 0, 0)
    assert "the target was away during 1 case, which ran again: test_b_the_target_leaves" in said


def test_a_target_that_is_back_before_the_case_has_ended_was_away_too(
    suite: Suite, owned: servers.GoesBad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(attempt: int) -> None:
        if attempt == 1:
            raise ConnectionRefusedError

    found, said = examine(suite, owned, tmp_path, monkeypatch, refuse)
    assert (found["passed"], found["failed"], found["not_run"]) == (2, 0, 0)
    assert "which ran again" in said


def test_a_broken_invariant_of_the_first_attempt_is_told_by_the_second(
    suite: Suite, owned: servers.GoesBad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_and_leave(attempt: int) -> None:
        PUT_OFF.note("Metadata", BrokenInvariant("brokers", "each once", "twice"))
        if attempt == 1:
            restart(owned)

    later = LEFT.replace("    test_again.leave()\n", "") + "    test_again.leave()\n"
    found, said = examine(suite, owned, tmp_path, monkeypatch, break_and_leave, later)
    assert "which ran again" in said
    assert (found["passed"], found["failed"]) == (0, 1)


def test_a_case_that_ends_the_target_each_time_fails(
    suite: Suite, owned: servers.GoesBad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, said = examine(suite, owned, tmp_path, monkeypatch, lambda _: restart(owned))
    assert (found["passed"], found["failed"], found["not_run"]) == (1, 1, 0)
    assert "which ran again" in said
    assert "GRPC-23" in said


def test_a_target_that_is_away_too_often_fails(
    suite: Suite, owned: servers.GoesBad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.session.again.AGAIN_MAX", 0)
    found, said = examine(
        suite, owned, tmp_path, monkeypatch, lambda n: restart(owned) if n == 1 else None
    )
    assert (found["passed"], found["failed"], found["not_run"]) == (1, 1, 0)
    assert "ran again" not in said


def test_a_failure_on_a_target_that_lives_is_not_tried_again(
    suite: Suite, owned: servers.GoesBad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise ConnectionError("closed")

    found, said = examine(suite, owned, tmp_path, monkeypatch, fail)
    assert (found["passed"], found["failed"]) == (1, 1)
    assert "ran again" not in said
