"""The interfaces between workloads, nemeses, clients, recorders and targets: values and Protocols.

A workload yields *operations* and is sent back their *completions*; a nemesis yields *faults*; a
client performs operations; a target performs faults. The code that does it is elsewhere.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any, Protocol, runtime_checkable

from chaos.values.faults import Fault


class Outcome(StrEnum):
    """OK happened, FAIL certainly did not, INFO nobody knows (history.Type has the same values)."""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Isolation(StrEnum):
    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


# --- operations: what a workload asks for ---------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """Base of all operations."""


@dataclass(frozen=True)
class Send(Operation):
    """Produce one record per value to a partition and wait until each is settled.

    Values are unique in the run. Inside an open transaction it belongs to it.
    """

    topic: str
    partition: int
    values: tuple[int, ...]
    keys: tuple[str, ...] = ()
    """One per value, where the history is to name them: in topics that may be compacted."""
    tombstones: tuple[bool, ...] = ()
    """For records with keys: which have no value."""
    filling: tuple[int, ...] = ()
    """One per value, where records are to be dressed: with so many bytes behind the payload, and
    headers and (without `keys`) a key, which the history does not name but checksums cover."""
    timestamps: tuple[int, ...] = ()
    """One per value (milliseconds), where the sender sets them itself."""


@dataclass(frozen=True)
class Assign(Operation):
    """Take these partitions and read them from offset 0 (a new session), or from their log start
    where records may have been removed."""

    partitions: tuple[tuple[str, int], ...]
    from_log_start: bool = False


@dataclass(frozen=True)
class Poll(Operation):
    """Deliver what is there, up to max_records, waiting up to timeout_s for the first."""

    timeout_s: float = 0.5
    max_records: int = 500


@dataclass(frozen=True)
class Subscribe(Operation):
    """Become a new member of the group in the settings; read what it assigns, from the group's
    committed offset (from the start if there is none)."""

    topics: tuple[str, ...]


@dataclass(frozen=True)
class CommitOffsets(Operation):
    """Commit the group's positions after what was polled, and wait for the answer."""


@dataclass(frozen=True)
class Leave(Operation):
    """Close the member, which tells the group."""


@dataclass(frozen=True)
class Crash(Operation):
    """The member is gone without a word: the group learns of it by silence."""


@dataclass(frozen=True)
class Begin(Operation):
    """Open a transaction."""


@dataclass(frozen=True)
class Commit(Operation):
    """End the open transaction, asking to commit."""


@dataclass(frozen=True)
class Abort(Operation):
    """End the open transaction, asking to abort."""


@dataclass(frozen=True)
class ReadAll(Operation):
    """Read these partitions from log start to their end, whole (the final phase).

    raw: fetch the batches from the leader and record their headers and control records.
    """

    partitions: tuple[tuple[str, int], ...]
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    raw: bool = False


@dataclass(frozen=True)
class TopicSpec:
    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)
    at_first: int | None = None
    """The number of partitions at first, if the workload lets the topic grow to `partitions`."""

    @property
    def made(self) -> int:
        """The number of partitions that it is made with."""
        return self.partitions if self.at_first is None else self.at_first


# --- completions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """One record of a completion: sent (offset known if acknowledged) or delivered."""

    topic: str
    partition: int
    value: int | None
    offset: int | None
    outcome: Outcome = Outcome.OK
    error: str | None = None
    t_complete_ns: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More history columns (producer_id, control, leader_epoch …). "f": "read_all" makes it a
    statement about the whole partition: read from `log_start` to `high_watermark`."""


@dataclass(frozen=True)
class Completion:
    """The end of an operation. broken: the client can do no more (fenced, fatal), so replace it."""

    outcome: Outcome
    records: Sequence[Record] = ()
    error: str | None = None
    detail: str | None = None
    broken: bool = False
    columns: Mapping[str, Any] = field(default_factory=dict)
    """More history columns, the same for all rows (member_id, generation), or a list of one value
    for each."""
    rebalanced: bool = False
    """Whether the group has set the positions again: what was polled belongs to a new session."""
    told: Sequence[Mapping[str, Any]] = ()
    """Rows of other kinds that the operation brought, each by its columns: `f` (position, owned,
    init_producer, send_offsets) and more. They stand before its own."""
    now_s: float = 0.0
    """For members of groups, whose lives go by the clock: the seconds of the run's own."""


# --- roles ----------------------------------------------------------------------------------------


class GroupProtocol(StrEnum):
    """As the configuration `group.protocol` of consumers has it."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True)
class GroupSettings:
    """The group of a process, for Subscribe; the assignor is the members' (classic) or the
    coordinator's (consumer)."""

    name: str
    protocol: GroupProtocol
    assignor: str
    auto_commit: bool
    instance_id: str | None = None
    """The id of a static member (KIP-345): back within the session, it keeps its partitions."""
    session_timeout_ms: int = 6_000
    """The least that brokers allow. By KIP-848 it is theirs: as the workload configures them."""
    max_poll_interval_ms: int = 20_000


@dataclass(frozen=True)
class ClientSettings:
    """The requirements of a workload on the clients of its processes."""

    acks: int = -1
    idempotent: bool = True
    transactional: bool = False
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    transaction_timeout_ms: int = 10_000
    delivery_timeout_ms: int = 10_000
    transactional_id: str | None = None
    """Set by the runner, and the same for every client of a process: the next fences the last."""
    group: GroupSettings | None = None
    compression: str = "none"
    rack: str | None = None
    """The rack of a consumer: it then reads from a replica of the same rack (KIP-392)."""
    fetch_bytes: int | None = None
    """For a consumer: fetch.max.bytes and max.partition.fetch.bytes; None: the library's own."""
    raw: bool = False
    """Our own producer, which does what client libraries refuse to do."""
    batches_of_one: bool = False
    """For a producer: each record is a batch of its own, five of them in flight at once."""


class Client(Protocol):
    """One process's connection to the target, used by one task of a World."""

    name: str

    async def perform(self, operation: Operation) -> Completion: ...

    async def close(self) -> None: ...


class ClientFactory(Protocol):
    def __call__(self, bootstrap: str, process: int, settings: ClientSettings) -> Client: ...


class Workload(Protocol):
    """The topics, the operations of each process, what to read at the end, and the judges."""

    name: str
    judged_by: tuple[str, ...]
    processes: int
    nodes_min: int
    """With fewer nodes it would show nothing of what it is for."""
    config: Mapping[str, str]
    """The settings that the brokers must have; the scenario's own configuration overrides them."""

    def topics(self) -> Sequence[TopicSpec]: ...

    def settings(self, process: int) -> ClientSettings: ...

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]: ...

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]: ...


class Nemesis(Protocol):
    """The schedule of a run's faults, not how they are performed. The runner skips a target that
    lacks one of them, and says so."""

    name: str
    faults: frozenset[type[Fault]]
    nodes_min: int
    """With fewer nodes its faults would strike nothing."""

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield seconds to wait, then the fault. The runner cuts the schedule off, and heals at the
        end."""
        ...


@dataclass(frozen=True)
class Performed:
    """The result of a fault: the nodes it struck (roles resolved), or why nothing was done."""

    fault: Fault
    nodes: tuple[int, ...]
    note: str = ""
    failed: bool = False
    """It was tried; some of it may have been done. A heal that failed has not ended the faults."""


class Cluster(Protocol):
    """A running target."""

    target: str
    version: str
    bootstrap: str
    listeners: Mapping[str, str]
    """Listeners that the configuration added (clusters/listeners.py): name -> bootstrap."""
    nodes: int
    focus: tuple[str, int] | None
    """The partition whose leader the role "leader" means; the runner sets it."""
    rng: Random
    """Resolves the role "random"; the runner seeds it."""

    def perform(self, fault: Fault) -> Performed: ...

    def alive(self) -> bool:
        """Return whether all nodes run and answer ApiVersions. For conformance: did a case kill the
        target?"""
        ...

    def restart(self) -> None:
        """Bring back every node that died. Raise TargetError if that fails."""
        ...

    def collect(self, into: Path) -> None:
        """Copy node logs and configurations under `into`."""
        ...

    def stop(self) -> None:
        """End every process that start() began. Safe to call twice and after a crash."""
        ...


class Target(Protocol):
    """An implementation that can be started here."""

    name: str
    faults: frozenset[type[Fault]]

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start and wait until ready. proxied: every link through toxiproxy, so that links can be
        cut. Raises TargetError (one sentence, what to do) when it cannot."""
        ...


@runtime_checkable
class MustShow(Protocol):
    """A workload that tests what brokers do on their own, such as retention, and may not have done
    during the run."""

    def why_nothing_shown(self, records: Sequence[Record]) -> str | None:
        """Return why the final raw read gives nothing to judge, or None if it does. The run then
        reports a problem: no violation was found, but the workload tested nothing."""
        ...


@runtime_checkable
class DiskTarget(Protocol):
    """A target whose nodes can be put on disks of their own, for faults.DISK_FAULTS."""

    def with_disks(self) -> Target:
        """Return the same target on such disks. Its start raises TargetError if there can be
        none."""
        ...


@runtime_checkable
class PreloadTarget(Protocol):
    """A target whose nodes can be preloaded with the shim, for faults.SHIM_FAULTS."""

    def with_shim(self) -> Target:
        """Return the same target, preloaded. Its start raises TargetError if there is no shim."""
        ...


@runtime_checkable
class SizedTarget(Protocol):
    """A target whose nodes are counted already: somebody else's cluster, as its owner describes."""

    nodes: int


class TargetError(RuntimeError):
    """A target cannot be had or started: one sentence, and what to do."""


class TargetLost(TargetError):
    """The means to control a running target is gone: no fault can be performed any more, nor
    undone."""


class Recorder(Protocol):
    """Gathers the history while the run goes on, and may write it already."""

    topic_ids: dict[str, str]
    topic_defaults: dict[str, str]

    @property
    def records_acknowledged(self) -> int: ...

    def next_op_id(self) -> int: ...

    def invoked(
        self,
        op_id: int,
        process: int,
        operation: Operation,
        t_invoke_ns: int,
        context: Mapping[str, Any],
    ) -> None:
        """Record that an operation begins. If it never completes, the history says INFO."""
        ...

    def record(
        self,
        op_id: int,
        process: int,
        operation: Operation,
        completion: Completion,
        t_invoke_ns: int,
        t_complete_ns: int | None,
        context: Mapping[str, Any],
    ) -> None: ...

    def nemesis(
        self, performed: Performed, t_invoke_ns: int, t_complete_ns: int | None = None
    ) -> None: ...
