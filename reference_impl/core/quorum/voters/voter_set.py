"""The voters of the quorum, each with the directory that holds its log, and how they change.

Source: VoterSet.java, KRaftControlRecordStateMachine.java, VoterSetHistory.java; KIP-853.

While `kraft.version` is 0, the configuration names the voters for ever, without directories. From 1
on, a VotersRecord names them, in the log or in a snapshot. A node goes by the last one that it has,
committed or not, as in Raft: one that is cut off was never in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import (
    ZERO_UUID,
    ControlRecordType,
    Malformed,
    Record,
    Struct,
    control_record,
    control_type,
    definition,
)

VOTERS_RECORD, VERSION_RECORD = definition("VotersRecord"), definition("KRaftVersionRecord")
RECORDS_VERSION = 0
KRAFT_VERSIONS = (0, 1)
"""The levels of `kraft.version` at which this version works."""
CONFIGURED = -1
"""The offset of voters that come from the configuration, or from the formatting of the directory,
and not from a record of the log."""
ReplicaKey = tuple[int, UUID]
"""The id of a node, and that of the directory which holds its metadata log. A directory id of zero
stands for any directory."""


@dataclass(frozen=True, slots=True)
class Voter:
    """One voter: a node that takes part in elections, with its directory and its addresses."""

    node_id: int
    directory_id: UUID = ZERO_UUID
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """The addresses of its controller, by listener."""
    kraft_versions: tuple[int, int] = (0, 0)
    """The lowest and the highest `kraft.version` that it supports."""

    @property
    def key(self) -> ReplicaKey:
        """Return the id of the node, and that of its directory."""
        return self.node_id, self.directory_id

    def is_replica(self, replica: ReplicaKey) -> bool:
        """Return whether a replica is this voter. A node that has lost its directory is not: it has
        lost its vote and its log, too (KIP-853). The directory is not compared if this voter has
        none."""
        node_id, directory_id = replica
        return node_id == self.node_id and self.directory_id in (ZERO_UUID, directory_id)


Voters = Mapping[int, Voter]
"""Node id -> voter, in the order of the ids."""


def voters_of(*voters: Voter) -> Voters:
    """Return these voters by their ids, in the order of the ids."""
    return {voter.node_id: voter for voter in sorted(voters, key=lambda voter: voter.node_id)}


@dataclass(frozen=True, slots=True)
class Composition:
    """The voters in force from an offset on, and the `kraft.version`."""

    offset: int
    """The offset of the newest record that names these voters, or CONFIGURED if no record does."""
    kraft_version: int
    voters: Voters

    def control_records(self) -> Iterator[Record]:
        """Yield the control records that name these voters."""
        yield version_record(self.kraft_version)
        yield voters_record(self.voters)


class VoterHistory:
    """The compositions of the quorum, by the offsets at which they came into force."""

    def __init__(self, configured: Voters) -> None:
        """Begin with the voters that the configuration names (none if it names bootstrap
        servers)."""
        self._known = [Composition(CONFIGURED, 0, configured)]

    @property
    def latest(self) -> Composition:
        """Return the newest composition, committed or not: it is in force."""
        return self._known[-1]

    def before(self, end_offset: int) -> Composition:
        """Return the composition that the records below an offset give."""
        return next(each for each in reversed(self._known) if each.offset < max(0, end_offset))

    def begin_at(self, end_offset: int, told: Composition | None) -> None:
        """Forget the history and begin again with a snapshot that ends at an offset. told: the
        voters that it names. If it names none, the oldest known ones are kept."""
        first = self._known[0] if told is None else told
        offset = CONFIGURED if told is None else end_offset - 1
        self._known = [Composition(offset, first.kraft_version, first.voters)]

    def learn(self, offset: int, record: Record) -> None:
        """Apply a control record (KRaftVersion, Voters) of the log; do nothing for any other kind,
        or for an offset that was applied before. Raise Malformed for a version that this node does
        not support."""
        if offset <= self.latest.offset:
            return
        following = composition_with(self.latest, offset, record)
        if following is not self.latest:
            self._known.append(following)

    def truncate(self, end_offset: int) -> None:
        """Drop the compositions of records at this offset or after it, which a truncation
        removes."""
        while self.latest.offset >= end_offset:
            self._known.pop()


def composition_with(known: Composition, offset: int, record: Record) -> Composition:
    """Return the composition after a control record: a new one for KRaftVersion and Voters, `known`
    itself for any other. Raise Malformed for a `kraft.version` that this node does not support."""
    kind, value = control_type(record), record.value or b""
    if kind is ControlRecordType.KRAFT_VERSION:
        version = VERSION_RECORD.decode(value, RECORDS_VERSION).k_raft_version
        if not KRAFT_VERSIONS[0] <= version <= KRAFT_VERSIONS[1]:
            raise Malformed(f"kraft.version {version} is unknown", message="KRaftVersionRecord")
        return Composition(offset, version, known.voters)
    if kind is ControlRecordType.KRAFT_VOTERS:
        rows = VOTERS_RECORD.decode(value, RECORDS_VERSION).voters
        return Composition(offset, known.kraft_version, voters_of(*map(voter_in, rows)))
    return known


def voter_in(row: Struct) -> Voter:
    """Return the voter that a row of a VotersRecord describes."""
    levels = row.k_raft_version_feature
    return Voter(
        row.voter_id,
        row.voter_directory_id,
        {each.name: Endpoint(each.host, each.port) for each in row.endpoints},
        (levels.min_supported_version, levels.max_supported_version),
    )


def version_record(level: int) -> Record:
    """Return the control record that sets the level of `kraft.version`."""
    value = VERSION_RECORD.encode(VERSION_RECORD.new(k_raft_version=level), RECORDS_VERSION)
    return control_record(ControlRecordType.KRAFT_VERSION, value)


def voters_record(voters: Voters) -> Record:
    """Return the control record that names the voters."""
    of = VOTERS_RECORD
    rows = []
    for voter in voters.values():
        least, most = voter.kraft_versions
        levels = of.struct(
            "KRaftVersionFeature", min_supported_version=least, max_supported_version=most
        )
        rows.append(
            of.struct(
                "Voter",
                voter_id=voter.node_id,
                voter_directory_id=voter.directory_id,
                endpoints=[
                    of.struct("Endpoint", name=name, host=at.host, port=at.port)
                    for name, at in voter.endpoints.items()
                ],
                k_raft_version_feature=levels,
            )
        )
    value = of.encode(of.new(voters=rows), RECORDS_VERSION)
    return control_record(ControlRecordType.KRAFT_VOTERS, value)
