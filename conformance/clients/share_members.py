"""A member of a share group (KIP-932) whose every heartbeat, fetch and acknowledgement a case
chooses.

ShareGroupHeartbeat to the group's coordinator maintains the membership. Records are acquired and
acknowledged in share sessions; each partition leader has one session per member.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from conformance.case import expect
from conformance.clients.consumer_members import Partition, assigned, partitions_of
from conformance.clients.members import group_connection
from conformance.wire import Connection, Topic, Wire, batch, eventually, part
from reference_impl.wire import ErrorCode, RecordBatch, Struct

GROUP_RESOURCE = 32
LEAVE, CLOSE_SESSION = -1, -1
"""The epochs that end a membership, and a share session."""
WAIT_MS = 500


class Ack(IntEnum):
    """The kinds of acknowledgement of a record (field AcknowledgeTypes)."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3


@dataclass(frozen=True)
class Acquired:
    """A range of records that a member has acquired, with their delivery count."""

    first: int
    last: int
    deliveries: int


@dataclass(frozen=True)
class Fetched:
    """The content of one response: the acquired ranges (runs), the records by offset (values), and
    the error codes of acknowledgements in the request, one for each partition."""

    runs: list[Acquired]
    values: dict[int, bytes | None]
    errors: list[int]


@dataclass
class ShareMember:
    """One member of a share group; it remembers its member epoch, and its share session epoch on
    one leader."""

    wire: Wire
    group: str
    topics: list[Topic]
    connection: Connection
    leader: Connection
    version: int | None = None
    """The version of ShareFetch and ShareAcknowledge; None means the newest that both sides
    support."""
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0
    session_epoch: int = 0
    owned: list[Partition] = field(default_factory=list)

    @staticmethod
    def of(wire: Wire, *topics: Topic, group: str = "", version: int | None = None) -> ShareMember:
        """Return a member that has not joined; by default its group is new."""
        group = group or wire.new_name("group")
        leader = wire.connect_to_leader(topics[0])
        connection = group_connection(wire, group)
        return ShareMember(wire, group, list(topics), connection, leader, version)

    @staticmethod
    def ready(
        wire: Wire,
        *topics: Topic,
        reset: str | None = "earliest",
        version: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> ShareMember:
        """Let a member join a new group, and return it once it has all partitions of its topics.
        reset: where the group starts to read a partition, or None for the broker's default.
        configs: more settings of the group."""
        member = ShareMember.of(wire, *topics, version=version)
        told = {} if reset is None else {"share.auto.offset.reset": reset}
        set_group(wire, member.group, told | dict(configs or {}))
        member.join()
        return member

    def partner(self) -> ShareMember:
        """Let another member join the same group, and return it once it owns all partitions of the
        topics, too."""
        other = ShareMember.of(self.wire, *self.topics, group=self.group, version=self.version)
        other.join()
        return other

    def try_to_beat(self, **changed: Any) -> Struct:
        """Send a heartbeat with only the identity and the changed fields; return the response."""
        identity: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
        }
        version = self.wire.version("ShareGroupHeartbeat")
        return self.connection.call("ShareGroupHeartbeat", version, **(identity | changed))

    def try_to_join(self, **changed: Any) -> Struct:
        """Send the first heartbeat of a member; return the response."""
        names = [topic.name for topic in self.topics]
        return self.try_to_beat(**({"member_epoch": 0, "subscribed_topic_names": names} | changed))

    def learn(self, answer: Struct) -> Struct:
        """Check that a heartbeat had no error, remember the epoch and the assignment in its
        response, and return the response."""
        expect(answer.error_code, ErrorCode.NONE, f"heartbeat error ({answer.error_message})")
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = assigned(answer)
        return answer

    def join(self) -> None:
        """Join, and send heartbeats until all partitions of the topics are assigned. Raise
        Deviation if that takes too long. The member leaves when the case is over."""
        self.learn(self.try_to_join())
        self.wire.at_end(lambda: self.try_to_beat(member_epoch=LEAVE))
        wanted = partitions_of(*self.topics)

        def owned() -> list[Partition]:
            self.learn(self.try_to_beat())
            return self.owned

        eventually(owned, lambda found: found == wanted, "partitions assigned to the member")

    def describe(self) -> Struct:
        """Send ShareGroupDescribe for the group, and return its part of the answer, whatever it
        says."""
        version = self.wire.version("ShareGroupDescribe")
        answer = self.connection.call("ShareGroupDescribe", version, group_ids=[self.group])
        return answer.groups[0]  # type: ignore[no-any-return]

    # --- records ----------------------------------------------------------------------------------

    def try_to_fetch(
        self,
        *topics: Topic,
        acks: Iterable[Struct] = (),
        partition: int = 0,
        connection: Connection | None = None,
        **changed: Any,
    ) -> Struct:
        """Send ShareFetch for one partition of each of these topics, by default of all subscribed
        ones, with acknowledgements. Return the response, which may be an error; without one, the
        session epoch rises."""
        fields: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": self.session_epoch,
            "max_wait_ms": WAIT_MS,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            "topics": _topics("ShareFetch", "Fetch", topics or self.topics, partition, acks),
        }
        version = self.wire.version("ShareFetch", high=self._newest)
        answer = (connection or self.leader).call("ShareFetch", version, **(fields | changed))
        if answer.error_code == ErrorCode.NONE:
            self.session_epoch += 1
            self.lock_ms = answer.acquisition_lock_timeout_ms
        return answer

    def fetch(self, **changed: Any) -> Fetched:
        """Send ShareFetch for the first topic, which must succeed; return its content."""
        answer = self.try_to_fetch(self.topics[0], **changed)
        expect(answer.error_code, ErrorCode.NONE, f"ShareFetch error ({answer.error_message})")
        rows = [row for topic in answer.responses for row in topic.partitions]
        for row in rows:
            expect(row.error_code, ErrorCode.NONE, f"error ({row.error_message})")
        # Within a session, a partition without anything new has no row.
        return Fetched(
            [run for row in rows for run in acquired(row)],
            {at: value for row in rows for at, value in values_in(row).items()},
            [row.acknowledge_error_code for row in rows],
        )

    def acquire(self, **changed: Any) -> list[Acquired]:
        """Fetch until the leader returns records of the first topic; return the acquired ranges.
        Raise Deviation if it returns none in time."""
        return self.acquire_values(**changed).runs

    def acquire_values(self, **changed: Any) -> Fetched:
        """Fetch as `acquire` does; return the whole content."""
        found: Fetched = eventually(
            lambda: self.fetch(**changed), lambda f: f.runs, "records are acquired"
        )
        return found

    def acquires_nothing(self, **changed: Any) -> None:
        """Fetch once more, and require that the leader acquires no records for the member."""
        expect(self.fetch(**changed).runs, [], "records acquired")

    def try_to_acknowledge(self, *acks: Struct, partition: int = 0, **changed: Any) -> Struct:
        """Send ShareAcknowledge for one partition of the first topic. Return the answer, which may
        be an error; without one, the session epoch rises, and Deviation is raised if the lock's
        time (v2) is not that of the last fetch. changed: fields of the request to set otherwise."""
        fields: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "share_session_epoch": self.session_epoch,
            "topics": _topics("ShareAcknowledge", "Acknowledge", self.topics[:1], partition, acks),
        }
        version = self.wire.version("ShareAcknowledge", high=self._newest)
        answer = self.leader.call("ShareAcknowledge", version, **(fields | changed))
        if answer.error_code == ErrorCode.NONE:
            self.session_epoch += 1
            if version >= 2:
                expect(answer.acquisition_lock_timeout_ms, self.lock_ms, "time of the lock")
        return answer

    def acknowledge(self, *acks: Struct, error: ErrorCode = ErrorCode.NONE) -> None:
        """Send ShareAcknowledge, which must get this error for the partition."""
        answer = self.try_to_acknowledge(*acks)
        expect(answer.error_code, ErrorCode.NONE, f"error ({answer.error_message})")
        rows = [row for topic in answer.responses for row in topic.partitions]
        expect([row.error_code for row in rows], [error], "error of the partition")

    def close_session(self) -> None:
        """Close the share session, which must succeed; that releases the acquired records."""
        answer = self.try_to_acknowledge(share_session_epoch=CLOSE_SESSION, topics=[])
        expect(answer.error_code, ErrorCode.NONE, "error of closing the session")
        self.session_epoch = 0

    def reconnect(self) -> None:
        """Close the connection to the leader, which ends the share session, and open a new one."""
        self.leader.close()
        self.leader = self.wire.connect_to_leader(self.topics[0])
        self.session_epoch = 0

    @property
    def _newest(self) -> int:
        return 1 << 15 if self.version is None else self.version


def ack(api: str, first: int, last: int, *kinds: Ack | int) -> Struct:
    """Return one batch of acknowledgements for this API, of the records from first to last: one
    kind for all of its records, or one for each."""
    return part(
        api,
        "AcknowledgementBatch",
        first_offset=first,
        last_offset=last,
        acknowledge_types=[int(kind) for kind in kinds],
    )


def acknowledged(first: int, last: int, *kinds: Ack | int) -> Struct:
    """Return a batch of acknowledgements for ShareAcknowledge, as `ack` does."""
    return ack("ShareAcknowledge", first, last, *kinds)


def acquired(row: Struct) -> list[Acquired]:
    """Return the acquired ranges in a partition's row."""
    return [
        Acquired(found.first_offset, found.last_offset, found.delivery_count)
        for found in row.acquired_records
    ]


def values_in(row: Struct) -> dict[int, bytes | None]:
    """Return offset -> value (None: null) of the data records in a partition's row."""
    data, at = bytes(row.records or b""), 0
    found: dict[int, bytes | None] = {}
    while at < len(data):
        one, at = RecordBatch.decode(data, at)
        if not one.is_control:
            found |= {one.base_offset + r.offset_delta: r.value for r in one.records}
    return found


def send(wire: Wire, topic: Topic, *values: bytes) -> None:
    """Produce these values in one batch to the topic's first partition, which must succeed."""
    answer = wire.produce(topic, batch(*values).encode())
    expect(answer.error_code, ErrorCode.NONE, "Produce error")


def set_group(wire: Wire, group: str, configs: Mapping[str, str]) -> None:
    """Set configurations of a group, and wait until every broker reports them. Do nothing without
    any. Fail if that is refused or takes too long."""
    if not configs:
        return
    api = "IncrementalAlterConfigs"
    rows = [
        part(api, "AlterableConfig", name=key, config_operation=0, value=value)
        for key, value in configs.items()
    ]
    resource = part(
        api, "AlterConfigsResource", resource_type=GROUP_RESOURCE, resource_name=group, configs=rows
    )
    answer = wire.call(api, resources=[resource])
    expect(answer.responses[0].error_code, ErrorCode.NONE, "error of setting the group's")
    wanted = part(
        "DescribeConfigs",
        "DescribeConfigsResource",
        resource_type=GROUP_RESOURCE,
        resource_name=group,
        configuration_keys=list(configs),
    )
    version = wire.version("DescribeConfigs")
    for connection in wire.everywhere():
        eventually(
            lambda asked=connection: {  # type: ignore[misc]
                c.name: c.value
                for r in asked.call("DescribeConfigs", version, resources=[wanted]).results
                for c in r.configs
            },
            lambda found: found == configs,
            f"the settings of {group} are known",
        )


def _topics(
    api: str, kind: str, topics: Iterable[Topic], partition: int, acks: Iterable[Struct]
) -> list[Struct]:
    rows = list(acks)
    return [
        part(
            api,
            f"{kind}Topic",
            topic_id=topic.id,
            partitions=[
                part(
                    api, f"{kind}Partition", partition_index=partition, acknowledgement_batches=rows
                )
            ],
        )
        for topic in topics
    ]
