"""A planted bug: a Node and Rules that differ from the correct ones in one decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reference_impl.client.rules import ClientRules
from reference_impl.core.node import Node
from reference_impl.core.rules import Rules

CONFORMANCE = "conformance"
"""The name of the conformance cases in lists of checkers."""
FLUSH_EACH = {"log.flush.interval.messages": "1"}
"""The setting under which each batch is on the disk before it is acknowledged."""


class Kind(StrEnum):
    """The things that a run must record, exercise or measure for the bug to show."""

    START = "where a reader begins"
    RECORD = "what a record is"
    LIVENESS = "liveness of groups"
    RARE = "what happens rarely"
    SHOWN = "what a run must bring about"
    SLACK = "limits"
    CLIENT = "decisions of clients"
    CLUSTER = "several nodes"


@dataclass(frozen=True)
class Bug:
    """A bug that can be planted in brokers: the rules that differ from the correct ones, the
    workload, nemesis and settings under which it shows, and the checkers that must find it. A row
    of BUGS or CLUSTER_BUGS."""

    rules: type[Rules]
    kind: Kind
    caught_by: tuple[str, ...]
    """The checkers, one of which must find the bug; another checker's finding proves nothing. Empty
    if only requests that no client library sends show it: then `cases` must not be."""
    workload: str = "appends"
    nemesis: str = "none"
    """The nemesis under which the bug shows."""
    config: Mapping[str, str] = field(default_factory=dict)
    """The broker configuration with which the bug shows."""
    client: str = "confluent"
    """The client library to use, if others would end over the bug instead of reporting it, or do
    not send the requests that show it."""
    seconds_min: float = 0.0
    """The seconds that a run must last, if checkers must allow for a time that is longer than most
    runs."""
    node: type[Node] = Node
    nodes: int = 1
    """The least number of nodes that show it."""
    cases: str = ""
    """The conformance cases, one of which must fail, as an expression for `pytest -k`."""

    @property
    def expected_of(self) -> tuple[str, ...]:
        """The checkers and suites, at least one of which must find the bug."""
        return (*self.caught_by, CONFORMANCE) if self.cases else self.caught_by

    def parts(self) -> tuple[type[Node], Rules]:
        """Return the node class, and a new instance of the rules, of a broker that has this bug."""
        return self.node, self.rules()


_CONTROLLERS = (
    "the controller of a quorum of one node is never replaced;"
    " core/tests/test_controllers.py replaces one that lacks this rule, and shows its wrong answer"
)
_ELECTIONS = (
    "no run of the simulator shows it in few seeds;"
    " core/controller/tests/test_elections.py shows the mistake of a controller without this rule"
    " that has three brokers"
)
_OF_VOTERS = (
    "a quorum of one node changes no voters; core/tests/test_voter_changes.py plants a bug in this"
    " rule, in a quorum of several, and finds it"
)
_OF_QUORUMS = (
    "a quorum of one node has nobody to agree with; core/tests/test_quorum.py plants a bug in this"
    " rule, in a quorum of three, and finds it"
)
_OF_ISR = (
    "a partition on one node has no other replica; core/tests/test_isr.py plants a bug in this"
    " rule, in a cluster of three nodes, and finds it"
)
_OF_REPLICAS = (
    "a partition on one node has no other replica; core/tests/test_followers.py plants a bug in"
    " this rule, in a cluster of three nodes, and finds it"
)


@dataclass(frozen=True)
class ClientBug:
    """One row of the table CLIENT_BUGS: rules of clients that differ from the correct ones in one
    decision, while the broker is correct."""

    rules: type[ClientRules]
    caught_by: tuple[str, ...]
    """The checkers, one of which must find the bug."""
    workload: str = "appends"
    nemesis: str = "none"
    """The nemesis under which the bug shows."""
    kind: Kind = Kind.CLIENT

    @property
    def expected_of(self) -> tuple[str, ...]:
        """The checkers, at least one of which must find the bug."""
        return self.caught_by


WITHOUT_BUG = {
    "may_skip_recovery": (
        "a node must crash with a torn tail and be stopped before it has opened that log, which no"
        " run brings about reliably; core/log/tests/test_log_directory.py does"
    ),
    "needs_snapshot": _OF_QUORUMS,
    "may_raise_version": (
        "a quorum must be upgraded while a voter is of an older version, which no run starts;"
        " core/tests/test_quorum_upgrade.py leaves one out"
    ),
    "replaces_log": _OF_QUORUMS,
    "forgets_decisions": _CONTROLLERS,
    "check_still_decides": _CONTROLLERS,
    "forwarded_principal": _CONTROLLERS,
    "needs_election": _ELECTIONS,
    "completes_reassignment": _ELECTIONS,
    "check_revert": _ELECTIONS,
    "may_lead": _ELECTIONS,
    "eligible_replicas": _ELECTIONS,
    "forgets_eligible_replicas": _ELECTIONS.replace("test_elections", "test_configured_elections"),
    "left_uncleanly": _ELECTIONS,
    "check_broker_epoch": _ELECTIONS,
    "check_leadership": _ELECTIONS,
    "check_partition_epoch": _ELECTIONS,
    "may_join_isr": _ELECTIONS,
    "session_is_over": _ELECTIONS,
    "may_unfence": _ELECTIONS,
    "may_stop": _ELECTIONS,
    "check_enough_replicas": (
        "what it lets in is not committed while the ISR is too small, so that no client sees more"
        " than another error; a case of conformance/cases/cluster/test_lost_brokers.py sends one"
    ),
    "answer_waits": (
        "on one node records are replicated once they are written;"
        " core/tests/test_held.py gives it a follower, and shows that a coordinator without this"
        " rule answers too early"
    ),
    "check_not_pending": (
        "on one node records are replicated once they are written;"
        " core/tests/test_pending_transactions.py gives it a follower, and shows the damage"
        " without this rule"
    ),
    "check_replicas_remain": (
        "a leader refuses most such batches before the append (check_enough_replicas);"
        " core/tests/test_replicated_writes.py gives it a follower, and shows the damage"
        " that a leader without this rule does"
    ),
    "check_not_ended": (
        "one node verifies and appends in one step, and the hunts plant no such bug on several;"
        " core/tests/test_coordinators_apart.py writes a marker between the two, and shows that"
        " the transaction hangs without this rule"
    ),
    "is_loaded": (
        "the logs of these runs are short, so a coordinator loads them in one step;"
        " core/tests/test_shards.py loads one in several steps, and shows what a coordinator"
        " forgets if it answers after half of them"
    ),
    "check_shard_state": (
        "the logs of these runs are short, so a coordinator loads them in one step;"
        " core/tests/test_shards.py loads one in several steps, and shows what a coordinator"
        " forgets if it answers between them"
    ),
    "may_begin": (
        "on one node records are replicated once they are written;"
        " core/tests/test_shards.py gives it a follower, and shows the mistake of a coordinator"
        " that begins too early"
    ),
    "check_fenced": _OF_VOTERS,
    "check_one_change": _OF_VOTERS,
    "may_become_voter": _OF_VOTERS,
    "grants_pre_vote": _OF_QUORUMS,
    "follows_newer_epoch": _OF_QUORUMS,
    "has_lost_quorum": _OF_QUORUMS,
    "truncation_offset": _OF_QUORUMS,
    "has_caught_up": _OF_QUORUMS,
    "truncation": _OF_REPLICAS,
    "check_fetched": _OF_REPLICAS,
    "check_replica_epoch": _OF_REPLICAS,
    "low_watermark": _OF_REPLICAS,
    "acts_as_leader": _OF_REPLICAS,
    "gives_up_replica": _OF_REPLICAS.replace("test_followers", "test_failed_disks"),
    "is_caught_up": _OF_ISR,
    "decided": (
        "one step of one process decides on a transaction and writes its markers, so a run cannot"
        " kill it between the two; core/tests/test_transactions_killed.py stops the disk there"
    ),
}
"""Rule -> the reason why no bug overrides it."""
