"""The tasks of a run: one per logical process of the workload, and one for the nemesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any

from chaos.run.variety import Variety, plain
from chaos.values.able_clusters import StrikesLater, TakesTime
from chaos.values.faults import Fault, Heal
from chaos.values.operations import (
    AddOffsets,
    CommitAsFormer,
    CommitInTransaction,
    CommitPosition,
    FetchPositions,
    Idle,
    LeaveOpen,
    RawSend,
    Recreate,
    Seek,
    SeekToTime,
    SendOffsets,
    Supersede,
    TryRead,
)
from chaos.values.protocols import (
    Abort,
    Assign,
    Begin,
    Client,
    ClientFactory,
    ClientSettings,
    Cluster,
    Commit,
    CommitOffsets,
    Completion,
    Crash,
    Leave,
    Nemesis,
    Operation,
    Outcome,
    Performed,
    Poll,
    ReadAll,
    Send,
    Subscribe,
    TargetError,
    TargetLost,
    Workload,
)
from chaos.values.recorder import Recorder
from chaos.world import Flag, World

PAUSE_AFTER_FAILURE_S = 0.05
PAUSE_AFTER_BROKEN_S = 0.3
SETTLE_TIMEOUT_S = 40.0
BACK_TIMEOUT_S = 30.0
BACK_POLL_S = 0.2
_ENDS = (Commit, Abort, Crash, CommitAsFormer)
_IN_TRANSACTIONS = (Send, Poll, Begin, SendOffsets, AddOffsets, *_ENDS)
_OF_MEMBERS = (Subscribe, Poll, CommitOffsets, Leave, Crash)


class Throttle:
    """Limits the rate of all processes together to `rate` records per second. Time lost in a stall
    is not made up for afterwards."""

    def __init__(self, world: World, rate: float) -> None:
        self._world = world
        self._rate = rate
        self._lock = world.lock()
        self._free_at = 0.0

    async def wait(self, records: int, stop: Flag) -> bool:
        """Wait until this many records may be sent. Return True, or False if the run stops."""
        with self._lock:
            now = self._world.monotonic()
            turn = max(now, self._free_at)
            self._free_at = turn + records / self._rate
        return not (await stop.wait(turn - now) if turn > now else stop.is_set())


@dataclass
class Shared:
    """The state that all tasks of a run share: the recorder, the flags that end its phases, and the
    problems and notes found so far."""

    run_id: str
    bootstrap: str
    recorder: Recorder
    seed: int
    world: World
    throttle: Throttle
    stop: Flag = field(init=False)
    healed: Flag = field(init=False)
    abandoned: Flag = field(init=False)
    """A flag that is set when the run is over, or interrupted: from then on processes leave their
    transactions open, and the final phase waits and repeats reads no more."""
    incarnations: dict[str, str] = field(default_factory=dict)
    """Topic -> id, for topics that were created again during this run; "" while the new id is
    unknown."""
    txns: Iterator[int] = field(default_factory=lambda: count(1))
    problems: list[str] = field(default_factory=list)

    notes: list[str] = field(default_factory=list)
    variety: Variety = field(default_factory=plain)

    def __post_init__(self) -> None:
        self.stop, self.healed, self.abandoned = (self.world.flag() for _ in range(3))

    def problem(self, sentence: str) -> None:
        """Note why this run cannot be VALID. A sentence that was noted before is not repeated."""
        if sentence not in self.problems:
            self.problems.append(sentence)

    def note(self, sentence: str) -> None:
        """Add a sentence to the notes beside the verdict; a note does not change the verdict."""
        if sentence not in self.notes:
            self.notes.append(sentence)


class Actor:
    """One logical process of a workload: performs operations one after another and records them.

    A broken client is replaced. The process keeps its number and its transactional id, so that the
    new client fences the old one, and begins a new session.
    """

    def __init__(
        self,
        shared: Shared,
        process: int,
        settings: ClientSettings,
        factory: ClientFactory,
        final: bool = False,
    ) -> None:
        self.shared = shared
        self._world = shared.world
        self.process = process
        if settings.transactional:
            settings = replace(settings, transactional_id=f"{shared.run_id}-{process}")
        self.settings = settings
        self._factory = factory
        self._final = final
        self._client: Client | None = None
        self._session = 0
        self._assigned: tuple[tuple[str, int], ...] = ()
        self.txn: int | None = None
        self._former_txn: int | None = None
        """The number of the transaction whose producer was fenced."""
        self.unsettled = False
        """Whether a transaction of this process may still be open at the coordinator."""

    async def perform(self, operation: Operation) -> Completion:
        """Perform the operation, by a new client if there is none, record it with its completion,
        and return that. An exception of the client counts as an unknown outcome (INFO) and a
        problem of the run. Close a broken client."""
        recorder = self.shared.recorder
        if self._client is None:
            self._client = self._factory(self.shared.bootstrap, self.process, self.settings)
        if isinstance(operation, Assign | Subscribe | Seek | SeekToTime | ReadAll):
            self._session += 1
        if isinstance(operation, Assign):
            self._assigned = operation.partitions
        if isinstance(operation, Begin):
            self.txn = next(self.shared.txns)
        context = self._context(operation, self._client.name)
        op_id, invoked = recorder.next_op_id(), self._world.monotonic_ns()
        recorder.invoked(op_id, self.process, operation, invoked, context)
        try:
            completion = await self._client.perform(operation)
        except Exception as error:
            # A client that raises is an error of this harness: note it; the outcome is unknown.
            problem = f"client {self._client.name}: {type(error).__name__}: {error}"
            self.shared.problem(problem)
            completion = Completion(Outcome.INFO, (), "_CLIENT_RAISED", problem, broken=True)
        self._session += completion.rebalanced
        context |= {"session": self._session, **completion.columns}
        if (
            isinstance(operation, Send)
            and "topic_id" in context
            and completion.outcome is not Outcome.OK
        ):
            context["topic_id"] = ""  # it may still reach the next topic of that name
        recorder.record(
            op_id, self.process, operation, completion, invoked, self._world.monotonic_ns(), context
        )
        self._follow(operation, completion)
        if completion.broken:
            await self.close()
        return completion

    def _follow(self, operation: Operation, completion: Completion) -> None:
        """Update the transaction, the session, and the id of a topic that was created again."""
        done = completion.outcome is Outcome.OK
        if isinstance(operation, Recreate):
            made = completion.columns.get("topic_id", "")
            self.shared.incarnations[operation.topic.name] = made
        if isinstance(operation, Begin):
            self.unsettled = not done and self.unsettled
            if not done:
                self.txn = None
        elif isinstance(operation, Commit | Abort) and done:
            self.txn = None
        elif isinstance(operation, Supersede) and done:
            self._former_txn, self.txn = self.txn, None
        if isinstance(operation, Poll) and not done and self.settings.group is not None:
            self._session += 1  # for a group member, no Assign begins it
        if completion.broken:
            self.unsettled = self.unsettled or self.settings.transactional
            self.txn = None
            self._session += 1

    def _context(self, operation: Operation, client: str) -> dict[str, Any]:
        """Return the history columns that every row of the operation takes from this process."""
        context: dict[str, Any] = {"session": self._session, "client": client, "final": self._final}
        if isinstance(operation, Send):
            context["acks"] = self.settings.acks
            context["idempotent"] = self.settings.idempotent or self.settings.transactional
        if isinstance(operation, Poll | Assign):
            context["isolation"] = self.settings.isolation.value
        if self.shared.incarnations:
            for topic in _topics_of(operation, self._assigned) & self.shared.incarnations.keys():
                # The checkers treat each creation of the topic as a topic of its own.
                context["topic_id"] = self.shared.incarnations[topic]
        if isinstance(operation, _IN_TRANSACTIONS) and self.settings.transactional:
            is_former = isinstance(operation, CommitAsFormer) or (
                isinstance(operation, RawSend | SendOffsets) and operation.as_former
            )
            context["txn"] = self._former_txn if is_former else self.txn
            context["transactional_id"] = self.settings.transactional_id
        if isinstance(operation, CommitInTransaction | LeaveOpen):
            context["txn"] = next(self.shared.txns)
            context["transactional_id"] = operation.transactional_id
        if isinstance(operation, _OF_MEMBERS) and self.settings.group is not None:
            context["group"] = self.settings.group.name
        return context

    async def settle(self) -> None:
        """End a transaction that may be open, so that it does not delay the final read. Give up
        with a note after SETTLE_TIMEOUT_S, without one when the run is abandoned. Do nothing for a
        process without transactions.

        A new client of the same transactional id ends its predecessor's transaction (KIP-98,
        InitProducerId). An empty transaction then shows that this client works.
        """
        deadline = self._world.monotonic() + SETTLE_TIMEOUT_S
        if not self.settings.transactional:
            return
        if self.txn is not None:
            await self.perform(Abort())
        while self.unsettled and not self.shared.abandoned.is_set():
            if (await self.perform(Begin())).outcome is Outcome.OK:
                await self.perform(Abort())
            elif self._world.monotonic() > deadline:
                self.shared.note(
                    f"process {self.process} could not end its last transaction within "
                    f"{SETTLE_TIMEOUT_S:.0f} s of the heal"
                )
                return

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _topics_of(operation: Operation, assigned: Sequence[tuple[str, int]]) -> set[str]:
    """Return the topics of a send, seek, assignment or read of everything, or of a commit or fetch
    of positions, the assigned topics for a poll, and an empty set for any other operation."""
    match operation:
        case Send() | CommitPosition() | FetchPositions():
            return {operation.topic}
        case Poll():
            return {topic for topic, _ in assigned}
        case Seek() | SeekToTime() | TryRead():
            return {operation.topic}
        case Assign() | ReadAll():
            return {topic for topic, _ in operation.partitions}
    return set()


async def act(shared: Shared, workload: Workload, process: int, factory: ClientFactory) -> None:
    """Run a process: perform its operations until the run stops, wait for the heal, then settle
    unless the run is abandoned. If the operations end before, neither wait nor settle."""
    rng = Random(f"{shared.seed}:workload:{process}")
    settings = shared.variety.of_client(process, workload.settings(process))
    actor = Actor(shared, process, settings, factory)
    times_matter = any(topic.config for topic in workload.topics())
    dresser = shared.variety.dresser(process, not times_matter, shared.world.wall_ns)
    operations = workload.operations(process, rng)
    try:
        operation = next(operations)
        while not shared.stop.is_set():
            if isinstance(operation, Send) and not await shared.throttle.wait(
                len(operation.values), shared.stop
            ):
                break
            if isinstance(operation, Idle):
                await shared.stop.wait(operation.seconds)
                operation = operations.send(Completion(Outcome.OK))
                continue
            completion = await actor.perform(dresser.dress(operation))
            if completion.broken:
                await shared.stop.wait(PAUSE_AFTER_BROKEN_S)
            elif completion.outcome is not Outcome.OK:
                await shared.stop.wait(PAUSE_AFTER_FAILURE_S)
            if settings.group is not None:
                completion = replace(completion, now_s=shared.world.monotonic())
            operation = operations.send(completion)
        await shared.healed.wait()
        if not shared.abandoned.is_set():
            await actor.settle()
    except StopIteration:
        pass  # the workload has no more operations for this process
    finally:
        operations.close()
        await actor.close()


class FaultPerformer:
    """Performs the schedule of a nemesis during a run, and records the result of each fault."""

    def __init__(self, shared: Shared, nemesis: Nemesis, cluster: Cluster) -> None:
        self._shared = shared
        self._world = shared.world
        self._nemesis = nemesis
        self._cluster = cluster
        self.struck = 0
        """The number of faults that have affected a node."""
        self.refusal = ""
        """The reason why the first fault that could not be performed failed, or ""."""
        self.current = "-"
        """The description of the current fault, for the progress line."""

    async def run(self) -> None:
        """Perform the schedule until the run stops. After a heal, wait until the nodes are back,
        within a time limit. The schedule's next pause begins then; otherwise a node that starts
        slowly would never be struck while it serves."""
        rng = Random(f"{self._shared.seed}:nemesis")
        for wait_s, fault in self._nemesis.schedule(rng):
            if await self._shared.stop.wait(wait_s):
                return
            await self.perform(fault)
            if isinstance(fault, Heal):
                await self._await_nodes()

    async def perform(self, fault: Fault) -> None:
        """Perform one fault and record its result; for a shutdown, wait until the nodes have ended.
        Note why a fault failed. If the target is lost, stop the run and raise TargetLost."""
        self._note_struck()
        began = self._world.monotonic_ns()
        try:
            performed = self._cluster.perform(fault)
            await self._await_performed()
        except TargetLost:
            self._shared.stop.set()  # without the target this run cannot be judged
            raise
        except TargetError as error:
            performed = Performed(fault, (), str(error), failed=True)
            sentence = f"{fault.name} was not performed: {error}"
            self.refusal = self.refusal or sentence
            self._shared.note(sentence)
        else:
            if isinstance(fault, Heal) and performed.note:
                self._shared.note(performed.note)
        self._shared.recorder.nemesis(performed, began, self._world.monotonic_ns())
        self.struck += bool(performed.nodes) and not isinstance(fault, Heal)
        struck = ",".join(map(str, performed.nodes))
        self.current = "-" if isinstance(fault, Heal) else f"{fault.name} {struck}".strip()

    async def _await_performed(self) -> None:
        """Wait until the nodes that are shut down have ended, as `perform` does in real time. The
        next fault would otherwise cut the power in the middle of a clean shutdown."""
        if isinstance(self._cluster, TakesTime):
            while self._cluster.is_shutting_down():
                await self._world.sleep(BACK_POLL_S)

    def _note_struck(self) -> None:
        """Record the delayed faults (such as a failing sync) that have struck a node since they
        were set."""
        if isinstance(self._cluster, StrikesLater):
            for at_ns, performed in self._cluster.take_struck():
                self._shared.recorder.nemesis(performed, at_ns, at_ns)
                self.struck += 1

    async def _await_nodes(self) -> None:
        deadline = self._world.monotonic() + BACK_TIMEOUT_S
        while not self._shared.stop.is_set() and not self._cluster.alive():
            if self._world.monotonic() > deadline:
                self._shared.note(
                    f"not all nodes answered {BACK_TIMEOUT_S:.0f} s after a heal; see the node logs"
                )
                return
            await self._shared.stop.wait(BACK_POLL_S)
