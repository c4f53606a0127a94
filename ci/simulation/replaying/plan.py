"""The plan of a schedule as data: the scenario, and each fault with the time before it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

from chaos.record.run_directory import REPOSITORY, Scenario, commit_of
from chaos.run.fitting import nemesis_named, workload_named
from chaos.targets import parse_target
from chaos.values.fault_kinds import FAULTS
from chaos.values.faults import Fault, Heal
from chaos.values.protocols import Nemesis
from ci.errors import UsageError

FILE, VERSION = "plan.json", 1


@dataclass(frozen=True)
class Step:
    """One fault, and the seconds to wait before it."""

    wait_s: float
    fault: Fault


@dataclass(frozen=True)
class Plan:
    """A scenario with the steps that replace its nemesis."""

    scenario: Scenario
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, scenario: Scenario) -> Plan:
        """Return the plan of a scenario: all faults whose time comes before the attack ends."""
        nemesis = nemesis_named(scenario.nemesis)
        began_s, steps = 0.0, []
        for wait_s, fault in nemesis.schedule(Random(f"{scenario.seed}:nemesis")):
            began_s += wait_s
            if began_s >= scenario.seconds:
                break
            steps.append(Step(wait_s, fault))
        return cls(scenario, tuple(steps))

    @property
    def faults(self) -> int:
        """The number of the plan's faults; heals are not counted."""
        return sum(not isinstance(step.fault, Heal) for step in self.steps)

    @property
    def nemesis(self) -> Nemesis:
        """The nemesis that performs the steps."""
        return Scripted(self.scenario.nemesis, self.steps)

    def to_json(self) -> str:
        """Return the plan as JSON, with the commit of the code that it was made for."""
        steps = [{"wait_s": step.wait_s, **json.loads(step.fault.to_json())} for step in self.steps]
        scenario = asdict(self.scenario)
        commit = commit_of(REPOSITORY)[0]
        made = {"version": VERSION, "commit": commit, "scenario": scenario, "steps": steps}
        return json.dumps(made, indent=2)

    @classmethod
    def read(cls, directory: Path, *, anyway: bool) -> Plan:
        """Return the plan of a run. Raise UsageError if there is none, if this version cannot
        perform it, or if it was made for other code and `anyway` is not set."""
        file = directory / FILE
        try:
            found = json.loads(file.read_text())
        except OSError:
            raise UsageError(
                f"{directory} has no {FILE}; only runs that `touchstone sim` has kept have one"
            ) from None
        except ValueError as error:
            raise UsageError(f"{file} cannot be read: {error}; name another run") from None
        _check_version(file, found, anyway=anyway)
        try:
            return cls(_scenario(found["scenario"]), tuple(map(_step, found["steps"])))
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{file} is not a plan that this version can read: {error}; name another run"
            ) from None


class Scripted:
    """A nemesis that performs given steps, and then nothing more."""

    nodes_min = 1

    def __init__(self, name: str, steps: tuple[Step, ...]) -> None:
        self.name = name
        self.steps = steps
        self.faults = frozenset(type(step.fault) for step in steps)

    def schedule(self, _: Random) -> Iterator[tuple[float, Fault]]:
        """Yield (seconds to wait, fault) of each step. The stream of random numbers is not used."""
        for step in self.steps:
            yield step.wait_s, step.fault


def _check_version(file: Path, found: Mapping[str, Any], *, anyway: bool) -> None:
    if found.get("version") != VERSION:
        raise UsageError(
            f"{file} has version {found.get('version')}; this Touchstone reads {VERSION}; "
            "record the plan again with it"
        )
    made_for, own = found.get("commit"), commit_of(REPOSITORY)[0]
    if not anyway and made_for != own:
        raise UsageError(
            f"{file} was made for commit {made_for}, and this is {own}: the same plan may take"
            " another course; give --anyway to perform it all the same"
        )


def _scenario(row: Mapping[str, Any]) -> Scenario:
    known = {field.name for field in fields(Scenario)}
    if unknown := sorted(row.keys() - known):
        raise ValueError(f"unknown settings {', '.join(unknown)}")
    scenario = Scenario(**{**row, "typed": tuple(row.get("typed", ()))})
    parse_target(scenario.target, scenario.bug)
    workload_named(scenario.workload)
    return scenario


def _step(row: Mapping[str, Any]) -> Step:
    columns = dict(row)
    wait_s, name = float(columns.pop("wait_s")), columns.pop("fault")
    if name not in FAULTS:
        raise ValueError(f"unknown fault {name!r}")
    return Step(wait_s, FAULTS[name](**columns))
