"""SCRAM: client and server prove to each other that they know a password, and neither reveals it.

Source: RFC 5802, RFC 7677; KIP-48, KIP-84; ScramSaslServer.java, ScramFormatter.java,
ScramMessages.java.

    client                                       server, which keeps salt, i, StoredKey, ServerKey
    n,,n=USER,r=NONCE                        ->
                                             <-  r=NONCE+MORE,s=SALT,i=ITERATIONS
    c=biws,r=NONCE+MORE,p=PROOF              ->
                                             <-  v=SIGNATURE

    SaltedPassword  = PBKDF2(password, salt, iterations)
    ClientKey       = HMAC(SaltedPassword, "Client Key")     StoredKey = H(ClientKey)
    ServerKey       = HMAC(SaltedPassword, "Server Key")
    AuthMessage     = the first message without "n,,", the second, and the third without ",p=PROOF"
    PROOF           = ClientKey XOR HMAC(StoredKey, AuthMessage)
    SIGNATURE       = HMAC(ServerKey, AuthMessage)

From the proof the server gets the ClientKey back, and its hash must be the StoredKey. A thief of
the StoredKey can check passwords but not log in, and iterations make each guess expensive.

With the extension `tokenauth=true` in the first message, USER is the id of a delegation token and
the password its HMAC; the client becomes the owner of the token (KIP-48).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.core.security.sasl.mechanisms import Denied

ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384
"""The bounds of iterations in AlterUserScramCredentials (KIP-554): enough to slow down guessing,
and few enough to serve many logins at once."""

_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"  # RFC 5802, saslname; ASCII only, as Kafka
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = r"(?:,[A-Za-z]+=[\x01-\x2b\x2d-\x7f]+)*"
_BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<acts_for>{_NAME}))?,"
    rf"(?P<bare>(?:m=[\x01-\x2b\x2d-\x7f]+,)?n=(?P<user>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<without_proof>c={_BASE64},r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)


@dataclass(frozen=True)
class ScramMechanism:
    """One of SCRAM's variants, which differ in their hash function."""

    name: str
    number: int
    """The number of the mechanism in UserScramCredentialRecord and KIP-554's APIs."""
    hash: str

    def hmac(self, key: bytes, message: bytes) -> bytes:
        """Return the HMAC of RFC 5802."""
        return hmac.digest(key, message, self.hash)

    def digest(self, data: bytes) -> bytes:
        """Return H of RFC 5802."""
        return hashlib.new(self.hash, data).digest()


SCRAM_MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        ScramMechanism("SCRAM-SHA-256", 1, "sha256"),
        ScramMechanism("SCRAM-SHA-512", 2, "sha512"),
    )
}
BY_NUMBER = {mechanism.number: mechanism for mechanism in SCRAM_MECHANISMS.values()}


@dataclass(frozen=True)
class Credential:
    """The data that the server keeps instead of a password (RFC 5802)."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def credential_of(
    mechanism: ScramMechanism, salt: bytes, iterations: int, salted_password: bytes
) -> Credential:
    """Derive a credential from a salted password, which is as good as the password itself and is
    not kept."""
    client_key = mechanism.hmac(salted_password, b"Client Key")
    server_key = mechanism.hmac(salted_password, b"Server Key")
    return Credential(salt, iterations, mechanism.digest(client_key), server_key)


@dataclass(frozen=True)
class TokenLogin:
    """The owner and expiry of a delegation token, and the credential made from its HMAC."""

    owner: str
    expiry_ms: int
    credential: Credential


class ScramExchange:
    """An exchange of two messages in each direction. It knows the user after the second."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credential_of_user: Callable[[str], Credential | None],
        nonce: str,
        login_by_token: Callable[[str], TokenLogin | None] = lambda _: None,
    ) -> None:
        """Begin an exchange. credential_of_user: finds the credential of the user with this name.
        nonce: the server's part, drawn for this exchange. login_by_token: finds the delegation
        token with this id."""
        self._mechanism = mechanism
        self._credential_of_user = credential_of_user
        self._login_by_token = login_by_token
        self._token: TokenLogin | None = None
        self._nonce = nonce
        self._name = ""
        self._credential: Credential | None = None
        self._first_messages = ""
        self.user: str | None = None
        self.token_expiry_ms: int | None = None

    def answer(self, token: bytes) -> bytes:
        """Return the server's message that answers the client's first or final one. Raise Denied if
        the client's is malformed, names an unknown user or token, or has a wrong proof."""
        text = token.decode(errors="replace")
        if self._credential is None:
            return self._first(text).encode()
        return self._final(text, self._credential).encode()

    def _first(self, text: str) -> str:
        """Handle the client's first message: note the name, and return the answer with the salt and
        iterations of that user or token. Raise Denied if the message is malformed, names nobody
        known, or asks to act for another user."""
        message = _CLIENT_FIRST.fullmatch(text)
        if message is None:
            raise Denied("the client's first message is malformed")
        self._name = message["user"].replace("=2C", ",").replace("=3D", "=")
        credential = self._look_up(_asks_for_token(message["extensions"]))
        if message["acts_for"] not in (None, self._name):
            different = (
                "Authentication failed: Client requested an authorization id that is different"
                " from username"
            )
            raise Denied(different, different)
        self._nonce = message["nonce"] + self._nonce
        self._credential = credential
        salt = base64.b64encode(credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._first_messages = f"{message['bare']},{answer}"
        return answer

    def _look_up(self, by_token: bool) -> Credential:
        """Return the credential of the user or, with by_token, of the delegation token with the
        name in the first message. Raise Denied if there is none."""
        if not by_token:
            credential = self._credential_of_user(self._name)
            if credential is None:
                raise Denied(f"{self._name} has no credential of {self._mechanism.name}")
            return credential
        self._token = self._login_by_token(self._name)
        if self._token is None:
            raise Denied(f"there is no delegation token {self._name}")
        return self._token.credential

    def _final(self, text: str, credential: Credential) -> str:
        """Handle the client's final message: check its proof, and note the authenticated user (the
        owner of a token). Return the answer with the server's signature. Raise Denied if the
        message is malformed or the proof is wrong."""
        message = _CLIENT_FINAL.fullmatch(text)
        if message is None:
            raise Denied("the client's final message is malformed")
        if message["nonce"] != self._nonce:
            raise Denied("the client's final message has another nonce")
        auth_message = f"{self._first_messages},{message['without_proof']}".encode()
        signature = self._mechanism.hmac(credential.stored_key, auth_message)
        proof = base64.b64decode(message["proof"])
        if len(proof) != len(signature):
            raise Denied("the client's proof is not as long as the hash")
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not hmac.compare_digest(self._mechanism.digest(client_key), credential.stored_key):
            raise Denied(f"{self._name} does not know the password")
        self.user = self._name
        if self._token is not None:
            self.user, self.token_expiry_ms = self._token.owner, self._token.expiry_ms
        server_signature = self._mechanism.hmac(credential.server_key, auth_message)
        return f"v={base64.b64encode(server_signature).decode()}"


def _asks_for_token(extensions: str) -> bool:
    """Return whether the extensions of a first message say `tokenauth=true` (ScramExtensions)."""
    pairs = dict(item.split("=", 1) for item in extensions.split(",") if item)
    return pairs.get("tokenauth", "").lower() == "true"
