"""`make demo`: run everything once: conformance, an attack, two judging engines, and planted bugs
that must be caught.

The steps: doctor; the P0 conformance cases of all areas but LEFT_OUT, on the reference and on
Apache Kafka; an attack on three Apache nodes (else on the reference), judged by polars, by Spark
and by porcupine; the canaries; the report. Parts whose tools are missing here are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.record.run_directory import Scenario
from chaos.values.protocols import TargetError
from ci import doctor
from ci.attack import Judged, attack, verdict_of
from ci.conform import examine
from ci.errors import UsageError
from linearizability.opinions.confirm import NAME as PORCUPINE
from linearizability.verdict import Validity, Verdict

APACHE = "apache:4.3.1"
LEFT_OUT = "not groups and not offsets and not security and not admin and not guarantees"
"""The areas that the demo leaves out, as a `pytest -k` expression: their cases wait for timers,
need brokers of their own, or run workloads. `touchstone conform` examines all areas."""
CANARIES = ("acknowledge-before-append", "forget-producer-state-on-restart")
CANARY_SECONDS = 15.0


@dataclass
class Line:
    """One line of the demo's summary: what was judged, the result, and whether that is the expected
    result."""

    what: str
    result: str
    as_expected: bool


@dataclass
class Demo:
    """The results of the demo so far."""

    out: Path
    seconds: float
    lines: list[Line] = field(default_factory=list)
    conformance: list[dict[str, Any]] = field(default_factory=list)
    runs: list[Path] = field(default_factory=list)
    canaries: list[tuple[str, Judged]] = field(default_factory=list)

    def step(self, title: str, action: Callable[[], None]) -> None:
        """Run one step, and print its title and how long it took. If it raises UsageError or
        TargetError, note in the summary that it could not run, and continue."""
        print(f"\n== {title}", flush=True)
        started = time.monotonic()
        try:
            action()
        except (UsageError, TargetError) as error:
            print(f"not run: {error}")
            self.lines.append(Line(title, f"not run: {error}", False))
        print(f"   ({time.monotonic() - started:.0f} s)", flush=True)


def run_demo(seconds: float, out: Path) -> int:
    """Run the whole demo, print its verdicts and write report.html into `out`; return 0 if
    everything is as expected, else 1. seconds: how long the attack lasts."""
    demo = Demo(out, seconds)
    out.mkdir(parents=True, exist_ok=True)
    components = doctor.components()
    print(doctor.render(components))
    apache = doctor.found("kafka-jars") and doctor.found("java")
    for target in ("reference", APACHE) if apache else ("reference",):
        demo.step(f"conformance P0: {target}", lambda target=target: _conform(demo, target))  # type: ignore[misc]
    on_apache = apache and doctor.found("toxiproxy")
    target, nodes = (APACHE, 3) if on_apache else ("reference", 1)
    demo.step(
        f"chaos: {target}, {nodes} node(s), transactions, kill-leader, {seconds:.0f} s",
        lambda: _chaos(demo, target, nodes),
    )
    for bug in CANARIES:
        demo.step(f"canary: {bug}", lambda bug=bug: _canary(demo, bug))  # type: ignore[misc]
    report = _report(demo, components)
    print("\n== verdicts")
    for line in demo.lines:
        mark = "as expected" if line.as_expected else "NOT AS EXPECTED"
        print(f"{line.what}: {line.result} [{mark}]")
    print(f"report: {report}")
    return 0 if all(line.as_expected for line in demo.lines) else 1


def _conform(demo: Demo, target: str) -> None:
    results = examine(["--target", target, "--priority", "P0", "-k", LEFT_OUT])
    demo.conformance.append(results)
    summary = f"{results['passed']} passed, {results['failed']} failed, "
    summary += f"{results['unsupported']} unsupported"
    good = results["failed"] == 0 and results["passed"] > 0
    demo.lines.append(Line(f"conformance P0 {target}", summary, good))


def _chaos(demo: Demo, target: str, nodes: int) -> None:
    scenario = Scenario(target, "transactions", "kill-leader", nodes, demo.seconds, seed=1)
    judged = attack(scenario, demo.out)
    demo.runs.append(judged.path)
    name = f"chaos {target} transactions kill-leader"
    _verdict_line(demo, f"{name}, by {judged.verdict.engine}", judged.verdict, Validity.VALID)
    porcupine = judged.verdict.checkers.get(PORCUPINE)
    if porcupine is not None:
        _line(demo, f"{name}, by porcupine", porcupine.validity, Validity.VALID, porcupine.reason)
    if not judged.verdict.engine.startswith("local"):
        second = verdict_of(judged.path, judged.run, engine="local", second_opinion=False)
        _verdict_line(demo, f"{name}, by {second.engine}", second, Validity.VALID)
        same = _anomalies(second) == _anomalies(judged.verdict)
        text = "same verdict and anomalies" if same else "they differ"
        demo.lines.append(Line("both engines agree", text, same))


def _anomalies(verdict: Verdict) -> set[tuple[str, str, tuple[int, ...]]]:
    return {
        (name, anomaly.kind, anomaly.operations)
        for name, anomaly in verdict.anomalies
        if name != PORCUPINE
    }


def _canary(demo: Demo, bug: str) -> None:
    scenario = Scenario("reference", "appends", "kill", 1, CANARY_SECONDS, seed=1, bug=bug)
    judged = attack(scenario, demo.out)
    demo.canaries.append((bug, judged))
    caught = [n for n, c in judged.verdict.checkers.items() if c.validity is Validity.INVALID]
    result = f"caught by {', '.join(caught)}" if caught else "NOT CAUGHT"
    demo.lines.append(Line(f"canary {bug}", result, bool(caught)))


def _verdict_line(demo: Demo, what: str, verdict: Verdict, wanted: Validity) -> None:
    # Porcupine has its own line; without it both engines show the same count.
    judged = sum(c.checked for name, c in verdict.checkers.items() if name != PORCUPINE)
    _line(demo, what, verdict.validity, wanted, verdict.reason or f"{judged:,} checks")


def _line(demo: Demo, what: str, found: Validity, wanted: Validity, why: str | None) -> None:
    text = found.value + (f" ({why})" if why else "")
    demo.lines.append(Line(what, text, found is wanted))


def _report(demo: Demo, components: list[doctor.Component]) -> Path:
    from ci.report.building import report_demo

    return report_demo(
        demo.out / "report.html",
        conformance=demo.conformance,
        runs=demo.runs,
        canaries=[(bug, judged.path) for bug, judged in demo.canaries],
        components=components,
        lines=[(line.what, line.result, line.as_expected) for line in demo.lines],
    )
