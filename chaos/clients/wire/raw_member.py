"""Act as a group member by requests in our own codec, so that this file decides when a heartbeat is
sent.

Client libraries send heartbeats three times per session or more often, so that a run would not show
a session that ends too early. Every request that renews the session becomes a row of the history.
Sources: JoinGroupRequest.json, SyncGroupRequest.json, HeartbeatRequest.json, LeaveGroupRequest.json
(KIP-62; KIP-394: a member id is required); ConsumerGroupHeartbeatRequest.json (KIP-848).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from chaos.clients.wire.wire_link import WireCluster, check, insist, kafka_name
from chaos.means.connection import WireError
from chaos.values.operations import LiveAsMember
from chaos.values.protocols import Completion, GroupProtocol, Outcome
from chaos.world import Address, World
from linearizability.history import F
from reference_impl.wire import ApiKey, definition, encode_versioned, request_definition

GROUP = 0  # FindCoordinatorRequest.json, field KeyType
MEMBER_ID_REQUIRED = 79
LEAVE_EPOCH = -1
ASSIGNOR = "range"
REBALANCE_MS = 60_000
FIND_S = 10.0
BETWEEN_S, MEETS_S = 0.5, 12.0
"""The seconds between the heartbeats of a member that meets a newcomer, and the seconds after which
it gives up: judges allow for ten."""
REBALANCING = "REBALANCE_IN_PROGRESS"
"""The answer to a heartbeat while other members join; it renews the session like an acceptance."""
NOT_MEMBER = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "GROUP_ID_NOT_FOUND"})
"""The answers by which a coordinator says that the sender is not a member."""
Row = Mapping[str, Any]
Ask = Callable[[], Awaitable[int]]
"""A function that sends one request of the member and returns the error code of the answer."""


async def live_as_member(
    cluster: WireCluster, other: WireCluster, operation: LiveAsMember
) -> Completion:
    """Perform the operation. Return the history rows of its requests in `more_rows`. other: the
    connections of a second member. End early, with the outcome OK, at the first heartbeat that is
    refused. If the coordinator does not answer, return FAIL, without a row for that request."""
    kind = _Classic if operation.protocol is GroupProtocol.CLASSIC else _Consumer
    member = kind(cluster, operation)
    try:
        await member.find()
        if await member.tell(F.HEARTBEAT, member.join):
            await _stay(cluster, other, member, operation)
    except WireError as error:
        told = tuple(member.rows)
        return Completion(Outcome.FAIL, (), type(error).__name__, str(error), more_rows=told)
    return Completion(Outcome.OK, more_rows=tuple(member.rows))


async def _stay(
    cluster: WireCluster, other: WireCluster, member: _Member, operation: LiveAsMember
) -> None:
    for pause_s in operation.pauses_s:
        await cluster.world.sleep(pause_s)
        if not await member.tell(F.HEARTBEAT, member.heartbeat):
            return
    if operation.meets_newcomer:
        await _meet_newcomer(cluster.world, member, await member.companion(other))
    elif await member.tell(F.LEAVE, member.leave):
        await member.tell(F.HEARTBEAT, member.heartbeat)


async def _meet_newcomer(world: World, member: _Member, newcomer: _Member) -> None:
    """Let a newcomer send JoinGroup, which is not answered before the first member has joined
    again. Send heartbeats until one is refused, the newcomer is answered, or MEETS_S seconds are
    over. Then let both leave: the first one in the middle of the rebalance, after which one more
    heartbeat of it must be refused."""
    await newcomer.introduce()
    begun_s = world.monotonic()
    joining = world.spawn("newcomer", newcomer.join())
    accepted = True
    while accepted and not await joining.join(BETWEEN_S):
        waits_s = world.monotonic() - begun_s
        accepted = waits_s < MEETS_S and await member.tell(
            F.HEARTBEAT, member.heartbeat, newcomer_waits_s=waits_s
        )
    if await member.tell(F.LEAVE, member.leave):
        await member.tell(F.HEARTBEAT, member.heartbeat, has_left=True)
    await joining.join()
    await newcomer.leave()


class _Member:
    """Sends the requests of one group member, and keeps the history row of each."""

    def __init__(self, cluster: WireCluster, operation: LiveAsMember) -> None:
        self.rows: list[Row] = []
        self._cluster, self._operation = cluster, operation
        self._member_id, self._epoch = "", 0
        self._coordinator: Address | None = None

    async def find(self) -> None:
        """Find the group's coordinator, and wait until there is one. Raise WireError if there is
        none within FIND_S seconds."""
        deadline = self._cluster.world.monotonic() + FIND_S
        await insist(self._cluster.world, self._find, deadline)

    async def _find(self) -> None:
        group = self._operation.group
        answer = await self._cluster.ask_any(ApiKey.FIND_COORDINATOR, key=group, key_type=GROUP)
        check(answer.error_code, f"FindCoordinator {group}")
        self._coordinator = answer.host, answer.port

    async def tell(
        self, f: F, ask: Ask, newcomer_waits_s: float | None = None, *, has_left: bool = False
    ) -> bool:
        """Send one request and add its history row of kind `f`, whose outcome is OK, FAIL (no such
        member) or INFO (any other error). Return whether the answer had no error. newcomer_waits_s:
        for how long another member's JoinGroup has been without an answer. has_left: whether the
        member has left, so that REBALANCE_IN_PROGRESS is OK, too: it is said to members alone.
        Raise WireError if no answer comes."""
        waits = {"asked": "joining", "asked_offset": int((newcomer_waits_s or 0) * 1000)}
        began_ns = self._cluster.world.monotonic_ns()
        code = await ask()
        name = kafka_name(code) if code else None
        accepted = name is None or (has_left and name == REBALANCING)
        outcome = Outcome.OK if accepted else Outcome.INFO
        self.rows.append(
            {
                "f": f.value,
                "type": (Outcome.FAIL if name in NOT_MEMBER else outcome).value,
                "error": name,
                "group": self._operation.group,
                "member_id": self._member_id,
                "generation": self._epoch,
                **({} if newcomer_waits_s is None else waits),
                "t_invoke_ns": began_ns,
                "t_complete_ns": self._cluster.world.monotonic_ns(),
                "settings": json.dumps(
                    {
                        "group.protocol": self._operation.protocol.value,
                        "session.timeout.ms": str(self._operation.session_timeout_ms),
                    }
                ),
            }
        )
        return name is None

    async def _ask(self, api: ApiKey, **fields: Any) -> Any:
        assert self._coordinator is not None  # `find` has set it
        return await self._cluster.ask(
            self._coordinator, api, group_id=self._operation.group, **fields
        )

    async def companion(self, cluster: WireCluster) -> _Member:
        """Return another member of the same group, which uses connections of its own and has found
        the coordinator, but has not joined."""
        other = type(self)(cluster, self._operation)
        await other.find()
        return other

    async def introduce(self) -> None:
        """Ask for a member id, if the protocol's coordinator chooses it."""

    async def join(self) -> int:
        raise NotImplementedError

    async def heartbeat(self) -> int:
        raise NotImplementedError

    async def leave(self) -> int:
        raise NotImplementedError


class _Classic(_Member):
    """Sends the requests of a member of a classic group."""

    async def introduce(self) -> None:
        answer = await self._join()
        self._member_id = answer.member_id

    async def join(self) -> int:
        """Join the group and fetch the assignment, which is empty. Return the error code of the
        first request that is refused, or 0."""
        answer = await self._join()
        if answer.error_code == MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
            answer = await self._join()
        if answer.error_code:
            return int(answer.error_code)
        self._member_id, self._epoch = answer.member_id, answer.generation_id
        struct = request_definition(ApiKey.SYNC_GROUP).struct
        own = struct("SyncGroupRequestAssignment", member_id=self._member_id, assignment=b"")
        answer = await self._ask(
            ApiKey.SYNC_GROUP,
            generation_id=self._epoch,
            member_id=self._member_id,
            protocol_type="consumer",
            protocol_name=ASSIGNOR,
            assignments=[own],
        )
        return int(answer.error_code)

    async def _join(self) -> Any:
        of = definition("ConsumerProtocolSubscription")
        wanted = encode_versioned(of, of.new(topics=[self._operation.topic], user_data=None), 1)
        struct = request_definition(ApiKey.JOIN_GROUP).struct
        return await self._ask(
            ApiKey.JOIN_GROUP,
            session_timeout_ms=self._operation.session_timeout_ms,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self._member_id,
            protocol_type="consumer",
            protocols=[struct("JoinGroupRequestProtocol", name=ASSIGNOR, metadata=wanted)],
        )

    async def heartbeat(self) -> int:
        answer = await self._ask(
            ApiKey.HEARTBEAT, generation_id=self._epoch, member_id=self._member_id
        )
        return int(answer.error_code)

    async def leave(self) -> int:
        struct = request_definition(ApiKey.LEAVE_GROUP).struct
        own = struct("MemberIdentity", member_id=self._member_id, group_instance_id=None)
        answer = await self._ask(ApiKey.LEAVE_GROUP, members=[own])
        return int(answer.error_code or answer.members[0].error_code)


class _Consumer(_Member):
    """Sends the requests of a member of a consumer group (KIP-848)."""

    async def join(self) -> int:
        told = self._operation.group, self._cluster.world.monotonic_ns()
        self._member_id = str(uuid5(NAMESPACE_URL, repr(told)))
        return await self._say(
            member_epoch=0,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=[self._operation.topic],
            topic_partitions=[],
        )

    async def heartbeat(self) -> int:
        return await self._say(member_epoch=self._epoch)

    async def leave(self) -> int:
        epoch, code = self._epoch, await self._say(member_epoch=LEAVE_EPOCH)
        self._epoch = epoch  # the epoch that it had as a member
        return code

    async def _say(self, **fields: Any) -> int:
        unsaid = {"subscribed_topic_names": None, "topic_partitions": None}
        answer = await self._ask(
            ApiKey.CONSUMER_GROUP_HEARTBEAT, member_id=self._member_id, **(unsaid | fields)
        )
        if not answer.error_code:
            self._epoch = answer.member_epoch
        return int(answer.error_code)
