"""How many connections a broker accepts, and when."""

from __future__ import annotations

import math

import pytest

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.controller.image.client_quotas import ClientQuotas, quota_record
from reference_impl.core.quotas.connections import CREATION_RATE, LATEST_MS, ConnectionLimits

HERE, THERE = "10.0.0.1", "10.0.0.2"


def limits(**given: str) -> ConnectionLimits:
    config = BrokerConfig.of({key.replace("_", "."): value for key, value in given.items()})
    return ConnectionLimits(lambda: config, ClientQuotas())


def rated(rate: float, address: str | None = HERE) -> ConnectionLimits:
    quotas = ClientQuotas()
    quotas.apply(quota_record((("ip", address),), CREATION_RATE, rate))
    config = BrokerConfig.of({})
    return ConnectionLimits(lambda: config, quotas)


def test_without_limits_everybody_comes_in() -> None:
    found = limits()
    assert all(found.wait_ms(0) == 0 and found.enter(HERE, 0) is None for _ in range(1000))


def test_an_address_has_no_more_connections_than_it_may() -> None:
    found = limits(max_connections_per_ip="2", max_connections_per_ip_overrides=f"{THERE}:1")
    assert [found.enter(HERE, 0) is None for _ in range(3)] == [True, True, False]
    assert [found.enter(THERE, 0) is None for _ in range(2)] == [True, False]
    found.leave(HERE)
    assert [found.enter(HERE, 0) is None for _ in range(2)] == [True, False]


def test_a_full_broker_lets_the_next_one_wait_until_one_leaves() -> None:
    found = limits(max_connections="2")
    for address in (HERE, THERE):
        assert found.wait_ms(0) == 0
        assert found.enter(address, 0) is None
    assert found.wait_ms(0) == math.inf
    found.leave(HERE)
    assert found.wait_ms(0) == 0


def test_connections_that_come_too_quickly_wait() -> None:
    found = limits(max_connection_creation_rate="1")
    entered = 0
    while not (wait_ms := found.wait_ms(0)):
        assert found.enter(HERE, 0) is None
        entered += 1
    assert 9 <= entered <= 11, "ten seconds' worth at once"
    assert 0 < wait_ms <= LATEST_MS
    assert found.wait_ms(11_001) == 0


@pytest.mark.parametrize("address", [HERE, None])
def test_an_address_that_connects_too_quickly_is_refused(address: str | None) -> None:
    found = rated(1.0, address)
    answers = [found.enter(HERE, 0) for _ in range(30)]
    refused = [answer for answer in answers if answer is not None]
    assert 18 <= len(refused) <= 21
    assert all(0 < refusal.after_ms <= LATEST_MS for refusal in refused)
    assert found.enter(THERE, 0) is None
    assert found.enter(HERE, 60_000) is None


def test_a_refused_connection_takes_no_place() -> None:
    found = limits(max_connections="2", max_connections_per_ip="1")
    assert found.enter(HERE, 0) is None
    assert found.enter(HERE, 0) is not None
    assert found.wait_ms(0) == 0
