"""Rank each kind of anomaly by the harm it does, and say in a few words what it means."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Family(Enum):
    """Kinds of harm, the most serious first."""

    LOSS = "loss"
    ALTERED = "altered"
    DUPLICATE = "duplicate"
    TRANSACTION = "transaction"
    ORDER = "order"
    DELIVERY = "delivery"
    WAITING = "waiting"

    @property
    def rank(self) -> int:
        """0 for the most serious."""
        return list(Family).index(self)


MEANINGS: Mapping[str, tuple[Family, str]] = {
    "lost_writes": (Family.LOSS, "acknowledged, then lost"),
    "unseen_writes": (Family.LOSS, "acknowledged, but never delivered"),
    "retention": (Family.LOSS, "deleted before the topic's settings allow it"),
    "compaction": (Family.LOSS, "removed or moved by compaction, though the last of their keys"),
    "inconsistent_offsets": (Family.ALTERED, "different content at the same offset"),
    "phantom_records": (Family.ALTERED, "read, but not what was sent there"),
    "timestamp_types": (Family.ALTERED, "the timestamp is not of the type that the topic asks for"),
    "replica_agreement": (Family.ALTERED, "replicas hold different logs"),
    "duplicates": (Family.DUPLICATE, "sent once, stored more than once"),
    "delivery_semantics": (Family.DUPLICATE, "read less or more often than promised"),
    "exactly_once": (Family.DUPLICATE, "not consumed by exactly one committed transaction"),
    "torn_transactions": (Family.TRANSACTION, "only a part of a transaction was committed"),
    "ends_honoured": (Family.TRANSACTION, "transactions did not end as their producer was told"),
    "aborted_reads": (Family.TRANSACTION, "read under read_committed, but aborted"),
    "dirty_reads": (Family.TRANSACTION, "read under read_committed before they were committed"),
    "own_uncommitted_reads": (Family.TRANSACTION, "read by the open transaction that sent them"),
    "write_cycles": (Family.TRANSACTION, "transactions that read each other in a circle"),
    "fencing": (Family.TRANSACTION, "written by a producer that had been fenced"),
    "late_markers": (Family.TRANSACTION, "a marker stands inside another transaction"),
    "append_order": (Family.ORDER, "stored in another order than clients saw"),
    "producer_order": (Family.ORDER, "stored in another order than their producer sent them"),
    "idempotence": (Family.ORDER, "sequence numbers of a producer do not follow each other"),
    "leader_epochs": (Family.ORDER, "leader epochs go back along the log"),
    "offset_gaps": (Family.ORDER, "the log has holes"),
    "high_watermark": (Family.ORDER, "what a leader said of its log went back"),
    "register": (Family.ORDER, "reads of a register that no order of writes explains"),
    "poll_order": (Family.DELIVERY, "given to a consumer again, or in the wrong order"),
    "poll_skips": (Family.DELIVERY, "passed over by a consumer"),
    "group_delivery": (Family.DELIVERY, "passed over by a consumer group"),
    "committed_offsets": (Family.DELIVERY, "a group did not find the offset that it committed"),
    "hanging_transactions": (Family.WAITING, "an ended transaction still holds readers up"),
    "stale_reads": (Family.WAITING, "there to be read, but not given to a reader who asked"),
    "group_liveness": (Family.WAITING, "a group did not serve a partition in time"),
    "availability": (Family.WAITING, "clients were not served"),
}
"""Checker -> family and meaning, in each family the one first that says best what happened. A
second opinion belongs to the checker that its name begins with."""

KINDS: Mapping[str, tuple[Family, str]] = {
    "vanished-record": (Family.LOSS, "read, then gone from the log"),
    "not-delivered": (Family.LOSS, "missing where a whole partition was read"),
    "consumed-never": (Family.LOSS, "consumed by aborted transactions only"),
    "key-resurrected": (Family.ALTERED, "values are back that a tombstone had removed"),
    "delivered-twice": (Family.DUPLICATE, "read more often than their producer promised"),
    "consumed-twice": (Family.DUPLICATE, "consumed by several committed transactions"),
    "reused-epoch": (Family.TRANSACTION, "two producers were given the same epoch"),
    "zombie-commits-offsets": (Family.TRANSACTION, "a fenced producer committed offsets"),
    "zombie-rejoins": (Family.TRANSACTION, "a fenced producer was given another epoch"),
    "zombie-ends": (Family.TRANSACTION, "a fenced producer ended a transaction"),
    "committed-too-late": (Family.TRANSACTION, "a transaction was committed after its time-out"),
    "same-offset": (Family.ORDER, "two records were acknowledged at one offset"),
    "read-before-append": (Family.ORDER, "their offset was read before they were sent"),
    "in-order-refused": (Family.ORDER, "refused as out of order, though they followed"),
    "beyond-the-high-watermark": (Family.ORDER, "a leader went beyond its high watermark"),
    "begins-early": (Family.DELIVERY, "given to a consumer that asked to begin behind them"),
    "begins-late": (Family.DELIVERY, "the earliest offset was said to be above the log start"),
    "wrong-look-up": (Family.DELIVERY, "a look-up by time answered a wrong offset"),
    "old-generation-commits": (Family.DELIVERY, "a member of an older generation committed"),
    "two-owners": (Family.DELIVERY, "two members of one generation committed in turn"),
    "assigned-twice": (Family.DELIVERY, "two members owned a partition in one generation"),
    "undecided-for-ever": (Family.WAITING, "an offset stays undecided, though nothing is open"),
    "kept-too-long": (Family.WAITING, "kept longer than the topic's settings allow"),
}
"""Kinds that mean something else than the rest of their checker."""

UNKNOWN_MEANING = (Family.ORDER, "a guarantee was broken")


def family_of(checker: str, kind: str) -> Family:
    """Return the family of an anomaly."""
    return _known(checker, kind)[0]


def meaning_of(checker: str, kind: str) -> str:
    """Return what an anomaly means, in a few words."""
    return _known(checker, kind)[1]


def _known(checker: str, kind: str) -> tuple[Family, str]:
    return KINDS.get(kind) or MEANINGS.get(base_of(checker), UNKNOWN_MEANING)


def precedence(checker: str) -> int:
    """Return the place of a checker in the order of MEANINGS: of several the first is to speak."""
    names = list(MEANINGS)
    base = base_of(checker)
    return names.index(base) if base in names else len(names)


def base_of(checker: str) -> str:
    """Return the name of the checker that an opinion belongs to."""
    return checker.split(" ", maxsplit=1)[0]
