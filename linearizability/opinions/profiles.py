"""Judge by another tool's rules, which call an anomaly an error, allow it, or do not look for it.

`jepsen`: the rules of jepsen/src/jepsen/tests/kafka.clj (`allowed-error-types`, and the definitions
of `analysis`). An anomaly that Jepsen allows, or does not look for, is still reported, but makes
nothing invalid. If we know only the first of many anomalies, and those are allowed, the checker is
unknown, since nobody looked at the others.

A profile decides by kinds of anomalies, not by evidence: if our judges prove one of Jepsen's kinds
by evidence that Jepsen ignores (such as the offset of an aborted record), it remains an error.

The profile corresponds to Jepsen's Kafka workload without `ww-deps`, the setting in which its
cycles of reads are errors. Its cycles of writes (G0), which it always allows, are reported as well
(`cycles/writes.py`). As `append_order` it allows sends in the wrong order (G0-realtime), but not
those of one process (`nonmonotonic_sends.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from linearizability import history
from linearizability.checkers.table import CHECKERS
from linearizability.cycles.writes import write_cycles
from linearizability.guarantees import abouts
from linearizability.history import F, HistoryError
from linearizability.opinions.confirm import NAME as PORCUPINE
from linearizability.opinions.jepsen_rules import Facts, Rule, never
from linearizability.opinions.nonmonotonic_sends import nonmonotonic_sends
from linearizability.verdict import CheckerVerdict, Validity, Verdict, merge

PROFILES = ("touchstone", "jepsen")


JEPSEN: Mapping[str, tuple[str, Rule]] = {
    **{name: about.jepsen for name, about in abouts().items() if about.jepsen},
    PORCUPINE: ("G0-realtime, allowed", never),
}
"""Our checker -> Jepsen's name for the anomaly, and the rule for when it is an error there. Jepsen
does not look for the anomalies of other checkers."""
NOT_LOOKED_FOR = ("Jepsen does not look for it", never)
NAMED_POLLS = ("poll_order", "poll_skips", "aborted_reads")


def known_profile(profile: str) -> str:
    """Return the profile's name as it is. Raise HistoryError if there is none of this name."""
    if profile not in PROFILES:
        raise HistoryError(f"profile {profile!r} is not one of {', '.join(PROFILES)}")
    return profile


def under_profile(
    verdict: Verdict, path: Path, profile: str, *, named_by_workload: Iterable[str] = ()
) -> Verdict:
    """Return the verdict on the history `path` by the rules of a profile; unchanged for
    "touchstone". For another one, the opinions of `nonmonotonic_sends` and `write_cycles` are
    added, and groups and availability are left out. Opinions that are not a checker's (for example,
    that a recording is incomplete) are kept. named_by_workload: checkers that must have judged
    something. Raise HistoryError for an unknown profile, or if there is no valid history."""
    if known_profile(profile) == "touchstone":
        return verdict
    facts = _facts(path, verdict)
    names = {*CHECKERS, *JEPSEN}
    opinions = [
        _by_jepsen(opinion, facts) if name in names else opinion
        for name, opinion in verdict.checkers.items()
    ]
    opinions += [nonmonotonic_sends(history.scan(path)), write_cycles(history.scan(path))]
    engine = f"{verdict.engine}, profile {profile}"
    return merge(opinions, engine=engine, named_by_workload=named_by_workload)


def _by_jepsen(opinion: CheckerVerdict, facts: Facts) -> CheckerVerdict:
    if opinion.validity is not Validity.INVALID:
        return opinion
    name, is_error = JEPSEN.get(opinion.name, NOT_LOOKED_FOR)
    if any(is_error(anomaly.operations, facts) for anomaly in opinion.anomalies):
        return replace(opinion, reason=f"Jepsen: {name}")
    if is_error is not never and opinion.anomaly_count > len(opinion.anomalies):
        known = f"the first {len(opinion.anomalies)} of {opinion.anomaly_count} are allowed"
        return replace(opinion, validity=Validity.UNKNOWN, reason=f"Jepsen: {name}; {known}")
    return replace(opinion, validity=Validity.VALID, reason=f"reported only (Jepsen: {name})")


def _facts(path: Path, verdict: Verdict) -> Facts:
    named = {
        op
        for name in NAMED_POLLS
        if name in verdict.checkers
        for anomaly in verdict.checkers[name].anomalies
        for op in anomaly.operations
    }
    polls = history.scan(path).filter(pl.col("f") == F.POLL.value)
    shown = polls.filter(pl.col("op_id").is_in(sorted(named))).select("op_id", "process", "type")
    members = polls.select(pl.col("member_id").is_not_null().any())
    is_seek = pl.col("f") == F.POSITION.value
    seeks = history.scan(path).filter(is_seek & pl.col("op_id").is_in(sorted(named)))
    found, subscribes, sought = pl.collect_all(
        [shown.unique(), members, seeks.select("op_id").unique()]
    )
    rows: Iterable[tuple[Any, ...]] = found.iter_rows()
    by_operation = {op: (process, kind) for op, process, kind in rows}
    return Facts(by_operation, bool(subscribes.item()), frozenset(sought["op_id"]))
