"""A complete read contains each record as often as its producer's settings promise.

Each read of a whole partition is compared with the promise of the producer's settings: at least
once, at most once, or both; under acks=1, at least once if the partition never had another leader.
This is an end-to-end check; the other checkers show where an error arose.
"""

from linearizability.guarantees.about import DAY_MS, About, Family

ABOUT = About(
    family=Family.DUPLICATE,
    place=1,
    meaning="read less or more often than promised",
    picture="exactly once: the record is delivered twice",
    claims=("SEM-1", "SEM-2", "SEM-3"),
    kinds={
        "delivered-twice": (Family.DUPLICATE, "read more often than their producer promised"),
        "not-delivered": (Family.LOSS, "missing where a whole partition was read"),
    },
    clocks_ms={"delivered-twice": DAY_MS},
)
