"""Compaction keeps the last value of every key, at its offset.

Compaction takes records that a later one of the same key replaces, and nothing else: the last
value stays, where it was, and a tombstone stays for delete.retention.ms. When the tombstone goes
at last, the values that it removed have gone before it: a reader that gets one of them, but not
the tombstone, sees a key that was deleted. A fault meanwhile excuses that, since a replica that
was away may keep the value.
"""

from linearizability.guarantees.about import HOUR_MS, About, Family

ABOUT = About(
    family=Family.LOSS,
    place=3,
    meaning="removed or moved by compaction, though the last of their keys",
    picture="the last value",
    claims=("CMP-1", "CMP-3"),
    kinds={"key-resurrected": (Family.ALTERED, "values are back that a tombstone had removed")},
    clocks_ms={
        "key-resurrected": 1,
        "tombstone-lost-early": 1,
        "tombstone-lost-hours-early": HOUR_MS,
    },
    columns=("key",),
)
