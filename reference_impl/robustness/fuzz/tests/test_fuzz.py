"""Run the first cases of one seed, the same on every machine. `touchstone fuzz --seconds 3600` runs
more."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reference_impl.core.handlers import SERVED
from reference_impl.core.requests.api import tables_of
from reference_impl.robustness.fuzz import run
from reference_impl.robustness.fuzz.broker import Broker, Door, Violation, check_lines
from reference_impl.robustness.fuzz.frames import Frames
from reference_impl.robustness.fuzz.judge import MAY_WAIT
from reference_impl.robustness.fuzz.resources import growth_and_step
from reference_impl.robustness.fuzz.run import fuzz
from reference_impl.robustness.fuzz.values import Values
from reference_impl.wire import api_keys, request_definition

SECONDS = 15
"""The approximate seconds of the shorter run; the memory is measured ten times in it."""


@pytest.mark.parametrize("cases", [1000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_fuzz_leaves_the_broker_as_it_was(cases: int) -> None:
    outcome = fuzz(seed=1, seconds=SECONDS, cases=cases)
    assert not outcome.violations, "\n".join(outcome.violations)
    assert outcome.records_verified > 100, outcome.summary
    assert outcome.requests > 1000, outcome.summary
    assert {key for _, key in outcome.apis_unanswered} <= MAY_WAIT, outcome.summary


def test_every_api_of_every_listener_is_attacked(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "data")
    broker.close()
    assert broker.clients.served.keys() == SERVED.broker.keys()
    assert broker.controllers.served.keys() == tables_of(SERVED)[0].keys()


GOOD = "2026-11-21 03:12:42,123 INFO connection 7 from /127.0.0.1 closed: size -1"


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "",
        "2026-11-21 03:12:42,123 ERROR Exception in callback",
        "2026-11-21 03:12:42,123 INFO connection 7 closed: internal error",
    ],
)
def test_a_line_that_no_sound_broker_logs_is_noticed(line: str) -> None:
    check_lines([GOOD, GOOD])
    with pytest.raises(Violation):
        check_lines([GOOD, line, GOOD])


def drawn(seed: int) -> list[bytes]:
    served = {key: request_definition(key).stable_versions for key in api_keys()}
    random = Random(seed)
    frames = Frames(random, Values(random, {}, frozenset()), Door("any", "", 0, served))
    return [draw(key).data for key in served for draw in (frames.whole, frames.broken)]


def test_a_seed_draws_the_same_requests_again() -> None:
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_leak_is_told_from_a_plateau() -> None:
    plateau = [47, 48, 49, 240, 259, 259, 259, 262, 260, 259]
    growth, step = growth_and_step(plateau)
    assert (growth, step) == (212, 191)
    assert growth - step < 48
    leak = [50, 70, 90, 85, 130, 150, 170, 190, 210, 230]
    growth, step = growth_and_step(leak)
    assert growth - step > 48
    assert growth_and_step([50, 900, 51]) == (1, 1)


def test_a_broker_without_coordinators_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> None:
        raise Violation("no coordinator of kind 0")

    monkeypatch.setattr(run, "make_internal_topics", none)
    assert fuzz(seed=1, cases=1).violations == [
        "before the first case: no coordinator of kind 0\n"
        "  reproduce: touchstone fuzz --seed 1 --cases 1"
    ]
