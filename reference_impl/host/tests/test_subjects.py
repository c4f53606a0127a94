"""The subject of a certificate in the form of RFC 2253; Java's X500Principal.getName wrote each
expected text."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from reference_impl.host.tcp.entrance.subjects import subject_of

EVERY_TYPE = [
    (NameOID.COUNTRY_NAME, "DE"),
    (NameOID.DOMAIN_COMPONENT, "v1"),
    (NameOID.LOCALITY_NAME, "v2"),
    (NameOID.ORGANIZATION_NAME, "v3"),
    (NameOID.ORGANIZATIONAL_UNIT_NAME, "v4"),
    (NameOID.STATE_OR_PROVINCE_NAME, "v5"),
    (NameOID.STREET_ADDRESS, "v6"),
    (NameOID.USER_ID, "v7"),
    (NameOID.EMAIL_ADDRESS, "v8"),
    (NameOID.SERIAL_NUMBER, "v9"),
    (NameOID.TITLE, "v10"),
]


def certificate(attributes: list[tuple[x509.ObjectIdentifier, str]]) -> bytes:
    """Return a certificate in DER whose subject has these attributes."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(kind, value) for kind, value in attributes])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(1)
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("attributes", "subject"),
    [
        ([(NameOID.COMMON_NAME, " a b ")], r"CN=\ a b\ "),
        ([(NameOID.COMMON_NAME, "a,b+c")], r"CN=a\,b\+c"),
        ([(NameOID.COMMON_NAME, "#x")], r"CN=\#x"),
        ([(NameOID.COMMON_NAME, 'q"\\<>;=')], r"CN=q\"\\\<\>\;\="),
        ([(NameOID.COMMON_NAME, "\u00e9\u4e2d")], "CN=\u00e9\u4e2d"),
        (
            EVERY_TYPE,
            "2.5.4.12=#0c03763130,2.5.4.5=#13027639,1.2.840.113549.1.9.1=#16027638,UID=v7,"
            "STREET=v6,ST=v5,OU=v4,O=v3,L=v2,DC=v1,C=DE",
        ),
    ],
)
def test_a_subject_is_written_as_java_writes_it(
    attributes: list[tuple[x509.ObjectIdentifier, str]], subject: str
) -> None:
    assert subject_of(certificate(attributes)) == subject
