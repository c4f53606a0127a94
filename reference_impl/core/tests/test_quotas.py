"""Quotas: how a rate is measured, who pays, and what a client over its quota gets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.core.controller.image.client_quotas import (
    CLIENT_ID,
    USER,
    ClientQuotas,
    quota_record,
)
from reference_impl.core.events import Request
from reference_impl.core.quotas.rate import Rate
from reference_impl.core.quotas.throttling import ACCOUNTS_MAX, Throttle, candidates
from reference_impl.core.security.principals import Principals
from reference_impl.core.tests.world import START_MS, World
from reference_impl.wire import ApiKey, ErrorCode, request_definition

SAMPLES, SAMPLE_MS = 11, 1000
WINDOW_MS = SAMPLES * SAMPLE_MS
LITTLE_OVER_TEN_SECONDS = 10.5
STEPS = st.lists(st.tuples(st.integers(0, 15_000), st.floats(0, 1e6, allow_nan=False)), max_size=40)


# --- the rate -------------------------------------------------------------------------------------


def test_the_first_that_passes_is_spread_over_ten_seconds() -> None:
    rate = Rate(SAMPLES, SAMPLE_MS)
    rate.record(1000, START_MS)
    assert rate.measure(START_MS) == (100, 10)
    assert rate.measure(START_MS + 500) == (1000 / 10.5, 10.5)


def test_one_sample_alone_is_measured_too() -> None:
    rate = Rate(1, SAMPLE_MS)
    rate.record(1, START_MS)
    assert rate.measure(START_MS) == (1000, 0.001)
    assert rate.measure(START_MS + SAMPLE_MS) == (0, 0.001)


def test_what_passed_long_ago_is_forgotten() -> None:
    rate = Rate(SAMPLES, SAMPLE_MS)
    rate.record(1000, START_MS)
    assert rate.measure(START_MS + WINDOW_MS - 1)[0] > 0
    assert rate.measure(START_MS + WINDOW_MS) == (0, 10)


def test_a_clock_that_goes_back_forgets_rather_than_throttles_for_ever() -> None:
    rate = Rate(SAMPLES, SAMPLE_MS)
    rate.record(1e9, START_MS)
    assert rate.measure(START_MS - 60_000) == (0, 10)


@given(STEPS)
def test_a_rate_is_what_the_window_holds_over_its_length(steps: list[tuple[int, float]]) -> None:
    """Never more than all that passed in the window and the sample before it, over ten seconds."""
    rate, now_ms, passed = Rate(SAMPLES, SAMPLE_MS), START_MS, []
    for wait_ms, amount in steps:
        now_ms += wait_ms
        rate.record(amount, now_ms)
        passed.append((now_ms, amount))
        per_second, seconds = rate.measure(now_ms)
        surely = sum(a for at, a in passed if now_ms - at < WINDOW_MS)
        perhaps = sum(a for at, a in passed if now_ms - at < WINDOW_MS + SAMPLE_MS)
        assert (SAMPLES - 1) * SAMPLE_MS <= seconds * 1000 <= WINDOW_MS + SAMPLE_MS
        assert surely - 1e-3 <= per_second * seconds <= perhaps + 1e-3


# --- who pays -------------------------------------------------------------------------------------


def throttle_with(*quotas: tuple[dict[str, str | None], float]) -> Throttle:
    image = ClientQuotas()
    for entity, limit in quotas:
        image.apply(quota_record(tuple(sorted(entity.items())), "producer_byte_rate", limit))
    principals = Principals()
    principals.authenticated(1, "User:ann")
    principals.authenticated(2, "User:bob")
    return Throttle("producer_byte_rate", image, principals, SAMPLES, SAMPLE_MS)


def request_of(connection: int, client_id: str | None = "app") -> Request:
    body = request_definition(ApiKey.METADATA).new()
    return Request(connection, ApiKey.METADATA, 12, 1, client_id, "/1.2.3.4", body)


def test_the_order_in_which_quotas_are_looked_for() -> None:
    assert [dict(entity) for entity, _ in candidates("ann", "app")] == [
        {USER: "ann", CLIENT_ID: "app"},
        {USER: "ann", CLIENT_ID: None},
        {USER: "ann"},
        {USER: None, CLIENT_ID: "app"},
        {USER: None, CLIENT_ID: None},
        {USER: None},
        {CLIENT_ID: "app"},
        {CLIENT_ID: None},
    ]


def test_a_default_gives_everybody_an_account_of_its_own() -> None:
    throttle = throttle_with(({USER: None}, 100))
    assert throttle.spend(request_of(1), 2000, START_MS) == 10_000
    assert throttle.spend(request_of(2), 900, START_MS) == 0
    assert throttle.spend(request_of(1, "another"), 1, START_MS) > 10_000, "the same user"


def test_the_time_to_wait_brings_the_rate_back_to_the_limit() -> None:
    throttle = throttle_with(({CLIENT_ID: "app"}, 100))
    assert throttle.spend(request_of(1), 1000, START_MS) == 0
    wait_ms = throttle.spend(request_of(1), 50, START_MS)
    assert wait_ms == 500
    assert throttle.spend(request_of(1), 0, START_MS + wait_ms) == 0
    assert throttle.spend(request_of(1), 1, START_MS + wait_ms) > 0
    throttle.take_back(request_of(1), 1, START_MS + wait_ms)
    assert throttle.spend(request_of(1), 0, START_MS + wait_ms) == 0


def test_without_a_quota_nothing_is_counted() -> None:
    throttle = throttle_with(({USER: "ann"}, 100))
    assert throttle.spend(request_of(2), 1e12, START_MS) == 0
    assert throttle.most_at_once(request_of(2)) is None
    assert throttle.most_at_once(request_of(1)) == 1000


@pytest.mark.parametrize("limit", [0.0, -5.0])
def test_a_quota_of_nothing_waits_for_ever_but_in_bounds(limit: float) -> None:
    throttle = throttle_with(({USER: "ann"}, limit))
    assert throttle.spend(request_of(1), 1, START_MS) == 2**31 - 1


def test_many_names_do_not_take_more_and_more_memory() -> None:
    throttle = throttle_with(({CLIENT_ID: None}, 100))
    for number in range(ACCOUNTS_MAX + 50):
        throttle.spend(request_of(1, f"client-{number}"), 1, START_MS)
    assert len(throttle._accounts) == ACCOUNTS_MAX


# --- in a broker ----------------------------------------------------------------------------------


class QuotaWorld(World):
    """A World with a topic `t`, and quotas for the client id `test`."""

    def __init__(self) -> None:
        super().__init__()
        self.create_topic("t")

    def set_quota(self, key: str, value: float | None, validate_only: bool = False) -> int:
        of = request_definition(ApiKey.ALTER_CLIENT_QUOTAS)
        entry = of.struct(
            "EntryData",
            entity=[of.struct("EntityData", entity_type=CLIENT_ID, entity_name="test")],
            ops=[of.struct("OpData", key=key, value=value or 0.0, remove=value is None)],
        )
        answer = self.call(
            ApiKey.ALTER_CLIENT_QUOTAS, 1, entries=[entry], validate_only=validate_only
        )
        return int(answer.entries[0].error_code)

    def throttle_of_produce(self, size_bytes: int, acks: int = 1) -> int:
        body = self.produce_body("t", self.batch("a"), acks=acks)
        self.trace.clear()
        self.send(ApiKey.PRODUCE, 9, body, size_bytes=size_bytes)
        (effect,) = [text for text in self.trace if text.startswith(("Respond", "Release"))]
        return int(effect.rpartition("throttle_ms=")[2].rstrip(")"))

    def produce_two(self) -> int:
        """Produce two batches and return the size of one."""
        for _ in range(2):
            self.produce("t", "x" * 5000)
        return len(self.batch("x" * 5000))

    def fetch_all(self, **fields: Any) -> Any:
        return self.ask(ApiKey.FETCH, 12, self.fetch_body("t", **fields))


@pytest.mark.parametrize("acks", [0, 1])
def test_a_producer_is_muted_by_its_answer_or_its_release(acks: int) -> None:
    world = QuotaWorld()
    assert world.set_quota("producer_byte_rate", 100) == ErrorCode.NONE
    assert world.throttle_of_produce(1000, acks) == 0
    assert world.throttle_of_produce(1000, acks) == 10_000
    assert world.read_all("t") == ["a", "a"], "it is appended all the same"
    assert world.set_quota("producer_byte_rate", None) == ErrorCode.NONE
    assert world.throttle_of_produce(1000, acks) == 0


def test_a_consumer_gets_nothing_and_loses_nothing() -> None:
    world = QuotaWorld()
    size = world.produce_two()
    world.set_quota("consumer_byte_rate", 2 * size // LITTLE_OVER_TEN_SECONDS)
    first = world.fetch_all(session_id=0, session_epoch=0)
    assert len(first.responses[0].partitions[0].records) == size, "ten seconds' worth at once"
    second = world.fetch_all(offset=1, session_id=0, session_epoch=0)
    assert second.throttle_time_ms > 0
    assert (second.session_id, second.responses) == (0, [])
    world.wait(second.throttle_time_ms)
    third = world.fetch_all(offset=1, session_id=first.session_id, session_epoch=1)
    assert third.throttle_time_ms == 0
    assert len(third.responses[0].partitions[0].records) == size


def test_a_throttled_fetch_of_a_session_leaves_the_session_as_it_is() -> None:
    world = QuotaWorld()
    first = world.fetch_all(session_id=0, session_epoch=0)
    size = world.produce_two()
    world.set_quota("consumer_byte_rate", 2 * size // LITTLE_OVER_TEN_SECONDS)

    def incremental(epoch: int, offset: int) -> Any:
        return world.fetch_all(offset=offset, session_id=first.session_id, session_epoch=epoch)

    assert incremental(1, 0).throttle_time_ms == 0
    throttled = incremental(2, 1)
    assert throttled.throttle_time_ms > 0
    assert (throttled.session_id, throttled.responses) == (first.session_id, [])
    world.wait(throttled.throttle_time_ms)
    assert incremental(3, 1).responses[0].partitions[0].records


def test_what_is_not_enforced_is_not_accepted() -> None:
    world = QuotaWorld()
    for key in ("request_percentage", "controller_mutation_rate", "no_such_key"):
        assert world.set_quota(key, 1.0) == ErrorCode.INVALID_REQUEST
    assert world.set_quota("producer_byte_rate", 1, validate_only=True) == ErrorCode.NONE
    assert list(world.node.broker.image.client_quotas) == []


def test_of_an_entity_named_twice_the_first_entry_counts_and_the_last_is_answered() -> None:
    world, of = QuotaWorld(), request_definition(ApiKey.ALTER_CLIENT_QUOTAS)
    entries = [
        of.struct(
            "EntryData",
            entity=[of.struct("EntityData", entity_type=CLIENT_ID, entity_name=name)],
            ops=[of.struct("OpData", key="producer_byte_rate", value=value)],
        )
        for name, value in (("a", 5.0), ("b", 6.0), ("a", 7.0))
    ]
    answer = world.call(ApiKey.ALTER_CLIENT_QUOTAS, 1, entries=entries)
    assert [row.error_code for row in answer.entries] == [ErrorCode.INVALID_REQUEST, 0]
    quotas = world.node.broker.image.client_quotas
    assert [dict(values) for _, values in quotas] == [
        {"producer_byte_rate": 5.0},
        {"producer_byte_rate": 6.0},
    ]


@pytest.mark.parametrize("value", [0.0, -0.0, -1.0, 0.5, 0.9999999, 1e300, float("nan")])
def test_a_rate_in_bytes_is_a_whole_number_above_zero(value: float) -> None:
    world = QuotaWorld()
    for key in ("producer_byte_rate", "consumer_byte_rate"):
        assert world.set_quota(key, value) == ErrorCode.INVALID_REQUEST
        assert world.set_quota(key, 1.0000001) == ErrorCode.NONE


def test_quotas_are_in_force_after_a_restart() -> None:
    world = QuotaWorld()
    world.set_quota("producer_byte_rate", 100)
    world.kill()
    assert world.throttle_of_produce(2000) == 10_000
