"""Tell a schedule in numbered steps: its faults, the elections, and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from chaos.record.run_directory import Scenario
from chaos.sim.target import Moment
from ci.simulation.schedule import Outcome

STEPS_MAX = 24
METADATA = "__cluster_metadata"
ELECTION, PARTITION = re.compile(r"node \d+ leads (\S+) in epoch"), re.compile(r"\w-\d+\b")
BROKEN = re.compile(r"invariant [\w-]+:")


def story(scenario: Scenario, outcome: Outcome, noted: Sequence[Moment]) -> str:
    """Return the story of a schedule as numbered lines: the cluster and settings, what was noted,
    and the verdict. noted: its faults, elections and broken invariants; only the first breach of
    each invariant is told, and of many moments only the first and the last."""
    moments = list(_first_breaches([one for one in noted if _matters(one[1], outcome.reason)]))
    steps = [f"{at_s:7.3f} s  {sentence}" for at_s, sentence in _on_one_screen(moments)]
    settings = "".join(f", {key}={value}" for key, value in scenario.config.items())
    count = "1 node" if scenario.nodes == 1 else f"{scenario.nodes} nodes"
    first = (
        f"{scenario.target} with {count}, workload {scenario.workload}, seed"
        f" {scenario.seed}{settings}"
    )
    lines = [first, *steps, f"{outcome.validity.value}: {outcome.reason}"]
    return "\n".join(f"{number:2}. {line}" for number, line in enumerate(lines, 1))


def _matters(sentence: str, reason: str) -> bool:
    """Return whether a sentence belongs to the story. If the reason names a partition, only that
    one's elections do, and those of the controllers."""
    election = ELECTION.match(sentence)
    if election is None or not PARTITION.search(reason):
        return True
    return election[1] == METADATA or re.search(rf"{re.escape(election[1])}\b", reason) is not None


def _first_breaches(moments: Iterable[Moment]) -> Iterator[Moment]:
    """Yield the moments, but of each invariant only the first breach: one breach leads to dozens,
    which would leave no room for the faults and elections."""
    told = set[str]()
    for at_s, sentence in moments:
        breach = BROKEN.match(sentence)
        if breach is None or breach[0] not in told:
            yield at_s, sentence
        if breach is not None:
            told.add(breach[0])


def _on_one_screen(moments: Sequence[Moment]) -> Sequence[Moment]:
    """Return the moments; of more than STEPS_MAX only the first and the last ones, and between them
    a sentence with the number of the others."""
    if len(moments) <= STEPS_MAX:
        return moments
    head = STEPS_MAX // 3
    tail = STEPS_MAX - head - 1
    left_out = len(moments) - head - tail
    between = (moments[-tail][0], f"({left_out} steps before this one are left out)")
    return [*moments[:head], between, *moments[-tail:]]
