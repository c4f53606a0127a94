"""The changes of partitions that follow when brokers come, go and stop.

Source: ReplicationControlManager.java (generateLeaderAndIsrUpdates and its callers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.features import ELIGIBLE_REPLICAS
from reference_impl.core.controller.image.metadata_image import PartitionImage, TopicImage
from reference_impl.core.controller.image.registrations import directories_of
from reference_impl.core.controller.leaders.partition_changes import (
    NO_LEADER,
    Circumstances,
    Election,
    change_of,
    change_record,
)
from reference_impl.core.refused import Refused
from reference_impl.wire import ERRORS, ErrorCode, Struct

NOBODY = -1
ELECTED_AT_ONCE = 1_000
"""The most partitions that one search for better leaders changes
(QuorumController.MAX_ELECTIONS_PER_IMBALANCE)."""
UNCLEAN_ELECTION, MIN_ISR = "unclean.leader.election.enable", "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Event:
    """A change of a broker: it leaves (`gone`), arrives (`come`), or returns without its newest
    records (`shut_down_uncleanly`). A field is NOBODY if that has not happened."""

    gone: int = NOBODY
    come: int = NOBODY
    shut_down_uncleanly: int = NOBODY


def circumstances_of(
    controller: Controller,
    topic: TopicImage,
    event: Event | None = None,
    election: Election | None = None,
) -> Circumstances:
    """Return the conditions for changes of a topic's partitions: the live replicas, the wanted
    election and so on. Without an election, the topic's setting decides whether it may be
    unclean."""
    event = event or Event()
    brokers, rules = controller.image.brokers, controller.rules
    configs = {**controller.config.topic_defaults, **topic.configs}
    if election is None:
        is_unclean = configs[UNCLEAN_ELECTION].strip().lower() == "true"
        election = Election.UNCLEAN if is_unclean else Election.ONLINE
    lost = {event.gone, event.shut_down_uncleanly}

    def may_lead(replica: int, directory: UUID) -> bool:
        broker = brokers.get(replica)
        if broker is None or replica in lost or not broker.has_online(directory):
            return False
        return replica == event.come or rules.may_lead(broker)

    return Circumstances(
        may_lead,
        min(int(configs[MIN_ISR]), len(topic.partitions[0].replicas)),
        controller.image.features.get(ELIGIBLE_REPLICAS, 0) > 0,
        election,
        frozenset({event.shut_down_uncleanly} - {NOBODY}),
        directories_of(brokers.values()),
    )


def after(
    controller: Controller, event: Event, concerns: Callable[[PartitionImage], bool]
) -> Iterator[Struct]:
    """Yield the records of all partitions that `concerns` selects and that the event changes: a
    broker that is gone, or was shut down uncleanly, leaves the ISR, and a leader is elected where
    necessary."""
    lost = {event.gone, event.shut_down_uncleanly}
    for topic in controller.image.topics.values():
        circumstances: Circumstances | None = None
        for index, old in topic.partitions.items():
            if not concerns(old):
                continue
            circumstances = circumstances or circumstances_of(controller, topic, event)
            isr = tuple(replica for replica in old.isr if replica not in lost)
            yield from changed(
                controller, topic.topic_id, index, old, replace(old, isr=isr), circumstances
            )


def changed(
    controller: Controller,
    topic_id: UUID,
    index: int,
    old: PartitionImage,
    wanted: PartitionImage,
    circumstances: Circumstances,
) -> Iterator[Struct]:
    """Yield the record of one partition's change, or nothing if it stays the same."""
    new = change_of(controller.rules, old, wanted, circumstances)
    record = change_record(topic_id, index, old, new)
    if record is not None:
        yield record


def without(controller: Controller, broker: int) -> Iterator[Struct]:
    """Yield the records by which a broker that is fenced, stops, or is no longer registered leads
    nothing and leaves every ISR, except, without ELR, one in which it is alone."""
    yield from after(controller, Event(gone=broker), lambda state: broker in state.isr)


def after_unclean_shutdown(controller: Controller, broker: int) -> Iterator[Struct]:
    """Yield the records by which a broker leaves every ISR and ELR and leads nothing, as it may
    have lost records."""
    event = Event(shut_down_uncleanly=broker)
    yield from after(controller, event, lambda state: broker in state.isr or broker in state.elr)


def with_broker(controller: Controller, broker: int) -> Iterator[Struct]:
    """Yield the records by which partitions without a leader get one now that this broker has
    come."""
    yield from after(controller, Event(come=broker), lambda state: state.leader == NO_LEADER)


def elect(controller: Controller, name: str, index: int, election: Election) -> None:
    """Elect the leader that an administrator asks for, and write it. Raise Refused if there is no
    such partition, it needs no election, or no replica can be elected."""
    topic = controller.image.topics.get(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    state = topic.partitions.get(index)
    if state is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    is_preferred = election is Election.PREFERRED
    if not controller.rules.needs_election(state, is_preferred=is_preferred):
        raise refused(ErrorCode.ELECTION_NOT_NEEDED)
    circumstances = circumstances_of(controller, topic, election=election)
    records = list(changed(controller, topic.topic_id, index, state, state, circumstances))
    if not records:
        raise refused(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
            if is_preferred
            else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        )
    controller.write(records)


def refused(code: ErrorCode) -> Refused:
    """Return the refusal of an election, in Kafka's words."""
    return Refused(code, ERRORS[code].message)


def prefer_first_replicas(controller: Controller) -> int:
    """Elect the first replica of each partition as its leader, where it may lead and does not.
    Return the number of changed partitions: at most ELECTED_AT_ONCE; the next call changes the
    others (maybeBalancePartitionLeaders)."""
    records: list[Struct] = []
    for topic in controller.image.topics.values():
        circumstances: Circumstances | None = None
        for index, state in topic.partitions.items():
            if len(records) >= ELECTED_AT_ONCE:
                break
            if controller.rules.needs_election(state, is_preferred=True):
                circumstances = circumstances or circumstances_of(
                    controller, topic, election=Election.PREFERRED
                )
                records += changed(controller, topic.topic_id, index, state, state, circumstances)
    if records:
        controller.write(records)
    return len(records)


def elect_unclean_leaders(controller: Controller) -> list[str]:
    """Elect leaders for partitions that have none and whose topics allow unclean elections, at most
    ELECTED_AT_ONCE. Return the names of these partitions. They are looked for regularly because a
    topic's setting may change, or a replica may return, without another change of the partition
    (maybeElectUncleanLeaders)."""
    records: list[Struct] = []
    elected = []
    for topic in controller.image.topics.values():
        circumstances: Circumstances | None = None
        for index, state in topic.partitions.items():
            if state.leader != NO_LEADER or len(records) >= ELECTED_AT_ONCE:
                continue
            circumstances = circumstances or circumstances_of(controller, topic)
            if circumstances.election is not Election.UNCLEAN:
                break
            change = list(changed(controller, topic.topic_id, index, state, state, circumstances))
            records += change
            elected += [f"{topic.name}-{index}"] if change else []
    if records:
        controller.write(records)
    return elected


def can_leave_any(controller: Controller, broker: int) -> bool:
    """Return whether a broker leads a partition, or is in an ISR with others."""
    return any(
        state.leader == broker or (broker in state.isr and len(state.isr) > 1)
        for topic in controller.image.topics.values()
        for state in topic.partitions.values()
    )


def leads_any(controller: Controller, broker: int) -> bool:
    """Return whether a broker leads a partition."""
    return any(
        state.leader == broker
        for topic in controller.image.topics.values()
        for state in topic.partitions.values()
    )
