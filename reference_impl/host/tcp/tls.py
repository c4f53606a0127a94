"""Create TLS contexts from Kafka's PEM settings: of a listener, and of connections to other nodes.

Source: KIP-651; SslConfigs, DefaultSslEngineFactory.java.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

from reference_impl.access.connecting import words
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.security.encryption import Tls, Trust

_VERIFY = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
"""The values of ssl.client.auth."""


def server_context(listener: str, tls: Tls) -> ssl.SSLContext:
    """Return the TLS context of a listener. Raise BadConfig if its key or certificates cannot be
    loaded."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _load_key(context, listener, tls)
    context.verify_mode = _VERIFY[tls.client_auth]
    if context.verify_mode != ssl.CERT_NONE:
        _load_trust(context, listener, tls.trust, ssl.Purpose.CLIENT_AUTH)
    return context


def client_context(listener: str, tls: Tls) -> ssl.SSLContext:
    """Return the TLS context of connections to this listener of other nodes, which shows the node's
    own certificate if they ask for one. Raise BadConfig if a key or certificate cannot be
    loaded."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls.checks_hostname
    if tls.has_key:
        _load_key(context, listener, tls)
    _load_trust(context, listener, tls.trust, ssl.Purpose.SERVER_AUTH)
    return context


def _load_trust(
    context: ssl.SSLContext, listener: str, trust: Trust | None, purpose: ssl.Purpose
) -> None:
    """Trust the certificates of the settings, whoever signed them, as Java does. Raise BadConfig if
    they cannot be loaded."""
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if trust is None:
        context.load_default_certs(purpose)
        return
    try:
        context.load_verify_locations(trust.location, cadata=trust.certificates)
    except ssl.SSLError as error:
        where = (
            "ssl.truststore.certificates"
            if trust.location is None
            else f"ssl.truststore.location={trust.location}"
        )
        raise BadConfig(
            f"{where} of listener {listener} does not hold certificates in PEM ({_reason(error)})"
        ) from None
    except OSError as error:
        raise BadConfig(
            f"ssl.truststore.location={trust.location} of listener {listener} cannot be read:"
            f" {error.strerror}"
        ) from None


def _load_key(context: ssl.SSLContext, listener: str, tls: Tls) -> None:
    if tls.key is not None and tls.chain is not None:
        _load_text(context, listener, tls.key, tls.chain, tls.password)
    elif tls.location is not None:
        _load_file(context, listener, tls.location, tls.password)


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
    return words(error, "unreadable")
