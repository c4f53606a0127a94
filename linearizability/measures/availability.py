"""Measure the availability of a run: the time without success, errors, and the time to recover
after each heal. This is no guarantee by itself: a broken cluster need not answer. It makes a run
invalid only where the run states a bound (`bounds`), or where nothing succeeded after the last heal
although clients sent requests for a minute. A success is an acknowledged send (not with acks=0), a
delivered record, the end of a transaction, or an offset committed or fetched. Gaps and errors count
before the final phase, in which only the final readers ask. All engines share this definition: it
reads a few columns, which polars streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from linearizability import history
from linearizability.bounds import NANOSECONDS, NOTHING_STATED, Bounds
from linearizability.excuses.faults import is_heal
from linearizability.history import F, Type
from linearizability.importers.jepsen import CLIENT as JEPSEN
from linearizability.ingest import IS_FINAL
from linearizability.verdict import Anomaly, CheckerVerdict, Validity

NAME = "availability"
GAP_NS = NANOSECONDS
"""The length of a gap in nanoseconds below which it is ignored."""
PATIENCE_S = 60.0
"""A run that states no bound is invalid if no request succeeds for this many seconds after the last
heal."""

_F = pl.col("f")
_IS_CONCLUDED = (pl.col("client") == JEPSEN) & (
    _F.is_in([F.ABORT.value, F.READ_ALL.value])
    | ((F.POLL.value == _F) & pl.col("offset").is_null())
)
"""The condition on rows that an importer concluded from other operations, and that no client
requested."""
IS_SERVICE = ~_IS_CONCLUDED.fill_null(False) & (
    _F.is_in([F.SEND.value, F.COMMIT.value, F.ABORT.value, F.READ_ALL.value])
    | _F.is_in([F.COMMIT_OFFSETS.value, F.FETCH_OFFSETS.value])
    | ((F.POLL.value == _F) & (pl.col("offset").is_not_null() | (pl.col("type") != Type.OK.value)))
)
"""The condition on requests that count as service. A poll that finds nothing does not count."""
IS_SUCCESS = (
    IS_SERVICE
    & (pl.col("type") == Type.OK.value)
    & (pl.col("acks") != 0).fill_null(True)
    & pl.col("t_complete_ns").is_not_null()
)


@dataclass(frozen=True)
class Gap:
    """A time without success, in seconds since the first invocation, with the operations that
    succeeded before and after."""

    start_s: float
    end_s: float
    operations: tuple[int, ...]

    @property
    def seconds(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Recovery:
    """A heal, and the seconds until the next success (None without one)."""

    healed_s: float
    seconds: float | None
    operations: tuple[int, ...]


@dataclass(frozen=True)
class Served:
    """The service of one role: producers, readers, or a group. seconds: the time from its first
    request to the end of its last; gap_s: how many of those seconds are in gaps, without those
    below GAP_NS."""

    seconds: float
    gap_s: float
    longest_gap_s: float

    @property
    def share(self) -> float:
        return 1 - self.gap_s / self.seconds if self.seconds else 1.0


@dataclass(frozen=True)
class Availability:
    """The availability that the clients of a run saw before the final phase. operations, failed:
    requests, and those without success. asked_until_s: the time at which the last request of all
    ended. seconds: the time from the first request to the end of the last. roles: producers,
    readers, and each group by its name; a gap of readers begins when a record of their topic is
    acknowledged after the last one that they received."""

    operations: int
    failed: int
    gaps: tuple[Gap, ...]
    recoveries: tuple[Recovery, ...]
    asked_until_s: float
    roles: Mapping[str, Served] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """The share of the time outside of gaps; gaps below GAP_NS are ignored."""
        gap_s = sum(gap.seconds for gap in self.gaps)
        return max(1 - gap_s / self.seconds, 0.0) if self.seconds else 1.0

    @property
    def error_rate(self) -> float:
        return self.failed / self.operations if self.operations else 0.0

    @property
    def longest_gap_s(self) -> float:
        return max((gap.seconds for gap in self.gaps), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return the measures for verdict.json."""
        rates = {
            "share": self.share,
            "error_rate": self.error_rate,
            "longest_gap_s": self.longest_gap_s,
        }
        roles = {name: asdict(role) | {"share": role.share} for name, role in self.roles.items()}
        return rates | asdict(self) | {"roles": roles}

    def served(self) -> str:
        """Return in words the share of the time that was served, over all and for the role with the
        least."""
        shares = {name: role.share for name, role in self.roles.items()}
        worst = min(shares, key=lambda name: shares[name], default="")
        told = f"served {self.share:.1%} of the time"
        if not worst or round(shares[worst], 3) >= round(self.share, 3):
            return told
        return f"{told} ({worst}: {shares[worst]:.1%})"

    def longest_gap(self) -> str:
        """Return in words the longest gap of all roles together or, if a single role had a longer
        one, that with its name."""
        gaps = {name: role.longest_gap_s for name, role in self.roles.items()}
        worst = max(gaps, key=lambda name: gaps[name], default="")
        if not worst or gaps[worst] <= self.longest_gap_s:
            return f"longest gap {self.longest_gap_s:.1f} s"
        return f"longest gap {gaps[worst]:.1f} s ({worst})"


def measure(path: Path) -> Availability:
    """Return the availability that the history under this path shows. Raise HistoryError if there
    is none."""
    return measured(history.scan(path))


def measured(rows: pl.LazyFrame) -> Availability:
    """Return the availability (gaps, recovery after heals, share of errors) that these rows of a
    whole history show."""
    asked = rows.filter(IS_SERVICE)
    ended = pl.coalesce("t_complete_ns", "t_invoke_ns")
    before_the_end = asked.filter(~IS_FINAL)
    number = pl.col("op_id")
    totals = before_the_end.select(
        operations=number.n_unique(),
        failed=number.filter(pl.col("type") != Type.OK.value).n_unique(),
        began=pl.col("t_invoke_ns").min(),
        ended=ended.max(),
    )
    successes = (
        rows.filter(IS_SUCCESS)
        .group_by("t_complete_ns")
        .agg(op_id=number.min(), final=IS_FINAL.all())
        .sort("t_complete_ns")
    )
    bounds = rows.select(start=pl.col("t_invoke_ns").min())
    last = asked.select(last=ended.max())
    faults = rows.filter(F.NEMESIS.value == _F).select("op_id", "t_complete_ns", "detail")
    total, moments, start, until, nemesis = pl.collect_all(
        [totals, successes, bounds, last, faults], engine="streaming"
    )
    start_ns = start.item() or 0
    operations, failed, began_ns, ended_ns = total.row(0)
    within = moments.filter(~pl.col("final")).select("t_complete_ns", "op_id")
    heals = [
        (done_ns, op_id)
        for op_id, done_ns, detail in nemesis.iter_rows()
        if is_heal(detail) and done_ns is not None
    ]
    return Availability(
        operations,
        failed,
        tuple(_gaps(within, began_ns, ended_ns, start_ns)) if operations else (),
        tuple(_recoveries(sorted(heals), moments, start_ns)),
        ((until.item() or start_ns) - start_ns) / NANOSECONDS,
        roles(rows),
        (ended_ns - began_ns) / NANOSECONDS if operations else 0.0,
    )


PRODUCERS, READERS = "producers", "readers"
_ROLE = (
    pl.when(F.POLL.value != _F)
    .then(pl.lit(PRODUCERS))
    .when(pl.col("group").is_not_null() & pl.col("member_id").is_not_null())
    .then(pl.format("group {}", "group"))
    .otherwise(pl.lit(READERS))
)
_HAS_ROLE = _F.is_in([F.SEND.value, F.POLL.value]) & ~IS_FINAL


def roles(rows: pl.LazyFrame) -> dict[str, Served]:
    """Return the availability that producers and consumers saw before the final phase, by role.
    Operations of imported Jepsen histories are left out. A role that sent no request is missing."""
    ours = rows.filter(_HAS_ROLE & ~(pl.col("client") == JEPSEN).fill_null(False))
    asked = ours.group_by(role=_ROLE.cast(pl.String)).agg(
        began=pl.col("t_invoke_ns").min(), ended=pl.coalesce("t_complete_ns", "t_invoke_ns").max()
    )
    good = ours.filter(IS_SUCCESS).select(
        role=_ROLE.cast(pl.String), topic=pl.col("topic").cast(pl.String), at="t_complete_ns"
    )
    acked = good.filter(pl.col("role") == PRODUCERS).select("topic", next="at").unique()
    spans, moments, acks = pl.collect_all([asked, good.unique(), acked], engine="streaming")
    # A role begins in each of its topics when it asks first, and ends when it asks last.
    topics = moments.select("role", "topic").unique()
    asking = topics.join(spans, on="role", how="full", coalesce=True).with_columns(
        pl.col("topic").fill_null("")
    )
    ends = [asking.select("role", "topic", at=edge) for edge in ("began", "ended")]
    known = pl.concat([moments, *ends]).sort("at")
    gaps = known.with_columns(until=pl.col("at").shift(-1).over("role", "topic")).drop_nulls()
    later = gaps.join_asof(
        acks.sort("next"),
        left_on="at",
        right_on="next",
        by="topic",
        strategy="forward",
        allow_exact_matches=False,
        coalesce=False,
        check_sortedness=False,
    ).with_columns(since=pl.when(pl.col("role") == PRODUCERS).then("at").otherwise("next"))
    long = later.filter(pl.col("until") - pl.col("since") > GAP_NS)
    return {
        role: _served(long.filter(role=role).select("since", "until").sort("since"), ended - began)
        for role, began, ended in spans.sort("role").iter_rows()
    }


def _served(gaps: pl.DataFrame, asked_ns: int) -> Served:
    """Return the service of one role: the sum of its gaps, where gaps of several topics at the same
    time count once."""
    covered_ns, longest_ns, reach_ns = 0, 0, 0
    for since_ns, until_ns in gaps.iter_rows():
        covered_ns += max(0, until_ns - max(since_ns, reach_ns))
        longest_ns = max(longest_ns, until_ns - since_ns)
        reach_ns = max(reach_ns, until_ns)
    return Served(asked_ns / NANOSECONDS, covered_ns / NANOSECONDS, longest_ns / NANOSECONDS)


def _gaps(within: pl.DataFrame, began_ns: int, ended_ns: int, start_ns: int) -> Iterator[Gap]:
    """Yield the gaps of at least GAP_NS, in order of time: between successes, from began_ns to the
    first success, and from the last one to ended_ns. within: time and operation of each success.
    began_ns, ended_ns: between which clients asked. start_ns: from which gaps count their
    seconds."""
    long = within.select(
        before="t_complete_ns",
        before_op="op_id",
        after=pl.col("t_complete_ns").shift(-1),
        after_op=pl.col("op_id").shift(-1),
    ).filter(pl.col("after") - pl.col("before") >= GAP_NS)
    found: list[tuple[int, int, tuple[int | None, ...]]]
    found = [(before, after, (a, b)) for before, a, after, b in long.iter_rows()]
    first = within.row(0) if within.height else (ended_ns, None)
    last = within.row(-1) if within.height else (ended_ns, None)
    edges: list[tuple[int, int, tuple[int | None, ...]]]
    edges = [(began_ns, first[0], (first[1],)), (last[0], ended_ns, (last[1],))]
    found += [edge for edge in edges if edge[1] - edge[0] >= GAP_NS]
    for before, after, operations in sorted(found):
        numbers = tuple(sorted(op for op in operations if op is not None))
        yield Gap((before - start_ns) / NANOSECONDS, (after - start_ns) / NANOSECONDS, numbers)


def _recoveries(
    heals: list[tuple[int, int]], moments: pl.DataFrame, start_ns: int
) -> Iterator[Recovery]:
    for healed_ns, op_id in heals:
        place = moments["t_complete_ns"].search_sorted(healed_ns, "right")
        healed_s = (healed_ns - start_ns) / NANOSECONDS
        if place == moments.height:
            yield Recovery(healed_s, None, (op_id,))
        else:
            done_ns, first = moments["t_complete_ns"][place], moments["op_id"][place]
            yield Recovery(
                healed_s, (done_ns - healed_ns) / NANOSECONDS, tuple(sorted({op_id, first}))
            )


def opinion(found: Availability, bounds: Bounds = NOTHING_STATED) -> CheckerVerdict:
    """Return the verdict on the run's availability: INVALID if a stated bound is broken, or if
    nothing succeeded after the last heal for recovery_s (PATIENCE_S if not stated), although
    clients asked; else VALID if bounds are stated; else, or without an operation, NOT_APPLICABLE.
    Its reason gives the measures if there was a heal. Count only the stated bounds: that something
    succeeded proves nothing about records, so it must not make an unjudged run valid."""
    stated = sum(
        bound is not None for bound in (bounds.longest_gap_s, bounds.recovery_s, bounds.error_rate)
    )
    if not found.operations:
        return CheckerVerdict(NAME, Validity.NOT_APPLICABLE, 0, reason="no operation was sent")
    anomalies = tuple(_anomalies(found, bounds))
    if anomalies:
        checked = max(stated, len(anomalies))
        return CheckerVerdict(NAME, Validity.INVALID, checked, anomalies, len(anomalies))
    if not stated and not found.recoveries:
        reason = "no fault was healed; no bound is stated"
        return CheckerVerdict(NAME, Validity.NOT_APPLICABLE, 0, reason=reason)
    recovered = [recovery.seconds for recovery in found.recoveries if recovery.seconds is not None]
    told = f"{found.served()}, {found.longest_gap()}, errors {found.error_rate:.2%}"
    if recovered:
        told += f", recovery within {max(recovered):.1f} s"
    validity = Validity.VALID if stated else Validity.NOT_APPLICABLE
    return CheckerVerdict(NAME, validity, stated, reason=told)


def _anomalies(found: Availability, bounds: Bounds) -> Iterator[Anomaly]:
    patience_s = PATIENCE_S if bounds.recovery_s is None else bounds.recovery_s
    for recovery in found.recoveries:
        if recovery.seconds is None:
            asked_s = found.asked_until_s - recovery.healed_s
            if recovery is found.recoveries[-1] and asked_s > patience_s:
                yield Anomaly(
                    "never-recovered",
                    recovery.operations,
                    f"after the heal at {recovery.healed_s:.1f} s clients asked for "
                    f"{asked_s:.1f} s, and nothing succeeded",
                )
        elif bounds.recovery_s is not None and recovery.seconds > bounds.recovery_s:
            yield Anomaly(
                "recovery-over-bound",
                recovery.operations,
                f"after the heal at {recovery.healed_s:.1f} s nothing succeeded for "
                f"{recovery.seconds:.1f} s; the run allows {bounds.recovery_s:g} s",
            )
    if bounds.longest_gap_s is not None:
        for gap in found.gaps:
            if gap.seconds > bounds.longest_gap_s:
                yield Anomaly(
                    "gap-over-bound",
                    gap.operations,
                    f"nothing succeeded from {gap.start_s:.1f} s to {gap.end_s:.1f} s; "
                    f"the run allows {bounds.longest_gap_s:g} s",
                )
    if bounds.error_rate is not None and found.error_rate > bounds.error_rate:
        yield Anomaly(
            "errors-over-bound",
            (),
            f"{found.failed} of {found.operations} operations did not succeed; "
            f"the run allows {bounds.error_rate:.1%}",
        )
