"""A record sent after another was acknowledged gets a higher offset.

A partition is one log, so appends have one order, and this order must agree with real time: a
record that is sent after another was acknowledged follows it in the log. This is linearizability;
porcupine gives a second opinion and draws the operations of an anomaly.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import never

ABOUT = About(
    family=Family.ORDER,
    place=0,
    meaning="stored in another order than clients saw",
    picture="a later send was acknowledged at a lower offset",
    claims=("LOG-1", "ORD-1"),
    kinds={
        "read-before-append": (Family.ORDER, "their offset was read before they were sent"),
        "same-offset": (Family.ORDER, "two records were acknowledged at one offset"),
    },
    jepsen=("G0-realtime, allowed", never),
)
