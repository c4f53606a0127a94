"""Check that each new leader still has the records that were read, before reading continues from
it.

Source: KIP-320; OffsetForLeaderEpochRequest.json; SubscriptionState.java (AWAIT_VALIDATION),
OffsetForLeaderEpochClient.java. A leader that was elected without all records, or has lost some
with its power, has other records at the offsets that we have passed. It knows where the epoch of
our last record ended: if that is before our position, the log was truncated.
"""

from __future__ import annotations

from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.cluster.network import Network, Node
from reference_impl.client.errors import STALE_METADATA, Refusal, is_retriable
from reference_impl.client.group.subscription import PartitionState, Subscription
from reference_impl.client.reading.positions import Positions
from reference_impl.client.values import TopicPartition, by_topic
from reference_impl.links.link import Failure
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

CONSUMER_REPLICA_ID = -1
UNDEFINED = -1

Asked = dict[TopicPartition, tuple[PartitionState, int, int, int]]
"""Partition -> (state, position, epoch of the last record, epoch of the leader) at the time of the
request."""


class Truncation:
    """Checks each position against a new leader of its partition."""

    def __init__(
        self, network: Network, metadata: Metadata, subscription: Subscription, positions: Positions
    ) -> None:
        self._network = network
        self._metadata = metadata
        self._subscription = subscription
        self._positions = positions

    def run(self) -> None:
        """Send OffsetForLeaderEpoch to new leaders, for positions that have an epoch."""
        by_node: dict[int, tuple[Node, Asked]] = {}
        for partition, state in self._subscription.partitions.items():
            leader = self._metadata.leader(partition)
            if leader is None or state.position is None or state.is_looked_up:
                continue
            node, epoch = leader
            if state.is_valid_under(epoch) or self._positions.must_wait(partition, state):
                continue
            state.is_looked_up = True
            asked = by_node.setdefault(node.id, (node, {}))[1]
            asked[partition] = (state, state.position, state.leader_epoch, epoch)
        for node, asked in by_node.values():
            self._ask(node, asked)

    def _ask(self, node: Node, asked: Asked) -> None:
        of = request_definition(ApiKey.OFFSET_FOR_LEADER_EPOCH)

        def partition(key: TopicPartition) -> Struct:
            _, _, record_epoch, leader_epoch = asked[key]
            return of.struct(
                "OffsetForLeaderPartition",
                partition=key.partition,
                current_leader_epoch=leader_epoch,
                leader_epoch=record_epoch,
            )

        topics = [
            of.struct(
                "OffsetForLeaderTopic",
                topic=topic,
                partitions=[partition(TopicPartition(topic, index)) for index in indexes],
            )
            for topic, indexes in by_topic(asked).items()
        ]

        def answered(answer: Struct) -> None:
            for topic in answer.topics:
                for row in topic.partitions:
                    self._answered(TopicPartition(topic.topic, row.partition), asked, row)

        def failed(failure: Failure) -> None:
            for partition, (state, _, _, epoch) in asked.items():
                state.is_looked_up = False
                if failure.is_unsupported:
                    state.valid_epoch = epoch  # an old broker does not know: read on
                else:
                    self._positions.wait(partition)
            self._metadata.refresh()

        # [New in v3: KIP-320] Consumers may ask, too.
        body = of.new(replica_id=CONSUMER_REPLICA_ID, topics=topics)
        self._network.ask(
            node, ApiKey.OFFSET_FOR_LEADER_EPOCH, body, answered, failed, version_min=3
        )

    def _answered(self, partition: TopicPartition, asked: Asked, row: Struct) -> None:
        state, position, record_epoch, leader_epoch = asked[partition]
        state.is_looked_up = False
        is_held = self._subscription.partitions.get(partition) is state
        if not is_held or (state.position, state.leader_epoch) != (position, record_epoch):
            return  # revoked, or moved by a seek, meanwhile
        code = row.error_code
        if code == ErrorCode.NONE:
            if UNDEFINED in (row.end_offset, row.leader_epoch) or row.end_offset < position:
                self._positions.truncated(partition, position, row.end_offset, row.leader_epoch)
            else:
                state.valid_epoch = leader_epoch
            return
        if code in STALE_METADATA:
            self._metadata.refresh()
        if not is_retriable(code):
            self._positions.error = Refusal(code, f"asking whether {partition} was truncated")
        self._positions.wait(partition)
