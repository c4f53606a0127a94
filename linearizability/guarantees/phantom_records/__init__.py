"""Every record read was sent to that partition with the same content.

Every record that is read must have been sent to that partition, with the same content. A record
that was not shows corruption, a mixed-up partition, or a send that the client was told had failed.
The other fields of a record are compared as well: key, headers, tombstone, and the timestamp where
its client set it (`message.timestamp.type=CreateTime`).
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.ALTERED,
    place=1,
    meaning="read, but not what was sent there",
    picture="a record is read in another partition",
    claims=("REC-1",),
    jepsen=("no-writer-of-value, which ends its analysis", always),
)
