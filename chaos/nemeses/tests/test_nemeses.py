"""Test that all nemeses declare their faults, wait for reasonable times, heal after every fault,
and have one schedule per seed."""

from __future__ import annotations

import inspect
import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from itertools import islice
from random import Random

import pytest

import chaos.nemeses
from chaos.nemeses import NEMESES
from chaos.values.faults import CutClients, DelayAnswers, Fault, Heal, Kill
from chaos.values.protocols import Nemesis

FIRST = 200
PRINT_SCHEDULES = """
from itertools import islice
from random import Random
from chaos.nemeses import NEMESES
for name, nemesis in NEMESES.items():
    print(name, list(islice(nemesis.schedule(Random("7:nemesis")), 100)))
"""


def schedule(nemesis: Nemesis, seed: int = 7) -> list[tuple[float, Fault]]:
    return list(islice(nemesis.schedule(Random(f"{seed}:nemesis")), FIRST))


def test_every_nemesis_of_the_folder_is_in_the_table() -> None:
    found = set()
    for module in pkgutil.iter_modules(chaos.nemeses.__path__, "chaos.nemeses."):
        if not module.ispkg:
            members = vars(import_module(module.name)).values()
            found |= {m for m in members if inspect.isclass(m) and hasattr(m, "schedule")}
    found = {each for each in found if not each.__name__.startswith("_")}  # what several share
    assert found == {type(nemesis) for nemesis in NEMESES.values()}


def test_the_issue_names_these() -> None:
    assert set(NEMESES) >= {
        "kill",
        "kill-leader",
        "pause",
        "partition-leader",
        "partition-link",
        "isolate-leader",
        "cut-clients",
        "none",
    }


@pytest.mark.parametrize("name", [name for name in NEMESES if name != "none"])
def test_faults_are_declared_waits_are_sane_and_every_blow_is_healed_soon(name: str) -> None:
    nemesis = NEMESES[name]
    events = schedule(nemesis)
    assert len(events) == FIRST
    assert {type(fault) for _, fault in events} == nemesis.faults
    longest_s = getattr(nemesis, "calm_s", 10) if name == "kill-then-calm" else 10
    assert all(0 <= wait_s <= longest_s for wait_s, _ in events)
    since_heal = 0
    for _, fault in events:
        since_heal = 0 if isinstance(fault, Heal) else since_heal + 1
        assert since_heal <= 3


@pytest.mark.parametrize("name", [name for name in NEMESES if name != "none"])
def test_forty_seconds_hold_at_least_two_blows(name: str) -> None:
    for seed in range(20):
        spent, blows = 0.0, 0
        for wait_s, fault in schedule(NEMESES[name], seed):
            spent += wait_s
            blows += spent < 40 and not isinstance(fault, Heal)
        assert blows >= 2


def test_none_does_nothing() -> None:
    assert schedule(NEMESES["none"]) == []


def test_kill_loses_held_back_answers_with_the_process() -> None:
    """The answers of appended batches must not arrive after all, or no client would retry."""
    faults = [fault for _, fault in schedule(NEMESES["kill"])]
    for number, fault in enumerate(faults[:-2]):
        if isinstance(fault, DelayAnswers):
            assert (fault.latency_ms - fault.jitter_ms, fault.latency_ms + fault.jitter_ms) == (
                0,
                300,
            )
            assert isinstance(faults[number + 1], CutClients)
            assert isinstance(faults[number + 2], Kill)


def test_one_seed_is_one_schedule_in_two_processes_and_two_seeds_are_two() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", PRINT_SCHEDULES],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert schedule(NEMESES["kill"], 1) != schedule(NEMESES["kill"], 2)
