"""Only records that retention or DeleteRecords may remove are removed.

The log start may rise only past records that may be deleted: those below the offset of an earlier
DeleteRecords, those older than retention.ms by their own timestamps, or those that retention.bytes
allows, as long as that many bytes are kept. A fetch below the log start must be refused. If the
settings say when segments close and when brokers look for old ones, no record may be kept more than
five seconds longer than they allow. A fault excuses a late deletion, until a minute after the time
that a broker needs after the heal. If a fault had moved the brokers' clocks far enough, a deletion
that seems too early proves nothing, and the verdict is unknown.
"""

from linearizability.guarantees.about import HOUR_MS, About, Family

ABOUT = About(
    family=Family.LOSS,
    place=2,
    meaning="deleted before the topic's settings allow it",
    picture="a record is deleted more than an hour too early",
    claims=("RET-1", "RET-2"),
    kinds={"kept-too-long": (Family.WAITING, "kept longer than the topic's settings allow")},
    clocks_ms={"deleted-hours-too-early": HOUR_MS, "deleted-too-early": 1},
)
