"""Prove that the Docker backend works: run its tests, probes, three scenarios and the Compose
file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ci import places

PYTHON = sys.executable
TARGET = "docker:apache:4.3.1"
SCENARIOS = (("appends", "kill-leader"), ("transactions", "pause"), ("appends", "partition-leader"))
"""(workload, nemesis) of each scenario. They also run on the process backend, and must be VALID on
both."""
SECONDS = "20"


@dataclass(frozen=True)
class Show:
    """One command of the proof, which must exit with 0."""

    name: str
    command: Sequence[str]


def shows() -> list[Show]:
    """Return all commands, the quick ones first."""
    scenarios = [
        Show(
            f"{workload} under {nemesis}",
            [
                PYTHON,
                "-m",
                "ci.cli",
                "chaos",
                "run",
                "--target",
                TARGET,
                "--nodes",
                "3",
                "--workload",
                workload,
                "--nemesis",
                nemesis,
                "--seconds",
                SECONDS,
                "--seed",
                "1",
            ],
        )
        for workload, nemesis in SCENARIOS
    ]
    tests = ("-m", "pytest", "--nightly", "-q", "chaos/targets/dockerized")
    probes = ("-m", "pytest", "--nightly", "-q", "chaos/probes", "-k", "in_containers")
    return [
        Show("tests", [PYTHON, *tests]),
        Show("probes", [PYTHON, *probes]),
        *scenarios,
        Show("compose", [PYTHON, "-m", "ci.compose"]),
    ]


def perform(wanted: Sequence[Show], docker_host: str) -> int:
    """Run every command even after one fails; return the first exit status other than 0, else 0."""
    environment: Mapping[str, str] = {**os.environ, "DOCKER_HOST": docker_host}
    statuses = []
    for show in wanted:
        began = time.monotonic()
        done = subprocess.run(show.command, env=environment, cwd=places.ROOT, check=False)
        statuses.append(done.returncode)
        print(
            f"airgap: {show.name}: status {done.returncode} after {time.monotonic() - began:.0f} s",
            flush=True,
        )
    return next((status for status in statuses if status), 0)
