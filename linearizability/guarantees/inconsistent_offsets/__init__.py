"""An offset holds one record: every read of it, at any time, shows the same.

Two who read one offset must be given the same record, today and for ever: readers,
acknowledgements, and each replica below its high watermark. What only acks=1 promised may be cut
off, and its offset used again. Headers, key and timestamp stay the same, too, whatever becomes of
the segment: compaction and recompression rewrite batches, not records.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.ALTERED,
    place=0,
    meaning="different content at the same offset",
    picture="two readers",
    claims=("LOG-1", "ORD-1"),
    jepsen=("inconsistent-offsets", always),
)
