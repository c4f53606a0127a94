"""Delegation tokens: an authenticated user lets clients without a password act in its name.

    secret key of the brokers, token id  --HmacSHA512-->  HMAC, which is the token's password

The owner hands id and HMAC to its workers. A worker authenticates by SCRAM with the extension
`tokenauth=true`; the id is the user name and the HMAC (in base 64) the password. It then has the
owner's principal, except that it cannot create or manage tokens. The HMAC is stored nowhere, and a
new secret key on all brokers invalidates every token.

Source: KIP-48, KIP-373; DelegationTokenControlManager.java, DelegationTokenManager.java,
DelegationTokenCache.java.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.controller.image.delegation_tokens import DelegationToken, removal_record
from reference_impl.core.controller.metadata_log import MetadataLog
from reference_impl.core.log.directories.data_directory import uuid_text
from reference_impl.core.moment import Moment
from reference_impl.core.refused import Refused
from reference_impl.core.security.sasl.scram import (
    ITERATIONS_MIN,
    SCRAM_MECHANISMS,
    Credential,
    ScramMechanism,
    TokenLogin,
    credential_of,
)
from reference_impl.wire import ErrorCode, Struct

SECRET_KEY = "delegation.token.secret.key"
LONG_MAX = 2**63 - 1
REMOVED_AT_ONCE = 1000
"""How many expired tokens one batch of records removes."""
_SALT_BYTES = 16


class Tokens:
    """Creates, finds, renews and ends the delegation tokens of the cluster."""

    def __init__(
        self, metadata: MetadataLog, moment: Moment, config: Callable[[], BrokerConfig]
    ) -> None:
        self._metadata, self._moment, self._config = metadata, moment, config
        self._secret = config().text(SECRET_KEY).encode()
        self._ids_by_hmac: dict[bytes, str] = {}
        self._credentials: dict[tuple[str, str], Credential] = {}
        """What SCRAM needs of a token, by (token id, mechanism): made at its first login."""
        if self.are_enabled:
            for token in metadata.image.delegation_tokens:
                self._ids_by_hmac[self.hmac_of(token.token_id)] = token.token_id

    @property
    def are_enabled(self) -> bool:
        """Return whether a secret key is configured."""
        return bool(self._secret)

    def hmac_of(self, token_id: str) -> bytes:
        """Return the HMAC by which a client proves that it has the token."""
        return hmac.digest(self._secret, token_id.encode(), "sha512")

    # --- questions ----------------------------------------------------------------------------

    def check_enabled(self) -> None:
        """Raise Refused where no secret key is set."""
        if not self.are_enabled:
            raise Refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)

    def proven_by(self, proof: bytes) -> DelegationToken:
        """Return the token that this HMAC belongs to; raise Refused if there is none."""
        self.check_enabled()
        token = self._metadata.image.delegation_tokens.get(self._ids_by_hmac.get(proof, ""))
        if token is None:
            raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return token

    def check_manager(self, token: DelegationToken, principal: str) -> None:
        """Raise Refused unless this principal may renew and expire the token."""
        if not token.is_managed_by(principal):
            raise Refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)

    def check_alive(self, token: DelegationToken) -> None:
        """Raise Refused if the token's time is over, whether or not it is removed yet."""
        if token.is_expired(self._moment.now_ms):
            raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)

    def login(self, token_id: str, mechanism: ScramMechanism) -> TokenLogin | None:
        """Return owner, expiry and SCRAM credential of the token with this id, or None.

        An expired token that is not removed yet is found, too: its session ends as it begins.
        """
        token = self._metadata.image.delegation_tokens.get(token_id)
        if token is None or not self.are_enabled:
            return None
        key = token_id, mechanism.name
        if key not in self._credentials:
            password, salt = self.hmac_of(token_id), self._moment.random_bytes(_SALT_BYTES)
            salted = hashlib.pbkdf2_hmac(
                mechanism.hash, base64.b64encode(password), salt, ITERATIONS_MIN
            )
            self._credentials[key] = credential_of(mechanism, salt, ITERATIONS_MIN, salted)
        owner = token.owner.partition(":")[2]
        return TokenLogin(owner, token.expiry_ms, self._credentials[key])

    # --- changes ------------------------------------------------------------------------------

    def create(
        self, owner: str, requester: str, renewers: Sequence[str], max_lifetime_ms: int
    ) -> DelegationToken:
        """Create a token. max_lifetime_ms is cut to the broker's own, which 0 and negative numbers
        stand for."""
        now_ms = self._moment.now_ms
        max_ms = now_ms + self._within("delegation.token.max.lifetime.ms", max_lifetime_ms)
        expiry_ms = now_ms + self._config().number("delegation.token.expiry.time.ms")
        token = DelegationToken(
            self._new_id(),
            owner,
            requester,
            tuple(renewers),
            now_ms,
            min(max_ms, LONG_MAX),
            min(expiry_ms, max_ms, LONG_MAX),
        )
        self._write([token.to_record()])
        self._ids_by_hmac[self.hmac_of(token.token_id)] = token.token_id
        return token

    def renew(self, token: DelegationToken, period_ms: int) -> int:
        """Move the expiry to this period from now, within the broker's bound, and return it."""
        return self.move_expiry(token, self._within("delegation.token.expiry.time.ms", period_ms))

    def move_expiry(self, token: DelegationToken, period_ms: int) -> int:
        """Move the expiry to this period from now, within the token's lifetime, and return it."""
        expiry_ms = min(token.max_ms, self._moment.now_ms + period_ms)
        self._metadata.append(
            [replace(token, expiry_ms=expiry_ms).to_record()], self._moment.now_ms
        )
        return expiry_ms

    def remove(self, tokens: Sequence[DelegationToken]) -> None:
        """Remove these tokens now. Sessions that began by one go on to their end."""
        self._metadata.append(
            [removal_record(token.token_id) for token in tokens], self._moment.now_ms
        )
        for token in tokens:
            self._ids_by_hmac.pop(self.hmac_of(token.token_id), None)
            for mechanism in SCRAM_MECHANISMS:
                self._credentials.pop((token.token_id, mechanism), None)

    def sweep(self) -> bool:
        """Remove expired tokens, REMOVED_AT_ONCE at most; return whether there are more."""
        now_ms = self._moment.now_ms
        over = [t for t in self._metadata.image.delegation_tokens if t.is_expired(now_ms)]
        if over:
            self.remove(over[:REMOVED_AT_ONCE])
        return len(over) > REMOVED_AT_ONCE

    # --- inside -------------------------------------------------------------------------------

    def _within(self, bound: str, wanted_ms: int) -> int:
        bound_ms = self._config().number(bound)
        return min(bound_ms, wanted_ms) if wanted_ms > 0 else bound_ms

    def _write(self, records: Sequence[Struct]) -> None:
        self._metadata.append(records, self._moment.now_ms)

    def _new_id(self) -> str:
        """Return a new id in Kafka's form; none begins like an option (Uuid.randomUuid)."""
        while (token_id := uuid_text(self._moment.random_uuid())).startswith("-"):
            continue
        return token_id


def time_beside(refused: Refused) -> int:
    """Return the expiry that stands beside an error: -1 where the broker refused that was asked, 0
    where the controller did that decides (KafkaApis.scala, ControllerApis.scala)."""
    return -1 if refused.code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED else 0
