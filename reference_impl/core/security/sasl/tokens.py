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
from collections.abc import Iterable

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.controller.image.delegation_tokens import DelegationToken, DelegationTokens
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
from reference_impl.wire import ErrorCode

SECRET_KEY = "delegation.token.secret.key"
_SALT_BYTES = 16


class Tokens:
    """Finds the delegation tokens of the cluster, and checks proofs of them."""

    def __init__(self, tokens: DelegationTokens, moment: Moment, config: BrokerConfig) -> None:
        self._tokens, self._moment = tokens, moment
        self._secret = config.text(SECRET_KEY).encode()
        self._ids_by_hmac: dict[bytes, str] = {}
        self._credentials: dict[tuple[str, str], Credential] = {}
        """(token id, mechanism) -> the SCRAM credential of the token, made at its first login."""

    def changed(self, token_ids: Iterable[str]) -> None:
        """Update the index from HMACs to tokens: add new tokens, remove those that are gone. Do
        nothing without a secret key."""
        if not self.are_enabled:
            return
        for token_id in token_ids:
            if self._tokens.get(token_id) is not None:
                self._ids_by_hmac[self.hmac_of(token_id)] = token_id
                continue
            self._ids_by_hmac.pop(self.hmac_of(token_id), None)
            for mechanism in SCRAM_MECHANISMS:
                self._credentials.pop((token_id, mechanism), None)

    @property
    def are_enabled(self) -> bool:
        """Return whether a secret key is configured."""
        return bool(self._secret)

    def hmac_of(self, token_id: str) -> bytes:
        """Return the HMAC by which a client proves that it has the token."""
        return hmac.digest(self._secret, token_id.encode(), "sha512")

    def check_enabled(self) -> None:
        """Raise Refused(DELEGATION_TOKEN_AUTH_DISABLED) where no secret key is set."""
        if not self.are_enabled:
            raise Refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)

    def proven_by(self, proof: bytes) -> DelegationToken:
        """Return the token that this HMAC belongs to. Raise Refused if there is none, or no secret
        key is set."""
        self.check_enabled()
        token = self._tokens.get(self._ids_by_hmac.get(proof, ""))
        if token is None:
            raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return token

    def check_manager(self, token: DelegationToken, principal: str) -> None:
        """Raise Refused(DELEGATION_TOKEN_OWNER_MISMATCH) unless this principal may renew and expire
        the token."""
        if not token.is_managed_by(principal):
            raise Refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)

    def check_alive(self, token: DelegationToken) -> None:
        """Raise Refused(DELEGATION_TOKEN_EXPIRED) if the token's time is over, whether or not it is
        removed yet."""
        if token.is_expired(self._moment.now_ms):
            raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)

    def login(self, token_id: str, mechanism: ScramMechanism) -> TokenLogin | None:
        """Return owner, expiry and SCRAM credential of the token with this id. Return None if there
        is no such token, or no secret key is set.

        An expired token that is not removed yet still counts; a session with it ends at once.
        """
        token = self._tokens.get(token_id)
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
