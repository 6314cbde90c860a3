"""Certificates for real connections of the link: valid now, made on the spot, in files as hosts and servers have them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from schemas.settings.certificate import LINK_NAME, Certificate, read_certificate

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class LinkCertificate:
    """`pem` is what gitvirt.yaml lists."""

    pem: str
    private: str

    @cached_property
    def identity(self) -> str:
        found = read_certificate(self.pem)
        assert isinstance(found, Certificate), found
        return found.identity

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Key and certificate, as files."""
        folder.mkdir(parents=True, exist_ok=True)
        key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
        key.write_text(self.private)
        certificate.write_text(self.pem)
        return key, certificate


def make_certificate(
    name: str, *, is_link: bool = False, seconds: tuple[float, float] = (-3600, 86400)
) -> LinkCertificate:
    """`seconds` is when it begins and ends, from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    begins, ends = (now + datetime.timedelta(seconds=each) for each in seconds)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(begins).not_valid_after(ends)
    if is_link:
        names = x509.SubjectAlternativeName([x509.DNSName(LINK_NAME)])
        builder = builder.add_extension(names, critical=False)
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    made = builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return LinkCertificate(made.public_bytes(Encoding.PEM).decode(), private.decode())


def link_settings(
    fleet: str, addresses: list[str], link: LinkCertificate, hosts: dict[str, LinkCertificate], more: str = ""
) -> str:
    """A gitvirt.yaml with a link."""

    entries = "".join(
        f"  {name}:\n    certificates:\n{indent(certificate, '    ')}" for name, certificate in hosts.items()
    )
    return (
        f"fleet: {{id: {fleet}}}\nlink:\n  addresses: [{', '.join(addresses)}]\n  certificates:\n{indent(link, '  ')}"
        + (f"poollets:\n{entries}" if entries else "")
        + more
    )


def indent(certificate: LinkCertificate, margin: str) -> str:
    """As an element of a list, with that margin."""
    return f"{margin}- |\n" + "".join(f"{margin}  {line}\n" for line in certificate.pem.splitlines())
