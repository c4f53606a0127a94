"""Create the TLS context of a listener from Kafka's PEM settings. Source: KIP-651; SslConfigs."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.security.listeners import Tls


def server_context(listener: str, tls: Tls) -> ssl.SSLContext:
    """Return the TLS context of a listener. Raise BadConfig if its key or certificates cannot be
    loaded."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if tls.key is not None and tls.chain is not None:
        _load_text(context, listener, tls.key, tls.chain, tls.password)
    elif tls.location is not None:
        _load_file(context, listener, tls.location, tls.password)
    return context


def _load_text(
    context: ssl.SSLContext, listener: str, key: str, chain: str, password: str | None
) -> None:
    """Load a key that is given as text. Python reads keys only from files, so for a moment the key
    is in a file that only this user can read. Raise BadConfig if it is not a key and its
    certificates in PEM."""
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{key.strip()}\n{chain.strip()}\n")
        _load(context, name, password)
    except ssl.SSLError as error:
        raise BadConfig(
            f"ssl.keystore.key and ssl.keystore.certificate.chain of listener {listener} are not a"
            f" key and its certificates in PEM that ssl.key.password opens ({_reason(error)})"
        ) from None
    finally:
        Path(name).unlink()


def _load_file(context: ssl.SSLContext, listener: str, location: str, password: str | None) -> None:
    try:
        _load(context, location, password)
    except ssl.SSLError as error:
        raise BadConfig(
            f"ssl.keystore.location={location} of listener {listener} does not hold a key and its"
            f" certificates in PEM that ssl.key.password opens ({_reason(error)})"
        ) from None
    except OSError as error:
        raise BadConfig(
            f"ssl.keystore.location={location} of listener {listener} cannot be read:"
            f" {error.strerror}"
        ) from None


def _load(context: ssl.SSLContext, location: str, password: str | None) -> None:
    """Load a key file. Without a password openssl would prompt at the terminal, so an empty one is
    passed."""
    context.load_cert_chain(location, password=password or "")


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unreadable").lower().replace("_", " ")
