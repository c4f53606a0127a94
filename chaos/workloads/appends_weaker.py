"""Appends with weaker promises: acks=1, acks=0, and no idempotence.

A checker does not report what was not promised: the history records the `acks` and `idempotent` of
every send, and the checkers of durability and duplicates only consider sends that promise it. The
guarantees that hold for all sends (no record is invented, altered, moved, or read and then lost)
are judged as usual. Source: producer configuration, acks, enable.idempotence; design#replication.
"""

from __future__ import annotations

from chaos.values.protocols import ClientSettings
from chaos.workloads.appends import Appends

ALWAYS_HOLDS = (
    "inconsistent_offsets",
    "phantom_records",
    "poll_order",
    "poll_skips",
    "offset_gaps",
    "high_watermark",
)


class AppendsAcks1(Appends):
    """Append with acks=1, acknowledged by the leader alone: records may be lost with the leader,
    but no other anomaly may occur.

    Where the leader stayed the same, the checker delivery_semantics judges the acknowledged
    records. Most nemeses leave no such partition, so the workload does not require that checker to
    have judged anything.
    """

    name = topic = "appends-acks1"
    judged_by = ALWAYS_HOLDS

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=1, idempotent=False)


class AppendsAcks0(Appends):
    """Append with acks=0: nothing is acknowledged, records may be lost, and their offsets are not
    known."""

    name = topic = "appends-acks0"
    judged_by = ALWAYS_HOLDS

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=0, idempotent=False)


class AppendsNotIdempotent(Appends):
    """Append with acks=all but without idempotence: records may be duplicated, but not lost."""

    name = topic = "appends-not-idempotent"
    judged_by = ("lost_writes", *ALWAYS_HOLDS)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=False)
