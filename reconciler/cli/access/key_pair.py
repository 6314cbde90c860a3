"""The private key of a host, a client or the link, and its self-signed certificate, each in a file of its own.

    key           certificate   what `ensure_pair` does
    -             -             makes both, the key first
    there         -             makes a certificate for it: a crash came between, or the certificate was lost
    there         there         nothing, if they belong together and the link can use them
    -             there         an error: the key is lost, or elsewhere

Certificates are ECDSA P-256, valid for a year. Their only key usage is digitalSignature, so the key can sign no further certificate
(schemas/settings/certificate.py has why). The name in one is for people who look at it.

Must never happen: an existing file is overwritten or half of one is left under its name; a private key is readable by others, printed, or
inside a checkout, from where it would be committed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from reconciler.cli.exits import CommandError
from reconciler.query.scope import find_git_top
from schemas.settings.certificate import Certificate, RefusedCertificate, read_certificate

VALID = timedelta(days=365)
# Clocks differ: a certificate that was made ahead of time would be refused for that long.
BEGINS_BEFORE = timedelta(hours=1)
LONGEST_NAME = 64  # of a common name, by X.509
PRIVATE, READABLE = 0o600, 0o644
OTHERS = 0o077
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class PairFiles:
    """Where key and certificate are. `next` are those of a rotation that has not ended."""

    key: Path
    certificate: Path

    @property
    def next(self) -> PairFiles:
        return PairFiles(
            self.key.with_name(f"{self.key.name}.next"),
            self.certificate.with_name(f"{self.certificate.name}.next"),
        )

    def is_there(self) -> bool:
        return self.key.exists() or self.certificate.exists()


@dataclass(frozen=True, slots=True)
class PairNames:
    """What a new certificate is for: a name for people, and the DNS name that TLS compares, where one is needed."""

    common: str
    dns: str = ""

    @property
    def subject(self) -> str:
        """The common name in the certificate, which X.509 limits."""
        return self.common[:LONGEST_NAME]


def ensure_pair(files: PairFiles, names: PairNames, now: datetime) -> str:
    """The certificate in PEM, made if it is not there. Raises CommandError with a cure."""
    if not files.key.exists():
        if files.certificate.exists():
            cause = f"{files.certificate} has no key: there is no {files.key}"
            raise CommandError(cause, "restore the key, or remove the certificate to have a new pair made")
        refuse_checkout(files.key)
        create_file(files.key, encode_key(ec.generate_private_key(ec.SECP256R1())), PRIVATE)
    key = read_key(files.key)
    if not files.certificate.exists():
        create_file(files.certificate, make_certificate(key, names, now), READABLE)
    return check_certificate(files, key, names)


def check_certificate(files: PairFiles, key: PrivateKey, names: PairNames) -> str:
    """The certificate of the files, if the link can use it with this key."""
    pem, found = read_pem(files.certificate)
    if not is_of_key(pem, key):
        if is_half_adopted(files):
            cause = f"a rotation was interrupted: {files.key} is the next key, {files.certificate} the former certificate"
            raise CommandError(
                cause, "run the `rotate` command again, without --dry-run: it ends the rotation"
            )
        cause = f"{files.certificate} does not belong to the key {files.key}"
        raise CommandError(cause, "remove the certificate to have one made for the key")
    if names.dns and names.dns not in found.names:
        cause = f"{files.certificate} is not for the name {names.dns}"
        raise CommandError(cause, "remove the certificate to have one made with the name")
    return pem


def is_of_key(pem: str, key: PrivateKey) -> bool:
    return x509.load_pem_x509_certificate(pem.encode()).public_key() == key.public_key()


def read_subject(path: Path) -> str:
    """The common name in a certificate, which `make_certificate` sets to whom it is for. It proves nothing. Empty where there is none."""
    pem, _ = read_pem(path)
    found = x509.load_pem_x509_certificate(pem.encode()).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""


def read_pem(path: Path) -> tuple[str, Certificate]:
    """A certificate that the link can use, in the form in which it is listed."""
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CommandError(f"cannot read {path}: {why}", "name a certificate in PEM") from None
    found = read_certificate(text)
    if isinstance(found, RefusedCertificate):
        raise CommandError(f"{path}: {found.message}", found.hint)
    return text.strip() + "\n", found


def read_key(path: Path) -> PrivateKey:
    """A key without a passphrase that no other account can read: the poollet and the reconciler use it unattended."""
    try:
        is_open = path.stat().st_mode & OTHERS
        data = path.read_bytes()
    except OSError as error:
        raise CommandError(
            f"cannot read the key {path}: {error.strerror}", "name another file, or run as its owner"
        ) from None
    if is_open:
        raise CommandError(f"other accounts may read the key {path}", f"run `chmod 600 {path}`")
    try:
        key = load_pem_private_key(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        cause = f"{path} is not a private key in PEM without a passphrase"
        raise CommandError(cause, "name another file: the key is made there") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise CommandError(
            f"{path} is a key that TLS in gRPC cannot use", "name another file: a key is made there"
        )
    return key


def make_certificate(key: PrivateKey, names: PairNames, now: datetime) -> bytes:
    """Self-signed, for a year from now."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names.subject)])
    signs_messages_alone = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BEGINS_BEFORE)
        .not_valid_after(now + VALID)
        .add_extension(signs_messages_alone, critical=True)
    )
    if names.dns:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(names.dns)]), critical=False
        )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def encode_key(key: PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def refuse_checkout(path: Path) -> None:
    """A key in a checkout is one `git add --all` away from everybody who reads the repo. Where the path leads to counts, not its words."""
    top = find_git_top(path.parent.resolve())
    if top is not None:
        cause = f"{path} is inside the Git checkout {top}, where a private key may be committed"
        raise CommandError(cause, "name a file outside of it with --key FILE")


def create_file(path: Path, data: bytes, mode: int) -> None:
    """Whole or absent, also after a crash, and never in the place of another one: a link fails where a name exists, a rename does not.
    A folder that is made for it is closed to others."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial.unlink(missing_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(partial, path)
        finally:
            partial.unlink()
        _sync_folder(path.parent)
    except OSError as error:
        raise CommandError(
            f"cannot create {path}: {error.strerror}", "choose another file, or run as another account"
        ) from None


def adopt_next(files: PairFiles) -> None:
    """The pair of a rotation takes the place of the old one. A crash between the two renames leaves the former certificate beside the next
    key; `resume_adoption` ends that."""
    for new, old in ((files.next.key, files.key), (files.next.certificate, files.certificate)):
        if new.exists():
            new.replace(old)
    _sync_folder(files.key.parent)
    _sync_folder(files.certificate.parent)


def resume_adoption(files: PairFiles) -> None:
    """Before each step of a rotation: ends an `adopt_next` that was interrupted between its renames."""
    if is_half_adopted(files):
        adopt_next(files)


def is_half_adopted(files: PairFiles) -> bool:
    """Whether the key is the next one already, and the certificate the former one still."""
    if files.next.key.exists() or not (files.key.exists() and files.next.certificate.exists()):
        return False
    pem, _ = read_pem(files.next.certificate)
    return is_of_key(pem, read_key(files.key))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
