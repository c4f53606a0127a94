"""The controller: it decides what happens to the cluster, and writes it into the metadata log.

Its image includes records that are not committed yet, so that each decision sees those before it. A
decision is in force, and may be answered, when brokers have applied its records (`Broker.apply`).
The other files of this folder hold the decisions: each checks, then writes records.

Source: QuorumController.java.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.dynamic import config_in_force
from reference_impl.core.controller.image.metadata_delta import MetadataDelta
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE, MetadataImage
from reference_impl.core.controller.leaders.broker_sessions import BrokerSessions
from reference_impl.core.moment import Moment
from reference_impl.core.quorum.metadata_transactions import Committed
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.requests.api import Api
from reference_impl.core.rules import Rules
from reference_impl.core.security.authorization.access import Access
from reference_impl.core.security.sasl.tokens import Tokens
from reference_impl.wire import Struct


@dataclass(frozen=True, slots=True)
class Seat:
    """The parts of a node that its controller needs: the configuration, the APIs that it serves,
    and the directory."""

    started_with: BrokerConfig
    cluster_id: str
    apis: Mapping[int, Api]
    directory: str
    """The path of the data directory."""
    first_records: Sequence[Struct] = ()
    """The records that the formatting of the directory has left for the first controller."""


class Controller:
    """The controller of a node. It decides while it is the active controller of the cluster; until
    then it only follows what other controllers have decided."""

    def __init__(
        self, seat: Seat, metadata: Quorum, moment: Moment, rules: Rules, access: Access
    ) -> None:
        self.node_id, self.rules = seat.started_with.node_id, rules
        self.access, self.apis, self.cluster_id = access, seat.apis, seat.cluster_id
        self.started_with, self.directory = seat.started_with, seat.directory
        self.first_records = seat.first_records
        self.metadata, self._moment = metadata, moment
        self._know_nothing()
        self.sessions = BrokerSessions(rules, lambda: moment.monotonic_ms)
        metadata.listen(self)

    def _know_nothing(self) -> None:
        self.config = self.started_with
        self.image = MetadataImage()
        self.tokens = Tokens(self.image.delegation_tokens, self._moment, self.started_with)

    @property
    def now_ms(self) -> int:
        """Return the wall clock of the current event, in milliseconds."""
        return self._moment.now_ms

    def random_uuid(self) -> UUID:
        """Return a random UUID (version 4)."""
        return self._moment.random_uuid()

    def write(self, records: Sequence[Struct]) -> int:
        """Append these records to the metadata log, all or none, and apply them to the image before
        they are committed. Return the offset that a broker has reached when it has applied them. If
        there are none, change nothing, since no log of Kafka's has a batch without records. Raise
        Refused(NOT_CONTROLLER) if this controller is not the active one, StorageError if the disk
        fails; then the image stays as it is."""
        if not records:
            return self.image.end_offset
        end_offset = self.metadata.append(records, self.now_ms)
        self._apply(records, end_offset)
        self.metadata.commit()
        return end_offset

    def committed(self, batch: Committed) -> None:
        """Apply committed records, except for this controller's own decisions, which its image has
        already."""
        if batch.end_offset > self.image.end_offset:
            self._take(batch)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """If this node is not the leader of the quorum, and has made decisions that are not
        committed, go back to the committed state, because another controller may have become the
        active one (QuorumController.renounce). `Broker.leader_changed` starts this node's own
        controller."""
        if leader_id != self.node_id:
            end_offset, committed = self.image.end_offset, self.metadata.high_watermark
            if self.rules.forgets_decisions(end_offset, committed):
                self._know_nothing()
                for batch in self.metadata.log.history():
                    self._take(batch)

    def _take(self, batch: Committed) -> None:
        self._apply(batch.records, batch.end_offset, is_snapshot=batch.is_snapshot)

    def _apply(
        self, records: Sequence[Struct], end_offset: int, *, is_snapshot: bool = False
    ) -> None:
        delta = MetadataDelta(self.image)
        delta.apply(records, end_offset, is_snapshot=is_snapshot)
        self.tokens.changed(delta.delegation_tokens)
        if any(resource_type == BROKER_RESOURCE for resource_type, _ in delta.configs):
            self.config = config_in_force(self.started_with, self.image, self.node_id)
