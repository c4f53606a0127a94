"""Workloads, nemeses and targets by name, and the tables that say what goes with what."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from chaos.clients.factories import CLIENTS, why_no_groups
from chaos.nemeses import NEMESES
from chaos.probes.frame import Backend, Proof
from chaos.probes.run import proofs_table, registry_table
from chaos.targets import TARGETS, parse_target
from chaos.values.faults import FAULTS, Heal
from chaos.values.protocols import Nemesis, Target, TargetError, Workload
from chaos.workloads import WORKLOADS

T = TypeVar("T")
COORDINATED = {"kill-group-coordinator": "groups", "kill-transaction-coordinator": "transactions"}
"""Nemeses that strike the coordinator of something, and of what."""
COMMIT_WITHOUT_MEMBERS = frozenset({"offsets", "offsets-transactions"})
"""Workloads whose groups have offsets and no members; they have a coordinator all the same."""


def workload_named(name: str) -> Workload:
    """Return the workload of that name. Raise TargetError with the known names."""
    return _named("workload", name, WORKLOADS)


def nemesis_named(name: str) -> Nemesis:
    """Return the nemesis of that name. Raise TargetError with the known names."""
    return _named("nemesis", name, NEMESES)


def _named(kind: str, name: str, table: Mapping[str, T]) -> T:
    if name in table:
        return table[name]
    nearest = difflib.get_close_matches(name, table, n=1, cutoff=0.4)
    hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
    raise TargetError(f"unknown {kind} {name!r}{hint}; use one of {', '.join(table)}")


def targets() -> dict[str, Target]:
    """Return every target that can be started here, in its default version."""
    return {name: parse_target(name) for name in TARGETS}


def able(target: Target, nemesis: Nemesis) -> bool:
    """Return whether this target can perform every fault of this nemesis."""
    return nemesis.faults <= target.faults


def check_fit(target: Target, workload: Workload, nemesis: Nemesis, nodes: int) -> None:
    """Refuse what cannot be performed together, or would show nothing."""
    check_able(target, nemesis, nodes)
    check_nodes("workload", workload, nodes)
    check_somebody_to_strike(workload, nemesis)


def check_able(target: Target, nemesis: Nemesis, nodes: int) -> None:
    """Refuse a nemesis whose faults this target cannot perform, or would strike nothing."""
    if missing := sorted(fault.__name__ for fault in nemesis.faults - target.faults):
        able = ", ".join(sorted(f.__name__ for f in target.faults)) or "nothing"
        raise TargetError(
            f"target {target.name!r} cannot {', '.join(missing)} (needed by nemesis"
            f" {nemesis.name}); it can: {able}; `touchstone chaos list` shows which target can what"
        )
    check_nodes("nemesis", nemesis, nodes)


def check_nodes(kind: str, wanted: Nemesis | Workload, nodes: int) -> None:
    """Refuse what would show nothing on so few nodes."""
    if nodes < wanted.nodes_min:
        raise TargetError(
            f"{kind} {wanted.name} needs {wanted.nodes_min} nodes at least, not {nodes};"
            f" say --nodes {max(3, wanted.nodes_min)}"
        )


def check_somebody_to_strike(workload: Workload, nemesis: Nemesis) -> None:
    """Refuse to kill the coordinator of what a workload does not have."""
    has = {"groups": has_groups(workload), "transactions": is_transactional(workload)}
    what = COORDINATED.get(nemesis.name)
    if what is not None and not has[what]:
        raise TargetError(
            f"workload {workload.name} has no {what}, so that none has a coordinator for nemesis"
            f" {nemesis.name}; choose another of the two"
        )


def has_groups(workload: Workload) -> bool:
    """Return whether any of its processes uses a group coordinator."""
    settings = map(workload.settings, range(workload.processes))
    return workload.name in COMMIT_WITHOUT_MEMBERS or any(one.group for one in settings)


def is_transactional(workload: Workload) -> bool:
    """Return whether any of its processes uses a transaction coordinator."""
    return any(workload.settings(process).transactional for process in range(workload.processes))


def list_markdown() -> str:
    """Return the tables workload, judges and clients; nemesis and target; fault and target; fault
    and backend."""
    all_targets = targets()
    workloads = [
        (
            f"`{w.name}`",
            _first_line(w),
            ", ".join(f"`{judge}`" for judge in w.judged_by),
            *(_mark(why_no_groups(client, w) is None) for client in CLIENTS),
        )
        for w in WORKLOADS.values()
    ]
    nemeses = [
        (f"`{n.name}`", _first_line(n), *(_mark(able(t, n)) for t in all_targets.values()))
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


def proofs_markdown(proofs: Sequence[Proof]) -> str:
    """Return the table of fault and backend: what the probes saw, and how long each fault took."""
    return _table(("fault", *Backend), proofs_table(proofs))


def list_text() -> str:
    """Return a shorter list for a terminal."""
    all_targets = targets()
    workloads = {w.name: _first_line(w) for w in WORKLOADS.values()}
    nemeses = {}
    for n in NEMESES.values():
        names = ", ".join(name for name, target in all_targets.items() if able(target, n))
        nemeses[n.name] = f"{_first_line(n)} [{names or 'none'}]"
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
    """Return, for each nemesis, whether this target can perform it, or which faults it lacks."""
    rows = {}
    for nemesis in NEMESES.values():
        lacking = sorted(fault.__name__ for fault in nemesis.faults - target.faults)
        rows[nemesis.name] = f"no: it lacks {', '.join(lacking)}" if lacking else "yes"
    faults = ", ".join(fault.__name__ for fault in FAULTS.values() if fault in target.faults)
    title = f"nemeses on {target.name}, whose faults are {faults}"
    return "\n".join((title, *_aligned(rows)))


def _aligned(rows: Mapping[str, str]) -> Iterator[str]:
    """Yield names in a column as wide as the longest of them."""
    width = max(map(len, rows))
    return (f"  {name:<{width}}  {text}" for name, text in rows.items())


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _mark(yes: bool) -> str:
    return "yes" if yes else "–"


def _first_line(thing: object) -> str:
    return (type(thing).__doc__ or "").strip().splitlines()[0]
