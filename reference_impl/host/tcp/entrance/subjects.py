"""The subject of a certificate as Kafka names its owner: a text in the form of RFC 2253.

Source: X500Principal.getName (java.security), RFC 2253: the most specific part first; types that
the RFC does not list by their number, with the value as bytes in hexadecimal.
"""

from __future__ import annotations

import asyncio
import re

from cryptography import x509
from cryptography.x509.oid import NameOID

KEYWORDS = {
    NameOID.COMMON_NAME: "CN",
    NameOID.COUNTRY_NAME: "C",
    NameOID.DOMAIN_COMPONENT: "DC",
    NameOID.LOCALITY_NAME: "L",
    NameOID.ORGANIZATION_NAME: "O",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "OU",
    NameOID.STATE_OR_PROVINCE_NAME: "ST",
    NameOID.STREET_ADDRESS: "STREET",
    NameOID.USER_ID: "UID",
}
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
    name = x509.load_der_x509_certificate(certificate).subject
    return ",".join("+".join(map(_written, part)) for part in reversed(name.rdns))


def _written(attribute: x509.NameAttribute[str | bytes]) -> str:
    value, keyword = attribute.value, KEYWORDS.get(attribute.oid)
    if keyword is None or isinstance(value, bytes):
        return f"{attribute.oid.dotted_string}=#{_der_of_value(attribute).hex()}"
    text = _SPECIAL.sub(r"\\\g<0>", value)
    without = text.lstrip(" ")
    text = "\\ " * (len(text) - len(without)) + without
    without = text.rstrip(" ") if without else text
    return f"{keyword}={without}" + "\\ " * (len(text) - len(without))


def _der_of_value(attribute: x509.NameAttribute[str | bytes]) -> bytes:
    """Return the value of an attribute as it stands in a certificate: it follows the type inside
    the attribute, inside a set, inside a name."""
    pair = _contents(_contents(_contents(x509.Name([attribute]).public_bytes())))
    return pair[2 + pair[1] :]


def _contents(der: bytes) -> bytes:
    """Return the contents of an element in DER, without its tag and length."""
    more = der[1] & ~_LONG if der[1] & _LONG else 0
    return der[2 + more :]
