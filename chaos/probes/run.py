"""Perform probes on one kind of cluster after another, and draw the table of faults and
backends."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from chaos.means.links import LinkError
from chaos.probes import PROBES
from chaos.probes.frame import Backend, Ground, Outcome, Probe, ProbeFailed, Proof, Site
from chaos.values.fault_kinds import FAULTS
from chaos.values.faults import Heal
from chaos.values.protocols import TargetError

PROVED, FAILED, USAGE = 0, 1, 2
EFFECT_ERRORS = (ProbeFailed, TargetError, LinkError, OSError)


def chosen(fault: str | None = None, nightly: bool = False) -> list[Probe]:
    """Return the probes of one fault, given by its name, or of all faults. Leave out those whose
    ground is for nightly runs, unless `nightly`. Raise TargetError for an unknown name."""
    if fault is not None and fault not in FAULTS:
        raise TargetError(f"there is no fault {fault!r}; use one of {', '.join(FAULTS)}")
    wanted = [probe for probe in PROBES if fault in (None, probe.fault.__name__)]
    return [probe for probe in wanted if nightly or not probe.ground.nightly]


def perform(
    probes: Sequence[Probe], told: Callable[[Proof], None] = lambda proof: None
) -> list[Proof]:
    """Perform probes, in the order of their grounds' names, and return their proofs; a probe that
    this machine cannot run has the outcome NOT_HERE. Start the cluster of each ground once, and
    again after a probe has failed on it. told: called with each proof."""
    proofs: list[Proof] = []
    in_order = sorted(probes, key=lambda probe: probe.ground.name)  # probes keep their order
    for _, group in groupby(in_order, key=lambda probe: probe.ground.name):
        for proof in _on_one_ground(list(group)):
            told(proof)
            proofs.append(proof)
    return proofs


def _on_one_ground(probes: list[Probe]) -> Iterator[Proof]:
    ground = probes[0].ground
    if reason := ground.why_not():
        yield from (Proof(probe, Outcome.NOT_HERE, reason) for probe in probes)
        return
    waiting = list(probes)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="touchstone-probe-") as directory:
            yield from _until_one_fails(ground, waiting, Path(directory))


def _until_one_fails(ground: Ground, waiting: list[Probe], directory: Path) -> Iterator[Proof]:
    """Remove probes from the list and perform them, until one fails. Stop then, since the next one
    needs a fresh ground. If the ground does not start, all of them fail."""
    try:
        cluster = ground.start(directory)
    except TargetError as error:
        yield from (Proof(probe, Outcome.FAILED, str(error)) for probe in waiting)
        waiting.clear()
        return
    try:
        while waiting:
            proof = _prove(waiting.pop(0), Site(cluster))
            yield proof
            if proof.outcome is Outcome.FAILED:
                return
    finally:
        cluster.stop()


def _prove(probe: Probe, site: Site) -> Proof:
    try:
        outcome, detail = Outcome.PROVED, probe.run(site)
    except EFFECT_ERRORS as error:
        outcome, detail = Outcome.FAILED, str(error)
    return Proof(probe, outcome, detail, site.apply_ms, site.heal_ms, site.back_ms)


def exit_status(proofs: Sequence[Proof]) -> int:
    """Return 1 if a probe failed, 2 if this machine could perform no probe, else 0."""
    if any(proof.outcome is Outcome.FAILED for proof in proofs):
        return FAILED
    return PROVED if any(proof.outcome is Outcome.PROVED for proof in proofs) else USAGE


def line(proof: Proof) -> str:
    """Return one proof as one line of text."""
    if proof.outcome is Outcome.NOT_HERE:
        return f"{proof.outcome:<8} {proof.probe.name}: {proof.detail}"
    return f"{proof.outcome:<8} {proof.probe.name}: {proof.detail} [{_times(proof)}]"


def _times(proof: Proof) -> str:
    bound = proof.probe.apply_ms_max
    promised = f" of {bound:.0f}" if bound is not None else ""
    slow = ", over its bound" if proof.is_slow else ""
    return (
        f"apply {proof.apply_ms:.1f}{promised} ms{slow}, heal {proof.heal_ms:.1f} ms,"
        f" back after {proof.back_ms:.0f} ms"
    )


def registry_table() -> list[tuple[str, ...]]:
    """Return the rows of the table fault × backend, without a heading: for each fault except Heal,
    its name and the grounds of each backend on which it is proved ("–" for none)."""
    rows = []
    for fault in FAULTS.values():
        if fault is Heal:
            continue
        grounds = [p.ground for p in PROBES if p.fault is fault]
        cells = (_names(ground for ground in grounds if ground.backend is b) for b in Backend)
        rows.append((f"`{fault.__name__}`", *cells))
    return rows


def _names(grounds: Iterable[Ground]) -> str:
    return "; ".join(dict.fromkeys(ground.name for ground in grounds)) or "–"


def proofs_table(proofs: Sequence[Proof]) -> list[tuple[str, ...]]:
    """Return one row for each fault that has proofs: its name, and for each backend what its probes
    observed with the times ("–" for none)."""
    rows = []
    for fault in FAULTS.values():
        mine = [proof for proof in proofs if proof.probe.fault is fault]
        if mine:
            cells = (_cell(p for p in mine if p.probe.ground.backend is b) for b in Backend)
            rows.append((f"`{fault.__name__}`", *cells))
    return rows


def _cell(proofs: Iterable[Proof]) -> str:
    return "<br>".join(_told(proof) for proof in proofs) or "–"


def _told(proof: Proof) -> str:
    if proof.outcome is Outcome.NOT_HERE:
        return f"not here: {proof.detail}"
    return f"{proof.outcome} on {proof.probe.ground.name}: {proof.detail} ({_times(proof)})"
