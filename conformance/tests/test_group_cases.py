"""The cases of groups, held against a broker that lies: each passes on the reference broker, and
fails once one field of its answers is changed, or the settings it asks for are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from conformance.case import Deviation, case_of
from conformance.cases.groups import test_limits
from conformance.cases.groups8 import (
    test_assignors,
    test_describe,
    test_epochs,
    test_joining,
    test_migration,
    test_offsets,
    test_reconciliation,
    test_regex,
    test_static_members,
)
from conformance.cases.offsets import test_expiry
from conformance.cases.transactions import test_offset_refusals
from conformance.connection import Connection
from conformance.target.examination import Examined
from conformance.tests.fake import piece
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode, Struct

Lie = Callable[[Struct], None]
PATIENCE_S = 1.0  # how long a case waits for what a lie keeps from it; by default 20 s
HEARTBEAT = "ConsumerGroupHeartbeat"


def no_error(answer: Struct) -> None:
    """Make whatever was refused look accepted."""
    answer.error_code = ErrorCode.NONE


def fenced(answer: Struct) -> None:
    """Refuse a sender that says that it is a member already."""
    if answer.member_epoch > 0:
        answer.error_code = ErrorCode.FENCED_MEMBER_EPOCH


def no_assignment(answer: Struct) -> None:
    """Leave out every assignment."""
    answer.assignment = None


def no_end_of_telling(answer: Struct) -> None:
    """Put an assignment into every answer."""
    if answer.assignment is None:
        answer.assignment = piece(HEARTBEAT, "Assignment")


def everything(answer: Struct) -> None:
    """Everybody is given the first four partitions of its topics."""
    for topic in answer.assignment.topic_partitions if answer.assignment else ():
        topic.partitions = [0, 1, 2, 3]


def same_epoch(answer: Struct) -> None:
    """Never move the epoch."""
    answer.member_epoch = min(answer.member_epoch, 1)


def rows(name: str, **changed: Any) -> Lie:
    """Return a lie by which every entry of a list in the answer has these fields."""

    def lie(answer: Struct) -> None:
        for row in getattr(answer, name):
            for key, value in changed.items():
                setattr(row, key, value)

    lie.__name__ = "-".join(changed)
    return lie


def no_partition_error(answer: Struct) -> None:
    """Make every refused commit look committed."""
    for topic in answer.topics:
        rows("partitions", error_code=ErrorCode.NONE)(topic)


def rebalancing(answer: Struct) -> None:
    """Begin a rebalance without waiting for the session of a member that went away."""
    answer.error_code = ErrorCode.REBALANCE_IN_PROGRESS


@dataclass(frozen=True)
class Trial:
    """A case, its arguments, and what is done to the answers of one API; lie None: it runs without
    the settings that it asks for."""

    function: Any
    version: int = 1
    api: str = HEARTBEAT
    lie: Lie | None = None

    def __str__(self) -> str:
        stated = case_of(self.function)
        lie = self.lie.__name__ if self.lie else "without-settings"
        return f"{stated.id if stated else ''}-{self.function.__name__[5:40]}-{lie}"


def heartbeat_trials() -> Iterator[Trial]:
    """Lies in the answers to ConsumerGroupHeartbeat."""
    for lie, functions in {
        no_error: [
            test_joining.test_an_unknown_assignor_is_refused,
            test_epochs.test_an_epoch_of_the_future_is_fenced,
            test_epochs.test_an_epoch_of_the_past_is_fenced,
            test_epochs.test_a_stranger_is_unknown,
            test_static_members.test_an_instance_in_use_is_not_replaced,
            test_static_members.test_the_old_member_id_of_an_instance_is_fenced,
        ],
        fenced: [
            test_epochs.test_a_lost_answer_is_given_again,
            test_epochs.test_a_known_member_may_join_again,
            test_migration.test_an_empty_classic_group_is_upgraded,
        ],
        no_assignment: [
            test_joining.test_a_first_member_is_given_every_partition,
            test_epochs.test_a_full_heartbeat_is_told_the_assignment,
            test_regex.test_matching_topics_are_assigned,
            test_static_members.test_an_instance_that_comes_back_keeps_its_partitions,
            test_migration.test_a_classic_group_is_upgraded_while_it_lives,
        ],
        no_end_of_telling: [test_epochs.test_an_unchanged_assignment_is_not_told_again],
        everything: [
            test_epochs.test_what_a_leaver_owned_goes_to_the_others,
            test_reconciliation.test_a_partition_is_given_away_only_after_its_revocation,
            test_reconciliation.test_who_keeps_its_partitions_keeps_them,
            test_assignors.test_range_gives_contiguous_partitions,
            test_assignors.test_uniform_heeds_different_subscriptions,
        ],
        same_epoch: [
            test_reconciliation.test_new_partitions_are_assigned,
            test_reconciliation.test_a_topic_may_be_made_after_the_subscription,
            test_epochs.test_a_group_which_all_have_left_is_empty,
        ],
    }.items():
        yield from (Trial(function, lie=lie) for function in functions)


TRIALS = [
    *heartbeat_trials(),
    Trial(test_offsets.test_a_member_commits_in_its_epoch, 9, "OffsetCommit", no_partition_error),
    Trial(test_offsets.test_strangers_do_not_commit, 9, "OffsetCommit", no_partition_error),
    Trial(
        test_offsets.test_an_older_epoch_commits_what_it_owned_already,
        10,
        "OffsetCommit",
        no_partition_error,
    ),
    Trial(test_offsets.test_old_commits_are_unsupported, 8, "OffsetCommit", no_partition_error),
    Trial(
        test_offsets.test_a_member_fetches_in_its_epoch,
        9,
        "OffsetFetch",
        rows("groups", error_code=ErrorCode.NONE),
    ),
    Trial(
        test_describe.test_a_stable_group_is_described,
        1,
        "ConsumerGroupDescribe",
        rows("groups", assignor_name="uniform"),
    ),
    Trial(
        test_describe.test_what_is_no_consumer_group_is_not_found,
        1,
        "ConsumerGroupDescribe",
        rows("groups", error_code=ErrorCode.NONE),
    ),
    Trial(
        test_describe.test_only_an_empty_group_is_deleted,
        2,
        "DeleteGroups",
        rows("results", error_code=ErrorCode.NONE),
    ),
    Trial(
        test_expiry.test_the_empty_group_id_may_commit,
        9,
        "OffsetCommit",
        rows("topics", partitions=[]),
    ),
    Trial(
        test_limits.test_a_static_member_may_be_away_for_its_session_timeout,
        9,
        "Heartbeat",
        rebalancing,
    ),
    Trial(
        test_offset_refusals.test_a_member_commits_in_its_generation,
        3,
        "TxnOffsetCommit",
        no_partition_error,
    ),
    Trial(
        test_offset_refusals.test_a_fenced_instance_commits_nothing,
        3,
        "TxnOffsetCommit",
        no_partition_error,
    ),
    Trial(
        test_offset_refusals.test_a_stale_member_epoch_commits_nothing,
        3,
        "TxnOffsetCommit",
        no_partition_error,
    ),
]
SLOW = (test_limits.test_a_static_member_may_be_away_for_its_session_timeout,)  # six seconds
WITHOUT_SETTINGS = [
    Trial(test_joining.test_a_full_group_takes_no_more),
    Trial(test_epochs.test_a_silent_member_is_removed),
    Trial(test_migration.test_the_upgrade_may_be_forbidden),
    Trial(test_migration.test_the_new_protocol_may_be_switched_off),
    Trial(test_migration.test_mixing_may_be_forbidden, 9),
    Trial(test_limits.test_a_full_group_takes_no_more, 9),
    Trial(test_limits.test_an_empty_group_waits_for_more_members, 9),
    Trial(test_expiry.test_offsets_of_an_empty_group_expire, 4),
    Trial(test_expiry.test_offsets_of_a_subscribed_topic_are_kept, 4),
]


@pytest.fixture(scope="module")
def reference() -> Iterator[Examined]:
    """Start the reference broker, quicker with new targets than by default."""
    settings = {"group.consumer.assignment.interval.ms": "0", "offsets.topic.num.partitions": "4"}
    examined = Examined.start("reference", None, None, None, settings)
    yield examined
    examined.stop()


@pytest.fixture
def wire(reference: Examined) -> Iterator[Wire]:
    """Provide a raw client."""
    client = Wire(reference.bootstrap, reference.advertised)
    yield client
    client.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that do not wait long."""
    monkeypatch.setattr(eventually, "__defaults__", (PATIENCE_S,))


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_a_lie_fails_the_case(trial: Trial, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    receive, lie = Connection.receive, trial.lie
    assert lie is not None

    def lying(connection: Connection, api: str, *more: Any) -> tuple[int, Struct]:
        correlation_id, answer = receive(connection, api, *more)
        if api == trial.api:
            lie(answer)
        return correlation_id, answer

    with monkeypatch.context() as lies:
        lies.setattr(Connection, "receive", lying)
        with pytest.raises(Deviation):
            trial.function(wire, trial.version)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("trial", WITHOUT_SETTINGS, ids=str)
def test_a_case_that_asks_for_settings_fails_without_them(trial: Trial, wire: Wire) -> None:
    with pytest.raises(Deviation):
        trial.function(wire, trial.version)


@pytest.mark.parametrize("trial", [t for t in TRIALS if t.function not in SLOW], ids=str)
def test_the_truth_passes(trial: Trial, wire: Wire) -> None:
    trial.function(wire, trial.version)
