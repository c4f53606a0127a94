"""Read_committed readers see no aborted record.

read_committed readers are never given a record of an aborted transaction, whatever becomes of
their own operation. The marker in the log decides; without a raw read, an acknowledged abort does.
A commit answered by an error is unknown.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import to_an_ok_reader

ABOUT = About(
    family=Family.TRANSACTION,
    place=2,
    meaning="read under read_committed, but aborted",
    picture="by its marker",
    claims=("FET-2",),
    jepsen=("G1a, only if the reading transaction ended ok", to_an_ok_reader),
    arrows=True,
)
