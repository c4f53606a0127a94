"""The promises of each checker, clause by clause, and the mutators that break each clause.

A clause says when a history is invalid, in the words of docs/guarantees.md (its table of clauses is
made from here). Every checker has at least one clause, and every clause at least one mutator,
because a rule that was never seen to find an anomaly may be unable to. A mutator breaks the clause
that lists it.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from linearizability.guarantees import GUARANTEES, part
from linearizability.self_test.clause import Clauses, Mutator
from linearizability.self_test.model.world import Row

CLAUSES: Mapping[str, Clauses] = {name: part(name, "mutators").CLAUSES for name in GUARANTEES}
"""Checker -> clause (when it calls a history invalid) -> the mutators that break it."""

MUTATORS: Mapping[str, Mapping[Mutator, frozenset[str]]] = {
    name: {mutate: clause.kinds for clause in clauses.values() for mutate in clause.mutators}
    for name, clauses in CLAUSES.items()
}
"""Checker -> mutator -> the kinds of anomaly, one of which the checker must report."""


def broken(name: str, rows: list[Row], rng: Random) -> list[Row] | None:
    """Return the history (`model.rows_with_truth`) changed by a random mutator of this checker, so
    that it has one anomaly which the checker must find. Return None if that mutator finds no place
    for it."""
    return rng.choice([*MUTATORS[name]])(rows, rng)


def markdown_table() -> str:
    """Return the table of docs/guarantees.md."""
    lines = ["| guarantee | invalid when | found as | planted by |", "|---|---|---|---|"]
    for name, clauses in CLAUSES.items():
        for text, clause in clauses.items():
            kinds = ", ".join(f"`{kind}`" for kind in sorted(clause.kinds))
            planted = ", ".join(f"`{mutate.__name__}`" for mutate in clause.mutators)
            lines.append(f"| `{name}` | {text} | {kinds} | {planted} |")
    return "\n".join(lines)


def empty_rows(names: list[str]) -> list[str]:
    """Return a sentence for each checker without a clause and each clause without a mutator."""
    without = [
        f"{name} has no clause in its mutators.py" for name in names if not CLAUSES.get(name)
    ]
    return without + [
        f"{name}: no mutator plants {text!r}"
        for name, clauses in CLAUSES.items()
        for text, clause in clauses.items()
        if not clause.mutators
    ]
