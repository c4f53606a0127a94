"""A few kills, and the proof that these clients notice; `touchstone kills` goes on longer."""

from __future__ import annotations

import pytest

from reference_impl.robustness.kills import run
from reference_impl.robustness.kills.run import DONE_MIN, run_kills
from reference_impl.robustness.kills.station import Gone


def test_what_was_acknowledged_survives_kills_and_happens_once() -> None:
    outcome = run_kills(seed=1, kills=6)
    assert not outcome.violations, "\n".join(outcome.violations)
    assert outcome.kills == 6
    assert min(outcome.counts.values()) >= DONE_MIN, outcome.summary()


@pytest.mark.nightly
def test_what_was_acknowledged_survives_kills_of_random_nodes_of_three() -> None:
    outcome = run_kills(seed=1, kills=6, nodes=3)
    assert not outcome.violations, "\n".join(outcome.violations)
    assert outcome.kills == 6
    assert min(outcome.counts.values()) >= DONE_MIN, outcome.summary()


@pytest.mark.nightly
def test_three_nodes_that_forget_their_producers_are_caught() -> None:
    outcome = run_kills(seed=2, kills=12, bug="forget-producer-state-on-restart", nodes=3)
    assert outcome.violations


def test_a_broker_that_forgets_its_producers_is_caught() -> None:
    outcome = run_kills(seed=2, kills=5, bug="forget-producer-state-on-restart")
    assert outcome.violations


def test_a_broker_that_dies_by_itself_at_the_end_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def died(*_: object) -> None:
        raise Gone

    monkeypatch.setattr(run, "_verify", died)
    outcome = run_kills(seed=3, kills=1)
    assert "the broker died by itself\n  the broker's log ends with" in outcome.violations[0]
