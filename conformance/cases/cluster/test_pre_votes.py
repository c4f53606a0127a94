"""Votes that a controller asks for before it stands for election (KIP-996)."""

from __future__ import annotations

import uuid

from chaos.values.faults import Heal, Pause
from conformance.case import Unsupported, case, expect
from conformance.cases.cluster.test_controllers import (
    STRANGER,
    active_controller,
    at_active,
    quorum,
)
from conformance.cases.cluster.test_lost_brokers import RETURN_S
from conformance.cases.cluster.test_quorum import METADATA
from conformance.target.examination import Examined
from conformance.wire import Wire, api_key, eventually, part, request
from reference_impl.wire import ErrorCode, Struct

FIRST_WITH_PRE_VOTES = 2
ROUNDS_MAX = 4
"""A busy machine may delay a leader so long that its voters rightly elect another."""


def in_force(wire: Wire) -> tuple[int, int]:
    """Return the leader of the quorum, and its epoch."""
    row = quorum(wire).topics[0].partitions[0]
    return row.leader_id, row.leader_epoch


def pre_vote(wire: Wire, epoch: int) -> Struct:
    """Return a Vote of a controller that does not exist, that has all metadata, and that would
    like to stand for election in the epoch after this one."""
    row = part(
        "Vote",
        "PartitionData",
        replica_epoch=epoch,
        replica_id=STRANGER,
        replica_directory_id=uuid.uuid4(),
        last_offset_epoch=epoch,
        last_offset=2**40,
        pre_vote=True,
    )
    topic = part("Vote", "TopicData", topic_name=METADATA, partitions=[row])
    return request("Vote", cluster_id=None, voter_id=active_controller(wire), topics=[topic])


@case("KRFT-09", "DescribeQuorum", versions=(2, 2), spec="KIP-996, Proposed Changes", priority="P2")
def test_a_leader_grants_no_pre_vote(wire: Wire, version: int) -> None:
    """A leader answers a pre-vote (Vote v2) without an error and without its vote, and names itself
    and its epoch; leader and epoch stay as they were."""
    controller = at_active(wire)
    ranges = {row.api_key: row.max_version for row in controller.call("ApiVersions", 0).api_keys}
    if ranges.get(api_key("Vote"), 0) < FIRST_WITH_PRE_VOTES:
        raise Unsupported(f"Vote v{FIRST_WITH_PRE_VOTES} is not advertised")
    leader, epoch = in_force(wire)
    answer = controller.call("Vote", FIRST_WITH_PRE_VOTES, pre_vote(wire, epoch))
    expect(answer.error_code, ErrorCode.NONE, "error of the answer")
    row = answer.topics[0].partitions[0]
    expect((row.error_code, row.vote_granted), (ErrorCode.NONE, False), "(error, is it granted)")
    expect((row.leader_id, row.leader_epoch), (leader, epoch), "(leader, epoch) of the answer")
    expect(in_force(wire), (leader, epoch), "(leader, epoch) afterwards")


@case(
    "KRFT-09",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-996, Motivation",
    priority="P2",
    requires=["restart"],
)
def test_a_controller_that_was_away_does_not_raise_the_epoch(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A controller that heard nothing from the leader for longer than the fetch time-out, and then
    comes back, follows the leader again: neither the leader nor its epoch changes."""
    brokers = wire.brokers()
    if len(brokers) < 3:
        raise Unsupported("the case needs a target of three nodes")
    asked = next(node for node, address in brokers.items() if address == wire.addresses[0])
    for _ in range(ROUNDS_MAX):
        before = in_force(wire)
        away = next(node for node in brokers if node not in (asked, before[0]))
        pause_until_fenced(wire, examined, away)
        wait_until_it_follows(wire, away)
        after = in_force(wire)
        if after == before:
            break
    expect(after, before, "(leader, epoch) after a controller was away")


def pause_until_fenced(wire: Wire, examined: Examined, node: int) -> None:
    """Freeze a node until its broker is fenced, which takes longer (broker.session.timeout.ms, 3 s
    on targets that are started here) than a voter waits for its leader
    (controller.quorum.fetch.timeout.ms, 2 s)."""
    examined.cluster.perform(Pause(node))
    try:
        eventually(wire.brokers, lambda found: node not in found, "it is fenced", RETURN_S)
    finally:
        examined.cluster.perform(Heal())


def wait_until_it_follows(wire: Wire, node: int) -> None:
    """Wait until a controller has all metadata that are committed now, and its broker is back."""
    wanted = quorum(wire).topics[0].partitions[0].high_watermark

    def end_of_log() -> int:
        voters = quorum(wire).topics[0].partitions[0].current_voters
        return max((row.log_end_offset for row in voters if row.replica_id == node), default=-1)

    eventually(wire.brokers, lambda found: node in found, "the broker is back", RETURN_S)
    eventually(end_of_log, lambda end: end >= wanted, "the controller follows", RETURN_S)
