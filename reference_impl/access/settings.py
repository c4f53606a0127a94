"""The security settings of a client, under Kafka's names. Sources: KIP-12 (security.protocol),
KIP-651."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


@dataclass(frozen=True)
class Token:
    """A bearer token, and when it expires (seconds since the epoch)."""

    value: str = field(repr=False)
    expires_s: float


@dataclass(frozen=True)
class Access:
    """The security settings of clients. The default is PLAINTEXT."""

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    token: Callable[[], Token] | None = field(default=None, repr=False)
    """A function for OAUTHBEARER that returns a token that is still valid. Its attribute `printed`
    may list the tokens that it has returned so far."""
    token_command: tuple[str, ...] = ()
    """The command that prints the token, for clients that run it themselves."""
    folder: Path = Path()
    """The working directory in which `token_command` is run."""
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: str = field(default="", repr=False)
    checks_hostname: bool = True
    made_context: ssl.SSLContext | None = field(default=None, repr=False)
    """A TLS context for the settings that was made elsewhere, such as from keys that are in no
    file."""

    @property
    def uses_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the texts that must never appear in a run, a report or a message."""
        printed = getattr(self.token, "printed", ())
        return tuple(text for text in (self.password, self.key_password, *printed) if text)

    @cached_property
    def context(self) -> ssl.SSLContext:
        """Return a TLS context for these settings. Raise OSError (also ssl.SSLError) for unusable
        files."""
        if self.made_context is not None:
            return self.made_context
        context = ssl.create_default_context(cafile=self.ca)
        context.check_hostname = self.checks_hostname
        if self.certificate is not None:
            # Without a password openssl would ask at the terminal, so an empty one is given.
            context.load_cert_chain(self.certificate, self.key, password=self.key_password or "")
        return context


PLAINTEXT = Access()
