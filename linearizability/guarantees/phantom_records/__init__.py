"""Every record read was sent to that partition with the same content.

Every record that is read was sent, to that partition, and says what its sender wrote. A record out
of nowhere is corruption, a mixed-up partition, or a send of which the client was told that it
failed. What a record carries beside its value counts too: key, headers, tombstone, and the
timestamp where its client set it (`message.timestamp.type=CreateTime`).
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.ALTERED,
    place=1,
    meaning="read, but not what was sent there",
    picture="wrong partition",
    claims=("REC-1",),
    jepsen=("no-writer-of-value, which ends its analysis", always),
)
