"""Planted bugs, by name: one file each, overriding one decision of a correct broker.

They are the proof that the judges work: each says what it breaks and what must catch it.
"""

from __future__ import annotations

from reference_impl.bugs.acknowledge_before_append import AcknowledgeBeforeAppend, LateNode
from reference_impl.bugs.acknowledge_before_flush import AcknowledgeBeforeFlush
from reference_impl.bugs.bug import Bug
from reference_impl.bugs.forget_producer_state_on_restart import ForgetProducerStateOnRestart
from reference_impl.bugs.hide_aborted_transactions import HideAbortedTransactions
from reference_impl.bugs.keep_torn_tail import KeepTornTail
from reference_impl.bugs.stale_snapshot import StaleSnapshot
from reference_impl.bugs.trust_index_after_crash import TrustIndexAfterCrash

FLUSH_EACH = {"log.flush.interval.messages": "1"}
BUGS: dict[str, Bug] = {
    "acknowledge-before-append": Bug(AcknowledgeBeforeAppend, LateNode),
    "acknowledge-before-flush": Bug(
        AcknowledgeBeforeFlush, nemesis="power-loss-all", config=FLUSH_EACH
    ),
    "forget-producer-state-on-restart": Bug(ForgetProducerStateOnRestart),
    "hide-aborted-transactions": Bug(HideAbortedTransactions, workload="transactions"),
    "keep-torn-tail": Bug(
        KeepTornTail,
        workload="appends-mixed",
        nemesis="torn-writes",
        config=FLUSH_EACH,
        client="reference",
    ),
    "stale-snapshot": Bug(StaleSnapshot, config={"log.roll.ms": "500"}),
    "trust-index-after-crash": Bug(
        TrustIndexAfterCrash,
        nemesis="torn-writes",
        config={**FLUSH_EACH, "log.index.interval.bytes": "0"},
    ),
}
