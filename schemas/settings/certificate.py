"""One X.509 certificate as people list it in gitvirt.yaml: PEM into an identity and a time of validity, or the reason why not. Pure.

A certificate is known by the SHA-256 of its DER, never by a name in it: names can be repeated by anybody, and the fleet's settings say whose
a certificate is. So subject, issuer and alternative names decide nothing here, with one exception: a TLS client compares the name of a
server, so the link's certificate has LINK_NAME.

Two rules come from the TLS library of gRPC, as tried with it:

    Ed25519, P-521                  the handshake fails
    no key usage, or keyCertSign    the handshake accepts further certificates that this key signed, even with CA:FALSE; and of two
                                    certificates with one subject it accepts the first only, so that a host could not rotate

So a certificate has the key usage digitalSignature alone. Then a handshake succeeds with a listed certificate and with no other.

Must never happen: a text that was refused is quoted. People paste private keys by mistake, and messages reach logs, reports and forges.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding

# What hosts and clients expect of the server, whatever its address is.
LINK_NAME = "gitvirt-link"
MOST_KEPT = 8192  # two for each host of a large fleet
LEAST_RSA_BITS = 2048
CURVES = (ec.SECP256R1, ec.SECP384R1)
HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
ONE_BLOCK = re.compile(r"\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*")
BEGIN = "-----BEGIN CERTIFICATE-----"
PRIVATE = "PRIVATE KEY"
# What the library raises for a certificate that it cannot read. Some of its errors are not ValueErrors.
UNREADABLE = (
    ValueError,
    TypeError,
    OverflowError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
MAKE = "`gitvirt poollet join` does it for a host, `gitvirt link init` for the link, `gitvirt client join` for a client"
MAKE_EC = f"use an ECDSA key of the curve P-256: {MAKE}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """`identity` is the SHA-256 of the DER in hexadecimal. `names` are the DNS names in it, which identify no caller."""

    identity: str
    begins: datetime
    ends: datetime
    names: tuple[str, ...]

    @property
    def short(self) -> str:
        """The beginning of the identity, for messages."""
        return self.identity[:12]


@dataclass(frozen=True, slots=True)
class RefusedCertificate:
    """Why a text cannot be listed. No part of the text is in it."""

    code: str
    message: str
    hint: str


@lru_cache(maxsize=MOST_KEPT)
def read_certificate(text: str) -> Certificate | RefusedCertificate:
    """Kept, because a fleet's settings are parsed again for each change of them, and each handshake asks for an identity."""
    if PRIVATE in text:
        message = "this is a private key, and it is in Git now"
        hint = "take it out, make a new key, and list the certificate of the new key: the old one is known to all readers"
        return RefusedCertificate("GV606", message, hint)
    if text.count(BEGIN) > 1:
        message = "the entry has several certificates"
        return RefusedCertificate("GV605", message, "write each certificate as an entry of its own")
    if not ONE_BLOCK.fullmatch(text):
        hint = f"paste the whole text, from {BEGIN} to the line that ends it, as a block: `- |`"
        return RefusedCertificate("GV605", "this is not a certificate in PEM", hint)
    try:
        found = x509.load_pem_x509_certificate(text.strip().encode())
        unusable = _why_unusable(found)
        return unusable or Certificate(
            hashlib.sha256(found.public_bytes(Encoding.DER)).hexdigest(),
            found.not_valid_before_utc,
            found.not_valid_after_utc,
            _dns_names(found),
        )
    except UNREADABLE:
        return RefusedCertificate("GV605", "the certificate is damaged", "paste the whole text once more")


def _why_unusable(found: x509.Certificate) -> RefusedCertificate | None:
    """GV607: what TLS in gRPC refuses, and keys that others can guess."""
    key = found.public_key()
    if isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        name = "Ed25519" if isinstance(key, ed25519.Ed25519PublicKey) else "Ed448"
        return RefusedCertificate("GV607", f"the key is {name}, which gRPC cannot use for TLS", MAKE_EC)
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < LEAST_RSA_BITS:
            message = f"the RSA key has {key.key_size} bits; the least is {LEAST_RSA_BITS}"
            return RefusedCertificate("GV607", message, MAKE_EC)
    elif not isinstance(key, ec.EllipticCurvePublicKey):
        return RefusedCertificate("GV607", "the key is of a kind that TLS does not use", MAKE_EC)
    elif not isinstance(key.curve, CURVES):
        return RefusedCertificate("GV607", f"the key is of the curve {key.curve.name}", MAKE_EC)
    if not isinstance(found.signature_hash_algorithm, HASHES):
        return RefusedCertificate("GV607", "the certificate is not signed with SHA-256 or better", MAKE_EC)
    if not _signs_only_messages(found):
        message = "the certificate does not restrict its key to digital signatures: the key could sign further certificates"
        hint = f"make one with the critical key usage digitalSignature: {MAKE}"
        return RefusedCertificate("GV607", message, hint)
    return None


def _signs_only_messages(found: x509.Certificate) -> bool:
    try:
        usage = found.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return usage.digital_signature and not usage.key_cert_sign


def _dns_names(found: x509.Certificate) -> tuple[str, ...]:
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(names.get_values_for_type(x509.DNSName))
