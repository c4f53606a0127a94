"""The cases that ask for every API: what they find in an answer that is not as its schema says."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.case import Deviation, Unsupported
from conformance.cases.framing import test_every_api as cases
from conformance.cases.framing.minimal_requests import REQUESTS
from conformance.target.examination import CAMEL, advertised_versions
from conformance.tests.fake import Answer, FakeKafka, piece, response
from conformance.wire import Wire, api_key, eventually
from reference_impl.wire import Struct

NEVER_FROM_CLIENTS = {
    # Between brokers and controllers: no client's listener advertises them.
    "LeaderAndIsr",
    "StopReplica",
    "UpdateMetadata",
    "ControlledShutdown",
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "AlterPartition",
    "Envelope",
    "FetchSnapshot",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "AllocateProducerIds",
    "ControllerRegistration",
    "AssignReplicasToDirs",
    "UpdateRaftVoter",
}


class Mangling(FakeKafka):
    """Sends the answers of one API with other bytes at the end."""

    def __init__(
        self, api: str, *, cut: int = 0, surplus: bytes = b"", throttle_ms: int = 0
    ) -> None:
        self.mangled, self.cut, self.surplus = api_key(api), cut, surplus
        super().__init__({api: lambda *_: response(api, throttle_time_ms=throttle_ms)})

    def encoded(self, key: int, version: int, correlation_id: int, answer: Struct) -> bytes:
        frame = super().encoded(key, version, correlation_id, answer)
        if key != self.mangled:
            return frame
        body = frame[4 : len(frame) - self.cut] + self.surplus
        return struct.pack(">i", len(body)) + body


@contextmanager
def wire_to(kafka: FakeKafka) -> Iterator[Wire]:
    wire = Wire(kafka.bootstrap, advertised_versions(kafka.bootstrap))
    try:
        yield wire
    finally:
        wire.close()
        kafka.stop()


@pytest.mark.parametrize("api", sorted(cases.BETWEEN_BROKERS))
def test_what_only_brokers_in_zookeeper_mode_send_is_unsupported(api: str) -> None:
    kafka = FakeKafka({})
    with wire_to(kafka) as wire:
        wire.advertised = {**wire.advertised, api: (0, 1), "LeaderAndIsr": (4, 7)}
        with pytest.raises(Unsupported, match=f"no client sends {api}"):
            cases.test_what_is_advertised_is_answered_as_its_schema_says(wire, api)
        wire.advertised = {api: (0, 1)}
        if api != "LeaderAndIsr":  # in KRaft mode no client may see it
            with pytest.raises(Deviation, match=f"with {api}"):
                cases.test_what_is_advertised_is_answered_as_its_schema_says(wire, api)


def test_an_api_that_kafka_4_0_removed_is_not_looked_up() -> None:
    assert not cases.throttles("UpdateMetadata")
    assert cases.throttles("Metadata")


def test_answers_as_their_schema_says_pass() -> None:
    with wire_to(Mangling("ListGroups")) as wire:
        cases.test_what_is_advertised_is_answered_as_its_schema_says(wire, "ListGroups")
        cases.test_nobody_is_throttled_without_quotas(wire, "ListGroups")


@pytest.mark.parametrize(("cut", "surplus"), [(1, b""), (0, b"?")], ids=["cut off", "left over"])
def test_a_byte_too_few_or_too_many_fails(cut: int, surplus: bytes) -> None:
    with (
        wire_to(Mangling("ListGroups", cut=cut, surplus=surplus)) as wire,
        pytest.raises(Deviation, match="answer of ListGroups v0"),
    ):
        cases.test_what_is_advertised_is_answered_as_its_schema_says(wire, "ListGroups")


def quotas_of(*names: str) -> Answer:
    """Answer DescribeClientQuotas with a quota of each of these client ids."""
    api = "DescribeClientQuotas"
    entries = [
        piece(
            api,
            "EntryData",
            entity=[piece(api, "EntityData", entity_type="client-id", entity_name=name)],
            values=[piece(api, "ValueData", key="request_percentage", value=1.0)],
        )
        for name in names
    ]
    return lambda *_: response(api, entries=entries)


def test_throttling_is_unsupported_where_there_may_be_quotas() -> None:
    kafka = Mangling("ListGroups", throttle_ms=7)
    with wire_to(kafka) as wire:
        for said in ("is not advertised", "1 entities have quotas"):
            with pytest.raises(Unsupported, match=said):
                cases.test_nobody_is_throttled_without_quotas(wire, "ListGroups")
            kafka.answers[api_key("DescribeClientQuotas")] = quotas_of("a")
            wire.advertised = advertised_versions(kafka.bootstrap)


def test_throttling_fails_where_there_are_no_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eventually, "__defaults__", (0.5,))
    kafka = Mangling("ListGroups", throttle_ms=7)
    kafka.answers[api_key("DescribeClientQuotas")] = quotas_of()
    with wire_to(kafka) as wire, pytest.raises(Deviation, match="throttle_time_ms of ListGroups"):
        cases.test_nobody_is_throttled_without_quotas(wire, "ListGroups")


def test_an_api_without_a_request_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(REQUESTS, "ListGroups")
    with wire_to(Mangling("ListGroups")) as wire, pytest.raises(Deviation, match="with ListGroups"):
        cases.test_what_is_advertised_is_answered_as_its_schema_says(wire, "ListGroups")


def test_every_api_of_clients_has_a_request() -> None:
    assert set(CAMEL.values()) - REQUESTS.keys() == NEVER_FROM_CLIENTS
    assert not NEVER_FROM_CLIENTS & REQUESTS.keys()
