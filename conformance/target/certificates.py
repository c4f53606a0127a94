"""Create a certificate for a target's TLS listeners when it is needed, so that it cannot expire.

Sources: KIP-651 (keys and certificates in PEM); RFC 5280 (subject alternative name).
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, both in PEM; the key as PKCS #8, the only form that Kafka
    reads."""

    key: str
    chain: str


@cache
def for_loopback() -> Certificate:
    """Return a self-signed certificate for localhost, created once per process."""
    return _self_signed(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]))


@cache
def for_client(common_name: str) -> Certificate:
    """Return a self-signed certificate of a client, CN=common_name,OU=touchstone, created once per
    process."""
    unit = x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "touchstone")
    return _self_signed(
        x509.Name([unit, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])  # root first
    )


def _self_signed(name: x509.Name) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(LOOPBACK))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Certificate(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        certificate.public_bytes(Encoding.PEM).decode(),
    )
