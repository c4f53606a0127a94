"""The bench of faults summarises proofs; the proofs themselves are the probes'."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.probes import PROBES
from chaos.probes.frame import Outcome, Proof
from chaos.values.faults import Kill
from ci.bench import chaos
from ci.bench.table import Table

KILLED = next(probe for probe in PROBES if probe.fault is Kill)
PROVED = Proof(KILLED, Outcome.PROVED, "its port was closed", apply_ms=4.0, heal_ms=2.0)


def table(*proofs: Proof) -> Table:
    made = Table(("fault", "apply ms", "of its bound", "heal ms", "back after ms"))
    chaos.add_fault(made, "Kill", list(proofs))
    return made


def test_the_best_of_the_rounds_counts() -> None:
    made = table(replace(PROVED, apply_ms=500.0), PROVED)
    assert made.broken == []
    assert "4" in made.render() and "0.40 (≤ 1)" in made.render()


@pytest.mark.parametrize("outcome", [Outcome.PROVED, Outcome.FAILED])
def test_a_fault_that_is_late_or_fails_breaks_its_bound(outcome: Outcome) -> None:
    late = replace(PROVED, outcome=outcome, apply_ms=10.1)
    assert len(table(late, late).broken) == 1


def test_one_failure_in_many_rounds_breaks_it() -> None:
    assert len(table(PROVED, replace(PROVED, outcome=Outcome.FAILED)).broken) == 1


def test_what_the_machine_does_not_have_breaks_nothing() -> None:
    absent = replace(PROVED, outcome=Outcome.NOT_HERE)
    assert table(absent, absent).broken == []
    assert "not here" in table(absent).render()
