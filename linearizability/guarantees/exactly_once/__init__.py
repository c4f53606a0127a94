"""A group consumes each input record in exactly one committed transaction.

A transaction commits its records together with the positions of what it read. So an input is read
in one committed transaction; two of the same group have processed it twice. And one that aborted
leaves its inputs to the next: where a group goes on behind an input that aborted transactions
alone were given, nobody has processed it.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.DUPLICATE,
    place=2,
    meaning="not consumed by exactly one committed transaction",
    picture="two transactions",
    claims=("EOS-1",),
    kinds={
        "consumed-never": (Family.LOSS, "consumed by aborted transactions only"),
        "consumed-twice": (Family.DUPLICATE, "consumed by several committed transactions"),
    },
)
