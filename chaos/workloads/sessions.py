"""Sessions: members that send heartbeats as late as their sessions allow, and that leave."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from random import Random

from chaos.values.operations import Idle, LiveAsMember
from chaos.values.protocols import ClientSettings, Completion, GroupProtocol, Operation
from chaos.workloads.appends import Appends

SESSION_MS = 2_000
LATE, EARLY = (0.78, 0.9), (0.3, 0.6)
"""The shares of the session after which a member sends a heartbeat: near its end, or well before
it, so that several heartbeats together last longer than a session."""
SILENT_S = SESSION_MS / 1000 + 11.0
"""The seconds that a silent member waits before its last heartbeat: judges allow for ten seconds
after the session's end."""
SILENT_SHARE = 0.15
NEWCOMER_SHARE = 0.3
"""The share of the classic memberships in which another member joins the group."""
HEARTBEATS_MAX = 6
BETWEEN_S = 0.1


class Sessions(Appends):
    """Append records, while lone members of groups of both protocols send heartbeats of their own.

    A member that sends a heartbeat within its session time-out must stay a member; one that is
    silent for much longer, or that has left, must be told that it is none. One whose group another
    member joins must be told to join again. Client libraries send heartbeats too often to show
    this, and do not tell what they were answered. Spec: KIP-62; KIP-848, Member failure detection.
    """

    name = topic = "sessions"
    config: Mapping[str, str] = {
        "group.min.session.timeout.ms": str(SESSION_MS),
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.min.session.timeout.ms": str(SESSION_MS),
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "group.consumer.min.heartbeat.interval.ms": "500",
        "group.consumer.heartbeat.interval.ms": "500",
    }
    judged_by = (*Appends.judged_by, "group_liveness")
    partitions = 2
    producers, pollers = 1, 1
    members = 6
    processes = producers + pollers + members

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Let the first process send, the second poll, and the others be members."""
        if process < self.producers + self.pollers:
            return super().operations(process, rng)
        return self._live_for_ever(process, rng)

    def settings(self, process: int) -> ClientSettings:
        return ClientSettings(acks=-1, idempotent=True)

    def _live_for_ever(self, process: int, rng: Random) -> Generator[Operation, Completion, None]:
        """Yield one membership after another, each in the process's own group."""
        protocol = GroupProtocol.CLASSIC if process % 2 else GroupProtocol.CONSUMER
        while True:
            share, count = rng.choice((LATE, EARLY)), rng.randint(1, HEARTBEATS_MAX)
            pauses = [SESSION_MS / 1000 * rng.uniform(*share) for _ in range(count)]
            if rng.random() < SILENT_SHARE:
                pauses = [*pauses[:1], SILENT_S]
            meets = protocol is GroupProtocol.CLASSIC and rng.random() < NEWCOMER_SHARE
            group = f"group-{process}-of-{self.name}"
            yield LiveAsMember(group, self.topic, protocol, SESSION_MS, tuple(pauses), meets)
            yield Idle(BETWEEN_S)
