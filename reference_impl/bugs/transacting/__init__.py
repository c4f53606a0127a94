"""Bugs in the rules of `core/rules/transacting.py`: transactions, their ends, fencing."""

from __future__ import annotations

from reference_impl.bugs.bug import Bug, Kind
from reference_impl.bugs.transacting.abort_decided_commits import AbortDecidedCommits
from reference_impl.bugs.transacting.abort_half_way import AbortHalfWay
from reference_impl.bugs.transacting.accept_old_markers import AcceptOldMarkers
from reference_impl.bugs.transacting.accept_zombie_offsets import AcceptZombieOffsets
from reference_impl.bugs.transacting.admit_fenced_producers import AdmitFencedProducers
from reference_impl.bugs.transacting.commit_aborted_offsets import CommitAbortedOffsets
from reference_impl.bugs.transacting.commit_decided_aborts import CommitDecidedAborts
from reference_impl.bugs.transacting.end_others_transactions import EndOthersTransactions
from reference_impl.bugs.transacting.forget_ended_producers import ForgetEndedProducers
from reference_impl.bugs.transacting.forget_markers import ForgetMarkers
from reference_impl.bugs.transacting.forget_time_outs import ForgetTimeOuts
from reference_impl.bugs.transacting.ignore_require_stable import IgnoreRequireStable
from reference_impl.bugs.transacting.keep_epochs import KeepEpochs
from reference_impl.bugs.transacting.keep_first_of_transaction import KeepFirstOfTransaction
from reference_impl.bugs.transacting.lose_transactional_offsets import LoseTransactionalOffsets
from reference_impl.bugs.transacting.never_time_out import NeverTimeOut
from reference_impl.bugs.transacting.prolong_time_outs import ProlongTimeOuts
from reference_impl.bugs.transacting.readmit_fenced_producers import ReadmitFencedProducers
from reference_impl.bugs.transacting.readmit_foreign_producers import ReadmitForeignProducers
from reference_impl.bugs.transacting.tear_transactions import TearTransactions
from reference_impl.bugs.transacting.write_outside_transactions import WriteOutsideTransactions

__all__ = ["TRANSACTING_BUGS"]

TRANSACTING_BUGS: dict[str, Bug] = {
    "keep-epochs": Bug(
        KeepEpochs,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_the_next_owner_gets_the_next_epoch",
    ),
    "admit-fenced-producers": Bug(
        AdmitFencedProducers,
        Kind.RARE,
        ("fencing", "ends_honoured"),
        workload="zombies",
        cases="test_a_wrong_epoch_adds_nothing",
    ),
    "end-others-transactions": Bug(
        EndOthersTransactions,
        Kind.RARE,
        ("fencing", "ends_honoured"),
        workload="zombies",
        cases="test_an_old_epoch_ends_nothing",
    ),
    "abort-decided-commits": Bug(
        AbortDecidedCommits, Kind.RARE, ("ends_honoured", "lost_writes"), workload="transactions"
    ),
    "commit-decided-aborts": Bug(
        CommitDecidedAborts,
        Kind.RARE,
        ("ends_honoured", "aborted_reads", "dirty_reads"),
        workload="transactions",
    ),
    "tear-transactions": Bug(
        TearTransactions, Kind.RARE, ("torn_transactions", "ends_honoured"), workload="transactions"
    ),
    "forget-markers": Bug(
        ForgetMarkers,
        Kind.RARE,
        ("torn_transactions", "hanging_transactions", "ends_honoured"),
        workload="transactions",
    ),
    "never-time-out": Bug(
        NeverTimeOut,
        Kind.RARE,
        ("hanging_transactions",),
        workload="transactions",
        cases="test_a_transaction_that_lasts_too_long_is_aborted",
    ),
    "forget-time-outs": Bug(
        ForgetTimeOuts,
        Kind.RARE,
        ("hanging_transactions",),
        workload="transactions",
        nemesis="kill",
    ),
    "readmit-fenced-producers": Bug(
        ReadmitFencedProducers,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_a_zombie_may_not_raise_its_epoch",
    ),
    "readmit-foreign-producers": Bug(
        ReadmitForeignProducers,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_a_zombie_may_not_raise_its_epoch",
    ),
    "forget-ended-producers": Bug(
        ForgetEndedProducers, Kind.RARE, ("fencing",), workload="zombies"
    ),
    "write-outside-transactions": Bug(
        WriteOutsideTransactions,
        Kind.RARE,
        ("ends_honoured", "torn_transactions", "hanging_transactions"),
        workload="zombies",
        cases="test_a_partition_must_be_added_first",
    ),
    "accept-old-markers": Bug(
        AcceptOldMarkers,
        Kind.RARE,
        ("fencing", "ends_honoured"),
        workload="zombies",
        cases="test_a_former_coordinator or test_a_marker_of_an_older_epoch",
    ),
    "accept-zombie-offsets": Bug(
        AcceptZombieOffsets,
        Kind.RARE,
        ("fencing", "ends_honoured", "committed_offsets"),
        workload="offsets-transactions",
        cases="test_a_fenced_producer_commits_no_offsets",
    ),
    "commit-aborted-offsets": Bug(
        CommitAbortedOffsets,
        Kind.RARE,
        ("ends_honoured", "committed_offsets"),
        workload="offsets-transactions",
        cases="test_an_abort_drops_the_offsets",
    ),
    "lose-transactional-offsets": Bug(
        LoseTransactionalOffsets,
        Kind.RARE,
        ("ends_honoured", "exactly_once", "committed_offsets"),
        workload="transform",
    ),
    "keep-first-of-transaction": Bug(
        KeepFirstOfTransaction,
        Kind.RARE,
        ("ends_honoured",),
        workload="offsets-transactions",
        cases="test_the_last_offset_of_a_transaction_counts",
    ),
    "ignore-require-stable": Bug(
        IgnoreRequireStable,
        Kind.RARE,
        ("committed_offsets",),
        workload="offsets-transactions",
        cases="test_a_pending_offset_is_unstable",
    ),
    "abort-half-way": Bug(AbortHalfWay, Kind.SLACK, ("fencing",), workload="transactions"),
    "prolong-time-outs": Bug(
        ProlongTimeOuts, Kind.SLACK, ("hanging_transactions",), workload="transactions"
    ),
}
