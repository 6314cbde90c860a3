"""Certificates for tests: of every kind that people might list, made on the spot."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

KeyKind = Literal["p256", "p384", "p521", "ed25519", "rsa1024", "rsa2048", "dsa"]
NOW = datetime.datetime(2026, 11, 20, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)


def make_key(
    kind: KeyKind,
) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | dsa.DSAPrivateKey:
    match kind:
        case "p256":
            return ec.generate_private_key(ec.SECP256R1())
        case "p384":
            return ec.generate_private_key(ec.SECP384R1())
        case "p521":
            return ec.generate_private_key(ec.SECP521R1())
        case "ed25519":
            return ed25519.Ed25519PrivateKey.generate()
        case "rsa1024":
            return rsa.generate_private_key(65537, 1024)
        case "rsa2048":
            return rsa.generate_private_key(65537, 2048)
        case "dsa":
            return dsa.generate_private_key(2048)


@cache
def make(
    name: str = "rack-a1",
    kind: KeyKind = "p256",
    *,
    days: tuple[float, float] = (-1, 365),
    dns: str = "",
    usage: tuple[bool, bool] | None = (True, False),
) -> tuple[str, str]:
    """Certificate and private key in PEM. `days` is when it begins and ends, from NOW; `usage` whether the key signs messages,
    and certificates."""
    key = make_key(kind)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + days[0] * DAY)
        .not_valid_after(NOW + days[1] * DAY)
    )
    if dns:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)]), critical=False)
    if usage is not None:
        uses = x509.KeyUsage(usage[0], False, False, False, False, usage[1], False, False, False)
        builder = builder.add_extension(uses, critical=True)
    made = builder.sign(key, None if kind == "ed25519" else hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made.public_bytes(Encoding.PEM).decode(), private.decode()


def certificate(
    name: str = "rack-a1", kind: KeyKind = "p256", *, days: tuple[float, float] = (-1, 365)
) -> str:
    return make(name, kind, days=days)[0]


def link_certificate(*, days: tuple[float, float] = (-1, 365), name: str = "link") -> str:
    return make(name, dns="gitvirt-link", days=days)[0]
