"""An offset has one record: every read of it, at any time, shows the same.

All reads of one offset must show the same record for ever: those of consumers, those of each
replica below its high watermark, and also the acknowledgement of the send. A record that was
acknowledged only under acks=1 may be truncated, and its offset used again. Headers, key and
timestamp must stay the same, too, whatever happens to the segment: compaction and recompression
rewrite batches, not records.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.ALTERED,
    place=0,
    meaning="different content at the same offset",
    picture="two readers receive different records at one offset",
    claims=("LOG-1", "ORD-1"),
    jepsen=("inconsistent-offsets", always),
)
