"""Groups: members of a consumer group that join, leave and crash while records arrive."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from chaos.values.operations import CommitPosition, FetchPositions, Idle, Membership
from chaos.values.protocols import (
    ClientSettings,
    CommitOffsets,
    Completion,
    Crash,
    GroupProtocol,
    GroupSettings,
    Leave,
    Operation,
    Outcome,
    Poll,
    Subscribe,
    TopicSpec,
)
from chaos.workloads.lives import Eras, Life, first_crashes
from chaos.workloads.reading import final_reads
from chaos.workloads.sending import send_for_ever

MAX_POLL_INTERVAL_MS = 8_000
ABSENT_S = MAX_POLL_INTERVAL_MS / 1000 + 1.5
"""The seconds for which a slow member does not poll: long enough for the group to remove it and
continue."""
STATIC_SESSION_MS = MAX_POLL_INTERVAL_MS
"""The session time-out of static members: the longest that librdkafka accepts, so that it outlasts
most restarts of the coordinator. After so long without an answer librdkafka drops its member id and
joins again with its instance id alone; then its own last commit may fence it for good."""
SETTLED_S = ABSENT_S + 2.5
"""The last process crashes this many seconds after a calm time has begun. It stays away until the
next restless time, so the group must neither wait for it nor leave its partitions unread."""
POLLS_PER_LIFE = 100
"""The number of polls in one membership: some ten seconds when records are flowing, so that every
member comes and goes within half a minute."""


class _Groups:
    """The common base of the group workloads. Half of the members commit automatically every
    second, half commit explicitly after polls. Between two committed offsets a group must skip no
    record, whichever members come and go (docs, design, "Message Delivery Semantics", at least
    once)."""

    name: str
    protocol: GroupProtocol
    assignor: str
    static = False
    config: Mapping[str, str] = {}
    judged_by: tuple[str, ...] = (
        "lost_writes",
        "duplicates",
        "inconsistent_offsets",
        "phantom_records",
        "poll_order",
        "poll_skips",
        "append_order",
        "group_delivery",
    )
    partitions = 6
    producers = 3
    members = 4
    processes = producers + members
    nodes_min = 1
    commit_share = 0.5
    crash_share = 0.4
    absent_share = 0.15
    """The share of memberships in which the member once does not poll for longer than
    max.poll.interval.ms."""
    session_timeout_ms = 6_000
    polls_per_life = POLLS_PER_LIFE
    records_per_poll_max = 500
    sends_between_lives = 0
    """The number of sends of a process between two memberships."""

    def topics(self) -> Sequence[TopicSpec]:
        return (TopicSpec(self.name, self.partitions),)

    def settings(self, process: int) -> ClientSettings:
        if process < self.producers:
            return ClientSettings(acks=-1, idempotent=True)
        auto_commit = not self._commits_itself(process)
        instance_id = f"member-{process}" if self.static else None
        group = GroupSettings(
            f"group-of-{self.name}",
            self.protocol,
            self.assignor,
            auto_commit,
            instance_id,
            self.session_timeout_ms,
            max_poll_interval_ms=MAX_POLL_INTERVAL_MS,
        )
        return ClientSettings(group=group)

    def _commits_itself(self, process: int) -> bool:
        return process % 2 == 0

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Return the operations of a producer for the first processes, and of group members for the
        others."""
        if process < self.producers:
            return send_for_ever(self.name, self.partitions, process, rng)
        return self._be_members(process, rng)

    def _be_members(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield the operations of one group member after another, perhaps with sends between two of
        them. Each leaves or crashes after its number of polls, or LIFE_S after its first records,
        but only in a restless time (`Eras`). The last process's member also crashes SETTLED_S into
        a calm time; the process then sends until it is over."""
        commits_itself, is_deserter = self._commits_itself(process), process == self.processes - 1
        meanwhile = send_for_ever(self.name, self.partitions, process, rng)
        eras, crashes = Eras(), first_crashes(process)
        while True:
            polls = rng.randint(self.polls_per_life // 2, self.polls_per_life * 3 // 2)
            life, next_crashes = Life(rng, crashes), rng.random() < self.crash_share
            yield from self._ask(rng)
            completion = eras.noted((yield Subscribe((self.name,))))
            life.begin(completion)
            absent_after = polls - rng.randrange(self.polls_per_life // 2)
            absent_after = absent_after if rng.random() < self.absent_share else -1
            while eras.calm_s > 0 or (polls > 0 and not life.is_over(eras.now_s)):
                if completion.broken:
                    break
                if is_deserter and eras.calm_s > SETTLED_S:
                    life.crashes = True
                    break
                if polls == absent_after and eras.calm_s < 0:
                    absent_after = -1
                    yield Idle(ABSENT_S)
                    if commits_itself and completion.records:  # as if it had not been removed
                        yield CommitOffsets()
                completion = eras.noted((yield Poll(max_records=self.records_per_poll_max)))
                # Full polls do not wait: if they counted, a backlog would shorten memberships.
                is_full = len(completion.records) == self.records_per_poll_max
                polls -= not is_full and eras.calm_s < 0
                life.note(completion)
                has_read = completion.outcome is Outcome.OK and completion.records
                if commits_itself and has_read and rng.random() < self.commit_share:
                    completion = eras.noted((yield CommitOffsets()))
                    yield from self._ask(rng)
            if not completion.broken:
                eras.noted((yield life.end()))
                crashes = next_crashes
            while is_deserter and eras.calm_s > SETTLED_S:
                eras.noted((yield next(meanwhile)))
            for _ in range(self.sends_between_lives):
                yield next(meanwhile)

    def _ask(self, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield nothing. Workloads that record every commit override this, and sometimes fetch the
        group's committed offsets here."""
        yield from ()

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        return final_reads(self.topics())


class ClassicGroups(_Groups):
    """Let members of a classic group come and go; a rebalance revokes all partitions from all
    members."""

    name = "groups"
    protocol = GroupProtocol.CLASSIC
    assignor = "range"


class StaticGroups(_Groups):
    """Use members with a group.instance.id (KIP-345): one that returns in time keeps its
    partitions."""

    name = "groups-static"
    protocol = GroupProtocol.CLASSIC
    assignor = "range"
    static = True
    session_timeout_ms = STATIC_SESSION_MS


class CooperativeGroups(_Groups):
    """Let members of a classic group with incremental rebalances come and go: a member continues to
    read the partitions that it keeps (KIP-429)."""

    name = "groups-cooperative"
    protocol = GroupProtocol.CLASSIC
    assignor = "cooperative-sticky"


class ConsumerGroups(_Groups):
    """Let members of a KIP-848 group come and go: the coordinator assigns partitions by
    heartbeats."""

    name = "groups-consumer"
    protocol = GroupProtocol.CONSUMER
    assignor = "uniform"
    # By default a crashed member keeps its partitions for 45 seconds, longer than most runs.
    config: Mapping[str, str] = {
        "group.consumer.min.session.timeout.ms": "6000",
        "group.consumer.session.timeout.ms": "6000",
        "group.consumer.min.heartbeat.interval.ms": "1000",
        "group.consumer.heartbeat.interval.ms": "1000",
    }


class StaticConsumerGroups(ConsumerGroups):
    """Use members with a group.instance.id in a KIP-848 group: one that left for a while gets its
    partitions back.

    It leaves with member epoch -2. One that crashed must wait until its session has ended.
    """

    name = "groups-consumer-static"
    static = True
    sends_between_lives = 40
    """The number of sends between two memberships. A member whose instance id is still in use is
    refused at once and for good, so none may join too soon."""


class GroupPositions(ClassicGroups):
    """Let members of a classic group commit explicitly, so that every commit is known, and fetch
    the committed offsets.

    Offsets are fetched after a commit, before a member joins, and at the end. Now and then a
    process commits once more as the member that it was before it left or crashed: a zombie, which
    must be refused once its group has removed or replaced it (OffsetCommit: generation; KIP-345: a
    replaced process; KIP-848: member epoch). Also, a living member repeats an old commit: from its
    current generation it must set the group back, from an earlier one it must be refused. A commit
    that names no member, or a strange member id, between two of a living one, must be refused
    (UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID with the living one's instance id).
    """

    name = "groups-positions"
    judged_by = (*ClassicGroups.judged_by, "committed_offsets")
    ask_share = 0.2
    zombie_share = 0.1
    repeat_share = 0.02
    nobody_share = 0.02
    """The share of polls after which a living member's commit is repeated in the name of no member,
    and then in its own, which shows that it was alive."""
    stranger_share = 0.02
    """The share of polls after which a living member's commit is repeated under a member id that
    the group does not have, and then under its own: in one generation the partition would have had
    two owners."""
    past_share = 0.05
    """The share of polls after which a member repeats one of its commits from an earlier
    generation. It must be refused; under KIP-848, unless the member has had the partition ever
    since."""

    def _commits_itself(self, process: int) -> bool:
        return True

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Work as in the other group workloads, with commits of zombies between the members'
        polls."""
        living = super().operations(process, rng)
        return (
            living if process < self.producers else self._with_zombie_commits(process, living, rng)
        )

    def _with_zombie_commits(
        self, process: int, living: Generator[Operation, Completion, None], rng: Random
    ) -> Generator[Operation, Completion, None]:
        """Yield a member's operations and, now and then, repeat the last commit of the process's
        previous member, or a commit of this member from its present or an earlier generation."""
        current: CommitPosition | None = None
        old: CommitPosition | None = None
        """The first commit of this member in this generation, in which no other member may own the
        partition."""
        past: CommitPosition | None = None
        """The last commit of this member in an earlier generation."""
        zombie: CommitPosition | None = None
        operation = next(living)
        while True:
            completion = yield operation
            if isinstance(operation, CommitOffsets):
                current = self._again(process, completion) or current
                if old is None or current is None or old.member != current.member:
                    past = past if old is None else old
                    old = current
            elif isinstance(operation, Crash | Leave):
                zombie, current, old, past = current or zombie, None, None, None
            elif isinstance(operation, Poll) and rng.random() < self.repeat_share and old:
                yield old
                yield self._positions()
            elif isinstance(operation, Poll) and rng.random() < self.nobody_share and current:
                yield replace(current, member=None)
                yield current
            elif isinstance(operation, Poll) and rng.random() < self.stranger_share and current:
                yield _by_stranger(current, process)
                yield current
            elif isinstance(operation, Poll) and rng.random() < self.zombie_share and zombie:
                yield zombie
            elif isinstance(operation, Poll) and rng.random() < self.past_share and past:
                yield past
                yield self._positions()
            operation = living.send(completion)

    def _again(self, process: int, completion: Completion) -> CommitPosition | None:
        """Return a separate request for the commit's first position, or None if the commit failed,
        had no position, or its member is unknown."""
        member_id = completion.columns.get("member_id")
        generation = completion.columns.get("generation")
        if completion.outcome is not Outcome.OK or not completion.records:
            return None
        if member_id is None or generation is None:
            return None
        group = self.settings(process).group
        assert group is not None
        last = completion.records[0]
        assert last.offset is not None
        member = Membership(member_id, generation, group.instance_id)
        return CommitPosition(group.name, last.topic, last.partition, last.offset, member)

    def _ask(self, rng: Random) -> Generator[Operation, Completion, None]:
        if rng.random() < self.ask_share:
            yield self._positions()

    def _positions(self) -> FetchPositions:
        return FetchPositions(f"group-of-{self.name}", self.name, tuple(range(self.partitions)))

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]:
        yield from super().final_operations()
        yield ClientSettings(), self._positions()


def _by_stranger(commit: CommitPosition, process: int) -> CommitPosition:
    """Return the commit of a member under a member id that no member has, in the same generation
    and with the same instance id, if there is one."""
    assert commit.member is not None
    stranger = replace(commit.member, member_id=f"stranger-of-{process}")
    return replace(commit, member=stranger)


class StaticGroupPositions(GroupPositions):
    """Let members with a group.instance.id commit explicitly, and fetch the committed offsets.

    A zombie may have the current generation, since a member that returns in time replaces it
    without a rebalance (KIP-345).
    """

    name = "groups-static-positions"
    static = True
    session_timeout_ms = STATIC_SESSION_MS


class ConsumerGroupPositions(GroupPositions):
    """Let members of a KIP-848 group commit explicitly, and fetch the committed offsets.

    Members commit often, seldom crash, and stay away for some seconds, in which the others take
    over their partitions. So a returning member takes over partitions from living ones. Only in
    this way can a run reveal a partition that is assigned before its owner has released it.
    Heartbeats are slow, so that members learn late that they must release partitions.
    """

    name = "groups-consumer-positions"
    protocol = GroupProtocol.CONSUMER
    assignor = ConsumerGroups.assignor
    config: Mapping[str, str] = {
        **ConsumerGroups.config,
        "group.consumer.heartbeat.interval.ms": "2000",
    }
    crash_share = 0.1
    polls_per_life = 80
    sends_between_lives = 100
    records_per_poll_max = 10
