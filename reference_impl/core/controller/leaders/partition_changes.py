"""The change of one partition: the new leader, ISR, ELR and replicas, and the record that says so.

Everything that changes a partition goes through `change_of`: brokers that come and go, leaders that
alter an ISR, elections, reassignments. The decisions are rules (`core/rules/electing.py`).

Source: PartitionChangeBuilder.java, PartitionReassignmentReplicas.java; KIP-455, KIP-704, KIP-966.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeVar
from uuid import UUID

from reference_impl.core.controller.image.metadata_image import (
    NO_LEADER_CHANGE,
    NO_RECOVERY_CHANGE,
    RECOVERED,
    RECOVERING,
    PartitionImage,
)
from reference_impl.core.controller.image.registrations import UNASSIGNED
from reference_impl.core.rules import Rules
from reference_impl.wire import Struct, definition

NO_LEADER = -1
Element = TypeVar("Element")
RECORD = definition("PartitionChangeRecord")


class Election(Enum):
    """The replicas that an election prefers."""

    ONLINE = auto()
    """The leader stays if it may; else the first replica that may lead."""
    PREFERRED = auto()
    """The first replica leads, if it may (KIP-183)."""
    UNCLEAN = auto()
    """A replica that is out of the ISR leads if no other may (KIP-460)."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The conditions on which a change depends, other than the partition's state."""

    may_lead: Callable[[int, UUID], bool]
    """Whether a broker may lead a replica that lies in this directory."""
    min_isr: int
    has_elr: bool = True
    """Whether the cluster keeps eligible leader replicas (eligible.leader.replicas.version)."""
    election: Election = Election.ONLINE
    unclean_shutdown: frozenset[int] = frozenset()
    """The brokers that may just have lost records."""
    directories: Mapping[int, UUID] | None = None
    """The directories of replicas that the partition has not had before."""


def change_of(
    rules: Rules, old: PartitionImage, wanted: PartitionImage, circumstances: Circumstances
) -> PartitionImage:
    """Return the state that follows, equal to `old` if nothing changes. `wanted` has the replicas,
    ISR, reassignment and recovery that the caller asks for; leader, ELR and epochs follow from
    them."""
    target = completed(rules, wanted)
    if circumstances.has_elr:
        # A replica that comes back deleted its log when it went. Apache Kafka keeps it eligible,
        # and would elect it, which loses what was committed.
        emptied = set(target.replicas) - set(old.replicas)
        eligible = rules.eligible_replicas(
            old, target.isr, circumstances.min_isr, circumstances.unclean_shutdown | emptied
        )
        target = replace(target, elr=tuple(sorted(eligible)))
    else:
        target = replace(target, isr=target.isr or old.isr, elr=())
    leader, is_unclean = elected(rules, old, target, circumstances)
    isr, elr, is_recovering = target.isr, target.elr, target.is_recovering
    if is_unclean:
        # Its log is the partition's from now on, so a replica that has more is not eligible any
        # more (maybeUpdateRecordElr). A change that ends the recovery of the leader before it ends
        # its own recovery, too (tryElection).
        isr, elr, is_recovering = (leader,), (), is_recovering or not old.is_recovering
    elif leader != old.leader and leader in elr:
        isr, elr = (leader,), tuple(replica for replica in elr if replica != leader)
    begins = rules.raises_leader_epoch(old, leader) or not set(old.replicas) <= set(target.replicas)
    is_told = circumstances.has_elr and begins
    # Built here, as `replace` takes longer: the death of a broker changes thousands of partitions.
    new = PartitionImage(
        target.replicas,
        isr,
        leader,
        old.leader_epoch + begins,
        old.partition_epoch,
        target.adding,
        target.removing,
        _directories(old, target, circumstances),
        elr,
        _last_known(old, leader) if is_told else target.last_known_elr,
        is_recovering,
    )
    return new if new == old else replace(new, partition_epoch=old.partition_epoch + 1)


def completed(rules: Rules, wanted: PartitionImage) -> PartitionImage:
    """Return the state without its reassignment, if enough of the replicas that are to stay or to
    come are in sync; else the state as it is
    (PartitionReassignmentReplicas.maybeCompleteReassignment)."""
    if not wanted.adding and not wanted.removing:
        return wanted
    replicas = tuple(each for each in wanted.replicas if each not in wanted.removing)
    isr = tuple(each for each in wanted.isr if each not in wanted.removing)
    if not rules.completes_reassignment(wanted, isr):
        return wanted
    return replace(wanted, replicas=replicas, isr=isr, adding=(), removing=())


def elected(
    rules: Rules, old: PartitionImage, target: PartitionImage, circumstances: Circumstances
) -> tuple[int, bool]:
    """Return the leader, or NO_LEADER if no replica may lead, and whether it was elected uncleanly,
    so that it may lack committed records."""
    where = dict(zip(old.replicas, target.directories, strict=False))

    def is_live(replica: int) -> bool:
        return circumstances.may_lead(replica, where.get(replica, UNASSIGNED))

    for replica in _candidates(old, target, circumstances.election):
        if rules.may_be_elected(target, replica) and is_live(replica):
            return replica, False
    if circumstances.has_elr and not (target.isr or target.elr):
        # Balanced recovery: the last leader is the best choice left (KIP-966).
        for last in old.last_known_elr if len(old.last_known_elr) == 1 else ():
            if is_live(last):
                return last, True
    is_allowed = circumstances.election is Election.UNCLEAN
    for replica in rules.unclean_candidates(target.replicas, is_allowed):
        if is_live(replica):
            return replica, True
    return NO_LEADER, False


def _candidates(old: PartitionImage, target: PartitionImage, election: Election) -> Iterator[int]:
    """Yield the replicas in the order in which they are considered."""
    if election is Election.PREFERRED:
        yield target.replicas[0]
    yield old.leader
    yield from target.replicas


def _last_known(old: PartitionImage, leader: int) -> tuple[int, ...]:
    """Return the last leader, as the only member of the tuple, if the partition has none now; else
    nothing (maybeUpdateLastKnownLeader)."""
    if leader != NO_LEADER:
        return ()
    return old.last_known_elr or (old.leader,)


def _directories(
    old: PartitionImage, target: PartitionImage, circumstances: Circumstances
) -> tuple[UUID, ...]:
    """Return the directory of each replica: the one that it had or that its broker has chosen, else
    its broker's only one."""
    if target.directories != old.directories:
        return target.directories
    had = dict(zip(old.replicas, old.directories, strict=False))
    given = {**(circumstances.directories or {}), **had}
    return tuple(given.get(replica, UNASSIGNED) for replica in target.replicas)


def change_record(
    topic_id: UUID, index: int, old: PartitionImage, new: PartitionImage
) -> Struct | None:
    """Return the record that turns the old state into the new one, or None if they are equal."""
    if old == new:
        return None
    leads_anew = new.leader_epoch != old.leader_epoch
    recovery = RECOVERING if new.is_recovering else RECOVERED
    return RECORD.new(
        topic_id=topic_id,
        partition_id=index,
        leader=new.leader if leads_anew else NO_LEADER_CHANGE,
        leader_recovery_state=(
            NO_RECOVERY_CHANGE if new.is_recovering == old.is_recovering else recovery
        ),
        isr=_changed(old.isr, new.isr),
        replicas=_changed(old.replicas, new.replicas),
        adding_replicas=_changed(old.adding, new.adding),
        removing_replicas=_changed(old.removing, new.removing),
        directories=_changed(old.directories, new.directories),
        eligible_leader_replicas=_changed(old.elr, new.elr),
        last_known_elr=_changed(old.last_known_elr, new.last_known_elr),
    )


def _changed(old: tuple[Element, ...], new: tuple[Element, ...]) -> list[Element] | None:
    return None if old == new else list(new)
