"""No request of an older producer epoch succeeds once a newer one is known.

A producer's new epoch fences the old one: no log has a record of the old epoch after one of the
new. After InitProducerId has returned the new epoch, or a record of it has been acknowledged, the
broker refuses the old epoch on every partition, in offset commits, and at the end of a transaction.
InitProducerId never returns the same epoch twice, nor, while a producer id has epochs left, another
id for the same transactional id. And without a newer producer,
none is fenced before its transaction has lasted for its time-out.
"""

from linearizability.guarantees.about import DAY_MS, About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=6,
    meaning="written by a producer that had been fenced",
    picture="a record of an older epoch follows a newer one",
    claims=("TXN-1",),
    kinds={
        "reused-epoch": (Family.TRANSACTION, "two producers were given the same epoch"),
        "other-producer-id": (Family.TRANSACTION, "a transactional id was given another producer"),
        "zombie-commits-offsets": (Family.TRANSACTION, "a fenced producer committed offsets"),
        "zombie-ends": (Family.TRANSACTION, "a fenced producer ended a transaction"),
        "superseded-producer": (Family.TRANSACTION, "a producer went on after its successor came"),
        "fenced-early": (Family.TRANSACTION, "a transaction was aborted before its time-out"),
        "zombie-rejoins": (Family.TRANSACTION, "a fenced producer was given another epoch"),
    },
    clocks_ms={"fenced-epoch-writes": DAY_MS, "fenced-early": 1},
    columns=("producer_epoch",),
)
