"""Mark the topics and groups that a run makes on somebody else's cluster, and remove them, even
after a crash.

Before its topics, a run makes the topic `touchstone-NONCE-marker`, whose one record names the run's
process and the time when it ends. The names of the run's other topics and groups begin with the
same prefix. The run removes all of them at its end. If the run was killed, the next run on the
cluster, from any machine, removes them once the process is gone (if it runs on the same machine) or
the time is over. A topic is removed only if the marker exists and the first records of each
partition contain the run's nonce; the request names its id, so that no other topic of that name can
be deleted.

Sources: DeleteTopicsRequest.json (KIP-516), DeleteGroupsRequest.json (KIP-229), ListGroups.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from chaos.clients import payload
from chaos.clients.wire.admin import Admin
from chaos.clients.wire.own_users import remove_users
from chaos.clients.wire.removed import Removed
from chaos.clients.wire.wire_link import (
    EARLIEST,
    RETRY_S,
    WireCluster,
    check,
    fetch_fields,
    insist,
    kafka_name,
)
from chaos.means import guard
from chaos.means.connection import WireError
from chaos.means.real_world import REAL_WORLD
from chaos.values.protocols import TopicSpec
from reference_impl.wire import (
    NO_TIMESTAMP,
    ApiKey,
    CorruptRecord,
    Malformed,
    Record,
    RecordBatch,
    batches,
    request_definition,
)

MARKER = "marker"
MARKER_CONFIG = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_OWN = re.compile(r"touchstone-([0-9a-f]{16})-(.+)")
_TAG = re.compile(r"\d+-\d+-\d+")  # guard.owner_tag
VERSION = 1

GRACE_S = 1800.0
"""The limit in seconds of a run without its attack: start, recovery, final reads and judging."""
MAKE_TIMEOUT_S, REMOVE_TIMEOUT_S = 60.0, 30.0
REQUEST_TIMEOUT_MS = 10_000
TOPICS_AT_ONCE = 50
FETCH_BYTES = 1 << 20
UNKNOWN_TOPICS = frozenset({3, 100})  # UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID
GROUP_ID_NOT_FOUND = 69
TOPIC_DELETION_DISABLED = 73
MARKED_BY = (ApiKey.CREATE_TOPICS, ApiKey.PRODUCE, ApiKey.LIST_OFFSETS, ApiKey.DELETE_TOPICS)
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class LeftAloneError(Exception):
    """Raised for a topic or group that is not removed, because it does not belong to this run or
    the cluster forbids its removal; another attempt would not change that."""


class OwnTopics:
    """Names, marks and removes the topics, groups and users that one run makes on a cluster."""

    def __init__(
        self,
        bootstrap: str,
        nonce: bytes,
        seconds: float,
        records_bear_it: bool = True,
        prefix: str = "",
    ) -> None:
        """Choose the names of one run's topics. seconds: the attack's length. records_bear_it:
        whether every record of the run contains the nonce, as the records of workloads do. prefix:
        what the owner of the cluster wants all names to begin with."""
        self._bootstrap = bootstrap
        self._nonce = nonce
        self._until_s = time.time() + seconds + GRACE_S
        self._records_bear_it = records_bear_it
        self._prefix = prefix

    async def mark(self, replicas: int, timeout_s: float = MAKE_TIMEOUT_S) -> None:
        """Make the marker topic and write its record; call this before the run makes anything else.
        Raise WireError if the cluster cannot mark topics or does not answer."""
        name = names_of(self._nonce, self._prefix) + MARKER
        await _check_served(self._bootstrap)
        admin = Admin(REAL_WORLD, self._bootstrap)
        try:
            await admin.create_topics([TopicSpec(name, 1, MARKER_CONFIG)], replicas, timeout_s)
        finally:
            admin.close()
        told = {
            "touchstone": VERSION,
            "nonce": self._nonce.hex(),
            "boot": _boot_id(),
            "owner": guard.owner_tag(os.getpid()),
            "until_s": self._until_s,
            "records_bear_it": self._records_bear_it,
        }
        batch = RecordBatch(
            records=[Record(value=json.dumps(told).encode())],
            # The broker's clock may differ from ours by hours, and it would refuse our time.
            base_timestamp=NO_TIMESTAMP,
            max_timestamp=NO_TIMESTAMP,
        )
        cluster = WireCluster(REAL_WORLD, self._bootstrap)
        try:
            await insist(
                REAL_WORLD, lambda: _produce(cluster, name, batch), time.monotonic() + timeout_s
            )
        finally:
            cluster.close()

    async def remove(self, timeout_s: float = REMOVE_TIMEOUT_S) -> Removed:
        """Remove everything that the run has created, and stop when the time is over. Return the
        names that were removed, and the failures."""
        cluster, removed = WireCluster(REAL_WORLD, self._bootstrap), Removed()
        try:
            work = _remove_run(cluster, self._nonce, self._prefix, removed, _last_retry(timeout_s))
            await REAL_WORLD.within(timeout_s, work)
        except (WireError, LeftAloneError, TimeoutError) as error:
            removed.failures.append(f"{names_of(self._nonce, self._prefix)}…: {error}")
        finally:
            cluster.close()
        return removed


def names_of(nonce: bytes, prefix: str = "") -> str:
    """Return what the names of everything that a run makes begin with."""
    return f"{prefix}touchstone-{nonce.hex()}-"


async def sweep(bootstrap: str, timeout_s: float = REMOVE_TIMEOUT_S, prefix: str = "") -> Removed:
    """Remove the topics, groups and users that ended runs with this prefix have left on the
    cluster. Return the names removed, and the failures. Raise WireError if the cluster does not
    answer, or if the time is over before the end."""
    cluster, removed = WireCluster(REAL_WORLD, bootstrap), Removed()
    try:
        work = _sweep(cluster, prefix, removed, _last_retry(timeout_s))
        await REAL_WORLD.within(timeout_s, work)
    except TimeoutError as error:
        raise WireError(f"{bootstrap}: {error}") from error
    finally:
        cluster.close()
    return removed


def _last_retry(timeout_s: float) -> float:
    """Return the monotonic time after which failed requests are no longer repeated. It is earlier
    than the time-out, so that the user sees the request's own error."""
    return time.monotonic() + timeout_s - 2 * RETRY_S


async def _sweep(cluster: WireCluster, prefix: str, removed: Removed, deadline: float) -> None:
    for nonce in await _marked(cluster, prefix):
        marker = names_of(nonce, prefix) + MARKER
        try:
            if _is_over(await _marker_of(cluster, marker, nonce)):
                await _remove_run(cluster, nonce, prefix, removed, deadline)
        except (WireError, LeftAloneError, TimeoutError) as error:
            removed.failures.append(f"{marker}: {error}")


async def _check_served(bootstrap: str) -> None:
    """Raise WireError if the cluster lacks an API that is needed to write or remove a marker."""
    cluster = WireCluster(REAL_WORLD, bootstrap)
    try:
        for api in MARKED_BY:
            if not await cluster.serves(api):
                raise WireError(f"the cluster does not serve {api.name}")
    finally:
        cluster.close()


# --- whose it is ----------------------------------------------------------------------------------


async def _marked(cluster: WireCluster, prefix: str) -> list[bytes]:
    names = [name for name in await cluster.topic_ids() if name.startswith(prefix)]
    found = [_OWN.fullmatch(name, len(prefix)) for name in names]
    return [bytes.fromhex(each[1]) for each in found if each is not None and each[2] == MARKER]


async def _marker_of(cluster: WireCluster, topic: str, nonce: bytes) -> Mapping[str, Any]:
    """Return the content of the marker's record, or an empty one if the record is not ours or not
    written yet."""
    for record in await _first_records(cluster, topic, 0):
        try:
            told = json.loads(record.value or b"")
        except ValueError:
            return {}
        if isinstance(told, dict) and told.get("nonce") == nonce.hex():
            return told
    return {}


def _is_over(marker: Mapping[str, Any]) -> bool:
    """Return whether the run that wrote this marker is over. A run that was cut short before it
    wrote its marker made nothing else, and its marker topic stays."""
    if marker.get("touchstone") != VERSION:
        return False
    owner = str(marker.get("owner"))
    is_here = marker.get("boot") == _boot_id() and _TAG.fullmatch(owner) is not None
    if is_here and guard.is_dead_tag(owner):
        return True
    until_s = marker.get("until_s")
    return isinstance(until_s, int | float) and time.time() > until_s


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


# --- removing -------------------------------------------------------------------------------------


async def _remove_run(
    cluster: WireCluster, nonce: bytes, before: str, removed: Removed, deadline: float
) -> None:
    """Remove a run's topics, groups and users and, if nothing failed, its marker, but nothing if
    the marker has no record. before: the owner's prefix. Add names and failures to `removed`."""
    prefix = names_of(nonce, before)
    marker, failed_before = prefix + MARKER, len(removed.failures)
    ids = await cluster.topic_ids()
    topics = {name: told for name, told in ids.items() if name.startswith(prefix)}
    has_marker = marker in topics
    said = (
        await insist(REAL_WORLD, lambda: _marker_of(cluster, marker, nonce), deadline)
        if has_marker
        else {}
    )
    if not said:
        removed.failures.append(
            f"{marker}: the marker has no record of this run, so the run's topics are left alone"
        )
        return
    marker_id = topics.pop(marker, "")
    await _remove_topics(
        cluster, removed, topics, nonce if said.get("records_bear_it", True) else None, deadline
    )
    for broker in (await cluster.view([])).brokers.values():
        for group in await _groups(cluster, broker):
            if not group.startswith(prefix):
                continue
            await _attempt(
                removed, [group], partial(_remove_group, cluster, group, broker), deadline
            )
    try:
        await remove_users(cluster, prefix)
    except WireError as error:
        removed.failures.append(f"users {prefix}…: {error}")
    if len(removed.failures) == failed_before:
        delete = partial(_delete, cluster, {marker: marker_id})
        await _attempt(removed, [marker], delete, deadline)


async def _remove_topics(
    cluster: WireCluster,
    removed: Removed,
    topics: Mapping[str, str],
    borne: bytes | None,
    deadline: float,
) -> None:
    """Delete topics (name -> id). If `borne` is a nonce, check first that each topic's first
    records contain it, and delete topic by topic; else delete many at once."""
    if borne is not None:
        for name, topic_id in topics.items():
            action = partial(_remove_topic, cluster, name, topic_id, borne)
            await _attempt(removed, [name], action, deadline)
        return
    names = list(topics)
    for first in range(0, len(names), TOPICS_AT_ONCE):
        chunk = names[first : first + TOPICS_AT_ONCE]
        action = partial(_delete, cluster, {name: topics[name] for name in chunk})
        await _attempt(removed, chunk, action, deadline)


async def _attempt(
    removed: Removed, names: Sequence[str], action: Callable[[], Awaitable[None]], deadline: float
) -> None:
    try:
        await insist(REAL_WORLD, action, deadline)
        removed.names += names
    except (WireError, LeftAloneError, TimeoutError) as error:
        removed.failures += [f"{name}: {error}" for name in names]


async def _remove_topic(cluster: WireCluster, name: str, topic_id: str, nonce: bytes) -> None:
    """Delete a topic if its first records all belong to the run. Raise LeftAloneError if a
    partition holds another record."""
    view = await cluster.view([name])
    for partition in sorted(p for topic, p in view.partitions if topic == name):
        for record in await _first_records(cluster, name, partition):
            if not payload.bears(nonce, record.value, payload.plain_headers(record.headers)):
                raise LeftAloneError(
                    f"partition {partition} holds a record of others; check it by hand"
                )
    await _delete(cluster, {name: topic_id})


async def _delete(cluster: WireCluster, topics: Mapping[str, str]) -> None:
    """Delete topics (name -> id, or "" if they have none). Raise WireError unless every one is
    deleted or unknown, and LeftAloneError if the cluster forbids it."""
    struct = request_definition(ApiKey.DELETE_TOPICS).struct
    states = [
        struct(
            "DeleteTopicState", name=None if topic_id else name, topic_id=UUID(topic_id or 32 * "0")
        )
        for name, topic_id in topics.items()
    ]
    answer = await cluster.ask_any(
        ApiKey.DELETE_TOPICS, topics=states, topic_names=list(topics), timeout_ms=REQUEST_TIMEOUT_MS
    )
    codes = {row.error_code for row in answer.responses} - {0, *UNKNOWN_TOPICS}
    if TOPIC_DELETION_DISABLED in codes:
        raise LeftAloneError(
            "delete.topic.enable is false on the cluster: set it to true, then delete it by hand"
        )
    if codes or len(answer.responses) != len(topics):
        raise WireError(f"not deleted: {', '.join(map(kafka_name, sorted(codes))) or 'no answer'}")


async def _remove_group(cluster: WireCluster, group: str, broker: tuple[str, int]) -> None:
    """Delete a group. Raise WireError if the broker refuses, as while the group has members."""
    answer = await cluster.ask(broker, ApiKey.DELETE_GROUPS, groups_names=[group])
    code = answer.results[0].error_code
    if code not in (0, GROUP_ID_NOT_FOUND):
        raise WireError(f"it is not deleted: {kafka_name(code)}")


# --- asking ---------------------------------------------------------------------------------------


async def _groups(cluster: WireCluster, broker: tuple[str, int]) -> list[str]:
    answer = await cluster.ask(broker, ApiKey.LIST_GROUPS)
    return [group.group_id for group in answer.groups]


async def _produce(cluster: WireCluster, topic: str, batch: RecordBatch) -> None:
    struct = request_definition(ApiKey.PRODUCE).struct
    partition = struct("PartitionProduceData", index=0, records=batch.encode())
    answer = await cluster.ask(
        (await cluster.leader(topic, 0)).address,
        ApiKey.PRODUCE,
        acks=-1,
        timeout_ms=REQUEST_TIMEOUT_MS,
        transactional_id=None,
        topic_data=[struct("TopicProduceData", name=topic, partition_data=[partition])],
    )
    check(answer.responses[0].partition_responses[0].error_code, f"Produce {topic}")


async def _first_records(cluster: WireCluster, topic: str, partition: int) -> Iterator[Record]:
    """Return the data records of the first batches of a partition (up to FETCH_BYTES). Raise
    WireError if they cannot be fetched. The iterator raises LeftAloneError at a batch that cannot
    be decoded."""
    leader = await cluster.leader(topic, partition)
    start = await cluster.offset(leader, topic, partition, EARLIEST)
    fields = fetch_fields(topic, [(partition, leader.epoch, start)], FETCH_BYTES, wait_ms=0)
    answer = await cluster.ask(leader.address, ApiKey.FETCH, **fields)
    found = answer.responses[0].partitions[0]
    check(found.error_code, f"Fetch {topic}-{partition}")
    return _data_records(bytes(found.records or b""))


def _data_records(data: bytes) -> Iterator[Record]:
    try:
        for _, start, end in batches(data):
            batch, _ = RecordBatch.decode(data[start:end])
            if not batch.is_control:
                yield from batch.records
    except (CorruptRecord, Malformed) as error:
        raise LeftAloneError(f"its records cannot be read ({error}); check it by hand") from error
