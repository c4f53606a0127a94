"""The end of a run, after the heal: wait until the cluster is healthy, then read everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from chaos.run.unread import try_unread, unread_in
from chaos.run.workers import Actor, Shared
from chaos.values.protocols import (
    ClientFactory,
    ClientSettings,
    Completion,
    Isolation,
    MustShow,
    Operation,
    Outcome,
    ReadAll,
    TopicSpec,
    Workload,
)

RECOVERY_TIMEOUT_S = 90.0
SHOWN_TIMEOUT_S, READ_AGAIN_S = 12.0, 3.0
"""The seconds to wait for brokers to delete or compact records, and the seconds between two reads.
Brokers look for such work once a second, and the youngest record is then five seconds old."""
STABLE_TIMEOUT_S = 25.0
LOOK_EVERY_S = 0.2
OVERDUE_S = 75.0
"""The seconds into the final phase after which every transaction must have ended: a minute for
markers, and the coordinator's interval for ending timed-out transactions."""


class HealthCheck(Protocol):
    """An object that can report why a cluster is not healthy (chaos.clients.wire.admin)."""

    async def why_not_well(
        self, topics: Sequence[TopicSpec], brokers: int, readable_only: bool = False
    ) -> str | None: ...


async def await_recovery(
    shared: Shared,
    health: HealthCheck,
    topics: Sequence[TopicSpec],
    brokers: int,
    tell: Callable[[str], None],
) -> bool:
    """Wait until all brokers live, all partitions are led and all replicas are in sync, for
    RECOVERY_TIMEOUT_S at most. Return whether it is so; if not, note that as a problem of the run.
    tell: called with what is still awaited."""
    deadline = shared.world.monotonic() + RECOVERY_TIMEOUT_S
    while (reason := await health.why_not_well(topics, brokers)) is not None:
        if shared.world.monotonic() > deadline:
            shared.problem(
                f"the cluster had not recovered {RECOVERY_TIMEOUT_S:.0f} s after the heal: {reason}"
            )
            return False
        tell(f"waiting for the cluster: {reason}")
        await shared.world.sleep(LOOK_EVERY_S)
    return True


async def read_finally(
    shared: Shared, workload: Workload, factory: ClientFactory, raw_factory: ClientFactory
) -> None:
    """Perform every final operation, each by a new logical process; note a problem of the run for
    each that does not succeed. If a read_committed read is one of these, an open transaction may
    have held it up: read its partitions again by the raw client when every transaction must have
    ended (OVERDUE_S), unless the run is abandoned before. Try the partitions again that some read
    did not read to the end (`unread`)."""
    overdue_at, held_up = shared.world.monotonic() + OVERDUE_S, None
    number, unread = 0, list[tuple[str, int]]()
    for number, (settings, operation) in enumerate(workload.final_operations()):
        raw = isinstance(operation, ReadAll) and operation.raw
        actor = Actor(
            shared, workload.processes + number, settings, raw_factory if raw else factory, True
        )
        try:
            if raw and isinstance(workload, MustShow):
                completion = await _read_what_is_shown(shared, workload, actor, operation)
            else:
                completion = await _perform_in_time(shared, actor, operation)
        finally:
            await actor.close()
        if completion.outcome is not Outcome.OK:
            shared.problem(
                f"the final {type(operation).__name__}{' by the raw client' if raw else ''} did not"
                " succeed: "
                f"{completion.detail or completion.error}"
            )
            if isinstance(operation, ReadAll):
                unread += unread_in(completion) if completion.records else operation.partitions
                if operation.isolation is Isolation.READ_COMMITTED:
                    held_up = operation
        elif completion.detail:
            shared.note(completion.detail)
    if unread:
        await try_unread(shared, unread, raw_factory, workload.processes + number + 2)
    if held_up is not None and not await shared.abandoned.wait(
        max(0.0, overdue_at - shared.world.monotonic())
    ):
        process = workload.processes + number + 1
        actor = Actor(shared, process, ClientSettings(), raw_factory, True)
        # A raw read shows aborted records, too, so it counts as read_uncommitted.
        await actor.perform(replace(held_up, raw=True, isolation=Isolation.READ_UNCOMMITTED))
        await actor.close()


async def _perform_in_time(shared: Shared, actor: Actor, operation: Operation) -> Completion:
    """Perform the operation, and repeat it while its outcome is FAIL, for STABLE_TIMEOUT_S at most
    or until the run is abandoned. Return the last completion. An offset becomes stable only when
    the transaction's marker is written, which may be after the response to EndTxn."""
    deadline = shared.world.monotonic() + STABLE_TIMEOUT_S
    while True:
        completion = await actor.perform(operation)
        if completion.outcome is not Outcome.FAIL or shared.world.monotonic() > deadline:
            return completion
        if await shared.abandoned.wait(LOOK_EVERY_S):
            return completion


async def _read_what_is_shown(
    shared: Shared, workload: MustShow, actor: Actor, operation: Operation
) -> Completion:
    """Read, and repeat the read until the brokers have deleted or compacted something. Note a
    problem if they have not within SHOWN_TIMEOUT_S, or before the run is abandoned. Return the last
    completion, which is the first one that does not succeed."""
    deadline = shared.world.monotonic() + SHOWN_TIMEOUT_S
    while True:
        completion = await actor.perform(operation)
        if completion.outcome is not Outcome.OK:
            return completion
        reason = workload.why_nothing_shown(completion.records)
        if reason is None:
            return completion
        if shared.world.monotonic() > deadline or await shared.abandoned.wait(READ_AGAIN_S):
            shared.problem(reason)
            return completion
