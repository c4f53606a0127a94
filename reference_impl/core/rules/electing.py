"""A controller's decisions about the leaders and ISRs of partitions, and about which brokers are
alive.

Each is a pure function of the controller's knowledge; `core/controller/leaders` acts upon the
results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from reference_impl.core.controller.image.metadata_image import PartitionImage
from reference_impl.core.controller.image.registrations import BrokerImage
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


class Electing:
    """Decisions about which replica may lead, which may be in sync, and whose requests count."""

    def may_be_elected(self, state: PartitionImage, replica: int) -> bool:
        """Return whether this replica has every committed record: it is in the ISR, or, where the
        ISR is empty, in the ELR (KIP-966; PartitionChangeBuilder.isValidNewLeader)."""
        return replica in state.isr or (not state.isr and replica in state.elr)

    def may_lead(self, broker: BrokerImage | None) -> bool:
        """Return whether a broker may become a leader, or stay one: it is neither fenced nor about
        to stop (KIP-841; ClusterControlManager.isActive)."""
        return broker is not None and broker.is_active

    def unclean_candidates(self, replicas: Collection[int], is_allowed: bool) -> Collection[int]:
        """Return the replicas that may lead although they may lack committed records, while no
        other is alive: all if the topic or an administrator allows that, else none (KIP-106,
        KIP-460)."""
        return replicas if is_allowed else ()

    def eligible_replicas(
        self,
        old: PartitionImage,
        isr: Collection[int],
        min_isr: int,
        unclean_shutdown: Collection[int],
    ) -> Iterable[int]:
        """Yield the replicas that have every committed record although they are out of the ISR.
        Nothing was committed since they left, as the ISR is below the minimum. A replica that lost
        power is left out, since it may have lost records (KIP-966;
        PartitionChangeBuilder.maybePopulateTargetElr)."""
        if len(isr) >= min_isr:
            return
        for replica in dict.fromkeys((*old.elr, *old.isr)):
            if replica not in isr and replica not in unclean_shutdown:
                yield replica

    def forgets_eligible_replicas(self, before: str | None, after: str | None) -> bool:
        """Return whether a change of min.insync.replicas ends every ELR: its members have all that
        was committed under the old minimum, and under a lower one the ISR may commit more
        (KIP-966; ConfigurationControlManager.createClearElrRecordsAsNeeded)."""
        return before != after

    def left_uncleanly(self, known: BrokerImage, previous_broker_epoch: int) -> bool:
        """Return whether the previous incarnation of a broker may have lost records, because it did
        not write its broker epoch to disk when it stopped (KIP-966;
        ClusterControlManager.registerBroker)."""
        return known.broker_epoch != previous_broker_epoch

    def needs_election(self, state: PartitionImage, *, is_preferred: bool) -> bool:
        """Return whether a requested election can change anything: for a preferred one, the first
        replica does not lead; for an unclean one, no replica leads (KIP-183, KIP-460;
        ReplicationControlManager.electLeader)."""
        return state.leader != state.replicas[0] if is_preferred else state.leader < 0

    def completes_reassignment(self, target: PartitionImage, isr: Collection[int]) -> bool:
        """Return whether the replicas that `target` removes may go: all that it adds are in sync,
        and, if it then has fewer replicas, all that stay (KIP-455;
        PartitionReassignmentReplicas.maybeCompleteReassignment). Otherwise the committed records
        might have fewer copies than before. isr: without the replicas that go."""
        required = set(target.adding)
        if len(target.adding) < len(target.removing):
            required = set(target.replicas) - set(target.removing)
        return bool(isr) and required <= set(isr)

    def check_revert(self, partition: str, *, is_allowed: bool) -> None:
        """Raise Refused unless is_allowed: the topic allows unclean elections. The controller asks
        only if a move is cancelled while none of the original replicas is in sync, so that
        committed records would be lost (KIP-455; PartitionReassignmentRevert)."""
        if not is_allowed:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {partition} because it would require an"
                " unclean leader election.",
            )

    def raises_leader_epoch(self, old: PartitionImage, leader: int) -> bool:
        """Return whether a change starts a new leadership. Each has its own epoch, which
        distinguishes its records from those of earlier ones (KIP-101)."""
        return leader != old.leader

    def forgets_decisions(self, end_offset: int, high_watermark: int) -> bool:
        """Return whether a controller that is no longer active must go back to the committed state,
        because it has made decisions beyond it that may be lost (KIP-631;
        QuorumController.renounce)."""
        return end_offset > high_watermark

    def check_still_decides(self, decided_in: int, active_epoch: int | None) -> None:
        """Raise Refused(NOT_CONTROLLER) if the epoch in which a decision was made is over: its
        record may be gone, and another one may be at its offset (KIP-631;
        DeferredEventQueue.failAll)."""
        if decided_in != active_epoch:
            raise Refused(ErrorCode.NOT_CONTROLLER)

    def forwarded_principal(self, named: str, sender: str) -> str:
        """Return the principal that the controller's authorizer checks: `named`, the client whose
        request a broker forwards, not the broker, which has more rights (KIP-590); `sender` if the
        envelope names none."""
        return named or sender

    def check_broker_epoch(self, broker: BrokerImage | None, broker_epoch: int) -> None:
        """Raise Refused(STALE_BROKER_EPOCH) unless the request comes from the registered
        incarnation of the broker (KIP-380; ClusterControlManager.checkBrokerEpoch)."""
        if broker is None or broker.broker_epoch != broker_epoch:
            known = "none" if broker is None else str(broker.broker_epoch)
            raise Refused(
                ErrorCode.STALE_BROKER_EPOCH,
                f"The broker epoch {broker_epoch} is not the registered one, {known}.",
            )

    def check_leadership(self, state: PartitionImage, broker_id: int, leader_epoch: int) -> None:
        """Raise Refused unless a change of the ISR comes from the leader of the current epoch,
        which alone knows which replicas have its records
        (ReplicationControlManager.validateAlterPartitionData)."""
        if leader_epoch > state.leader_epoch:
            raise Refused(ErrorCode.NOT_CONTROLLER)  # it knows a newer controller than this one
        if leader_epoch < state.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        if broker_id != state.leader:
            raise Refused(ErrorCode.INVALID_REQUEST)

    def check_partition_epoch(self, state: PartitionImage, partition_epoch: int) -> None:
        """Raise Refused unless the leader knows the newest state of the partition; otherwise it
        would undo a change that it has not heard of (KIP-497)."""
        if partition_epoch > state.partition_epoch:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        if partition_epoch < state.partition_epoch:
            raise Refused(ErrorCode.INVALID_UPDATE_VERSION)

    def may_join_isr(self, broker: BrokerImage | None, broker_epoch: int) -> bool:
        """Return whether a broker may join an ISR: it is neither fenced nor about to stop, and the
        leader has named the registered incarnation, or -1, which stands for any (KIP-841,
        KIP-903)."""
        if broker is None or not broker.is_active:
            return False
        return broker_epoch in (-1, broker.broker_epoch)

    def session_is_over(self, silent_ms: int, timeout_ms: int) -> bool:
        """Return whether a broker must be fenced because it was silent for
        broker.session.timeout.ms or longer (BrokerHeartbeatTracker.hasValidSession)."""
        return silent_ms >= timeout_ms

    def may_unfence(self, registered_at: int, metadata_offset: int) -> bool:
        """Return whether a broker has read the metadata log up to its own registration, so that it
        knows which leaderships it has lost (BrokerHeartbeatManager.calculateNextBrokerState)."""
        return metadata_offset >= registered_at

    def may_stop(self, leads: bool, controlled_shutdown_at: int, lowest_offset: int) -> bool:
        """Return whether a broker that is shutting down may stop: it leads nothing, and every
        living broker has read the metadata that says so
        (BrokerHeartbeatManager.calculateNextBrokerState)."""
        return not leads and controlled_shutdown_at <= lowest_offset
