"""One minute of fuzz with a seed of its own; `touchstone fuzz --seconds 3600` goes on longer."""

from __future__ import annotations

from random import Random

from reference_impl.tests.fuzz.frames import Frames
from reference_impl.tests.fuzz.judge import MAY_WAIT
from reference_impl.tests.fuzz.run import fuzz
from reference_impl.tests.fuzz.values import Values
from reference_impl.wire import api_keys, request_definition

SECONDS = 45
"""Beside them the broker starts, and what the last cases left behind must be gone at the end."""


def test_a_minute_of_fuzz_leaves_the_broker_as_it_was() -> None:
    outcome = fuzz(seed=1, seconds=SECONDS)
    assert not outcome.violations, "\n".join(outcome.violations)
    assert outcome.records_verified > 100, outcome.summary
    assert outcome.requests > 1000, outcome.summary
    assert outcome.apis_unanswered <= {int(api) for api in MAY_WAIT}, outcome.summary


def drawn(seed: int) -> list[bytes]:
    served = {key: request_definition(key).stable_versions for key in api_keys()}
    random = Random(seed)
    frames = Frames(random, Values(random, {}, frozenset()), served)
    return [draw(key).data for key in served for draw in (frames.whole, frames.broken)]


def test_a_seed_draws_the_same_requests_again() -> None:
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
