"""Cases of the suite itself: each passes on a right answer, and fails on a wrong one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.case import Deviation, case_of
from conformance.cases.api_versions import test_features
from conformance.cases.groups import test_coordinator, test_joining
from conformance.cases.init_producer_id import test_idempotence
from conformance.cases.metadata import test_metadata
from conformance.cases.offsets import test_group_admin
from conformance.target.examination import advertised_versions
from conformance.tests.fake import Answer, FakeKafka, piece, response
from conformance.wire import Wire
from reference_impl.wire import ErrorCode, Struct

NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND


def described_as(state: str, code: int = 0, members: int = 0) -> Answer:
    """DescribeGroups answers this for every group."""

    def answer(_version: int, request: Struct) -> Struct:
        shown = [piece("DescribeGroups", "DescribedGroupMember") for _ in range(members)]
        groups = [
            piece(
                "DescribeGroups",
                "DescribedGroup",
                group_id=group,
                error_code=code,
                group_state=state,
                members=shown,
            )
            for group in request.groups
        ]
        return response("DescribeGroups", groups=groups)

    return answer


def coordinator_of(code: int, node: int) -> Answer:
    """FindCoordinator answers this for every key."""

    def answer(_version: int, request: Struct) -> Struct:
        found = [
            piece("FindCoordinator", "Coordinator", key=key, node_id=node, error_code=code)
            for key in request.coordinator_keys
        ]
        return response("FindCoordinator", node_id=node, error_code=code, coordinators=found)

    return answer


def producer_ids(ids: Iterator[int], epoch: int = 0) -> Answer:
    return lambda _version, _request: response(
        "InitProducerId", producer_id=next(ids), producer_epoch=epoch
    )


def joined(code: int) -> Answer:
    return lambda _version, _request: response("JoinGroup", error_code=code, member_id="m")


def features(supported: tuple[int, int], level: int, epoch: int = 1) -> Answer:
    """Return an ApiVersions answer with metadata.version and a feature from 0 on, which v3 leaves
    out or not."""

    def answer(version: int, _request: Struct) -> Struct:
        ranges = {"metadata.version": supported, "group.version": (0, 1)}
        shown = [
            piece(
                "ApiVersions", "SupportedFeatureKey", name=name, min_version=low, max_version=high
            )
            for name, (low, high) in ranges.items()
            if low > 0 or version >= 4
        ]
        in_force = piece(
            "ApiVersions",
            "FinalizedFeatureKey",
            name="metadata.version",
            min_version_level=level,
            max_version_level=level,
        )
        keys = [piece("ApiVersions", "ApiVersion", api_key=18, max_version=4)]
        return response(
            "ApiVersions",
            api_keys=keys,
            supported_features=shown,
            finalized_features=[in_force],
            finalized_features_epoch=epoch,
        )

    return answer


def features_from_0_in_every_version(version: int, request: Struct) -> Struct:
    """Return the features as if v3 could show those that begin at 0."""
    answer = features((7, 30), 30)(4, request)
    assert answer is not None
    return answer


def metadata_with(code: int, topic_code: int = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) -> Answer:
    """Metadata answers these errors of the whole, and of each topic."""

    def answer(_version: int, request: Struct) -> Struct:
        topics = [
            piece("Metadata", "MetadataResponseTopic", name=t.name, error_code=topic_code)
            for t in request.topics
        ]
        return response("Metadata", topics=topics, error_code=code)

    return answer


@dataclass(frozen=True)
class Sample:
    """A case, the version it runs with, answers of which the first is right, the others wrong."""

    function: Any
    version: int
    api: str
    right: Answer
    wrong: dict[str, Answer]
    beside: dict[str, Answer] = field(default_factory=dict)


SAMPLES = [
    Sample(
        test_coordinator.test_an_unknown_key_type_is_refused,
        6,
        "FindCoordinator",
        coordinator_of(ErrorCode.INVALID_REQUEST, -1),
        {"accepted": coordinator_of(0, 1)},
    ),
    Sample(
        test_joining.test_an_empty_group_id_is_refused,
        9,
        "JoinGroup",
        joined(ErrorCode.INVALID_GROUP_ID),
        {"accepted": joined(0), "another error": joined(ErrorCode.UNKNOWN_MEMBER_ID)},
        {"DescribeGroups": described_as("Dead")},
    ),
    Sample(
        test_idempotence.test_each_call_gives_a_new_producer_id,
        5,
        "InitProducerId",
        producer_ids(itertools.count(7)),
        {
            "always the same": producer_ids(itertools.repeat(7)),
            "negative": producer_ids(itertools.count(-1)),
            "epoch 1": producer_ids(itertools.count(7), epoch=1),
        },
    ),
    Sample(
        test_group_admin.test_an_unknown_group_is_described_as_dead,
        6,
        "DescribeGroups",
        described_as("Dead", NOT_FOUND),
        {
            "as before version 6": described_as("Dead"),
            "empty": described_as("Empty", NOT_FOUND),
            "with a member": described_as("Dead", NOT_FOUND, members=1),
        },
    ),
    Sample(
        test_group_admin.test_an_unknown_group_is_described_as_dead,
        5,
        "DescribeGroups",
        described_as("Dead"),
        {"as from version 6": described_as("Dead", NOT_FOUND)},
    ),
    Sample(
        test_features.test_features_in_force_are_features_supported,
        3,
        "ApiVersions",
        features((7, 30), 30),
        {
            "a level not supported": features((7, 30), 31),
            "no epoch": features((7, 30), 30, -1),
            "level 0": features((0, 30), 0),
        },
    ),
    Sample(
        test_features.test_only_version_4_shows_features_that_begin_at_zero,
        3,
        "ApiVersions",
        features((7, 30), 30),
        {"shown in version 3": features_from_0_in_every_version},
    ),
    Sample(
        test_metadata.test_nobody_need_bootstrap_again,
        13,
        "Metadata",
        metadata_with(0),
        {
            "bootstrap again": metadata_with(ErrorCode.REBOOTSTRAP_REQUIRED),
            "no error": metadata_with(0, 0),
        },
    ),
]


def run(sample: Sample, answer: Answer) -> None:
    """Run the case against a fake that gives this answer."""
    kafka = FakeKafka({**sample.beside, sample.api: answer})
    wire = Wire(kafka.bootstrap, advertised_versions(kafka.bootstrap))
    try:
        sample.function(wire, sample.version)
    finally:
        wire.close()
        kafka.stop()


def name_of(sample: Sample) -> str:
    stated = case_of(sample.function)
    assert stated is not None
    return f"{stated.id}-v{sample.version}"


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_a_right_answer_passes(sample: Sample) -> None:
    run(sample, sample.right)


@pytest.mark.parametrize(
    ("sample", "wrong"),
    [(sample, wrong) for sample in SAMPLES for wrong in sample.wrong],
    ids=[f"{name_of(sample)}-{wrong}" for sample in SAMPLES for wrong in sample.wrong],
)
def test_a_wrong_answer_fails(sample: Sample, wrong: str) -> None:
    with pytest.raises(Deviation):
        run(sample, sample.wrong[wrong])
