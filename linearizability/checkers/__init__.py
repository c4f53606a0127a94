"""The properties, one file each. `CHECKERS` is the whole registry."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from linearizability.checkers.aborted_reads import AbortedReads
from linearizability.checkers.append_order import AppendOrder
from linearizability.checkers.base import Checker, Cut, Needs, Scope
from linearizability.checkers.committed_offsets import CommittedOffsets
from linearizability.checkers.compaction import Compaction
from linearizability.checkers.delivery_semantics import DeliverySemantics
from linearizability.checkers.dirty_reads import DirtyReads
from linearizability.checkers.duplicates import Duplicates
from linearizability.checkers.ends_honoured import EndsHonoured
from linearizability.checkers.exactly_once import ExactlyOnce
from linearizability.checkers.fencing import Fencing
from linearizability.checkers.group_delivery import GroupDelivery
from linearizability.checkers.group_liveness import GroupLiveness
from linearizability.checkers.hanging_transactions import HangingTransactions
from linearizability.checkers.high_watermark import HighWatermark
from linearizability.checkers.idempotence import Idempotence
from linearizability.checkers.inconsistent_offsets import InconsistentOffsets
from linearizability.checkers.late_markers import LateMarkers
from linearizability.checkers.leader_epochs import LeaderEpochs
from linearizability.checkers.lost_writes import LostWrites
from linearizability.checkers.offset_gaps import OffsetGaps
from linearizability.checkers.own_uncommitted_reads import OwnUncommittedReads
from linearizability.checkers.phantom_records import PhantomRecords
from linearizability.checkers.poll_order import PollOrder
from linearizability.checkers.poll_skips import PollSkips
from linearizability.checkers.producer_order import ProducerOrder
from linearizability.checkers.replica_agreement import ReplicaAgreement
from linearizability.checkers.retention import Retention
from linearizability.checkers.stale_reads import StaleReads
from linearizability.checkers.timestamp_types import TimestampTypes
from linearizability.checkers.torn_transactions import TornTransactions
from linearizability.checkers.unseen_writes import UnseenWrites
from linearizability.checkers.write_cycles import WriteCycles

__all__ = ["CHECKERS", "Checker", "Cut", "Needs", "Scope", "markdown_table"]

GROUP = "touchstone.guarantees"
"""The entry points by which other packages add checkers."""


class Table(dict[str, Checker]):
    """Checkers by name. One that is not there is looked for among plugins: Spark's executors are
    told names alone."""

    def __missing__(self, name: str) -> Checker:
        for point in entry_points(group=GROUP, name=name):
            made = point.load()
            self[name] = made() if isinstance(made, type) else made
            return self[name]
        raise KeyError(name)


OURS: Mapping[str, Checker] = {
    checker.name: checker
    for checker in (
        LostWrites(),
        UnseenWrites(),
        Duplicates(),
        InconsistentOffsets(),
        PhantomRecords(),
        AppendOrder(),
        ProducerOrder(),
        PollOrder(),
        PollSkips(),
        AbortedReads(),
        DirtyReads(),
        OwnUncommittedReads(),
        GroupDelivery(),
        ExactlyOnce(),
        LeaderEpochs(),
        TornTransactions(),
        EndsHonoured(),
        WriteCycles(),
        OffsetGaps(),
        Fencing(),
        Idempotence(),
        LateMarkers(),
        HighWatermark(),
        HangingTransactions(),
        CommittedOffsets(),
        ReplicaAgreement(),
        Compaction(),
        Retention(),
        TimestampTypes(),
        StaleReads(),
        GroupLiveness(),
        DeliverySemantics(),
    )
}

CHECKERS = Table(OURS)
"""Ours, and those that plugins add."""


def markdown_table() -> str:
    """Return the table of the README: name, what must hold, scope, what a history must hold for it,
    and how a partition too large for one executor is judged."""
    lines = [
        "| checker | must hold | scope | applies to histories with | a large partition is |",
        "|---|---|---|---|---|",
    ]
    for checker in OURS.values():
        needs = "; ".join(need.value for need in Needs if need in checker.needs) or "what it counts"
        scope = checker.scope.name.lower()
        cut = f"cut by {checker.cut.name.lower()}" if checker.cut else ""
        large = cut or (f"whole, for {checker.whole}" if checker.whole else "")
        lines.append(f"| `{checker.name}` | {checker.title} | {scope} | {needs} | {large} |")
    return "\n".join(lines)
