"""Measure the time to apply and to heal each fault, with its bound, and the total time and memory
of an attack of one minute.

Each fault is applied ROUNDS times and the best time counts, since other load on the machine can
only lengthen it. The attack is one of `touchstone chaos run` as a user types it, on three nodes of
Apache Kafka, with start, recovery, final reads, verdict and report.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from itertools import groupby

from chaos.probes import run as probes
from chaos.probes.frame import Backend, Outcome, Probe, Proof
from ci import doctor
from ci.bench.table import Ratio, Table
from ci.places import KAFKA_VERSION

ROUNDS = 3
ATTACK_S = 60.0
COST_MAX = 2.0
"""The largest ratio of the whole command's time to the attack's: an attack of one minute must be
over and judged after two minutes."""
HARNESS_MIB_MAX = 1024.0
SCENARIO = ("--nodes", "3", "--workload", "appends", "--nemesis", "kill-leader", "--seed", "1")


def run() -> Table:
    """Measure the faults, a row for each, then the attack of a minute, if Apache Kafka's jars and
    toxiproxy are here. Return the table."""
    table = Table(("fault", "apply ms", "of its bound", "heal ms", "back after ms"))
    timed = [probe for probe in probes.chosen(nightly=True) if _is_timed(probe)]
    proofs = probes.perform([probe for probe in timed for _ in range(ROUNDS)], _tell)
    for name, mine in groupby(proofs, key=lambda proof: proof.probe.name):
        add_fault(table, name, list(mine))
    if doctor.found("kafka-jars") and doctor.found("toxiproxy"):
        _add_minute(table)
    return table


def _is_timed(probe: Probe) -> bool:
    """Return whether the probe's time is determined by Touchstone rather than by Docker's
    daemon."""
    return probe.ground.backend is not Backend.DOCKER


def _tell(proof: Proof) -> None:
    print(f"  {probes.line(proof)}", flush=True)


def add_fault(table: Table, name: str, proofs: list[Proof]) -> None:
    """Add one row with the shortest times of the proofs of a fault: "not here" instead if it cannot
    be applied here, FAILED with a broken bound if any proof failed."""
    shown = [proof for proof in proofs if proof.outcome is Outcome.PROVED]
    if all(proof.outcome is Outcome.NOT_HERE for proof in proofs):
        table.add(name, "not here", "", "", "")
        return
    if len(shown) < len(proofs):
        table.add(name, "FAILED", Ratio(math.inf, at_most=1), "", "")
        return
    best = min(shown, key=lambda proof: proof.apply_ms)
    bound = best.probe.apply_ms_max
    share: Ratio | str = Ratio(best.apply_ms / bound, at_most=1) if bound is not None else "–"
    heal_ms, back_ms = min(p.heal_ms for p in shown), min(p.back_ms for p in shown)
    table.add(name, best.apply_ms, share, heal_ms, back_ms)


def _add_minute(table: Table) -> None:
    """Add the ratio of the command's total time to the attack's, infinite if the command fails, and
    the peak memory of its largest process: Touchstone's own or a broker's."""
    target = f"apache:{KAFKA_VERSION}"
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as scratch:
        command = [
            sys.executable,
            "-m",
            "ci.cli",
            "chaos",
            "run",
            "--target",
            target,
            *SCENARIO,
            "--seconds",
            f"{ATTACK_S:g}",
            "--runs",
            scratch,
        ]
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.terminate()  # it shuts down cleanly
            process.wait()
            raise
        took_s = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    told = f"a minute's attack on three nodes of {target}, exit status {process.returncode}"
    cost = took_s / ATTACK_S if process.returncode == 0 else math.inf
    table.add(f"{told}: seconds in all", took_s, Ratio(cost, at_most=COST_MAX), "", "")
    peak_mib = used.ru_maxrss / 1024
    table.add(
        "its largest process: peak MiB", peak_mib, Ratio(peak_mib, at_most=HARNESS_MIB_MAX), "", ""
    )
