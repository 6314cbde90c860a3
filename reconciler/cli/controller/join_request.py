"""A request to join, as it may come from anybody: checked, and reduced to what its entry in gitvirt.yaml may hold. Pure.

    part                 refused, unless                                                 as
    token, name          they have the length and the letters of one                     MALFORMED
    certificate          it is one that can be listed, of ECDSA, and valid now           MALFORMED
    proof                the key of the certificate made it, for this token and server   PROOF
    ssh_public_key       it is empty, or one line with a key of SIGNING_TYPES            MALFORMED
    age                  at most MOST_RECIPIENTS public keys                             MALFORMED

Keys are written as type and value. A comment of the request reaches no file, so a host cannot pass its key off as that of a person.
"""

from __future__ import annotations

import base64
import re
import ssl
import struct
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from iri.proto.gitvirt.link.v1alpha1.agent_pb2 import JoinRequest
from reconciler.gitstore.signatures.join_proof import is_proven, proof_text
from reconciler.gitstore.signatures.join_token import PREFIX
from reconciler.gitstore.signatures.signers import SignersError, parse_signers
from reconciler.link.join_desk import JoinRefusal, JoinRefusedError
from schemas.encryption.recipients import parse_recipient
from schemas.settings.certificate import Certificate, RefusedCertificate, read_certificate

NAME = re.compile(r"(?!.*(\.\.|\.lock$))[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")  # of a poollet, and of a ref
SIGNING_TYPES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
)
LONGEST_TOKEN, LONGEST_CERTIFICATE, LONGEST_KEY = 16 * 1024, 8 * 1024, 4 * 1024
MOST_RECIPIENTS = 8


@dataclass(frozen=True, slots=True)
class JoiningHost:
    """What a host asks for, and has proven. Nothing of it is allowed yet: the token decides. `signer` is empty where there is none."""

    token: str
    name: str
    certificate: str
    identity: str
    signer: str
    recipients: tuple[str, ...]


def read_join_request(request: JoinRequest, server: str, now: datetime) -> JoiningHost:
    """Raises JoinRefusedError. `server` is the identity of this server's certificate."""
    if not NAME.fullmatch(request.poollet):
        raise _build_refusal(
            "the request names no poollet, or one with other characters", "set `name` of poollet.yaml"
        )
    if len(request.token) > LONGEST_TOKEN or not request.token.startswith(PREFIX):
        raise _build_refusal("this is not a token", f"copy the whole line, from {PREFIX} on")
    pem, found = _read_certificate(request.certificate, now)
    proven = proof_text(request.token, server, request.certificate)
    if not is_proven(x509.load_der_x509_certificate(request.certificate), request.proof, proven):
        cause = (
            "the request does not prove that the host has the key of its certificate and means this server"
        )
        cure = "join with `gitvirt poollet join`; if the certificate of the link was replaced just now, call again"
        raise JoinRefusedError(JoinRefusal.PROOF, cause, cure)
    return JoiningHost(
        request.token,
        request.poollet,
        pem,
        found.identity,
        _read_signer(request.ssh_public_key, request.poollet),
        _read_recipients(tuple(request.age)),
    )


def _read_certificate(der: bytes, now: datetime) -> tuple[str, Certificate]:
    cure = "`gitvirt poollet join` makes one; remove the files of the old one first"
    if not der or len(der) > LONGEST_CERTIFICATE:
        raise _build_refusal("the request has no certificate, or one that is too long", cure)
    pem = ssl.DER_cert_to_PEM_cert(der)
    found = read_certificate(pem)
    if isinstance(found, RefusedCertificate):
        raise _build_refusal(f"the certificate of the host cannot be listed: {found.message}", found.hint)
    if not isinstance(x509.load_der_x509_certificate(der).public_key(), ec.EllipticCurvePublicKey):
        raise _build_refusal("the certificate of the host is not of an ECDSA key, which a token needs", cure)
    if not found.begins <= now < found.ends:
        raise _build_refusal(
            "the certificate of the host is not valid now", f"compare the clocks, or: {cure}"
        )
    return pem, found


def _read_signer(line: str, name: str) -> str:
    """Type and value, with the name of the host as its comment."""
    if not line:
        return ""
    wrong = _build_refusal(
        "the ssh key of the host is not one line of a .pub file", "name another signingKey"
    )
    try:
        keys = parse_signers([line]).ssh if len(line) <= LONGEST_KEY and "\n" not in line else ()
    except SignersError:
        raise wrong from None
    if len(keys) != 1 or not line.startswith(f"{keys[0].type} ") or keys[0].type not in SIGNING_TYPES:
        raise wrong
    kind = keys[0].type.encode()
    if keys[0].blob[: 4 + len(kind)] != struct.pack(">I", len(kind)) + kind:
        raise wrong
    return f"{keys[0].type} {base64.b64encode(keys[0].blob).decode()} {name}"


def _read_recipients(lines: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(parse_recipient(line) if len(line) <= LONGEST_KEY else None for line in lines)
    if len(found) > MOST_RECIPIENTS or None in found:
        cause = "the keys for Secrets are not public keys of age or ssh-ed25519, or too many"
        raise _build_refusal(cause, "name others under decryptionKeys of poollet.yaml")
    return tuple(dict.fromkeys(each for each in found if each))


def _build_refusal(cause: str, cure: str) -> JoinRefusedError:
    return JoinRefusedError(JoinRefusal.MALFORMED, cause, cure)
