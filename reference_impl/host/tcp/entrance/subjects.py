"""The subject of a certificate as Kafka names its owner: a text in the form of RFC 2253.

Source: X500Principal.getName (java.security), RFC 2253: the most specific part first; types that
the RFC does not list by their number, with the value as bytes in hexadecimal.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import NameAttribute

KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "0.9.2342.19200300.100.1.25": "DC",
    "2.5.4.7": "L",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.1": "UID",
}
"""Object identifier of a type -> its keyword (RFC 2253, 2.3)."""
_SPECIAL = re.compile(r'[,=+<>#;"\\]')
_LONG = 0x80
"""The length from which DER writes a length in more than one byte."""


def subject_of_client(transport: asyncio.BaseTransport) -> str | None:
    """Return the subject of the certificate that the other side of a connection has shown, "" for
    one that cannot be read, or None if it has shown none."""
    tls = transport.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    try:
        return None if certificate is None else subject_of(certificate)
    except ValueError:
        return ""


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER. Raise ValueError if it cannot be read."""
    from cryptography import x509  # a library that only listeners with such clients need

    name = x509.load_der_x509_certificate(certificate).subject
    return ",".join("+".join(map(_written, part)) for part in reversed(name.rdns))


def _written(attribute: NameAttribute[str | bytes]) -> str:
    value, keyword = attribute.value, KEYWORDS.get(attribute.oid.dotted_string)
    if keyword is None or isinstance(value, bytes):
        return f"{attribute.oid.dotted_string}=#{_der_of_value(attribute).hex()}"
    text = _SPECIAL.sub(r"\\\g<0>", value)
    without = text.lstrip(" ")
    text = "\\ " * (len(text) - len(without)) + without
    without = text.rstrip(" ") if without else text
    return f"{keyword}={without}" + "\\ " * (len(text) - len(without))


def _der_of_value(attribute: NameAttribute[str | bytes]) -> bytes:
    """Return the value of an attribute as it stands in a certificate: it follows the type inside
    the attribute, inside a set, inside a name."""
    from cryptography.x509 import Name

    pair = _contents(_contents(_contents(Name([attribute]).public_bytes())))
    return pair[2 + pair[1] :]


def _contents(der: bytes) -> bytes:
    """Return the contents of an element in DER, without its tag and length."""
    more = der[1] & ~_LONG if der[1] & _LONG else 0
    return der[2 + more :]
