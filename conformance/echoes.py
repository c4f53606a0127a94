"""Check that every response repeats what its request names: the same topics, partitions, groups and
so on.

This is compared here once, for each response that a case receives, so that no case can mistake the
response about one partition for that about another, or loop over a response without entries.

A path has one word for each level of lists: `field.key` for the key of a row, `a|b` for the first
of two that the version has, `a+b` for both, `field.*` for a list of plain values, `field` for rows
without a key of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conformance.case import Deviation
from reference_impl.wire import ZERO_UUID, Struct, request_definition, response_definition
from reference_impl.wire.apis import api_key

Key = tuple[Any, ...]
NONE = 0


@dataclass(frozen=True)
class Echo:
    """The paths of what is requested (asked), and of what is reported about it (told). complete:
    whether everything that was requested must have a row. In any case there must be no other row,
    and no row twice."""

    asked: str
    told: str
    complete: bool = True


def _same(path: str) -> Echo:
    return Echo(path, path)


_OFFSETS = _same("topics.name|topic_id partitions.partition_index")
_ALTERED = Echo("resources.resource_type+resource_name", "responses.resource_type+resource_name")
ECHOES: dict[str, tuple[Echo, ...]] = {
    "Produce": (
        Echo(
            "topic_data.name|topic_id partition_data.index",
            "responses.name|topic_id partition_responses.index",
        ),
    ),
    "Fetch": (
        Echo(
            "topics.topic|topic_id partitions.partition",
            "responses.topic|topic_id partitions.partition_index",
        ),
    ),
    "ListOffsets": (_OFFSETS,),
    "OffsetForLeaderEpoch": (_same("topics.topic partitions.partition"),),
    "OffsetCommit": (_OFFSETS,),
    "TxnOffsetCommit": (_OFFSETS,),
    "OffsetDelete": (_OFFSETS,),
    "OffsetFetch": (
        Echo("topics.name partition_indexes.*", "topics.name partitions.partition_index"),
        _same("groups.group_id"),
        Echo(
            "groups.group_id topics.name|topic_id partition_indexes.*",
            "groups.group_id topics.name|topic_id partitions.partition_index",
        ),
    ),
    "FindCoordinator": (Echo("coordinator_keys.*", "coordinators.key"),),
    "DescribeGroups": (Echo("groups.*", "groups.group_id"),),
    "ConsumerGroupDescribe": (Echo("group_ids.*", "groups.group_id"),),
    "ShareGroupDescribe": (Echo("group_ids.*", "groups.group_id"),),
    "ShareAcknowledge": (
        Echo(
            "topics.topic_id partitions.partition_index",
            "responses.topic_id partitions.partition_index",
        ),
    ),
    "DescribeShareGroupOffsets": (_same("groups.group_id"),),
    "AlterShareGroupOffsets": (
        Echo(
            "topics.topic_name partitions.partition_index",
            "responses.topic_name partitions.partition_index",
        ),
    ),
    "DeleteShareGroupOffsets": (Echo("topics.topic_name", "responses.topic_name"),),
    "StreamsGroupDescribe": (Echo("group_ids.*", "groups.group_id"),),
    "DeleteGroups": (Echo("groups_names.*", "results.group_id"),),
    "LeaveGroup": (_same("members.member_id+group_instance_id"),),
    "CreateTopics": (_same("topics.name"),),
    "CreatePartitions": (Echo("topics.name", "results.name"),),
    "DeleteTopics": (Echo("topic_names.*", "responses.name"),),
    "DeleteRecords": (_OFFSETS,),
    "AddPartitionsToTxn": (
        Echo(
            "v3_and_below_topics.name partitions.*",
            "results_by_topic_v3_and_below.name results_by_partition.partition_index",
        ),
        Echo(
            "transactions.transactional_id topics.name partitions.*",
            "results_by_transaction.transactional_id topic_results.name "
            "results_by_partition.partition_index",
        ),
    ),
    "WriteTxnMarkers": (
        Echo(
            "markers.producer_id topics.name partition_indexes.*",
            "markers.producer_id topics.name partitions.partition_index",
        ),
    ),
    "DescribeConfigs": (
        Echo("resources.resource_type+resource_name", "results.resource_type+resource_name"),
    ),
    "AlterConfigs": (_ALTERED,),
    "IncrementalAlterConfigs": (_ALTERED,),
    "AlterPartitionReassignments": (
        Echo("topics.name partitions.partition_index", "responses.name partitions.partition_index"),
    ),
    "ListPartitionReassignments": (
        Echo("topics.name partition_indexes.*", "topics.name partitions.partition_index", False),
    ),
    "AlterReplicaLogDirs": (
        Echo("dirs topics.name partitions.*", "results.topic_name partitions.partition_index"),
    ),
    "DescribeLogDirs": (
        Echo("topics.topic partitions.*", "results topics.name partitions.partition_index", False),
    ),
    "DescribeProducers": (
        Echo("topics.name partition_indexes.*", "topics.name partitions.partition_index"),
    ),
    "DescribeTransactions": (Echo("transactional_ids.*", "transaction_states.transactional_id"),),
    "DescribeTopicPartitions": (Echo("topics.name", "topics.name", False),),
    "DescribeQuorum": (_same("topics.topic_name partitions.partition_index"),),
    "ElectLeaders": (
        Echo(
            "topic_partitions.topic partitions.*",
            "replica_election_results.topic partition_result.partition_id",
        ),
    ),
    "AlterClientQuotas": (_same("entries.entity"),),
}
"""API -> the echoes to check. APIs that name nothing, or answer with a list of everything, have no
entry."""


def check(api: str, version: int, asked: Struct, answer: Struct) -> None:
    """Raise Deviation unless the response repeats what the request names, and names nothing else. A
    response with an error as a whole, or a throttled one to Fetch, may leave rows out."""
    refused = getattr(answer, "error_code", NONE) != NONE
    if api == "Fetch" and answer.throttle_time_ms > 0:
        refused = True  # a consumer over its quota gets an empty answer (KIP-219)
    for echo in ECHOES.get(api, ()):
        if (wanted := _asked(api, version, asked, echo)) is None:
            continue
        told = list(_keys(answer, _levels("response", api, version, echo.told)))
        if api == "OffsetFetch" and version >= 8:
            wanted, told = _of_whole_groups(asked, answer, wanted, told)
        _compare(api, version, wanted, told, complete=echo.complete and not refused)
    if special := SPECIAL.get(api):
        special(api, version, asked, answer)


def _of_whole_groups(
    asked: Struct, answer: Struct, wanted: list[Key], told: list[Key]
) -> tuple[list[Key], list[Key]]:
    """Return the requested and reported keys without the partitions of groups that asked for all,
    or were refused as a whole."""
    skipped = {g.group_id for g in asked.groups if g.topics is None}
    skipped |= {g.group_id for g in answer.groups if g.error_code != NONE}

    def kept(keys: list[Key]) -> list[Key]:
        return [key for key in keys if len(key) == 1 or key[0] not in skipped]

    return kept(wanted), kept(told)


def _asked(api: str, version: int, asked: Struct, echo: Echo) -> list[Key] | None:
    """Return the keys that the request names, or None if it asks for everything, names only changes
    to a session, or lacks such a field in this version."""
    levels = _levels("request", api, version, echo.asked)
    if levels is None or getattr(asked, levels[0][0]) is None:
        return None
    if api == "Fetch" and asked.session_epoch > 0:
        return None  # within a session, a request names only changes
    if api in ("DescribeProducers", "DescribeQuorum") or getattr(asked, levels[0][0]):
        return list(_keys(asked, levels))
    # An empty list means "all" in some requests.
    return None


def _compare(api: str, version: int, wanted: list[Key], told: list[Key], *, complete: bool) -> None:
    what = f"entries in the answer of {api} v{version}"
    extra = set(told) - set(wanted)
    missing = set(wanted) - set(told) if complete else set()
    if extra or missing:
        raise Deviation(what, _shown(wanted), _shown(told))
    if len(set(wanted)) == len(wanted) and len(set(told)) < len(told):
        raise Deviation(what, f"each once: {_shown(wanted)}", _shown(told))


def _shown(keys: list[Key]) -> str:
    return ", ".join(sorted("/".join(map(str, key)) for key in keys)) or "none"


Level = tuple[str, tuple[str, ...]]


@lru_cache(None)
def _levels(kind: str, api: str, version: int, path: str) -> tuple[Level, ...] | None:
    """Return a path as (name of the list, names of its rows' keys) for each level, or None if the
    version lacks one of the lists. kind: "request" or "response"."""
    define = request_definition if kind == "request" else response_definition
    fields = {f.name: f for f in define(api_key(api)).root.fields}
    found: list[Level] = []
    for word in path.split():
        name, _, key = word.partition(".")
        if version not in fields[name].versions:
            return None
        struct = fields[name].struct
        fields = {f.name: f for f in struct.fields} if struct else {}
        if "|" in key:
            key = next(k for k in key.split("|") if version in fields[k].versions)
        found.append((name, tuple(k for k in key.split("+") if k)))
    return tuple(found)


def _keys(message: Struct, levels: tuple[Level, ...] | None) -> Iterator[Key]:
    if levels is None:
        return
    (name, keys), rest = levels[0], levels[1:]
    for row in getattr(message, name) or []:
        own = (row,) if keys == ("*",) else tuple(_plain(getattr(row, key)) for key in keys)
        if rest:
            yield from (own + deeper for deeper in _keys(row, rest))
        else:
            yield own


def named(entity: str | None) -> str:
    """Return the name of a quota entity for messages; null is the default entity, which differs
    from the empty name."""
    return "<default>" if entity is None else repr(entity)


def _plain(value: Any) -> Any:
    """Return a value that can be compared and sorted; a list of rows, such as a quota's entity, is
    converted."""
    if isinstance(value, list):
        return tuple(sorted((row.entity_type, named(row.entity_name)) for row in value))
    return value


# --- what no path says ----------------------------------------------------------------------------


def _topics(api: str, version: int, asked: Struct, answer: Struct) -> None:
    """Compare topics that are requested by a name or an id, and reported with both."""
    if not asked.topics or (api == "DeleteTopics" and version < 6):
        return
    by_id = [t for t in asked.topics if t.topic_id != ZERO_UUID]
    if any(t.name is not None for t in by_id) or (by_id and api == "Metadata" and version < 12):
        return  # refused as a whole: the form of its rows is free
    names = {t.name for t in asked.topics if t.name is not None}
    wanted = [(t.topic_id if t.name is None else t.name,) for t in asked.topics]
    rows = answer.responses if api == "DeleteTopics" else answer.topics
    told = [(r.name,) if r.name in names else (r.topic_id,) for r in rows]
    _compare(api, version, wanted, told, complete=True)


def _counted(rows: str, results: str) -> Callable[[str, int, Struct, Struct], None]:
    """Return a function that compares results which have no names and come in the order of the
    request."""

    def compare(api: str, version: int, asked: Struct, answer: Struct) -> None:
        wanted, told = len(getattr(asked, rows)), len(getattr(answer, results))
        if wanted != told:
            raise Deviation(f"number of results of {api} v{version}", wanted, told)

    return compare


def _member(api: str, version: int, asked: Struct, answer: Struct) -> None:
    """Require that a member that sends its id keeps it."""
    if asked.member_id and answer.error_code == NONE and answer.member_id != asked.member_id:
        raise Deviation(
            f"member id in the answer of {api} v{version}", asked.member_id, answer.member_id
        )


def _users(api: str, version: int, asked: Struct, answer: Struct) -> None:
    rows = (
        asked.users
        if api == "DescribeUserScramCredentials"
        else ([*asked.deletions, *asked.upsertions])
    )
    if rows:
        wanted = list(dict.fromkeys((row.name,) for row in rows))
        told = [(row.user,) for row in answer.results]
        complete = getattr(answer, "error_code", NONE) == NONE
        _compare(api, version, wanted, told, complete=complete)


SPECIAL: dict[str, Callable[[str, int, Struct, Struct], None]] = {
    "Metadata": _topics,
    "DeleteTopics": _topics,
    "CreateAcls": _counted("creations", "results"),
    "DeleteAcls": _counted("filters", "filter_results"),
    "JoinGroup": _member,
    "ConsumerGroupHeartbeat": _member,
    "ShareGroupHeartbeat": _member,
    "StreamsGroupHeartbeat": _member,
    "DescribeUserScramCredentials": _users,
    "AlterUserScramCredentials": _users,
}
