"""An idempotent producer's records are stored in the order of sending.

An idempotent producer's records stand in the order in which it sent them, retries or not. Raw
reads show it by sequences that grow. Only a leader that knows nothing of the producer yet may take
its second batch before the first, for it accepts any sequence; so what a producer sends first to a
partition, several batches at a time, is not judged by it.
"""

from linearizability.guarantees.about import DAY_MS, About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.ORDER,
    place=1,
    meaning="stored in another order than their producer sent them",
    picture="by sequence",
    claims=("IDM-3",),
    clocks_ms={"sends-reordered": DAY_MS, "sequence-goes-back": DAY_MS},
    jepsen=("nonmonotonic-send, int-nonmonotonic-send", always),
    columns=("sequence",),
)
