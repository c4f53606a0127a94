"""The answers of the group coordinator's APIs that refuse a whole request with one error.

They replace an answer that is ready when the records it depends on could not be replicated
(core/waiting/held.py). Source: the getErrorResponse methods of Kafka's requests.
"""

from __future__ import annotations

from reference_impl.core.events import Request
from reference_impl.core.groups.classic import answers
from reference_impl.core.requests.api import Refuse
from reference_impl.wire import ErrorCode, Struct, definition

SEVERAL_GROUPS_SINCE = 8


def on_top(response: str) -> Refuse:
    """Return a function that refuses a request by the named response, with its top-level error code
    set and every other field at its default."""
    return lambda request, code: definition(response).new(error_code=code)


def refuse_join(request: Request, code: ErrorCode) -> Struct:
    """Return the JoinGroup response with this error."""
    return answers.join_refused(request, code, request.body.member_id).body


def refuse_offset_commit(request: Request, code: ErrorCode) -> Struct:
    """Return the OffsetCommit response with this error for every offset."""
    return _each_partition(request, code, "OffsetCommitResponse", has_ids=True)


def refuse_txn_offset_commit(request: Request, code: ErrorCode) -> Struct:
    """Return the TxnOffsetCommit response with this error for every offset."""
    return _each_partition(request, code, "TxnOffsetCommitResponse", has_ids=False)


def _each_partition(request: Request, code: ErrorCode, response: str, *, has_ids: bool) -> Struct:
    of = definition(response)
    body = of.new()
    for topic in request.body.topics:
        rows = [
            of.struct(f"{response}Partition", partition_index=each.partition_index, error_code=code)
            for each in topic.partitions
        ]
        row = of.struct(f"{response}Topic", name=topic.name, partitions=rows)
        if has_ids:
            row.topic_id = topic.topic_id
        body.topics.append(row)
    return body


def refuse_offset_fetch(request: Request, code: ErrorCode) -> Struct:
    """Return the OffsetFetch response that refuses every group. Before version 8 it has the error
    on top and for each partition, since versions before 2 have no other place for the error."""
    of = definition("OffsetFetchResponse")
    # [Modified in v8: KIP-709]
    if request.api_version >= SEVERAL_GROUPS_SINCE:
        return of.new(
            groups=[
                of.struct("OffsetFetchResponseGroup", group_id=each.group_id, error_code=code)
                for each in request.body.groups
            ]
        )
    topics = [
        of.struct(
            "OffsetFetchResponseTopic",
            name=topic.name,
            partitions=[
                of.struct(
                    "OffsetFetchResponsePartition",
                    partition_index=index,
                    committed_offset=-1,
                    error_code=code,
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in request.body.topics or ()
    ]
    return of.new(error_code=code, topics=topics)


def refuse_describe(request: Request, code: ErrorCode) -> Struct:
    """Return the DescribeGroups response with this error for every group."""
    of = definition("DescribeGroupsResponse")
    rows = [
        of.struct("DescribedGroup", group_id=each, error_code=code) for each in request.body.groups
    ]
    return of.new(groups=rows)


def refuse_consumer_describe(request: Request, code: ErrorCode) -> Struct:
    """Return the ConsumerGroupDescribe response with this error for every group."""
    of = definition("ConsumerGroupDescribeResponse")
    groups = request.body.group_ids
    return of.new(
        groups=[of.struct("DescribedGroup", group_id=each, error_code=code) for each in groups]
    )


def refuse_delete(request: Request, code: ErrorCode) -> Struct:
    """Return the DeleteGroups response with this error for every group."""
    of = definition("DeleteGroupsResponse")
    groups = request.body.groups_names
    return of.new(
        results=[
            of.struct("DeletableGroupResult", group_id=each, error_code=code) for each in groups
        ]
    )
