"""Hold clients to their quotas: which clients share a limit, and how long they wait beyond it.

Source: KIP-13, KIP-55 (users), KIP-219 (answer first, then mute); ClientQuotaManager.java,
QuotaUtils.java. The first of these entities that has a quota decides. A default quota gives each
client that it applies to an account of its own:

    user and client id, user and default client id, user,
    default user and client id, both defaults, default user,
    client id, default client id
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import INT_MAX
from reference_impl.core.controller.image.client_quotas import (
    CLIENT_ID,
    USER,
    ClientQuotas,
    Entity,
    entity_of,
)
from reference_impl.core.events import Request
from reference_impl.core.quotas.rate import Rate
from reference_impl.core.security.principals import Principals

PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"
ACCOUNTS_MAX = 10_000
LEAST_LIMIT = 1e-9
"""The limit used instead of 0, since one cannot divide by 0. (A quota of 0 lets nothing pass.)"""
Payer = tuple[str | None, str | None]
"""The (user, client id) whose amounts are counted together. None for a part that the quota entity
does not contain."""


@dataclass(slots=True)
class Account:
    """The measured rate of a quota entity, and its limit per second."""

    rate: Rate
    limit: float = 0.0


class Throttle:
    """One quota of clients: bytes produced per second, or bytes fetched."""

    def __init__(
        self, key: str, quotas: ClientQuotas, principals: Principals, samples: int, sample_ms: int
    ) -> None:
        self._key = key
        self._quotas = quotas
        self._principals = principals
        self._samples, self._sample_ms = samples, sample_ms
        self._accounts: dict[Payer, Account] = {}
        self._version = quotas.version
        self._is_on = quotas.has(key)

    def spend(self, request: Request, amount: float, now_ms: int) -> int:
        """Count an amount. Return for how many milliseconds the client must wait until its mean is
        within the quota: 0 if it is already, or if no quota applies."""
        account = self._account(request)
        if account is None:
            return 0
        account.rate.record(amount, now_ms)
        rate, seconds = account.rate.measure(now_ms)
        if rate <= account.limit:
            return 0
        limit = max(account.limit, LEAST_LIMIT)
        return min(INT_MAX, round((rate - limit) / limit * seconds * 1000))

    def take_back(self, request: Request, amount: float, now_ms: int) -> None:
        """Take back an amount that the client did not get after all."""
        account = self._account(request)
        if account is not None:
            account.rate.record(-amount, now_ms)

    def most_at_once(self, request: Request) -> float | None:
        """Return the largest amount that can be within the quota, which it is only after a long
        silence; None without a quota."""
        account = self._account(request)
        if account is None:
            return None
        return account.limit * (self._samples - 1) * self._sample_ms / 1000

    def _account(self, request: Request) -> Account | None:
        """Return the account of the client, with its current limit, or None if no quota applies."""
        if self._version != self._quotas.version:
            self._version = self._quotas.version
            self._is_on = self._quotas.has(self._key)
        if not self._is_on:
            return None
        user = self._principals.of(request.connection).removeprefix("User:")
        for entity, payer in candidates(user, request.client_id or ""):
            limit = self._quotas.of(entity).get(self._key)
            if limit is not None:
                account = self._accounts.get(payer) or self._opened(payer)
                account.limit = limit
                return account
        return None

    def _opened(self, payer: Payer) -> Account:
        """Return a new account of this payer. If there are ACCOUNTS_MAX, drop the oldest: a client
        can invent as many names as it likes."""
        if len(self._accounts) >= ACCOUNTS_MAX:
            del self._accounts[next(iter(self._accounts))]
        account = self._accounts[payer] = Account(Rate(self._samples, self._sample_ms))
        return account


class Throttles:
    """The quotas that a broker enforces."""

    def __init__(self, config: BrokerConfig, quotas: ClientQuotas, principals: Principals) -> None:
        samples = config.number("quota.window.num")
        sample_ms = config.number("quota.window.size.seconds") * 1000
        self.produced = Throttle(PRODUCER_BYTE_RATE, quotas, principals, samples, sample_ms)
        self.fetched = Throttle(CONSUMER_BYTE_RATE, quotas, principals, samples, sample_ms)


def candidates(user: str, client_id: str) -> Iterator[tuple[Entity, Payer]]:
    """Yield every quota entity that matches a client, in the order in which they decide, with the
    payer whose amounts it limits together."""
    for a_user in (user, None):
        for a_client in (client_id, None):
            yield entity_of({USER: a_user, CLIENT_ID: a_client}), (user, client_id)
        yield entity_of({USER: a_user}), (user, None)
    for a_client in (client_id, None):
        yield entity_of({CLIENT_ID: a_client}), (None, client_id)
