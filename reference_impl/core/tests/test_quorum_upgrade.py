"""A quorum whose voters are configured becomes one whose voters can change: `kraft.version` goes
from 0 to 1 by UpdateFeatures (KIP-853)."""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.core.controller.features import KRAFT, SAFE_DOWNGRADE, TRANSACTIONS, UPGRADE
from reference_impl.core.quorum.voters.voter_set import KRAFT_VERSIONS
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage
from reference_impl.core.tests.cluster import Cluster
from reference_impl.core.tests.node_identities import directory_id, format_directory
from reference_impl.core.tests.test_voter_changes import (
    FETCH_MS,
    WITHIN_MS,
    change,
    leader_of,
    remove_request,
    voters_at,
)
from reference_impl.core.tests.world import World
from reference_impl.wire import ZERO_UUID, ApiKey, ErrorCode, Struct, request_definition

REQUEST = request_definition(ApiKey.UPDATE_FEATURES)


def update(*levels: tuple[str, int], kind: int = UPGRADE, validate_only: bool = False) -> Struct:
    rows = [
        REQUEST.struct("FeatureUpdateKey", feature=name, max_version_level=level, upgrade_type=kind)
        for name, level in levels
    ]
    return REQUEST.new(feature_updates=rows, validate_only=validate_only, timeout_ms=5_000)


def updated(cluster: Cluster, body: Struct) -> tuple[str, str]:
    """Ask the leader, and return the error of the answer and its message."""
    leader = leader_of(cluster)
    cluster.answers[leader].clear()
    cluster.send(leader, ApiKey.UPDATE_FEATURES, 2, body)
    for _ in range(WITHIN_MS // 10):
        cluster.run(10)
        if cluster.answers[leader]:
            answer = cluster.answers[leader][0]
            return ErrorCode(answer.error_code).name, answer.error_message or ""
    return "silence", ""


class UpgradeAtOnce(Rules):
    def may_raise_version(self, level: int, supported: Iterable[tuple[int, int]]) -> bool:
        return True


def configured_quorum(rules: type[Rules] = Rules) -> Cluster:
    cluster = Cluster(seed=5, voters=3, rules=rules)
    cluster.run(6_000)
    return cluster


def levels_of(cluster: Cluster) -> set[int]:
    quorums = (node.broker.quorum for node in cluster.nodes.values())
    return {quorum.log.voters.latest.kraft_version for quorum in quorums}


def test_configured_voters_can_change_after_the_upgrade_and_after_a_loss_of_power() -> None:
    cluster = configured_quorum()
    assert updated(cluster, update((KRAFT, 1), validate_only=True)) == ("NONE", "")
    assert levels_of(cluster) == {0}
    assert updated(cluster, update((KRAFT, 1))) == ("NONE", "")
    cluster.run(FETCH_MS)
    assert levels_of(cluster) == {1}
    for node in (1, 2, 3):
        cluster.kill(node, loses_power=True)
    for node in (1, 2, 3):
        cluster.boot(node)
    leader = leader_of(cluster)
    cluster.run(2 * FETCH_MS)
    assert levels_of(cluster) == {1}
    for number, each in cluster.nodes.items():
        assert each.broker.quorum.is_voter
        voter = cluster.nodes[leader].broker.quorum.voters[number]
        assert voter.directory_id == directory_id(number)
        assert voter.kraft_versions == KRAFT_VERSIONS
        assert voter.endpoints["CONTROLLER"].host == f"node-{number}"
    assert change(cluster, leader_of(cluster), remove_request(3)) == "NONE"
    cluster.run(3 * FETCH_MS)
    assert voters_at(cluster) == "1+2"


def test_the_records_stand_in_one_control_batch() -> None:
    cluster = configured_quorum()
    updated(cluster, update((KRAFT, 1)))
    history = cluster.nodes[leader_of(cluster)].broker.quorum.log.voters
    latest = history.latest
    version = history.before(latest.offset)
    assert (version.offset, version.kraft_version) == (latest.offset - 1, 1)


def quorum_without_a_report(rules: type[Rules] = Rules) -> tuple[Cluster, int]:
    """Return a quorum with a new leader, and the voter which that has not heard of."""
    cluster = configured_quorum(rules)
    first = leader_of(cluster)
    absent = next(node for node in (1, 2, 3) if node != first)
    cluster.kill(absent)
    cluster.kill(first)
    cluster.boot(first)
    cluster.run(6_000)
    return cluster, absent


def test_an_upgrade_without_that_report_would_name_a_voter_without_a_directory() -> None:
    cluster, absent = quorum_without_a_report(UpgradeAtOnce)
    assert updated(cluster, update((KRAFT, 1))) == ("NONE", "")
    assert cluster.nodes[leader_of(cluster)].broker.quorum.voters[absent].directory_id == ZERO_UUID


def test_a_voter_that_has_not_told_its_levels_stands_against_the_upgrade() -> None:
    cluster, absent = quorum_without_a_report()
    error, message = updated(cluster, update((TRANSACTIONS, 2), (KRAFT, 1)))
    assert error == "INVALID_UPDATE_VERSION"
    assert "not all of the voters support it" in message
    assert message.endswith(f": {absent}")
    assert levels_of(cluster) == {0}
    cluster.boot(absent)
    cluster.run(6_000)
    assert updated(cluster, update((KRAFT, 1))) == ("NONE", "")
    assert levels_of(cluster) == {1}


def test_the_level_cannot_go_down_and_one_in_force_is_no_change() -> None:
    cluster = configured_quorum()
    assert updated(cluster, update((KRAFT, 0))) == ("NONE", "")
    assert updated(cluster, update((KRAFT, 1))) == ("NONE", "")
    assert updated(cluster, update((KRAFT, 1))) == ("NONE", "")
    for kind, why in (
        (UPGRADE, "without setting the upgrade type"),
        (SAFE_DOWNGRADE, "Can't downgrade the version of this feature."),
    ):
        error, message = updated(cluster, update((KRAFT, 0), kind=kind))
        assert error == "INVALID_UPDATE_VERSION"
        assert why in message
    assert levels_of(cluster) == {1}


def test_an_upgrade_that_no_majority_has_is_forgotten_with_its_leader() -> None:
    cluster = configured_quorum()
    old = leader_of(cluster)
    others = [node for node in (1, 2, 3) if node != old]
    cluster.silent = {(old, each) for each in others} | {(each, old) for each in others}
    cluster.send(old, ApiKey.UPDATE_FEATURES, 2, update((KRAFT, 1)))
    assert cluster.nodes[old].broker.quorum.log.voters.latest.kraft_version == 1
    leader_of(cluster, others)
    cluster.silent = set()
    cluster.run(6_000)
    assert levels_of(cluster) == {0}
    assert updated(cluster, update((KRAFT, 1))) == ("NONE", "")
    cluster.run(FETCH_MS)
    assert levels_of(cluster) == {1}


def test_a_directory_that_was_emptied_after_the_upgrade_has_no_vote() -> None:
    cluster = configured_quorum()
    updated(cluster, update((KRAFT, 1)))
    lost = next(node for node in (1, 2, 3) if node != leader_of(cluster))
    cluster.kill(lost)
    cluster.disks[lost] = MemoryStorage()
    format_directory(cluster.disks[lost], lost, fill="B")
    cluster.boot(lost)
    cluster.run(6_000)
    assert not cluster.nodes[lost].broker.quorum.is_voter


def test_a_sole_voter_upgrades_by_itself() -> None:
    world = World()
    answer = world.ask(ApiKey.UPDATE_FEATURES, 2, update((KRAFT, 1)))
    assert (answer.error_code, answer.error_message) == (0, None)
    assert world.node.broker.quorum.log.voters.latest.kraft_version == 1
    world.restart()
    assert world.node.broker.quorum.log.voters.latest.kraft_version == 1
    assert world.node.broker.quorum.is_leader
