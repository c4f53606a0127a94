"""The scenario that reveals each planted bug, for `touchstone bugs` and for the nightly
canaries."""

from __future__ import annotations

from chaos.record.run_directory import Scenario
from chaos.scenarios.exploration import promised_config
from chaos.scenarios.fitting import nodes_of
from reference_impl.bugs import BUGS

TARGET = "reference"


def scenario_of(name: str, seconds: float, seed: int) -> Scenario:
    """Return the scenario that reveals a planted bug; it lasts `seconds`, or longer if the bug
    needs more time."""
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
