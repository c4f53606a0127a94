"""A producer's sequence numbers follow each other in the log without gap or repetition.

The broker accepts a batch of an idempotent producer only if its sequence follows, and a new epoch
begins at 0. A jump in a raw read means that a record was lost, or was refused while the next one
was accepted. And a batch that does follow must not be refused as out of order.
"""

from linearizability.guarantees.about import DAY_MS, About, Family

ABOUT = About(
    family=Family.ORDER,
    place=2,
    meaning="sequence numbers of a producer do not follow each other",
    picture="a sequence number is missing",
    claims=("IDM-2",),
    kinds={"in-order-refused": (Family.ORDER, "refused as out of order, though they followed")},
    clocks_ms={"sequence-does-not-follow": DAY_MS},
    columns=("producer_epoch", "sequence"),
)
