"""Test a hunt in virtual time: a bug of a client is caught, and the client is blamed for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ci.bugs.finding import Attempt, Ending, Finding, Side, exit_status
from ci.bugs.simulated import SimulatedHunt, chosen_for_simulator
from ci.errors import UsageError
from linearizability.verdict import Validity
from reference_impl.bugs import BUGS, Kind
from reference_impl.bugs.clients import CLIENT_BUGS
from reference_impl.bugs.cluster import CLUSTER_BUGS


def test_a_bug_of_a_client_is_caught_and_blamed_on_it(tmp_path: Path) -> None:
    told: list[str] = []
    hunt = SimulatedHunt(["client-give-base-offset"], tmp_path, 1, 3, 5.0, 1, told.append)
    hunt.perform()
    (found,) = hunt.findings
    assert (found.ending, found.side) == (Ending.CAUGHT, Side.CLIENT), found.said
    assert found.attempts[-1].blamed == "client"
    assert "--target sim" in found.command and "--bug client-give-base-offset" in found.command
    assert "1 of 1: caught" in told[-1]


def test_blame_of_the_wrong_side_is_not_green() -> None:
    attempt = Attempt(1, Validity.INVALID, ("duplicates",), "", "run", "command", 1.0, "client")
    found = Finding("lose-it", Kind.RARE, ("duplicates",), "command")
    found.add(attempt)
    found.clean = replace(attempt, validity=Validity.VALID, accusers=())
    assert found.ending is Ending.WRONG_SIDE and "but the client was blamed" in found.said
    assert exit_status([found]) == 1


def test_every_bug_that_a_run_can_show_is_hunted() -> None:
    names = chosen_for_simulator(())
    assert {*CLIENT_BUGS, *CLUSTER_BUGS} < set(names)
    assert set(BUGS) - set(names) == {name for name, bug in BUGS.items() if not bug.caught_by}


@pytest.mark.parametrize(
    ("only", "sentence"),
    [
        ("nonsense", "there is no such bug"),
        ("greet-the-dead", "only conformance cases show it; give --target reference"),
        (",", "--only names nothing"),
    ],
)
def test_a_bug_that_cannot_be_hunted_is_named(only: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        chosen_for_simulator([only])


@pytest.mark.nightly
def test_a_bug_of_a_cluster_is_hunted_on_several_nodes(tmp_path: Path) -> None:
    hunt = SimulatedHunt(["join-early"], tmp_path, 1, 3, 10.0, 1, lambda _: None)
    hunt.perform()
    (found,) = hunt.findings
    assert found.ending is Ending.CAUGHT, found.said
    assert "--nodes 3" in found.command
