"""Tables of workloads, clients, nemeses, targets and faults, which show the combinations that can
run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import cleandoc

from chaos.clients.factories import CLIENTS, why_no_groups
from chaos.nemeses import NEMESES
from chaos.probes.frame import Backend, Proof
from chaos.probes.run import proofs_table, registry_table
from chaos.run.fitting import able
from chaos.targets import TARGETS, parse_target
from chaos.values.fault_kinds import FAULTS
from chaos.values.faults import Heal
from chaos.values.protocols import Target, TargetError
from chaos.workloads import WORKLOADS


def targets() -> dict[str, Target]:
    """Return name -> target for every registered target, in its default version. Leave out one that
    cannot be made without a version or address, as some plugins' targets cannot."""
    made = {}
    for name in TARGETS:
        with suppress(TargetError):
            made[name] = parse_target(name)
    return made


def list_markdown() -> str:
    """Return four tables in Markdown: workload × judges and clients; nemesis × target; fault ×
    target; fault × backend on which a probe proves it."""
    all_targets = targets()
    workloads = [
        (
            f"`{w.name}`",
            _summary(w),
            ", ".join(f"`{judge}`" for judge in w.judged_by),
            *(_mark(why_no_groups(client, w) is None) for client in CLIENTS),
        )
        for w in WORKLOADS.values()
    ]
    nemeses = [
        (f"`{n.name}`", _summary(n), *(_mark(able(t, n)) for t in all_targets.values()))
        for n in NEMESES.values()
    ]
    faults = [
        (f"`{fault.__name__}`", *(_mark(fault in t.faults) for t in all_targets.values()))
        for fault in FAULTS.values()
        if fault is not Heal
    ]
    return "\n\n".join(
        (
            _table(("workload", "does", "judged by", *CLIENTS), workloads),
            _table(("nemesis", "does", *all_targets), nemeses),
            _table(("fault", *all_targets), faults),
            _table(("fault, and where a probe proves it", *Backend), registry_table()),
        )
    )


def list_json(own: Target | None = None) -> str:
    """Return the workloads, the nemeses with the targets that can perform them, and each target's
    faults as JSON. own: one more target, such as the user's cluster."""
    all_targets = targets() | ({own.name: own} if own is not None else {})
    workloads = [
        {
            "name": w.name,
            "does": _summary(w),
            "judged_by": list(w.judged_by),
            "nodes_min": w.nodes_min,
            "clients": [client for client in CLIENTS if why_no_groups(client, w) is None],
        }
        for w in WORKLOADS.values()
    ]
    nemeses = [
        {
            "name": n.name,
            "does": _summary(n),
            "faults": sorted(fault.__name__ for fault in n.faults - {Heal}),
            "nodes_min": n.nodes_min,
            "targets": [name for name, target in all_targets.items() if able(target, n)],
        }
        for n in NEMESES.values()
    ]
    able_to = {
        name: sorted(fault.__name__ for fault in target.faults - {Heal})
        for name, target in all_targets.items()
    }
    told = {"workloads": workloads, "nemeses": nemeses, "targets": able_to}
    return json.dumps(told, indent=2)


def proofs_markdown(proofs: Sequence[Proof]) -> str:
    """Return the table of fault × backend in Markdown: what the probes observed, and how long each
    fault took."""
    return _table(("fault", *Backend), proofs_table(proofs))


def proofs_json(proofs: Sequence[Proof]) -> str:
    """Return the probes' results as JSON: fault, kind of cluster (`ground`), outcome, what was
    observed (`detail`), and the times in milliseconds."""
    rows = [
        {
            "fault": proof.probe.fault.__name__,
            "ground": proof.probe.ground.name,
            "outcome": proof.outcome.value,
            "detail": proof.detail,
            "apply_ms": proof.apply_ms,
            "heal_ms": proof.heal_ms,
            "back_ms": proof.back_ms,
        }
        for proof in proofs
    ]
    return json.dumps(rows, indent=2)


def list_text() -> str:
    """Return a shorter form of the tables for a terminal."""
    all_targets = targets()
    workloads = {w.name: _summary(w) for w in WORKLOADS.values()}
    nemeses = {}
    for n in NEMESES.values():
        names = ", ".join(name for name, target in all_targets.items() if able(target, n))
        nemeses[n.name] = f"{_summary(n)} [{names or 'none'}]"
    faults = {
        name: ", ".join(f.__name__ for f in FAULTS.values() if f in target.faults) or "none"
        for name, target in all_targets.items()
    }
    clients = {
        client: ", ".join(w.name for w in WORKLOADS.values() if why_no_groups(client, w))
        for client in CLIENTS
    }
    parts = {
        "workloads": workloads,
        "clients (and the workloads that they do not perform)": {
            client: missing or "none" for client, missing in clients.items()
        },
        "nemeses (and the targets that can)": nemeses,
        "targets (and their faults)": faults,
    }
    return "\n\n".join("\n".join((title, *_aligned(rows))) for title, rows in parts.items())


def list_for(target: Target) -> str:
    """Return a title that lists this target's faults, and a line for each nemesis: whether the
    target can perform it, or the faults that it lacks."""
    rows = {}
    for nemesis in NEMESES.values():
        lacking = sorted(fault.__name__ for fault in nemesis.faults - target.faults)
        rows[nemesis.name] = f"no: it lacks {', '.join(lacking)}" if lacking else "yes"
    faults = ", ".join(fault.__name__ for fault in FAULTS.values() if fault in target.faults)
    title = f"nemeses on {target.name}, whose faults are {faults}"
    return "\n".join((title, *_aligned(rows)))


def _aligned(rows: Mapping[str, str]) -> Iterator[str]:
    """Yield lines `name text`, with the names padded to the width of the longest. rows: name ->
    text, not empty."""
    width = max(map(len, rows))
    return (f"  {name:<{width}}  {text}" for name, text in rows.items())


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _mark(yes: bool) -> str:
    return "yes" if yes else "–"


def _summary(thing: object) -> str:
    """Return the first paragraph of the class's docstring on one line."""
    paragraph = cleandoc(type(thing).__doc__ or "").partition("\n\n")[0]
    return " ".join(paragraph.split())
