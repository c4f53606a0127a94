"""A group consumes each input record in exactly one committed transaction.

A transaction commits its records together with the positions of its inputs. So an input must be
read in only one committed transaction; if two transactions of the same group have read it, it was
processed twice. An aborted transaction leaves its inputs to the next one: if only aborted
transactions have read an input, and the group continues after it, the input was never processed.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.DUPLICATE,
    place=2,
    meaning="not consumed by exactly one committed transaction",
    picture="two committed transactions consume the same record",
    claims=("EOS-1",),
    kinds={
        "consumed-never": (Family.LOSS, "consumed by aborted transactions only"),
        "consumed-twice": (Family.DUPLICATE, "consumed by several committed transactions"),
    },
)
