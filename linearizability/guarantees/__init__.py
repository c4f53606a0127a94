"""The guarantees, one folder each. `GUARANTEES` lists all of them in their order.

A folder holds everything of its guarantee: in `__init__` its facts for documents and reports
(`about.About`), in `rule` its checker, in `twin` the same rule in plain loops, in `histories`
histories written by hand, in `mutators` functions that break the guarantee in a valid history. All
lists of guarantees are derived from the folders.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from linearizability.guarantees.about import About

GUARANTEES = (
    "lost_writes",
    "unseen_writes",
    "duplicates",
    "inconsistent_offsets",
    "phantom_records",
    "append_order",
    "producer_order",
    "poll_order",
    "poll_skips",
    "aborted_reads",
    "dirty_reads",
    "own_uncommitted_reads",
    "group_delivery",
    "exactly_once",
    "leader_epochs",
    "torn_transactions",
    "ends_honoured",
    "write_cycles",
    "offset_gaps",
    "fencing",
    "idempotence",
    "late_markers",
    "high_watermark",
    "hanging_transactions",
    "committed_offsets",
    "replica_agreement",
    "compaction",
    "retention",
    "timestamp_types",
    "stale_reads",
    "readable_partitions",
    "group_liveness",
    "delivery_semantics",
)


def part(name: str, file: str) -> Any:
    """Return a module of a guarantee's folder: name is the guarantee, file the module (for example,
    `rule`)."""
    return import_module(f"{__name__}.{name}.{file}")


@cache
def abouts() -> Mapping[str, About]:
    """Return guarantee -> its facts for tables and documents (`About`)."""
    return {name: import_module(f"{__name__}.{name}").ABOUT for name in GUARANTEES}
