"""The interfaces between workloads, nemeses, clients, recorders and targets: values and Protocols.

A workload yields *operations* and is sent their *completions*; a nemesis yields *faults*; a client
performs operations; a target performs faults. The implementations are elsewhere.
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
    """The outcome of an operation. OK: it took effect. FAIL: it certainly had no effect. INFO:
    unknown. (history.Type has the same values.)"""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Isolation(StrEnum):
    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


# --- operations: what a workload asks for ---------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """The base of all operations: values that a workload yields and a client's `perform` takes."""


@dataclass(frozen=True)
class Send(Operation):
    """Produce one record per value to a partition, and wait until each one is acknowledged or has
    failed.

    Values are unique in the run. Inside an open transaction the send is part of it.
    """

    topic: str
    partition: int
    values: tuple[int, ...]
    keys: tuple[str, ...] = ()
    """The key of each value, in topics that may be compacted, so that the history contains the
    keys."""
    tombstones: tuple[bool, ...] = ()
    """For records with keys: whether each is a tombstone, which has no value."""
    filling: tuple[int, ...] = ()
    """For dressed records: the number of filling bytes after each payload. Such records also have
    headers and (without `keys`) a key, which only the checksum covers, not the history."""
    timestamps: tuple[int, ...] = ()
    """The timestamp of each value in milliseconds, if the sender sets it."""


@dataclass(frozen=True)
class Assign(Operation):
    """Assign these partitions, and read them from offset 0 or from their log start. This begins a
    new session of the history."""

    partitions: tuple[tuple[str, int], ...]
    from_log_start: bool = False


@dataclass(frozen=True)
class Poll(Operation):
    """Return up to max_records of the available records; wait up to timeout_s for the first."""

    timeout_s: float = 0.5
    max_records: int = 500


@dataclass(frozen=True)
class Subscribe(Operation):
    """Become a new member of the group in the settings. Read the assigned partitions from the
    group's committed offset (from the start if there is none)."""

    topics: tuple[str, ...]


@dataclass(frozen=True)
class CommitOffsets(Operation):
    """Commit the group's positions after the last polled records, and wait for the response."""


@dataclass(frozen=True)
class Leave(Operation):
    """Close the member, which leaves its group."""


@dataclass(frozen=True)
class Crash(Operation):
    """Abandon the client as a crash would: a group member does not leave, so that the group notices
    when its session times out; a producer leaves its transaction open."""


@dataclass(frozen=True)
class Begin(Operation):
    """Open a transaction."""


@dataclass(frozen=True)
class Commit(Operation):
    """End the open transaction, asking to commit. The client of a group member first adds the
    member's offsets to the transaction."""


@dataclass(frozen=True)
class Abort(Operation):
    """End the open transaction, asking to abort."""


@dataclass(frozen=True)
class ReadAll(Operation):
    """Read these partitions completely, from log start to end (in the final phase).

    raw: fetch the batches from the leader, then from each follower, and record their headers and
    control records.
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
    """The number of partitions at the beginning, if the workload later lets the topic grow to
    `partitions`."""

    @property
    def made(self) -> int:
        """The number of partitions that the topic has when it is created."""
        return self.partitions if self.at_first is None else self.at_first


# --- completions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Record:
    """One record of a completion: sent (its offset is known if it was acknowledged) or received.
    value: None if this run has not sent it. t_complete_ns: None if the end of the whole operation
    counts."""

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
    """The end of an operation. error: the name of its error, as Kafka or the client library calls
    it, or None. detail: a sentence for the reader, about the error if there is one. broken: the
    client can do nothing more (it was fenced or failed fatally), so it must be replaced."""

    outcome: Outcome
    records: Sequence[Record] = ()
    error: str | None = None
    detail: str | None = None
    broken: bool = False
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Further history columns, such as member_id and generation: one value for all rows, or a list
    with one value per row."""
    rebalanced: bool = False
    """Whether the group has changed the assignment, so that the polled records belong to a new
    session."""
    more_rows: Sequence[Mapping[str, Any]] = ()
    """Rows of other kinds that the operation produced, each given by its columns: `f` (position,
    owned, init_producer, send_offsets) and more. In the history they stand before its own rows."""
    now_s: float = 0.0
    """The end of the operation in seconds of the run's clock, for group members, whose behaviour
    depends on time."""


# --- roles ----------------------------------------------------------------------------------------


class GroupProtocol(StrEnum):
    """The values of a consumer's configuration `group.protocol`."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True)
class GroupSettings:
    """The group of a process, for Subscribe. The assignor is chosen by the members (classic) or by
    the coordinator (consumer)."""

    name: str
    protocol: GroupProtocol
    assignor: str
    auto_commit: bool
    instance_id: str | None = None
    """The id of a static member (KIP-345): if it returns within the session timeout, it keeps its
    partitions."""
    session_timeout_ms: int = 6_000
    """The session timeout: the least that brokers allow. Under KIP-848 the brokers set it, with the
    workload's configuration."""
    max_poll_interval_ms: int = 20_000


@dataclass(frozen=True)
class ClientSettings:
    """The settings that a workload requires of a process's client."""

    acks: int = -1
    idempotent: bool = True
    transactional: bool = False
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    transaction_timeout_ms: int = 10_000
    delivery_timeout_ms: int = 10_000
    transactional_id: str | None = None
    """The transactional id, which the runner sets. It is the same for every client of a process, so
    that a new client fences the previous one."""
    group: GroupSettings | None = None
    compression: str = "none"
    rack: str | None = None
    """The rack of a consumer: it then reads from a replica of the same rack (KIP-392)."""
    fetch_bytes: int | None = None
    """For a consumer: fetch.max.bytes and max.partition.fetch.bytes; None means the library's
    defaults."""
    raw: bool = False
    """Whether to use Touchstone's own producer, which can send what client libraries refuse to
    send."""
    batches_of_one: bool = False
    """For a producer: whether each record is a batch of its own, with five batches in flight at
    once."""


class Client(Protocol):
    """The client of one process of a workload. One task of a World uses it: it performs one
    operation after another, and reports errors in completions instead of raising them."""

    name: str

    async def perform(self, operation: Operation) -> Completion: ...

    async def close(self) -> None: ...


class ClientFactory(Protocol):
    def __call__(self, bootstrap: str, process: int, settings: ClientSettings) -> Client: ...


class Workload(Protocol):
    """A workload: its topics, the operations of each process, the final reads, and the checkers
    that must judge."""

    name: str
    judged_by: tuple[str, ...]
    processes: int
    nodes_min: int
    """The smallest number of nodes with which the workload tests anything."""
    config: Mapping[str, str]
    """The settings that the brokers must have; the scenario's own configuration overrides them."""

    def topics(self) -> Sequence[TopicSpec]: ...

    def settings(self, process: int) -> ClientSettings: ...

    def operations(self, process: int, rng: Random) -> Generator[Operation, Completion, None]: ...

    def final_operations(self) -> Iterator[tuple[ClientSettings, Operation]]: ...


class Nemesis(Protocol):
    """The schedule of a run's faults, not how they are performed. The runner refuses a target that
    cannot perform one of them, and says so."""

    name: str
    faults: frozenset[type[Fault]]
    nodes_min: int
    """The smallest number of nodes with which the nemesis's faults affect anything."""

    def schedule(self, rng: Random) -> Iterator[tuple[float, Fault]]:
        """Yield (seconds to wait, fault). The runner ends the schedule when the time is up, and
        then heals."""
        ...


@dataclass(frozen=True)
class Performed:
    """The result of a fault: the nodes that it affected (roles resolved to numbers). note: the
    reason why there are none, or a remark on a heal."""

    fault: Fault
    nodes: tuple[int, ...]
    note: str = ""
    failed: bool = False
    """Whether an error occurred. A part of the fault may have been performed; if a heal failed,
    faults may still be in force."""


class Cluster(Protocol):
    """A running target, as `Target.start` returns it: clients connect to its bootstrap addresses,
    and it performs the faults of a nemesis."""

    target: str
    version: str
    bootstrap: str
    listeners: Mapping[str, str]
    """Listener name -> bootstrap addresses, for the listeners that the configuration added
    (clusters/listeners.py)."""
    nodes: int
    focus: tuple[str, int] | None
    """The partition whose leader the role "leader" means; the runner sets it."""
    rng: Random
    """The random numbers for the role "random"; the runner seeds them."""

    def perform(self, fault: Fault) -> Performed: ...

    def alive(self) -> bool:
        """Return whether all nodes run and answer ApiVersions. Conformance uses this to notice a
        case that crashed the target."""
        ...

    def restart(self) -> None:
        """End all faults, and restart every node that died. Raise TargetError if that fails."""
        ...

    def collect(self, into: Path) -> None:
        """Copy node logs and configurations into the directory `into`."""
        ...

    def stop(self) -> None:
        """End every process that start() began. It is allowed to call this twice, and after a
        crash."""
        ...


class Target(Protocol):
    """A Kafka implementation that can be started on this machine, or a running cluster that is used
    as it is. `faults` are those that its clusters can perform."""

    name: str
    faults: frozenset[type[Fault]]

    def start(
        self,
        directory: Path,
        nodes: int = 1,
        config: Mapping[str, str] | None = None,
        proxied: bool = False,
    ) -> Cluster:
        """Start nodes and wait until they are ready. directory: where they keep data and logs.
        config: settings of the brokers. proxied: route every link through toxiproxy, so that links
        can be cut. Raise TargetError, whose message is one sentence that says what to do, if that
        fails."""
        ...


@runtime_checkable
class MustShow(Protocol):
    """A workload about something that brokers do by themselves, such as retention. A run may end
    before they have done it."""

    def why_nothing_shown(self, records: Sequence[Record]) -> str | None:
        """Return why the final raw read gives nothing to judge, or None if it does. The run then
        reports a problem: no violation was found, but nothing was tested."""
        ...


class TargetError(RuntimeError):
    """Raised if a target is unavailable, did not start, or cannot do what is asked of it; the
    message is one sentence that says what to do."""


class TargetLost(TargetError):
    """Raised if a running target can no longer be controlled, so that no fault can be performed or
    undone."""
