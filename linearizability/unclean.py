"""Withdraw verdicts on topics with unclean.leader.election.enable.

A replica that was not in sync may then lead, and what it lacks is lost by intention. A rule about
what is kept is unknown where all that it found lies in partitions of such topics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from linearizability.confirm import NAME as PORCUPINE
from linearizability.plans import collect
from linearizability.registers import NAME as REGISTERS
from linearizability.removals import IS_TOPIC, setting
from linearizability.verdict import CheckerVerdict, Validity

OF_DURABILITY = frozenset(
    {
        "lost_writes",
        "unseen_writes",
        "inconsistent_offsets",
        "append_order",
        "poll_order",
        "poll_skips",
        "group_delivery",
        "torn_transactions",
        "idempotence",
        "producer_order",
        "compaction",
        "delivery_semantics",
        "high_watermark",
        PORCUPINE,
        REGISTERS,
    }
)
"""The rules that hold while no acknowledged record is given up."""
REASON = "unclean.leader.election.enable gives acknowledged records up"


def excused(opinions: Iterable[CheckerVerdict], history: pl.LazyFrame) -> list[CheckerVerdict]:
    """Return the opinions, UNKNOWN if all their anomalies lie in topics that allow it."""
    found = list(opinions)
    if not any(_is_of_durability(opinion) for opinion in found):
        return found
    told = setting("unclean.leader.election.enable").str.to_lowercase()
    allowed = (told == "true").fill_null(False)
    topics = collect(history.filter(IS_TOPIC).filter(allowed).select("topic").unique())["topic"]
    unclean = set(topics)
    return [
        replace(opinion, validity=Validity.UNKNOWN, reason=REASON, excused=opinion.anomaly_count)
        if _is_of_durability(opinion)
        and all(anomaly.scope.get("topic") in unclean for anomaly in opinion.anomalies)
        else opinion
        for opinion in found
    ]


def _is_of_durability(opinion: CheckerVerdict) -> bool:
    return opinion.validity is Validity.INVALID and opinion.name in OF_DURABILITY
