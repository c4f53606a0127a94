"""A record that an idempotent producer sends once is stored once.

A producer that gets no answer sends again. With idempotence, the broker recognises the batch by
producer id, epoch and sequence. If the two copies agree in all three, the broker is at fault; if
not, the client is.
"""

from linearizability.guarantees.about import DAY_MS, About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.DUPLICATE,
    place=0,
    meaning="sent once, stored more than once",
    picture="a record is read at two offsets",
    claims=("IDM-1",),
    clocks_ms={"duplicate": DAY_MS},
    jepsen=("duplicate", always),
)
