"""Limit the connections of a broker: their number, on the whole and of each address, and how many
come per second.

Source: KIP-308 (max.connections.per.ip.overrides), KIP-402 (max.connections), KIP-612 (rates);
ConnectionQuotas.java, SocketServer.java (Acceptor). If the broker has no room for a connection, or
it comes too early for max.connection.creation.rate, it waits. If its address has no room for it, it
is closed. If it comes too early for the quota of its address, it is closed when it would be due.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import INT_MAX, split_list
from reference_impl.core.controller.image.client_quotas import IP, ClientQuotas, entity_of
from reference_impl.core.quotas.rate import Rate

CREATION_RATE = "connection_creation_rate"
LATEST_MS = 1000
"""The longest time for which a connection is kept waiting, or unclosed, by a rate: one sample
(maxThrottleTimeMs)."""
ADDRESSES_MAX = 10_000


@dataclass(frozen=True)
class Refusal:
    """The reason for which a new connection is closed, and the milliseconds after which it is."""

    reason: str
    after_ms: int = 0


class ConnectionLimits:
    """The connections that are open, and the limits that decide about the next one."""

    def __init__(self, config: Callable[[], BrokerConfig], quotas: ClientQuotas) -> None:
        """config: a function that returns the broker's configuration in force."""
        self._config = config
        self._quotas = quotas
        samples = config().number("quota.window.num")
        sample_ms = config().number("quota.window.size.seconds") * 1000
        self._new_rate = partial(Rate, samples, sample_ms)
        self._all = self._new_rate()
        self._of_address: dict[str, Rate] = {}
        self._open: Counter[str] = Counter()
        """Address -> the number of its connections."""

    def wait_ms(self, now_ms: int) -> float:
        """Return for how many milliseconds the next connection, from any address, must wait: 0 if
        there is room for it, infinity if another must be closed first, else at most LATEST_MS
        because of the rate."""
        if self._open.total() >= self._config().number("max.connections"):
            return math.inf
        limit = self._config().number("max.connection.creation.rate")
        return 0 if limit == INT_MAX else too_early_ms(self._all, limit, now_ms)

    def enter(self, address: str, now_ms: int) -> Refusal | None:
        """Count a connection of an address until it leaves, and return None, or return why it is
        refused. A refused connection counts only in the rates of new connections: in the broker's,
        and in its address's unless that rate refuses it."""
        self._all.record(1, now_ms)
        rate = self._rate_of(address)
        if rate is not None:
            account = self._of_address.get(address) or self._opened(address)
            if early_ms := too_early_ms(account, rate, now_ms):
                return Refusal(f"its address may make {rate:g} connections per second", early_ms)
            account.record(1, now_ms)
        limit = self._limit_of(address)
        if self._open[address] >= limit:
            return Refusal(f"its address already has the configured maximum of {limit} connections")
        self._open[address] += 1
        return None

    def leave(self, address: str) -> None:
        """Count one open connection fewer for this address."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]

    def _limit_of(self, address: str) -> int:
        for item in split_list(self._config().text("max.connections.per.ip.overrides")):
            name, _, limit = item.rpartition(":")
            if name.strip() == address:
                return int(limit)
        return self._config().number("max.connections.per.ip")

    def _rate_of(self, address: str) -> float | None:
        """Return the connections per second that the quota of this address, or else that of all
        addresses, allows; None without a quota."""
        for name in (address, None):
            limit = self._quotas.of(entity_of({IP: name})).get(CREATION_RATE)
            if limit is not None:
                return limit
        return None

    def _opened(self, address: str) -> Rate:
        """Return a new account of an address; drop the oldest if there are too many."""
        if len(self._of_address) >= ADDRESSES_MAX:
            del self._of_address[next(iter(self._of_address))]
        account = self._of_address[address] = self._new_rate()
        return account


def too_early_ms(account: Rate, limit: float, now_ms: int) -> int:
    """Return for how many milliseconds, at most LATEST_MS, one more connection would exceed the
    limit per second, or 0. Do not count that connection."""
    account.record(1, now_ms)
    rate, seconds = account.measure(now_ms)
    account.record(-1, now_ms)
    if rate <= limit:
        return 0
    wanted_ms = (rate - limit) / limit * seconds * 1000 if limit else LATEST_MS
    return max(1, min(LATEST_MS, round(wanted_ms)))
