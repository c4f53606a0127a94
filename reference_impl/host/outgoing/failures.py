"""Tell why a connection to a broker failed, and whether the broker refused it.

Each function returns the reason in one sentence, and whether it is a refusal: the broker is there,
but TLS failed, or it closed the connection before it answered more than ApiVersions.
"""

from __future__ import annotations

import ssl
from enum import Enum, auto

from reference_impl.access import Access
from reference_impl.access.connecting import words
from reference_impl.wire import Malformed

ALERT = b"\x15\x03"
"""The first bytes of an alert of TLS, which a listener with TLS may send to plain text."""
NO_TLS = "wrong version number"


class Progress(Enum):
    """The requests that the broker has answered on a connection."""

    NONE = auto()
    VERSIONS = auto()
    """ApiVersions alone, which needs no login, or requests of a login."""
    SERVED = auto()
    """At least one other request."""


def why_not_connected(error: OSError, access: Access, host: str) -> tuple[str, bool]:
    """Return why no connection was made."""
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message.rstrip(".")
        return f"the certificate of {host} is not trusted ({said})", True
    if isinstance(error, ssl.SSLError):
        said = words(error)
        hint = "; this listener seems to have no TLS" if said == NO_TLS else ""
        return f"the TLS handshake with {host} failed ({said}){hint}", True
    if access.uses_tls and isinstance(error, ConnectionResetError | ConnectionAbortedError):
        return (
            f"{host} ended the TLS handshake ({str(error) or 'connection reset'}); its listener"
            " may have no TLS",
            True,
        )
    return f"no connection: {error}", False


def why_it_broke(
    error: Exception | None, access: Access, progress: Progress, *, logs_in: bool
) -> tuple[str, bool]:
    """Return why a connection ended after it had been made. error: None if the other side closed
    it. logs_in: whether a login was not finished."""
    if isinstance(error, ssl.SSLError):
        return f"the connection broke: TLS failed ({words(error)})", True
    said = f"the connection broke: {error or 'closed by the broker'}"
    if progress is Progress.NONE:
        what = (
            "does not accept the certificate of this side, or demands one"
            if access.uses_tls
            else f"demands TLS, where this side uses {access.protocol}"
        )
        return f"{said} before any answer, as a listener does that {what}", True
    if logs_in:
        return f"{said} during the login", True
    if progress is Progress.VERSIONS and not access.uses_sasl:
        what = f"demands a login, where this side uses {access.protocol}"
        return f"{said} after ApiVersions alone, as a listener does that {what}", True
    return said, False


def why_unreadable(
    error: Malformed, data: bytes, access: Access, progress: Progress
) -> tuple[str, bool]:
    """Return why an answer could not be read. data: the bytes that came last."""
    if data.startswith(ALERT) and progress is Progress.NONE and not access.uses_tls:
        return f"this listener demands TLS, and this side uses {access.protocol}", True
    return f"an answer cannot be read: {error}", progress is Progress.NONE
