"""The [client] table of a cluster's file: the settings by which clients connect, under librdkafka's
names.

    [client]
    security.protocol = "SASL_SSL"              # PLAINTEXT, SSL, SASL_PLAINTEXT
    ssl.ca.location = "ca.pem"                  # unless the system's certificates do
    ssl.certificate.location = "client.pem"     # where brokers ask for one, with its key:
    ssl.key.location = "client.key"             # and ssl.key.password, if it has one
    ssl.endpoint.identification.algorithm = "none"  # not to compare host names; else "https"
    sasl.mechanism = "SCRAM-SHA-512"            # PLAIN, SCRAM-SHA-256, OAUTHBEARER
    sasl.username = "alice"
    sasl.password.command = "pass show kafka"   # or sasl.password.env, .file, or sasl.password
    sasl.oauthbearer.token.command = "print-token"

A password may also stand in a file or in an environment variable, so that this file can be
committed. Paths and commands start from the folder of the file.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos.targets.foreign.commands import output_of, words_of
from chaos.values.protocols import TargetError
from reference_impl.access import MECHANISMS, PLAINTEXT, PROTOCOLS, Access, Token

SECRETS = ("sasl.password", "ssl.key.password")
SOURCES = ("", ".command", ".env", ".file")
TOKEN_COMMAND = "sasl.oauthbearer.token.command"
IDENTIFICATION = "ssl.endpoint.identification.algorithm"
FILES = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location")
KEYS = (
    "security.protocol",
    *FILES,
    IDENTIFICATION,
    "sasl.mechanism",
    "sasl.username",
    TOKEN_COMMAND,
    *(f"{secret}{source}" for secret in SECRETS for source in SOURCES),
)
RENEWED_AT = 0.8
"""The part of a token's lifetime after which the command is run again for a new one."""
UNTOLD_LIFETIME_S = 300.0
"""The lifetime in seconds that is assumed for a token without an expiry (one that is no JWT)."""


class BadClientTable(Exception):
    """Raised for a wrong key of the table; the message continues a sentence that begins with the
    file's name."""


@dataclass(frozen=True)
class ClientTable:
    """The validated [client] table. Only `access` runs commands and reads files."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path = Path()

    def access(self) -> Access:
        """Return the Access, after running the table's commands for secrets, or PLAINTEXT if the
        table is empty. Raise TargetError if a password cannot be read, or if certificates or keys
        cannot be used. The token's command is run only when a client needs a token."""
        found = self.settings
        if not found:
            return PLAINTEXT
        command = words_of(found[TOKEN_COMMAND]) if TOKEN_COMMAND in found else ()
        ca, certificate, key = (self._file(name) for name in FILES)
        access = Access(
            protocol=found.get("security.protocol", "PLAINTEXT"),
            mechanism=found.get("sasl.mechanism"),
            username=found.get("sasl.username", ""),
            password=self._secret("sasl.password"),
            token=TokenByCommand(command, self.folder) if command else None,
            token_command=command,
            folder=self.folder,
            ca=ca,
            certificate=certificate,
            key=key,
            key_password=self._secret("ssl.key.password"),
            checks_hostname=found.get(IDENTIFICATION, "https") == "https",
        )
        try:
            _ = access.uses_tls and access.context
        except OSError as error:  # includes ssl.SSLError
            named = ", ".join(f"{name} = {found[name]!r}" for name in FILES if name in found)
            why = getattr(error, "reason", None) or error.strerror or str(error)
            raise TargetError(
                f"client: {named or 'the certificates of this system'} cannot be used"
                f" ({str(why).lower().replace('_', ' ')}); give certificates and keys in PEM"
            ) from error
        return access

    def _file(self, name: str) -> Path | None:
        return self.folder / self.settings[name] if name in self.settings else None

    def _secret(self, key: str) -> str:
        """Return a password from the source that the table names, or "" if it names none. Raise
        TargetError if the command fails, the environment variable is not set, or the file cannot be
        read."""
        found = self.settings
        if (command := found.get(f"{key}.command")) is not None:
            return output_of(words_of(command), self.folder)
        if (variable := found.get(f"{key}.env")) is not None:
            if variable not in os.environ:
                raise TargetError(f"client: {key}.env = {variable!r} is not set; export it")
            return os.environ[variable]
        if (file := found.get(f"{key}.file")) is not None:
            try:
                return (self.folder / file).read_text().rstrip("\n")
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is not text"
                raise TargetError(
                    f"client: {key}.file = {file!r} cannot be read: {why.lower()}; correct it"
                ) from error
        return found.get(key, "")


class TokenByCommand:
    """A function that returns the bearer token which the owner's command prints. It runs the
    command at the first call, and again when RENEWED_AT of the token's lifetime has passed. It
    raises TargetError if the command fails or prints nothing."""

    def __init__(self, command: tuple[str, ...], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._renew_at = 0.0
        self.printed: list[str] = []

    def __call__(self) -> Token:
        with self._lock:
            now = time.time()
            if self._token is None or now >= self._renew_at:
                try:
                    value = output_of(self._command, self._folder)
                except TargetError as error:
                    raise TargetError(f"client: {TOKEN_COMMAND}: {error}") from error
                if not value:
                    raise TargetError(f"client: {TOKEN_COMMAND} printed no token; correct it")
                self.printed.append(value)
                self._token = Token(value, _expiry_of(value) or now + UNTOLD_LIFETIME_S)
                self._renew_at = now + RENEWED_AT * (self._token.expires_s - now)
            return self._token


def _expiry_of(token: str) -> float | None:
    """Return `exp` of a JWT (RFC 7519), or None if the token is not a JWT or has no expiry."""
    parts = token.split(".")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        return float(json.loads(base64.urlsafe_b64decode(padded))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def read_client(table: Any, folder: Path) -> ClientTable:
    """Return the table once it is validated, or an empty one for None. Run no command of it. Raise
    BadClientTable for a wrong or missing key; it names the key and says what to do."""
    if table is None:
        return ClientTable()
    found = dict(_flat(table))
    for key, value in found.items():
        if key not in KEYS:
            raise BadClientTable(f"client: there is no key {key!r}: use {', '.join(KEYS)}")
        if not isinstance(value, str):
            raise BadClientTable(f"client: {key} must be text in quotes: write it so")
    _check_choice(found, "security.protocol", PROTOCOLS)
    _check_choice(found, "sasl.mechanism", MECHANISMS)
    _check_choice(found, IDENTIFICATION, ("https", "none"))
    for secret in SECRETS:
        said = [f"{secret}{source}" for source in SOURCES if f"{secret}{source}" in found]
        if len(said) > 1:
            raise BadClientTable(f"client: {' and '.join(said)} say the same: give one of them")
    _check_protocol(found)
    _check_files(found, folder)
    for key, value in found.items():
        if key.endswith(".command"):
            try:
                words_of(value)
            except ValueError as error:
                raise BadClientTable(
                    f"client: {key} is not a command ({error}): correct it"
                ) from error
    return ClientTable(found, folder)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (key, value) with dotted keys, which TOML parses as nested tables. before: the key of
    the outer tables, with a dot."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _check_choice(found: Mapping[str, str], key: str, choices: tuple[str, ...]) -> None:
    if key in found and found[key] not in choices:
        raise BadClientTable(f"client: {key} = {found[key]!r}: say one of {', '.join(choices)}")


def _check_protocol(found: Mapping[str, str]) -> None:
    """Raise BadClientTable if a setting is missing that the protocol needs, or if one is present
    that it would not use: a password that is never sent is a mistake."""
    protocol = found.get("security.protocol", "PLAINTEXT")
    for part, named in (("ssl.", "SSL"), ("sasl.", "SASL")):
        given = [key for key in found if key.startswith(part)]
        if given and named not in protocol:
            fitting = ", ".join(each for each in PROTOCOLS if named in each)
            raise BadClientTable(
                f"client: {given[0]} is of no use with security.protocol = {protocol!r}: say"
                f" one of {fitting}"
            )
    if "SASL" not in protocol:
        return
    if "sasl.mechanism" not in found:
        raise BadClientTable(
            f"client: sasl.mechanism is missing: say one of {', '.join(MECHANISMS)}"
        )
    by_token = found["sasl.mechanism"] == "OAUTHBEARER"
    has_password = any(f"sasl.password{source}" in found for source in SOURCES)
    if by_token and (has_password or "sasl.username" in found):
        raise BadClientTable(f"client: OAUTHBEARER takes no password: give {TOKEN_COMMAND} alone")
    if by_token and TOKEN_COMMAND not in found:
        raise BadClientTable(
            f"client: {TOKEN_COMMAND} is missing: name a command that prints a token"
        )
    if not by_token and TOKEN_COMMAND in found:
        raise BadClientTable(
            f"client: {TOKEN_COMMAND} needs sasl.mechanism = 'OAUTHBEARER': write that"
        )
    if not by_token and "sasl.username" not in found:
        raise BadClientTable("client: sasl.username is missing: name the user")
    if not by_token and not has_password:
        raise BadClientTable(
            "client: the password is missing: give sasl.password.command, .env or .file"
        )


def _check_files(found: Mapping[str, str], folder: Path) -> None:
    for key in FILES:
        if key in found and not (folder / found[key]).is_file():
            raise BadClientTable(f"client: {key} = {found[key]!r} is not there: correct it")
    if ("ssl.certificate.location" in found) != ("ssl.key.location" in found):
        raise BadClientTable(
            "client: ssl.certificate.location and ssl.key.location go together: give both"
        )
