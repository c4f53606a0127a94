"""Appends that promise less: acks=1, acks=0, and no idempotence.

Broken non-promises are not reported: the history names the `acks` and `idempotent` of every send,
and the judges of durability and of duplicates look at those that promise. What holds for all of
them (nothing is invented, altered, moved, or shown and then taken back) is judged as ever. Source:
producer configuration, acks, enable.idempotence; design#replication.
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
    """Appends acknowledged by the leader alone: they may be lost with it, but nothing else.

    Where the leader stayed the same, delivery_semantics judges what it acknowledged. Most nemeses
    leave nothing of the kind, so it is not asked to have judged.
    """

    name = topic = "appends-acks1"
    judged_by = ALWAYS_HOLDS

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=1, idempotent=False)


class AppendsAcks0(Appends):
    """Appends which nobody acknowledges: they may be lost, and their place is not told."""

    name = topic = "appends-acks0"
    judged_by = ALWAYS_HOLDS

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=0, idempotent=False)


class AppendsNotIdempotent(Appends):
    """Appends with acks=all without idempotence: they may be there twice, but are not lost."""

    name = topic = "appends-not-idempotent"
    judged_by = ("lost_writes", *ALWAYS_HOLDS)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=False)
