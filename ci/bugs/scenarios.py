"""The run in which each planted bug shows: for `touchstone bugs`, and the canaries of a night."""

from __future__ import annotations

from chaos.record.run_directory import Scenario
from chaos.scenarios.exploration import promised_config
from chaos.scenarios.fitting import nodes_of
from reference_impl.bugs import BUGS

TARGET = "reference"


def scenario_of(name: str, seconds: float, seed: int) -> Scenario:
    """Return the run in which a planted bug shows, longer where the bug needs it."""
    bug = BUGS[name]
    seconds = max(seconds, bug.seconds_min)
    return Scenario(
        TARGET,
        bug.workload,
        bug.nemesis,
        nodes_of(TARGET),
        seconds,
        seed,
        {**promised_config(bug.nemesis), **bug.config},
        name,
        client=bug.client,
    )
