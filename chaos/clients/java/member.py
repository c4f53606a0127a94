"""Members of consumer groups by Apache Kafka's own Java consumer: subscribe, poll, commit, leave,
crash.

A poll of KafkaConsumer first lets the group change the assignment (the listener is called), then
returns records of the new assignment. So the history has a rebalance before the records of its
poll. An automatic commit covers records of earlier polls, which the history has by then. A crash is
imitated by closing the consumer without LeaveGroup (KIP-1092); Java still makes its automatic
commit then, so it is a crash right after a commit. Sources: KafkaConsumer,
ConsumerRebalanceListener, CloseOptions; KIP-429, KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chaos.clients.java.host import Answer
from chaos.clients.membership_rows import MembershipRows, group_settings, member_times
from chaos.record.outcomes import read_outcome
from chaos.values.protocols import (
    CommitOffsets,
    Completion,
    Crash,
    GroupProtocol,
    GroupSettings,
    Leave,
    Outcome,
    Poll,
    Record,
    Subscribe,
)
from chaos.world import World

ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
COMMIT_TIMEOUT_MS = 15_000
MORE_S = 10.0
"""The seconds that we wait for an answer beyond the time-out given to the Java client; a client
that is later hangs."""
LEAVE_S = 5.0
RECORDS_PER_POLL_MAX = 10
"""The value of max.poll.records: the smallest number that any workload asks for, since Java fixes
it for each consumer, not for each poll."""

Ask = Callable[..., Answer]
"""A function of (op, timeout_s, fields) that sends a request to the Java process and returns its
answer. It raises HostError."""


def member_config(group: GroupSettings) -> dict[str, Any]:
    """Return the settings that a group member needs in addition to those of a reader without a
    group, under Java's names."""
    config: dict[str, Any] = {
        **({"group.instance.id": group.instance_id} if group.instance_id else {}),
        "group.id": group.name,
        "group.protocol": group.protocol.value,
        "enable.auto.commit": group.auto_commit,
        "auto.commit.interval.ms": 1_000,
        "auto.offset.reset": "earliest",
        **member_times(group),
        "max.poll.records": RECORDS_PER_POLL_MAX,
    }
    if group.protocol is GroupProtocol.CONSUMER:  # the broker sets its time-outs
        return config | {"group.remote.assignor": group.assignor}
    return config | {"partition.assignment.strategy": ASSIGNORS[group.assignor]}


class JavaMember:
    """Acts as a member of one group for one process of a workload; each Subscribe begins a new
    membership, after a crash of the one before."""

    def __init__(
        self,
        world: World,
        group: GroupSettings,
        ask: Ask,
        make: Callable[[], None],
        record_of: Callable[[Answer], Record],
    ) -> None:
        """Start without a consumer. make: creates a new consumer in place of the last one.
        record_of: turns a record of an answer into one of the history."""
        self._settings = group_settings(group)
        self._rows = MembershipRows(world, self._settings)
        self._ask = ask
        self._make = make
        self._record_of = record_of
        self._is_member = False
        self._member_id: str | None = None
        self._positions: dict[tuple[str, int], tuple[int, int]] = {}
        """Partition -> the offset after the last record taken and that record's leader epoch, for
        the partitions that this member owns."""

    def subscribe(self, subscribe: Subscribe) -> Completion:
        self.crash(Crash())  # a process is one member at a time
        self._make()
        self._is_member, self._member_id = True, None
        self._rows.clear()
        ended = _ended(self._ask("subscribe", MORE_S, topics=list(subscribe.topics)))
        return replace(ended, columns=self._settings)

    def poll(self, poll: Poll) -> Completion:
        """Poll records of one assignment, at most RECORDS_PER_POLL_MAX whatever the operation asks
        for. Return a completion whose `rebalanced` says whether the assignment differs from that of
        the last poll. Return FAIL without a subscription."""
        if not self._is_member:
            return Completion(Outcome.FAIL, (), "_STATE", "there is no subscription")
        answer = self._ask(
            "poll", poll.timeout_s + 2 * MORE_S, timeout_ms=int(poll.timeout_s * 1e3)
        )
        changes = answer.get("changes", ())
        for change in changes:
            self._note(change)
        columns, rebalanced, told = _identity(answer), bool(changes), self._rows.take()
        # A removed member has no id at the end of a poll; its records came under the old id.
        self._member_id = columns["member_id"] = columns["member_id"] or self._member_id
        if error := answer.get("error"):
            return Completion(
                read_outcome(error),
                (),
                error,
                answer["detail"],
                answer["fatal"],
                columns,
                rebalanced,
                told,
            )
        records = [self._record_of(told) for told in answer["records"]]
        for record in records:
            assert record.offset is not None
            position = record.offset + 1, record.extra["leader_epoch"]
            self._positions[record.topic, record.partition] = position
        return Completion(
            Outcome.OK, records, columns=columns, rebalanced=rebalanced, more_rows=told
        )

    def _note(self, change: Answer) -> None:
        """Keep the history rows of one change of the assignment: partitions received, with the
        group's committed offsets (null: the coordinator did not answer; -1: there is none), or
        partitions revoked, whose positions are dropped."""
        identity = _identity(change)
        partitions = [(topic, partition) for topic, partition, _ in change["partitions"]]
        if change["change"] == "revoked":
            for place in partitions:
                self._positions.pop(place, None)
            self._rows.revoked(partitions, identity)
            return
        starts = {(t, p): offset for t, p, offset in change["partitions"] if offset is not None}
        begun = {place: offset if offset >= 0 else None for place, offset in starts.items()}
        self._rows.assigned(begun, partitions, identity)

    def commit(self, _: CommitOffsets) -> Completion:
        """Commit the positions after the records polled since the last commit, and wait. Return OK
        without a request if there are none. An error leaves the outcome open (INFO), since an
        earlier attempt may have succeeded; the positions are then dropped, too."""
        positions, self._positions = self._positions, {}
        if not self._is_member or not positions:
            return Completion(Outcome.OK)
        asked = [(*place, *position) for place, position in positions.items()]
        answer = self._ask(
            "commit_offsets",
            COMMIT_TIMEOUT_MS / 1000 + MORE_S,
            offsets=asked,
            timeout_ms=COMMIT_TIMEOUT_MS,
        )
        error = answer.get("error")
        outcome = Outcome.OK if error is None else Outcome.INFO
        records = [Record(t, p, None, offset, outcome, error) for t, p, offset, _ in asked]
        columns = _identity(answer)
        if columns != _identity(answer.get("before", {})):
            columns["generation"] = None  # committed in this generation or in the one before
        broken = bool(answer.get("fatal", False))
        return Completion(outcome, records, error, answer.get("detail"), broken, columns)

    def leave(self, _: Leave) -> Completion:
        """Close the consumer, which leaves the group and, if commits are automatic, commits first.
        Return OK without a consumer, and INFO after an error."""
        return self._close("leave")

    def crash(self, _: Crash) -> Completion:
        """Close the consumer without LeaveGroup: the group notices when the session times out. Java
        still makes its automatic commit."""
        return self._close("crash")

    def _close(self, op: str) -> Completion:
        self._positions = {}
        if not self._is_member:
            return Completion(Outcome.OK)
        self._is_member = False
        return _ended(self._ask(op, LEAVE_S + MORE_S))


def _ended(answer: Answer) -> Completion:
    if error := answer.get("error"):
        return Completion(Outcome.INFO, (), error, answer["detail"], answer["fatal"])
    return Completion(Outcome.OK)


def _identity(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns member_id and generation, null before the member has joined."""
    generation = answer.get("generation", -1)
    return {
        "member_id": answer.get("member_id") or None,
        "generation": generation if generation >= 0 else None,
    }
