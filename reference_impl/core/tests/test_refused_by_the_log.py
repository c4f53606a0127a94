"""A change that the log of a coordinator refuses changes nothing: groups, offsets and transactions
stay as they were, so that memory and log agree.

Not among them: the assignment of a classic group's leader, which is dropped (test_groups.py), and
the end of a group's last generation, which Kafka, too, only reports (completeClassicGroupJoin).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.storage import StorageError
from reference_impl.core.tests import group_client
from reference_impl.core.tests.consumer_client import Consumer, new_world
from reference_impl.core.tests.group_client import Client
from reference_impl.core.tests.test_migration import Classic, both, stable_classic
from reference_impl.core.tests.transactional import Producer, begun, open_transaction
from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import PER_TRANSACTION
from reference_impl.wire import ApiKey, request_definition

Change = tuple[World, Callable[[], object]]
"""A world, and a request to it that would change what a coordinator keeps."""


def known(world: World) -> str:
    """Return in one text what the coordinators keep in memory, without the requests that wait."""
    lines = []
    for groups in world.node.broker.groups.active():
        for name, group in sorted(groups.groups.items()):
            if isinstance(group, ClassicGroup):
                members = [
                    replace(member, awaiting_join=None, awaiting_sync=None)
                    for member in group.members.values()
                ]
                lines.append(f"{name}: {replace(group, members={})} {members}")
            else:
                lines.append(f"{name}: {vars(group)}")
        lines += [f"{vars(groups.offsets)}", f"{vars(groups.pending_offsets)}"]
    for transactions in world.node.broker.transactions.active():
        lines.append(f"{transactions.transactions} {transactions.pending}")
    return "\n".join(lines)


def commit() -> Change:
    world = group_client.new_world()
    one, _ = group_client.stable_pair(world)
    one.commit(1)
    return world, lambda: one.commit(2)


def commit_without_a_group() -> Change:
    world = group_client.new_world()
    nobody = Client(world, 1)
    return world, lambda: nobody.commit(5, generation_id_or_member_epoch=-1, member_id="")


def deletion_of_offsets() -> Change:
    world = group_client.new_world()
    Client(world, 1).commit(5, generation_id_or_member_epoch=-1, member_id="")
    of = request_definition(ApiKey.OFFSET_DELETE)
    row = of.struct("OffsetDeleteRequestPartition", partition_index=0)
    topic = of.struct("OffsetDeleteRequestTopic", name="t", partitions=[row])
    return world, lambda: world.call(ApiKey.OFFSET_DELETE, 0, group_id="g", topics=[topic])


def deletion_of_a_group() -> Change:
    world, _ = deletion_of_offsets()
    return world, lambda: world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g"])


def static_successor() -> Change:
    world = group_client.new_world()
    one = Client(world, 1, instance="i")
    one.send_join()
    world.wait(0)
    one.take()
    one.send_sync({one.member_id: b"all"})
    return world, lambda: Client(world, 2, instance="i").send_join(9)


def first_consumer() -> Change:
    world = new_world()
    return world, lambda: Consumer(world, 1, "a").join()


def second_consumer() -> Change:
    world, join = first_consumer()
    join()
    return world, lambda: Consumer(world, 2, "a").join()


def new_subscription() -> Change:
    world = new_world()
    one = Consumer(world, 1, "a")
    one.join()
    return world, lambda: one.heartbeat(subscribed_topic_names=["b"])


def leaving_consumer(epoch: int = -1) -> Change:
    world = new_world()
    one = Consumer(world, 1, "a", instance_id="i")
    one.join()
    return world, lambda: one.leave(epoch)


def static_consumer_that_goes() -> Change:
    return leaving_consumer(-2)


def static_consumer_that_returns() -> Change:
    world, leave = static_consumer_that_goes()
    leave()
    return world, lambda: Consumer(world, 2, "a", instance_id="i").join()


def upgrade() -> Change:
    world = new_world()
    stable_classic(world)
    return world, lambda: Consumer(world, 2, "a").join()


def downgrade() -> Change:
    world = new_world()
    _, new = both(world)
    return world, new.leave


def classic_successor_in_a_consumer_group() -> Change:
    world = new_world()
    stable_classic(world, instance="i")
    Consumer(world, 2, "a").join()
    return world, Classic(world, 3, "i").rejoin


def classic_group_instead_of_an_empty_one() -> Change:
    world, leave = leaving_consumer()
    leave()
    return world, lambda: Client(world, 2).send_join()


def first_producer() -> Change:
    world = begun().world
    return world, lambda: Producer(world, "other").init()


def second_producer() -> Change:
    producer = begun()
    return producer.world, producer.init


def fencing_producer() -> Change:
    producer = begun()
    open_transaction(producer, "a")
    return producer.world, Producer(producer.world).init


def partition_added() -> Change:
    producer = begun()
    return producer.world, producer.add


def group_added() -> Change:
    producer = begun()
    open_transaction(producer, "a")
    return producer.world, producer.add_offsets


def pending_offset() -> Change:
    producer = begun()
    producer.add_offsets()
    return producer.world, lambda: producer.commit_offset(5)


def end_of_a_transaction() -> Change:
    producer = begun(PER_TRANSACTION)
    open_transaction(producer, "a")
    return producer.world, lambda: producer.end(commit=True)


@pytest.mark.parametrize(
    "change",
    [
        commit,
        commit_without_a_group,
        deletion_of_offsets,
        deletion_of_a_group,
        static_successor,
        first_consumer,
        second_consumer,
        new_subscription,
        leaving_consumer,
        static_consumer_that_goes,
        static_consumer_that_returns,
        upgrade,
        downgrade,
        classic_successor_in_a_consumer_group,
        classic_group_instead_of_an_empty_one,
        first_producer,
        second_producer,
        fencing_producer,
        partition_added,
        group_added,
        pending_offset,
        end_of_a_transaction,
    ],
)
def test_a_change_that_the_log_refuses_changes_nothing(
    change: Callable[[], Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, ask = change()
    before = known(world)
    tried: list[str] = []

    def refuse(path: str, size: int) -> None:
        tried.append(path)
        raise StorageError(path, "no space left on the disk", no_space=True)

    with monkeypatch.context() as full:
        full.setattr(world.storage, "charge", refuse)
        with suppress(AssertionError):  # of a helper that expects success
            ask()
    assert tried and known(world) == before
    ask()
    assert known(world) != before, "without the failure, the request changes something"
