"""ApiVersions: the features of the cluster, which say more than versions can (KIP-584)."""

from __future__ import annotations

from chaos.world import joined
from conformance.case import Unsupported, case, expect, expect_that
from conformance.cases.api_versions.test_api_versions import api_versions
from conformance.target.examination import advertised_versions
from conformance.wire import ConnectionClosed, Wire, part
from reference_impl.wire import ErrorCode, Malformed, Struct

SPEC = "KIP-584, Feature versioning; ApiVersionsResponse.json"
OF_THE_QUORUM = (
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "BrokerRegistration",
    "BrokerHeartbeat",
)


def supported(answer: Struct) -> dict[str, tuple[int, int]]:
    return {f.name: (f.min_version, f.max_version) for f in answer.supported_features}


def finalized(answer: Struct) -> dict[str, tuple[int, int]]:
    return {f.name: (f.min_version_level, f.max_version_level) for f in answer.finalized_features}


@case("APIV-05", "ApiVersions", versions=(3, 4), spec=SPEC, priority="P1")
def test_features_in_force_are_features_supported(wire: Wire, version: int) -> None:
    """From v3 on the answer has the cluster's features: metadata.version among them, each at a
    level that this broker supports, as of an epoch that is not negative."""
    answer = api_versions(wire.connect(), version)
    levels, ranges = finalized(answer), supported(answer)
    expect_that("metadata.version" in levels, "features in force", "with metadata.version", levels)
    expect_that(
        answer.finalized_features_epoch >= 0,
        "epoch of the features",
        ">= 0",
        answer.finalized_features_epoch,
    )
    for name, (low, high) in levels.items():
        expect_that(1 <= low <= high, f"level of {name}", "from 1 on", (low, high))
        if name in ranges:
            first, last = ranges[name]
            expect_that(first <= high <= last, f"level of {name}", f"{first} to {last}", high)


@case("APIV-06", "ApiVersions", versions=(3, 4), spec="KAFKA-17011; KIP-1022", priority="P1")
def test_only_version_4_shows_features_that_begin_at_zero(wire: Wire, version: int) -> None:
    """Clients of v3 cannot read a feature whose lowest version is 0: v3 leaves it out, v4 shows it;
    the finalized features are the same in both."""
    newest = api_versions(wire.connect(), wire.version("ApiVersions", 4))
    answer = api_versions(wire.connect(), version)
    readable = {
        name: found for name, found in supported(newest).items() if version >= 4 or found[0] > 0
    }
    expect(supported(answer), readable, "supported features")
    expect(finalized(answer), finalized(newest), "features in force")


@case("APIV-11", "ApiVersions", versions=(3, 4), spec="KIP-866", priority="P2")
def test_a_broker_without_zookeeper_is_not_being_migrated(wire: Wire, version: int) -> None:
    """A broker of a KRaft cluster returns zk_migration_ready=false in ApiVersions."""
    if "DescribeQuorum" not in wire.advertised:
        raise Unsupported("the cluster has no KRaft quorum")
    answer = api_versions(wire.connect(), version)
    expect(answer.zk_migration_ready, False, "ready for the migration")


@case(
    "APIV-09",
    "DescribeQuorum",
    versions=(2, 2),
    spec="KIP-919; KIP-853, DescribeQuorum",
    priority="P1",
)
def test_a_controller_advertises_what_controllers_serve(wire: Wire, version: int) -> None:
    """The controllers' listener, which DescribeQuorum v2 names, answers ApiVersions too: its list
    has the requests of the quorum, which a broker's listener lacks, and not Produce."""
    quorum = part(
        "DescribeQuorum",
        "TopicData",
        topic_name="__cluster_metadata",
        partitions=[part("DescribeQuorum", "PartitionData")],
    )
    described = wire.call("DescribeQuorum", version, topics=[quorum])
    expect(described.error_code, ErrorCode.NONE, "DescribeQuorum error")
    listeners = [listener for node in described.nodes for listener in node.listeners]
    if not listeners:
        raise Unsupported("the quorum has no listener of its own")
    listener = listeners[0]
    try:
        served = advertised_versions(joined((listener.host, listener.port)))
    except (OSError, ConnectionClosed, Malformed) as error:
        # It may be closed to clients, or want TLS or SASL.
        raise Unsupported(f"the controllers' listener cannot be reached: {error}") from None
    for api in OF_THE_QUORUM:
        expect(
            (api in served, api in wire.advertised),
            (True, False),
            f"{api} advertised by (controller, broker)",
        )
    expect("Produce" in served, False, "Produce advertised by the controller")


@case("APIV-13", "EndTxn", spec="KIP-890, Client changes", priority="P1")
def test_the_second_transaction_protocol_comes_with_its_versions(wire: Wire) -> None:
    """If transaction.version 2 is in force, clients add partitions by writing to them and get a new
    epoch with each end of a transaction: Produce v12, TxnOffsetCommit v5 and EndTxn v5 are
    advertised."""
    answer = api_versions(wire.connect(), wire.version("ApiVersions", 3))
    level = finalized(answer).get("transaction.version", (0, 0))[1]
    if level < 2:
        raise Unsupported(f"transaction.version is {level} here, not 2")
    for api, needed in (("Produce", 12), ("TxnOffsetCommit", 5), ("EndTxn", 5)):
        last = wire.advertised[api][1]
        expect_that(last >= needed, f"newest version of {api}", f">= {needed}", last)
