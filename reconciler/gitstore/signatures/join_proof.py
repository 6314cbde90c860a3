"""That a host which joins has the private key of its certificate, and means this server: one ECDSA signature. Pure.

    signed, one after the other                  so that
    a text that names the purpose                no other signature of the key counts for this one
    the SHA-256 of the token                     the proof is for this token alone
    the SHA-256 of the server's certificate      another server cannot present it to this one
    the SHA-256 of the host's certificate        a stranger cannot join with the certificate of another host

Both ends use this module. TLS does not do it: the port asks for no certificate, because none of a new host is listed yet.
"""

from __future__ import annotations

import hashlib

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PURPOSE = b"gitvirt.link.v1alpha1.Join"
_SIGNED_WITH = ec.ECDSA(hashes.SHA256())


def proof_text(token: str, server: str, certificate: bytes) -> bytes:
    """What is signed. `server` is the identity of the server's certificate, `certificate` the host's, DER."""
    digests = (
        hashlib.sha256(token.encode()).digest(),
        bytes.fromhex(server),
        hashlib.sha256(certificate).digest(),
    )
    return b"".join((PURPOSE, *digests))


def sign_proof(key: ec.EllipticCurvePrivateKey, text: bytes) -> bytes:
    return key.sign(text, _SIGNED_WITH)


def is_proven(certificate: x509.Certificate, proof: bytes, text: bytes) -> bool:
    """Whether the key of this certificate signed the text. No other kind of key than ECDSA's proves anything."""
    key = certificate.public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    try:
        key.verify(proof, text, _SIGNED_WITH)
    except InvalidSignature:
        return False
    return True
