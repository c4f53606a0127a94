"""Test that the table of outcomes is cautious and complete, and agrees with the error codes of the
wire protocol."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from chaos.record.outcomes import (
    BY_ERROR,
    TABLE,
    Certainty,
    begin_outcome,
    end_outcome,
    list_markdown,
    read_outcome,
    send_outcome,
)
from chaos.values.protocols import Outcome
from reference_impl.wire import ERRORS, ErrorCode


def test_no_error_is_ok() -> None:
    assert {f(None) for f in (send_outcome, end_outcome, begin_outcome, read_outcome)} == {
        Outcome.OK
    }


@pytest.mark.parametrize(
    "error", ["REQUEST_TIMED_OUT", "_MSG_TIMED_OUT", "_TRANSPORT", "_NEVER_HEARD_OF"]
)
def test_a_silence_or_an_unknown_error_proves_nothing(error: str) -> None:
    assert send_outcome(error, single_attempt=True) is Outcome.INFO
    assert end_outcome(error, single_attempt=True) is Outcome.INFO


def test_a_refusal_of_one_attempt_proves_nothing_where_the_client_may_have_retried() -> None:
    assert send_outcome("NOT_ENOUGH_REPLICAS") is Outcome.INFO
    assert send_outcome("NOT_ENOUGH_REPLICAS", single_attempt=True) is Outcome.FAIL


def test_a_refusal_of_the_records_themselves_holds_for_every_attempt() -> None:
    assert send_outcome("MESSAGE_TOO_LARGE") is Outcome.FAIL


def test_a_fenced_commit_is_unknown() -> None:
    """The coordinator may have committed before it fenced (guarantees: even fenced, is unknown)."""
    for error in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "_FENCED", "INVALID_TXN_STATE"):
        assert end_outcome(error, single_attempt=True) is Outcome.INFO


def test_purged_in_flight_and_purged_in_the_queue_differ_only_for_a_first_attempt() -> None:
    assert send_outcome("_PURGE_INFLIGHT", single_attempt=True) is Outcome.INFO
    assert send_outcome("_PURGE_QUEUE", single_attempt=True) is Outcome.FAIL
    assert send_outcome("_PURGE_QUEUE") is Outcome.INFO


def test_a_poll_that_delivered_nothing_failed_for_certain() -> None:
    assert read_outcome("_TRANSPORT") is Outcome.FAIL


def test_every_row_names_an_error_that_exists_once_and_gives_a_reason() -> None:
    kafka = {code.name for code in ErrorCode}
    for row in TABLE:
        known = hasattr(KafkaError, row.error) if row.error[0] == "_" else row.error in kafka
        assert known, row.error
        assert row.reason
    assert len(BY_ERROR) == len(TABLE)


def test_what_is_certain_here_is_definite_in_the_wire_table() -> None:
    definite = {info.name for info in ERRORS.values() if info.definite}
    certain = {
        row.error for row in TABLE if row.send is not Certainty.NEVER and row.error[0] != "_"
    }
    assert certain <= definite


def test_the_table_prints() -> None:
    assert "| `_MSG_TIMED_OUT` | never | never |" in list_markdown()
