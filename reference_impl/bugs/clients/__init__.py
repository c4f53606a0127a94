"""Bugs planted in the reference clients, one decision each: the broker is correct, and a verdict on
it must say that the client is at fault.

The simulator plants them (`touchstone sim --bug`), since it sees both ends of every connection
(chaos.sim.witness).
"""

from __future__ import annotations

from reference_impl.bugs.bug import ClientBug
from reference_impl.bugs.clients.consuming.begin_past_commit import BeginPastCommit
from reference_impl.bugs.clients.consuming.commit_ahead import CommitAhead
from reference_impl.bugs.clients.consuming.deliver_aborted import DeliverAborted
from reference_impl.bugs.clients.consuming.deliver_whole_batches import DeliverWholeBatches
from reference_impl.bugs.clients.consuming.drop_first import DropFirst
from reference_impl.bugs.clients.consuming.drop_on import DropOn
from reference_impl.bugs.clients.consuming.ignore_seeks import IgnoreSeeks
from reference_impl.bugs.clients.consuming.poll_past_a_record import PollPastARecord
from reference_impl.bugs.clients.producing.commit_aborts import CommitAborts
from reference_impl.bugs.clients.producing.commit_over_failures import CommitOverFailures
from reference_impl.bugs.clients.producing.count_from_one import CountFromOne
from reference_impl.bugs.clients.producing.give_base_offset import GiveBaseOffset
from reference_impl.bugs.clients.producing.renumber_retries import RenumberRetries
from reference_impl.bugs.clients.producing.start_over_at_once import StartOverAtOnce

__all__ = ["CLIENT_BUGS", "RULES_WITHOUT_BUG"]

CLIENT_BUGS: dict[str, ClientBug] = {
    # --- numbers, acknowledgements and ends ---
    "client-renumber-retries": ClientBug(RenumberRetries, ("duplicates",), nemesis="latency"),
    "client-start-over-at-once": ClientBug(StartOverAtOnce, ("duplicates",), nemesis="latency"),
    "client-give-base-offset": ClientBug(GiveBaseOffset, ("inconsistent_offsets", "lost_writes")),
    "client-count-from-one": ClientBug(CountFromOne, ("inconsistent_offsets", "lost_writes")),
    "client-commit-aborts": ClientBug(CommitAborts, ("ends_honoured",), workload="transactions"),
    "client-commit-over-failures": ClientBug(
        CommitOverFailures, ("ends_honoured",), workload="transactions"
    ),
    # --- what is delivered ---
    "client-deliver-aborted": ClientBug(DeliverAborted, ("aborted_reads",), "transactions"),
    "client-drop-on": ClientBug(DropOn, ("poll_skips", "torn_transactions"), "transactions"),
    "client-poll-past-a-record": ClientBug(PollPastARecord, ("poll_skips",)),
    "client-drop-first": ClientBug(DropFirst, ("poll_skips", "lost_writes")),
    "client-deliver-whole-batches": ClientBug(
        DeliverWholeBatches, ("poll_skips", "poll_order"), "seeks"
    ),
    "client-ignore-seeks": ClientBug(IgnoreSeeks, ("poll_skips", "poll_order"), "seeks"),
    # --- offsets of groups ---
    "client-begin-past-commit": ClientBug(
        BeginPastCommit, ("committed_offsets", "group_delivery"), "groups-positions"
    ),
    "client-commit-ahead": ClientBug(
        CommitAhead, ("group_delivery", "committed_offsets"), "groups"
    ),
}

_RARE = (
    "it matters only for a batch that was sent and failed while its producer continues, which no"
    " nemesis of the simulator causes often enough"
)
RULES_WITHOUT_BUG = {
    "sequence_after": "no client of a workload sends 2^31 records; client/tests does",
    "after_loss": _RARE,
    "is_acknowledged": _RARE,
    "commit_error": "the coordinators of one node refuse commits only while they load",
}
"""Rule of clients -> the reason why no bug overrides it."""
