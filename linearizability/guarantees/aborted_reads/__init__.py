"""Read_committed readers see no aborted record.

A read_committed reader must never receive a record of an aborted transaction, whatever the outcome
of its own operation. The marker in the log decides whether a transaction was aborted; without a raw
read, an acknowledged abort decides. A commit that was answered by an error is unknown.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import to_an_ok_reader

ABOUT = About(
    family=Family.TRANSACTION,
    place=2,
    meaning="read under read_committed, but aborted",
    picture="the log has an abort marker",
    claims=("FET-2",),
    jepsen=("G1a, only if the reading transaction ended ok", to_an_ok_reader),
    arrows=True,
)
