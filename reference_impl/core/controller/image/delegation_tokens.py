"""Delegation tokens, as the metadata log has them.

Source: KIP-48, KIP-373 (owner and requester may differ), KIP-900; DelegationTokenRecord,
RemoveDelegationTokenRecord; DelegationTokenImage.java. The log does not hold the HMAC that proves a
token: it is computed from the id and `delegation.token.secret.key`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from sys import intern

from reference_impl.wire import Struct, definition


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """One token. Principals are written as `User:NAME`."""

    token_id: str
    owner: str
    """The principal that a client becomes by this token."""
    requester: str
    """The principal that asked for the token."""
    renewers: tuple[str, ...]
    issue_ms: int
    max_ms: int
    """The time in milliseconds beyond which no renewal moves the expiry."""
    expiry_ms: int

    @property
    def principals(self) -> tuple[str, ...]:
        """Return the principals that may see the token: its owner, its requester and its
        renewers."""
        return (self.owner, self.requester, *self.renewers)

    def is_managed_by(self, principal: str) -> bool:
        """Return whether this principal may renew and expire the token: its owner and its renewers
        may, its requester may not."""
        return principal == self.owner or principal in self.renewers

    def is_expired(self, now_ms: int) -> bool:
        """Return whether the token's time is over, although its record may still be there."""
        return self.expiry_ms < now_ms or self.max_ms < now_ms

    def to_record(self) -> Struct:
        """Return the record that creates the token, or moves its expiry."""
        return definition("DelegationTokenRecord").new(
            owner=self.owner,
            requester=self.requester,
            renewers=list(self.renewers),
            issue_timestamp=self.issue_ms,
            max_timestamp=self.max_ms,
            expiration_timestamp=self.expiry_ms,
            token_id=self.token_id,
        )


def removal_record(token_id: str) -> Struct:
    """Return the record that ends a token."""
    return definition("RemoveDelegationTokenRecord").new(token_id=token_id)


class DelegationTokens:
    """All tokens of the cluster, by their ids."""

    def __init__(self) -> None:
        self._by_id: dict[str, DelegationToken] = {}

    def __iter__(self) -> Iterator[DelegationToken]:
        return iter(self._by_id.values())

    def get(self, token_id: str) -> DelegationToken | None:
        """Return the token with this id, or None."""
        return self._by_id.get(token_id)

    def set(self, record: Struct) -> None:
        """Apply a DelegationTokenRecord: a new token, or another expiry of a known one."""
        self._by_id[record.token_id] = DelegationToken(
            record.token_id,
            record.owner,
            record.requester,
            # Equal names share their memory: a request may name one renewer 140,000 times.
            tuple(map(intern, record.renewers)),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )

    def remove(self, record: Struct) -> None:
        """Apply a RemoveDelegationTokenRecord; do nothing for an unknown token."""
        self._by_id.pop(record.token_id, None)
