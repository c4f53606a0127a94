"""Compaction keeps the last value of every key, at its offset.

Compaction removes records that a later one of the same key replaces, and nothing else. The last
value is kept, at its offset, and a tombstone is kept for delete.retention.ms. When the tombstone is
removed at last, the values that it deleted must be gone: a reader that gets one of them, but not
the tombstone, sees a key that was deleted. A fault in the meantime excuses that, since a replica
that was down may still have the value.
"""

from linearizability.guarantees.about import HOUR_MS, About, Family

ABOUT = About(
    family=Family.LOSS,
    place=3,
    meaning="removed or moved by compaction, though the last of their keys",
    picture="the last value of a key is gone",
    claims=("CMP-1", "CMP-3"),
    kinds={"key-resurrected": (Family.ALTERED, "values are back that a tombstone had removed")},
    clocks_ms={
        "key-resurrected": 1,
        "tombstone-lost-early": 1,
        "tombstone-lost-hours-early": HOUR_MS,
    },
    columns=("key",),
)
