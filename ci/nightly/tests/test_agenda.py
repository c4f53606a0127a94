"""Test which scenarios may run at the same time."""

from __future__ import annotations

from itertools import repeat

from chaos.record.run_directory import Scenario
from chaos.scenarios.expectation import Expectation, Part
from ci.nightly.agenda import Agenda, begun_within
from linearizability.verdict import Validity


def one(target: str, seed: int = 1) -> Expectation:
    scenario = Scenario(target, "appends", "kill", 1, 15.0, seed)
    return Expectation(scenario, Validity.VALID, Part.EXPLORATION, "why")


A1, A2, R1, R2 = (
    one("apache:4.3.1", 1),
    one("docker:apache:4.3.1", 2),
    *(one("reference", seed) for seed in (1, 2)),
)


def test_of_jvm_clusters_one_at_a_time_and_references_overtake() -> None:
    agenda = Agenda([A1, A2, R1, R2])
    assert [agenda.choose() for _ in range(4)] == [A1, R1, R2, None]
    assert agenda.wait(0.0)
    agenda.done(A1)
    assert agenda.choose() == A2
    agenda.done(A2)
    assert agenda.choose() is None
    assert not agenda.wait(0.0)


def test_a_closed_agenda_begins_nothing_more() -> None:
    agenda = Agenda(repeat(R1))
    assert agenda.choose() == R1
    agenda.close()
    assert agenda.choose() is None
    assert not agenda.wait(0.0)


def test_a_closed_agenda_begins_nothing_that_has_waited() -> None:
    agenda = Agenda([A1, A2])
    assert agenda.choose() == A1
    assert agenda.choose() is None
    agenda.close()
    agenda.done(A1)
    assert agenda.choose() is None


def test_no_more_than_a_share_waits_while_others_overtake() -> None:
    agenda = Agenda(repeat(A1))
    assert agenda.choose() == A1
    assert agenda.choose() is None


def test_more_at_once_begin_more_in_the_same_time() -> None:
    plan = [A1, R1, A2, R2] * 50

    def count(jobs: int) -> int:
        return len(begun_within(plan, 600.0, jobs, lambda _: 30.0))

    assert [count(jobs) for jobs in (1, 2, 3)] == [20, 40, 60]
