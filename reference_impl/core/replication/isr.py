"""The ISR of the partitions that a broker leads: who leaves it, who joins it, and the controller,
which alone can change it.

Source: Partition.java (maybeExpandIsr, maybeShrinkIsr, submitAlterPartition), ReplicaManager.java
(maybeShrinkIsr), DefaultAlterPartitionManager.java; KIP-497, KIP-841, KIP-903. A leader proposes a
change and goes on; the metadata log tells it what the controller has decided. Of each partition one
change at a time is under way, and one request of the broker, with all the changes that are due.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import RECOVERED
from reference_impl.core.effects import Effect
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.waiting.waits import Later, Pause
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

REQUEST = definition("AlterPartitionRequest")
TIMEOUT_MS, RETRY_MS, LEAST_INTERVAL_MS = 30_000, 50, 10
_PAUSE = Pause()
Sent = list[tuple[Partition, tuple[int, ...]]]
"""The partitions of a request, and the ISR that it proposes for each."""


def watch_followers(broker: Broker) -> Iterator[Effect]:
    """Run for ever: at every half replica.lag.time.max.ms, propose for each partition an ISR
    without the followers that lag."""
    while True:
        interval_ms = broker.config.number("replica.lag.time.max.ms") // 2
        yield Later(max(LEAST_INTERVAL_MS, interval_ms))
        for partition in broker.replicas:
            if partition.followers and broker.replicas.holds(partition):
                consider_leaving(broker, partition)
                yield _PAUSE


def consider_leaving(broker: Broker, partition: Partition) -> None:
    """Propose an ISR without the followers that have been behind for longer than
    replica.lag.time.max.ms; nothing if there are none."""
    isr, own = partition.state.isr, broker.node_id
    left = tuple(each for each in isr if each == own or broker.is_caught_up(partition, each))
    if left != isr:
        propose(broker, partition, left)


def consider_outsider(broker: Broker, replica: int) -> None:
    """Note that a follower lives, and consider it for the ISRs of its partitions that it is not in:
    when its log reached the high watermark, it may have been fenced, or another change of the ISR
    under way. Its fetches do not name unchanged partitions."""
    for partition in broker.replicas.heard_of(replica):
        consider_joining(broker, partition, replica)


def consider_joining(broker: Broker, partition: Partition, replica: int) -> None:
    """Propose an ISR with this follower if it is not in the ISR, has all that is committed, and may
    join."""
    follower = partition.followers.get(replica)
    if follower is None or replica in partition.state.isr:
        return
    has_reached = broker.rules.has_reached(
        follower.log_end_offset, partition.high_watermark, partition.epoch_start_offset
    )
    registered = broker.image.brokers.get(replica)
    if has_reached and broker.rules.may_join_isr(registered, follower.broker_epoch):
        propose(broker, partition, (*partition.state.isr, replica))


def propose(broker: Broker, partition: Partition, isr: tuple[int, ...]) -> None:
    """Note the proposed ISR in the partition and send it to the controller in the background. Do
    nothing if this broker does not lead the partition, or a change is under way."""
    if partition.leads and partition.proposed_isr is None:
        partition.proposed_isr = isr
        broker.proposals[partition] = None
        broker.outbox.post("in-sync replicas", ask(broker))


def ask(broker: Broker) -> Generator[Effect, Any, None]:
    """Send all proposals, in one request at a time, to the active controller until none is left.
    After a failure, try again after a short pause."""
    while broker.proposals:
        due, broker.proposals = broker.proposals, {}
        sent = [
            (partition, partition.proposed_isr)
            for partition in due
            if partition.proposed_isr is not None and broker.replicas.holds(partition)
        ]
        if not sent:
            continue
        body = request_of(broker, sent)
        try:
            answer = yield from ask_controller(broker, ApiKey.ALTER_PARTITION, body, TIMEOUT_MS)
        except Refused:
            answer = None
        if answer is None or answer.error_code != ErrorCode.NONE:
            broker.proposals.update(dict.fromkeys(due))
            yield Later(RETRY_MS)
        elif take(broker, sent, answer):
            yield Later(RETRY_MS)


def request_of(broker: Broker, sent: Sent) -> Struct:
    """Return the AlterPartition request for these changes."""
    topics: dict[Any, Struct] = {}
    for partition, isr in sent:
        if partition.topic_id not in topics:
            topics[partition.topic_id] = REQUEST.struct("TopicData", topic_id=partition.topic_id)
        row = REQUEST.struct(
            "PartitionData",
            partition_index=partition.index,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=[
                REQUEST.struct(
                    "BrokerState", broker_id=each, broker_epoch=epoch_of(broker, partition, each)
                )
                for each in isr
            ],
            leader_recovery_state=RECOVERED,
            partition_epoch=partition.state.partition_epoch,
        )
        topics[partition.topic_id].partitions.append(row)
    return REQUEST.new(
        broker_id=broker.node_id, broker_epoch=broker.broker_epoch, topics=list(topics.values())
    )


def epoch_of(broker: Broker, partition: Partition, replica: int) -> int:
    """Return the broker epoch of a replica: this broker's own, or that with which the follower last
    fetched (KIP-903); -1 for a node that the leader does not know as a replica."""
    if replica == broker.node_id:
        return broker.broker_epoch
    follower = partition.followers.get(replica)
    return -1 if follower is None else follower.broker_epoch


def take(broker: Broker, sent: Sent, answer: Struct) -> bool:
    """Handle the answer to an AlterPartition request: withdraw each proposed ISR that the
    controller does not grant, and note again those that failed for a passing reason. Return whether
    there are any of the latter. A granted ISR takes effect when the metadata log delivers it."""
    rows = {
        (topic.topic_id, row.partition_index): row
        for topic in answer.topics
        for row in topic.partitions
    }
    must_ask_again = False
    for partition, isr in sent:
        row = rows.get((partition.topic_id, partition.index))
        if partition.proposed_isr is not isr or row is None:
            continue  # a newer state is in force already
        is_unchanged = row.partition_epoch == partition.state.partition_epoch
        if row.error_code in NOT_GIVEN or (row.error_code == ErrorCode.NONE and is_unchanged):
            partition.withdraw_proposal()
        elif row.error_code not in METADATA_FOLLOW:
            broker.proposals[partition] = None
            must_ask_again = True
    return must_ask_again


NOT_GIVEN = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
METADATA_FOLLOW = (
    ErrorCode.NONE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Answers after which a newer state of the partition is on its way (Partition.java,
handleAlterPartitionError)."""
