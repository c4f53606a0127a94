"""The planted bugs by name: one file each, which overrides one decision of a correct broker.

Each folder here is named like the chapter of `core/rules/` whose rules its bugs override. `cluster`
has the bugs that one node alone does not show, `clients` those of the reference clients.

They prove that the checkers work: each bug names the guarantee that it breaks and the checker that
must catch it (`touchstone bugs` runs them all).

Some misbehaviours are not planted, since no guarantee forbids them: a leader that drops batches
sent with acks=0 (DUR-1); a tombstone that stays longer than `delete.retention.ms`, until some later
cleaning; a log start that goes back when a broker is killed, since Apache Kafka stores it only once
a minute.
"""

from __future__ import annotations

from reference_impl.bugs.bug import CONFORMANCE, Bug, Kind
from reference_impl.bugs.deleting import DELETING_BUGS
from reference_impl.bugs.grouping import GROUPING_BUGS
from reference_impl.bugs.producing import PRODUCING_BUGS
from reference_impl.bugs.reading import READING_BUGS
from reference_impl.bugs.recovering import RECOVERING_BUGS
from reference_impl.bugs.transacting import TRANSACTING_BUGS

__all__ = ["BUGS", "CONFORMANCE", "Bug", "Kind"]

BUGS: dict[str, Bug] = {
    **PRODUCING_BUGS,
    **READING_BUGS,
    **GROUPING_BUGS,
    **TRANSACTING_BUGS,
    **DELETING_BUGS,
    **RECOVERING_BUGS,
}
