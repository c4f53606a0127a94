"""An idempotent producer's records are stored in the order of sending.

An idempotent producer's records are in the log in the order in which it sent them, with or without
retries. In raw reads, their sequences must increase. Only a leader that does not know the producer
yet may append its second batch before the first, since it accepts any sequence. So the first
batches of a producer in a partition are not judged if several were in flight.
"""

from linearizability.guarantees.about import DAY_MS, About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.ORDER,
    place=1,
    meaning="stored in another order than their producer sent them",
    picture="a lower sequence number follows a higher one in the log",
    claims=("IDM-3",),
    clocks_ms={"sends-reordered": DAY_MS, "sequence-goes-back": DAY_MS},
    jepsen=("nonmonotonic-send, int-nonmonotonic-send", always),
    columns=("sequence",),
)
