"""No request takes long at a time, however much it names: each array of each API that is served,
with something in the elements' own arrays or nothing.

Where others have their turn after each element, the longest step does not grow with the number of
elements.
"""

from __future__ import annotations

from functools import partial

import pytest

from reference_impl.core.configs.broker import STANDARD_AUTHORIZER
from reference_impl.core.events import Event, GoOn, Request, RequestArrived
from reference_impl.core.tests.counting import counted
from reference_impl.core.tests.long_requests import Long, long_requests
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, Struct, request_definition

FEW, MANY = 200, 380
"""Both fill two slices of what is applied at once (100), of which the second finds the first."""
GROWTH_MAX = 2.0
"""Calls in the longest step for each further element: what copies of lists take, no more."""
AT_ONCE = {"CreateTopics-v7-topics": 200.0, "Metadata-v13-topics": 200.0}
"""Higher limits for requests that create topics, since the disk in memory goes through all
files."""
WITH_ACLS = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
    "transaction.state.log.num.partitions": "2",
}


def longest_step(long: Long, count: int, topics: list[str], *, hollow: bool) -> int:
    """Return the calls of the longest step in which a request with so many elements is handled."""
    world = World(WITH_ACLS)
    for name in topics[:3]:
        world.create_topic(name)
    for key_type in (0, 1):
        world.call(ApiKey.FIND_COORDINATOR, 4, key_type=key_type, coordinator_keys=["g"])
    world.call(ApiKey.OFFSET_COMMIT, 8, group_id="g", topics=[commit(topics[0])])
    world.node.must_give_way = lambda: True
    body = long.body(count, topics, hollow=hollow)
    request = Request(1, long.api_key, long.version, 1, "x", "/1.2.3.4", body)
    longest = 0
    event: Event | None = RequestArrived(*world.moment(), request)
    while event is not None:
        effects, calls = counted(partial(world.node.step, event))
        longest = max(longest, calls)
        gave_way = any(type(effect).__name__ == "GiveWay" for effect in effects)
        event = GoOn(*world.moment(), 1) if gave_way else None
    return longest


def commit(topic: str) -> Struct:
    """Return a commit of one offset, with which a group begins."""
    of = request_definition(ApiKey.OFFSET_COMMIT)
    row = of.struct("OffsetCommitRequestPartition", partition_index=0, committed_offset=1)
    return of.struct("OffsetCommitRequestTopic", name=topic, partitions=[row])


@pytest.mark.sliced(2)
@pytest.mark.parametrize("names", ["known", "unknown", "hollow"])
@pytest.mark.parametrize("long", long_requests(), ids=str)
def test_the_longest_step_does_not_grow_with_the_request(long: Long, names: str) -> None:
    topics = ["t-0", "t-1", "t-2"] if names == "known" else [f"n-{n}" for n in range(MANY)]
    few, many = (
        longest_step(long, count, topics, hollow=names == "hollow") for count in (FEW, MANY)
    )
    growth = (many - few) / (MANY - FEW)
    allowed = AT_ONCE.get(str(long), GROWTH_MAX)
    assert growth <= allowed, f"{growth:.1f} more calls in one step for each element of {long}"
