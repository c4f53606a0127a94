"""The nodes of a cluster as the metadata log describes them: brokers and controllers.

Source: KIP-631 (broker epoch, fencing), KIP-841 (controlled shutdown), KIP-858 (directories),
KIP-919 (controllers), KIP-1066 (cordoned directories); ClusterImage.java, ClusterDelta.java,
BrokerRegistration.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import Definition, Malformed, Struct, definition

MIGRATING, UNASSIGNED, LOST = UUID(int=0), UUID(int=1), UUID(int=2)
"""The directory ids that name no directory: of a replica from before KIP-858, of one whose broker,
which has several directories, has not chosen one, and of one whose files cannot be used
(DirectoryId.java)."""
Endpoints = Mapping[str, tuple[Endpoint, int]]
"""Listener name -> its address, and the number of its security protocol."""
NO_CHANGE = 0
"""The value in a record that leaves fencing or controlled shutdown as they are
(BrokerRegistrationFencingChange.NONE, BrokerRegistrationInControlledShutdownChange.NONE)."""


class Features(NamedTuple):
    """The lowest and the highest level of a feature at which a node can work."""

    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """One broker. `broker_epoch` is the offset of the record that registered it."""

    node_id: int
    broker_epoch: int
    incarnation_id: UUID
    """The id of the process; each start of the broker has a new one."""
    listeners: Mapping[str, Endpoint]
    features: Mapping[str, Features]
    rack: str | None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[UUID, ...] = ()
    cordoned_log_dirs: tuple[UUID, ...] = ()
    """The directories that get no new partitions."""
    protocols: Mapping[str, int] = field(default_factory=dict)
    """The security protocol of each listener, by its number."""

    @property
    def is_active(self) -> bool:
        """Return whether the broker may become a leader and join an ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def is_cordoned(self) -> bool:
        """Return whether every directory of the broker is closed to new partitions."""
        return bool(self.log_dirs) and set(self.log_dirs) <= set(self.cordoned_log_dirs)

    def has_online(self, directory: UUID) -> bool:
        """Return whether a replica in this directory can be used: the broker has named the
        directory as its own, or the id stands for none (MIGRATING, UNASSIGNED;
        DirectoryId.isOnline)."""
        return directory in (MIGRATING, UNASSIGNED) or directory in self.log_dirs

    def to_record(self) -> Struct:
        """Return the record that registers the broker as it is now
        (BrokerRegistration.toRecord)."""
        of = definition("RegisterBrokerRecord")
        return of.new(
            broker_id=self.node_id,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.broker_epoch,
            end_points=endpoint_rows(of, "BrokerEndpoint", _endpoints(self)),
            features=feature_rows(of, "BrokerFeature", self.features),
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=list(self.log_dirs),
            cordoned_log_dirs=list(self.cordoned_log_dirs),
        )


@dataclass(frozen=True, slots=True)
class ControllerImage:
    """One controller, with the listeners at which other nodes find it."""

    node_id: int
    incarnation_id: UUID
    listeners: Mapping[str, Endpoint]
    features: Mapping[str, Features]
    protocols: Mapping[str, int] = field(default_factory=dict)

    def to_record(self) -> Struct:
        """Return the record that registers the controller (ControllerRegistration.toRecord)."""
        of = definition("RegisterControllerRecord")
        return of.new(
            controller_id=self.node_id,
            incarnation_id=self.incarnation_id,
            end_points=endpoint_rows(of, "ControllerEndpoint", _endpoints(self)),
            features=feature_rows(of, "ControllerFeature", self.features),
        )


class Registrations:
    """The nodes that have registered, by their ids."""

    def __init__(self) -> None:
        self.brokers: dict[int, BrokerImage] = {}
        self.controllers: dict[int, ControllerImage] = {}

    def register_broker(self, record: Struct) -> None:
        """Apply a RegisterBrokerRecord: a new incarnation of a broker, or the first."""
        self.brokers[record.broker_id] = BrokerImage(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            endpoints_of(record.end_points),
            features_of(record.features),
            record.rack or None,
            record.fenced,
            record.in_controlled_shutdown,
            tuple(record.log_dirs),
            tuple(record.cordoned_log_dirs or ()),
            protocols_of(record.end_points),
        )

    def unregister_broker(self, record: Struct) -> None:
        """Apply an UnregisterBrokerRecord: forget the broker. Raise Malformed if another
        incarnation is registered, or none."""
        self._expected(record, record.broker_id, record.broker_epoch)
        del self.brokers[record.broker_id]

    def change_broker(self, record: Struct) -> None:
        """Apply a BrokerRegistrationChangeRecord: the fencing, controlled shutdown or directories
        of a registered broker. Raise Malformed if another incarnation is registered, or none."""
        old = self._expected(record, record.broker_id, record.broker_epoch)
        new = old
        if record.fenced != NO_CHANGE:
            new = replace(new, fenced=record.fenced > 0)
        if record.in_controlled_shutdown != NO_CHANGE:
            new = replace(new, in_controlled_shutdown=True)
        if record.log_dirs:
            new = replace(new, log_dirs=tuple(record.log_dirs))
        if record.cordoned_log_dirs is not None:
            new = replace(new, cordoned_log_dirs=tuple(record.cordoned_log_dirs))
        self.brokers[old.node_id] = new

    def fence_broker(self, record: Struct) -> None:
        """Apply a FenceBrokerRecord, which only earlier versions of Kafka write. Raise Malformed if
        another incarnation is registered, or none."""
        broker = self._expected(record, record.id, record.epoch)
        self.brokers[broker.node_id] = replace(broker, fenced=True)

    def unfence_broker(self, record: Struct) -> None:
        """Apply an UnfenceBrokerRecord, which only earlier versions of Kafka write. Raise Malformed
        if another incarnation is registered, or none."""
        broker = self._expected(record, record.id, record.epoch)
        self.brokers[broker.node_id] = replace(broker, fenced=False)

    def register_controller(self, record: Struct) -> None:
        """Apply a RegisterControllerRecord: a new incarnation of a controller, or the first."""
        self.controllers[record.controller_id] = ControllerImage(
            record.controller_id,
            record.incarnation_id,
            endpoints_of(record.end_points),
            features_of(record.features),
            protocols_of(record.end_points),
        )

    def _expected(self, record: Struct, node_id: int, broker_epoch: int) -> BrokerImage:
        """Return the broker that a record is about. Raise Malformed unless it is registered with
        this broker epoch: the controller writes only about brokers that it knows
        (ClusterControlManager.replay)."""
        broker = self.brokers.get(node_id)
        if broker is None or broker.broker_epoch != broker_epoch:
            raise Malformed(
                f"no broker {node_id} is registered with epoch {broker_epoch}",
                message=type(record).__name__,
            )
        return broker


def endpoints_of(rows: list[Struct]) -> dict[str, Endpoint]:
    """Return the addresses that the rows of a record or request name, by listener."""
    return {row.name: Endpoint(row.host, row.port) for row in rows}


def protocols_of(rows: list[Struct]) -> dict[str, int]:
    """Return the security protocols that the rows of a record name, by listener."""
    return {row.name: row.security_protocol for row in rows}


def _endpoints(node: BrokerImage | ControllerImage) -> Endpoints:
    return {name: (at, node.protocols[name]) for name, at in node.listeners.items()}


def endpoint_rows(of: Definition, kind: str, endpoints: Endpoints) -> list[Struct]:
    """Return the rows of a record or request that name a node's listeners."""
    return [
        of.struct(kind, name=name, host=at.host, port=at.port, security_protocol=protocol)
        for name, (at, protocol) in endpoints.items()
    ]


def feature_rows(
    of: Definition, kind: str, features: Mapping[str, tuple[int, int]]
) -> list[Struct]:
    """Return the rows of a record or request that name the lowest and the highest level of each
    feature at which a node can work."""
    return [
        of.struct(kind, name=name, min_supported_version=lowest, max_supported_version=highest)
        for name, (lowest, highest) in features.items()
    ]


def features_of(rows: list[Struct]) -> dict[str, Features]:
    """Return the levels that the rows of a record or request name, by feature."""
    return {
        row.name: Features(row.min_supported_version, row.max_supported_version) for row in rows
    }


def directories_of(brokers: Iterable[BrokerImage]) -> dict[int, UUID]:
    """Return broker -> directory for the brokers with exactly one directory, where all their
    replicas lie (ClusterControlManager.defaultDir)."""
    return {each.node_id: each.log_dirs[0] for each in brokers if len(each.log_dirs) == 1}
