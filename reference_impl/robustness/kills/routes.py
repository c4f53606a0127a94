"""Find the node to which a request must go, where there are several.

Source: KIP-699 (FindCoordinator v4); Metadata names the leader of each partition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from reference_impl.robustness.process import Address, RawClient
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

GROUP, TRANSACTION, PARTITION = 0, 1, 2
"""The kinds of a Place. The first two are key types of FindCoordinator."""
MOVED = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
"""The errors after which a client asks who leads, and repeats the request: another node leads, or
too few replicas have the records. As after a lost response, the outcome is unknown."""


class Place(NamedTuple):
    """A group, a transactional id, or a partition of a topic, whose leader gets a request."""

    kind: int
    name: str
    partition: int = 0


def _group(body: Struct) -> Place:
    return Place(GROUP, body.group_id)


def _transaction(body: Struct) -> Place | None:
    name = body.transactional_id
    return None if name is None else Place(TRANSACTION, name)


def _added_to(body: Struct) -> Place:
    return Place(TRANSACTION, body.v3_and_below_transactional_id)


def _described(body: Struct) -> Place:
    return Place(TRANSACTION, body.transactional_ids[0])


def _produced(body: Struct) -> Place:
    row = body.topic_data[0]
    return Place(PARTITION, row.name, row.partition_data[0].index)


def _fetched(body: Struct) -> Place:
    row = body.topics[0]
    return Place(PARTITION, row.topic, row.partitions[0].partition)


def _with_producers(body: Struct) -> Place:
    row = body.topics[0]
    return Place(PARTITION, row.name, row.partition_indexes[0])


PLACES: Mapping[ApiKey, Callable[[Struct], Place | None]] = {
    ApiKey.ADD_OFFSETS_TO_TXN: _transaction,
    ApiKey.ADD_PARTITIONS_TO_TXN: _added_to,
    ApiKey.DESCRIBE_PRODUCERS: _with_producers,
    ApiKey.DESCRIBE_TRANSACTIONS: _described,
    ApiKey.END_TXN: _transaction,
    ApiKey.FETCH: _fetched,
    ApiKey.INIT_PRODUCER_ID: _transaction,
    ApiKey.JOIN_GROUP: _group,
    ApiKey.OFFSET_COMMIT: _group,
    ApiKey.OFFSET_FETCH: _group,
    ApiKey.PRODUCE: _produced,
    ApiKey.SYNC_GROUP: _group,
    ApiKey.TXN_OFFSET_COMMIT: _group,
}
"""API -> a function that returns the place to which a request of it leads, or None."""


def place_of(api: ApiKey, body: Struct) -> Place | None:
    """Return what leads a request to its node, or None if any node answers it."""
    find = PLACES.get(api)
    return None if find is None else find(body)


def node_of(place: Place, asked: Address) -> int | None:
    """Ask a node for the one that leads a place, and return its number, or None if that node does
    not know it. Raise OSError if the connection breaks."""
    with RawClient(asked) as client:
        if place.kind == PARTITION:
            of = request_definition(ApiKey.METADATA)
            rows = [of.struct("MetadataRequestTopic", name=place.name)]
            partitions = _call(client, ApiKey.METADATA, 9, topics=rows).topics[0].partitions
            leaders = {row.partition_index: row.leader_id for row in partitions}
            found = leaders.get(place.partition, -1)
        else:
            keys = {"key_type": place.kind, "coordinator_keys": [place.name]}
            found = _call(client, ApiKey.FIND_COORDINATOR, 4, **keys).coordinators[0].node_id
    return found if found >= 0 else None


def _call(client: RawClient, api: ApiKey, version: int, **fields: Any) -> Struct:
    try:
        return client.call(api, version, **fields)
    except AssertionError as error:  # the node has closed the connection
        raise ConnectionResetError(*error.args) from error


def codes_in(answer: object) -> set[int]:
    """Return every error code at any depth of a response."""
    if isinstance(answer, list):
        return set().union(*map(codes_in, answer))
    if not isinstance(answer, Struct):
        return set()
    fields = {name: getattr(answer, name) for name in answer._names}
    own = {value for name, value in fields.items() if name.endswith("error_code")}
    return own.union(*map(codes_in, fields.values()))
