"""The key that a process signs with, as a signer: found in what it signs, and proven by the same check as any other.

Limits: only the public half is ever seen here.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import datetime

from reconciler.gitstore.objects.commit import Commit, Sign, decode_commit, encode_commit
from reconciler.gitstore.repo import Identity
from reconciler.gitstore.signatures.signers import Signers, SshSignerKey
from reconciler.gitstore.signatures.signing import FINGERPRINT
from reconciler.gitstore.signatures.verifier import GoodSignature, Verifier, read_public_key

TRIAL = Identity("gitvirt", "gitvirt@localhost")


def find_own_signers(key: str, sign: Sign, ambient: Mapping[str, str], at: datetime) -> Signers | None:
    """Of the key that `sign` signs with, which `key` names. Raises SigningError where it cannot sign. None where this host cannot check its own
    signature: then it can judge those of others no better."""
    trial = encode_commit(Commit("0" * 40, (), TRIAL, at, "whose key is it\n"), sign)
    if FINGERPRINT.fullmatch(key):
        found = Signers(fingerprints=frozenset((key.upper(),)))
    else:
        blob = read_public_key(decode_commit(trial).signature)
        if blob is None:
            return None
        found = Signers(ssh=(SshSignerKey("this reconciler", _type_of(blob), blob),))
    return found if isinstance(Verifier(found, ambient).verify(trial, at), GoodSignature) else None


def _type_of(blob: bytes) -> str:
    """Its first text."""
    (length,) = struct.unpack_from(">I", blob)
    return blob[4 : 4 + length].decode("ascii", "replace")
