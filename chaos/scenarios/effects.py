"""Count the losses, duplicates and reorderings in a recorded run, without a checker. Checkers
report only broken promises (acks=1 may lose records), but the guarantee tables show what really
happens. This module counts, in the final read of the leaders' logs: acknowledged records that are
missing, records stored twice, and records stored after later ones of the same sender."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import polars as pl

from chaos.record import run_directory
from chaos.workloads.values import PER_PROCESS
from linearizability import history
from linearizability.history import F, Type

PARTITION = ["topic", "partition"]


class Effect(StrEnum):
    """The kinds of effects on records; each is the name of the field of Effects that counts it."""

    LOST = "lost"
    DOUBLED = "doubled"
    REORDERED = "reordered"


@dataclass(frozen=True)
class Effects:
    """Counts of records. sent: the records whose sender got an acknowledgement (with acks=0: all
    sent). problem: the reason why the run allows no count, or ""."""

    sent: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    problem: str = ""

    def count(self, effect: Effect) -> int:
        return int(getattr(self, effect.value))


def effects_of(run: Path) -> Effects:
    """Return the effects that the history of a run directory shows. Only `problem` is set if the
    run was killed, had problems, or read no log at its end. Raise RunDirectoryError if its run.json
    cannot be read, and HistoryError if its history cannot."""
    facts = run_directory.read(run)
    if not facts.get("ended"):
        return Effects(problem="the run was killed before its end")
    if problems := facts.get("problems"):
        return Effects(problem="; ".join(map(str, problems)))
    return counted(history.scan(run))


def counted(events: pl.LazyFrame) -> Effects:
    """Return the effects in a history. `problem` is set if no log was read at the end."""
    whole = events.filter(_of_leaders() & (pl.col("f") == F.READ_ALL.value))
    if not whole.select(pl.len()).collect().item():
        return Effects(problem="no log was read at the end")
    logs = last_logs(events)  # empty if everything was lost
    sent = acknowledged(events)
    doubled = logs.group_by(*PARTITION, "value").len().filter(pl.col("len") > 1)
    by_sender = logs.sort("offset").with_columns(sender=pl.col("value") // PER_PROCESS)
    before = pl.col("value").shift(1).over(*PARTITION, "sender")
    return Effects(
        sent=sent.height,
        lost=lost(sent, logs).height,
        doubled=doubled.height,
        reordered=by_sender.filter(pl.col("value") < before).height,
    )


def acknowledged(events: pl.LazyFrame) -> pl.DataFrame:
    """Return topic, partition, value and t_complete_ns of every successful send."""
    good = (pl.col("f") == F.SEND.value) & (pl.col("type") == Type.OK.value)
    wanted = events.filter(good & pl.col("value").is_not_null())
    return wanted.select(*PARTITION, "value", "t_complete_ns").collect()


def last_logs(events: pl.LazyFrame) -> pl.DataFrame:
    """Return topic, partition, offset and value of the leaders' logs, as read at the end."""
    found = _of_leaders() & pl.col("value").is_not_null()
    return events.filter(found).select(*PARTITION, "offset", "value").unique().collect()


def _of_leaders() -> pl.Expr:
    """Return the filter for rows of the final raw read of the leaders."""
    read = pl.col("f").is_in([F.POLL.value, F.READ_ALL.value]) & (pl.col("client") == "raw")
    return read & pl.col("final") & pl.col("replica").is_null()


def lost(sent: pl.DataFrame, logs: pl.DataFrame) -> pl.DataFrame:
    """Return the sent records that the log of their partition does not contain."""
    return sent.join(logs, on=[*PARTITION, "value"], how="anti")
