"""Test scenarios as values: which of them fit together, which verdict is expected, and that a seed
determines all of it."""

from __future__ import annotations

import shlex
from itertools import islice

import pytest

from chaos.nemeses import NEMESES
from chaos.record.run_directory import Scenario
from chaos.scenarios.expectation import Expectation, Part
from chaos.scenarios.exploration import BREAK_PROMISES, exploration, promises
from chaos.scenarios.fitting import nodes_of, why_not
from chaos.scenarios.regression import REGRESSION, regressions
from chaos.scenarios.tables import DURABILITY, cells
from chaos.values.faults import PowerLoss, Shutdown
from chaos.workloads import WORKLOADS
from linearizability.verdict import Validity

TARGETS = ("apache:4.3.1", "reference")


def scenario(
    target: str = "reference", workload: str = "appends", nemesis: str = "kill", nodes: int = 1
) -> Scenario:
    return Scenario(target, workload, nemesis, nodes, 15.0, 1)


@pytest.mark.parametrize("target", TARGETS)
def test_every_regression_and_every_cell_names_what_there_is(target: str) -> None:
    asked = [one.scenario for one in regressions(target)] + [c.scenario for c in cells(target)]
    assert asked
    for one in asked:
        assert one.workload in WORKLOADS
        assert one.nemesis in NEMESES
        assert one.nodes >= NEMESES[one.nemesis].nodes_min


def test_a_regression_is_found_once_and_has_its_reason() -> None:
    commands = [one.command for target in TARGETS for one in regressions(target)]
    assert len(set(commands)) == len(commands)
    assert all(row.why for row in REGRESSION)


def test_the_same_loss_of_power_is_expected_to_lose_only_what_was_not_flushed() -> None:
    verdicts = {
        bool(one.scenario.config): one.verdict
        for one in regressions("apache:4.3.1")
        if one.scenario.nemesis == "power-loss-all"
    }
    assert verdicts == {False: Validity.INVALID, True: Validity.VALID}


def test_a_name_is_the_scenario_without_seed_and_length() -> None:
    config = {"log.flush.interval.messages": "1"}
    first = Scenario("reference", "appends", "kill", 1, 15.0, 1, config, "a-bug")
    second = Scenario("reference", "appends", "kill", 1, 40.0, 2, config, "a-bug")
    names = {Expectation(s, Validity.VALID, Part.CANARY, "").name for s in (first, second)}
    assert names == {
        "reference × 1, appends, kill, bug a-bug, config log.flush.interval.messages=1"
    }


def test_exploration_takes_turns_and_flushes_where_power_is_lost() -> None:
    chosen = [one.scenario for one in islice(exploration(TARGETS, 1), 200)]
    assert [one.target for one in chosen[:4]] == [*TARGETS, *TARGETS]
    assert not {one.nemesis for one in chosen} & BREAK_PROMISES
    assert len({one.client for one in chosen}) > 1
    for one in chosen:
        if PowerLoss in NEMESES[one.nemesis].faults:
            is_clean = Shutdown in NEMESES[one.nemesis].faults  # which flushes everything
            assert is_clean or one.config["log.flush.interval.messages"] == "1"


def test_exploration_asks_for_no_promise_that_nobody_made() -> None:
    pairs = [(w, n) for w in WORKLOADS for n in NEMESES if promises(w, n, "apache")]
    assert ("retention", "kill") in pairs
    assert ("appends", "clock-jump") in pairs
    assert {("retention", "clock-jump"), ("retention", "clock-skew")}.isdisjoint(pairs)
    assert ("appends", "lost-names") not in pairs
    assert promises("appends", "lost-names", "reference")


def test_exploration_of_nothing_that_fits_ends() -> None:
    assert list(exploration((), 1)) == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (scenario(), None),
        (scenario(nemesis="partition-leader"), "needs at least 2 nodes"),
        (scenario("apache:4.3.1", nemesis="partition-leader"), "needs at least 2 nodes"),
        (scenario("kfake", "transactions", "pause"), "kfake serves no transactions"),
        (scenario("kfake"), "cannot"),
        (scenario("kfake", nemesis="kill-leader"), "keeps everything in memory"),
        (scenario(workload="no-such"), "there is no workload no-such"),
        (scenario(nemesis="kill-group-coordinator"), "has no groups"),
        (scenario(workload="groups", nemesis="kill-group-coordinator"), None),
        (scenario(workload="offsets", nemesis="kill-group-coordinator"), None),
        (scenario(nemesis="kill-transaction-coordinator"), "has no transactions"),
        (scenario(workload="transform", nemesis="kill-transaction-coordinator"), None),
    ],
)
def test_what_cannot_be_run_says_why(asked: Scenario, said: str | None) -> None:
    reason = why_not(asked)
    assert reason is None if said is None else said in str(reason)


def test_nodes_are_three_where_the_target_can() -> None:
    assert [nodes_of(target) for target in (*TARGETS, "kfake")] == [3, 1, 1]


def test_a_target_in_containers_or_namespaces_has_the_scenarios_of_its_family() -> None:
    own = [one.scenario.nemesis for one in regressions("apache:4.3.1")]
    for target in ("docker:apache:4.3.1", "netns:apache:4.3.1"):
        assert [one.scenario.nemesis for one in regressions(target)] == own
        assert nodes_of(target) == 3


def test_every_cell_of_durability_stands_once_and_another_seed_is_another_command() -> None:
    table = DURABILITY["apache"]
    found = [cell for cell in cells("apache:4.3.1") if cell.table == "durability"]
    blank = sum(len(row.blank) for row in table.rows)
    assert len(found) == len(table.rows) * len(table.columns) - blank
    assert len({(cell.row, cell.column) for cell in found}) == len(found)
    again = shlex.split(found[0].with_seed(2).command())
    assert again[again.index("--seed") + 1] == "2"


def test_a_target_without_tables_has_no_cells() -> None:
    assert list(cells("kfake")) == []
