"""Authorization from inside: what a client over the network cannot see, or not easily."""

from __future__ import annotations

import pytest

from reference_impl.core.security.authorization.authorizer import Authorizer
from reference_impl.core.tests.test_acls import ADMIN, ALICE, BOB, controlled, create, entry
from reference_impl.core.tests.world import World
from reference_impl.wire import TRANSACTIONAL_BIT, ApiKey, ErrorCode, Struct, request_definition
from reference_impl.wire.acls import AclOperation, AclPermissionType, ResourceType

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def world_with_orders(*operations: AclOperation) -> World:
    """Return a world in which Alice may do these operations to the existing topic `orders`."""
    world = controlled()
    # The admin is the first client, which the helpers of World speak for.
    world.create_topic("orders")
    create(world, *(entry(operation=operation) for operation in operations))
    return world


def fetched(world: World, client: int, **fields: int) -> int:
    """Return the error of a Fetch of `orders`."""
    body = world.fetch_body("orders", **fields)
    answer = world.ask(ApiKey.FETCH, 12, body, client)
    code: int = answer.responses[0].partitions[0].error_code
    return code


def produced(world: World, client: int, records: bytes, transactional_id: str | None) -> int:
    """Return the error of a Produce to `orders`."""
    body = world.produce_body("orders", records, transactional_id=transactional_id)
    answer = world.ask(ApiKey.PRODUCE, 9, body, client)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def test_a_fetch_that_waits_has_been_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with_orders(AclOperation.READ)
    asked = []
    allows = Authorizer.allows

    def counted(self: Authorizer, *question: object) -> bool:
        asked.append(question)
        return allows(self, *question)  # type: ignore[arg-type]

    monkeypatch.setattr(Authorizer, "allows", counted)
    number = world.send(
        ApiKey.FETCH, 12, world.fetch_body("orders", max_wait_ms=500, min_bytes=1), ALICE
    )
    assert world.answer_to(number) is None
    world.produce("orders", "news")
    assert world.answer_to(number) is not None
    of_alice = [question for question in asked if question[0] == "User:alice"]
    assert len(of_alice) == 1


def test_a_refused_fetch_does_not_wait() -> None:
    world = world_with_orders()
    assert fetched(world, ALICE, max_wait_ms=500) == DENIED


def test_a_consumer_needs_read_and_a_follower_cluster_action() -> None:
    world = world_with_orders(AclOperation.READ)
    cluster = {"resource_type": ResourceType.CLUSTER, "resource_name": "kafka-cluster"}
    action = entry(operation=AclOperation.CLUSTER_ACTION, principal="User:bob", **cluster)
    create(world, action)
    assert fetched(world, ALICE) == ErrorCode.NONE
    assert fetched(world, BOB) == DENIED
    assert fetched(world, ALICE, replica_id=7) == DENIED
    # There is no such follower, but bob would be one.
    assert fetched(world, BOB, replica_id=7) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_producer_is_asked_for_its_transactional_id_only_by_transactional_batches() -> None:
    world = world_with_orders(AclOperation.WRITE)
    plain = world.batch("a")
    in_transaction = world.batch(
        "b", producer_id=1, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT
    )
    assert produced(world, ALICE, plain, None) == ErrorCode.NONE
    assert produced(world, ALICE, plain, "mine") == ErrorCode.NONE
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert produced(world, ALICE, in_transaction, "mine") == refused
    assert produced(world, BOB, plain, None) == DENIED
    assert world.read_all("orders") == ["a", "a"]


def test_a_refused_batch_closes_the_connection_of_who_waits_for_no_answer() -> None:
    world = world_with_orders()
    body = world.produce_body("orders", world.batch("a"), acks=0)
    world.send(ApiKey.PRODUCE, 9, body, ALICE)
    assert "TOPIC_AUTHORIZATION_FAILED" in world.closed[ALICE]
    assert world.read_all("orders") == []


def test_hosts_are_compared_as_addresses() -> None:
    """World's clients come from /1.2.3.4, as Java writes it."""
    world = world_with_orders()
    create(world, entry(host="1.2.3.4"))
    assert fetched(world, ALICE) == ErrorCode.NONE
    create(world, entry(host="1.2.3.4", permission_type=AclPermissionType.DENY))
    assert fetched(world, ALICE) == DENIED


def test_everybody_may_everything_where_no_acl_is_found_if_so_configured() -> None:
    world = controlled(**{"allow.everyone.if.no.acl.found": "true"})
    world.create_topic("orders")
    assert fetched(world, ALICE) == ErrorCode.NONE
    create(world, entry(principal="User:bob"))
    assert (fetched(world, ALICE), fetched(world, BOB)) == (DENIED, ErrorCode.NONE)


def test_every_super_user_is_one() -> None:
    world = controlled()
    world.create_topic("orders")
    world.node.broker.principals.authenticated(9, "User:root")
    assert fetched(world, 9) == fetched(world, ADMIN) == ErrorCode.NONE


def test_clients_add_none_of_the_brokers_own_topics_to_a_transaction() -> None:
    """They are refused even without an authorizer (KafkaApis.handleAddPartitionsToTxnRequest)."""
    world = World()
    world.create_topic("orders")
    of = request_definition(ApiKey.ADD_PARTITIONS_TO_TXN)
    topics: list[Struct] = [
        of.struct("AddPartitionsToTxnTopic", name=name, partitions=[0])
        for name in ("__consumer_offsets", "orders")
    ]
    answer = world.call(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        v3_and_below_transactional_id="mine",
        v3_and_below_producer_id=1,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=topics,
    )
    codes = [
        row.results_by_partition[0].partition_error_code
        for row in answer.results_by_topic_v3_and_below
    ]
    assert codes == [DENIED, ErrorCode.OPERATION_NOT_ATTEMPTED]
