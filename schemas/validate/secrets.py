"""Secrets in plain text. A finding names the keys of a Secret, never a value.

Encryption is recognized by its form (SOPS, age, OpenPGP), and nothing is decrypted. A value that is encrypted in a form not
known here counts as plain: a false alarm costs a setting, a missed secret stays in Git history for good.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from schemas.model import Secret
from schemas.problem import json_pointer
from schemas.validate.finding import Finding, shorten_list
from schemas.validate.inputs import ValidationPolicy
from schemas.validate.tree import AnyDeclaration

ARMOR = ("-----BEGIN AGE ENCRYPTED FILE-----", "-----BEGIN PGP MESSAGE-----")
AGE = b"age-encryption.org/v1"
HEADER = 64  # characters of base64 that are enough to recognize encryption


def findings(entry: AnyDeclaration, policy: ValidationPolicy) -> Iterator[Finding]:
    """GV510 for a Secret in plain text, GV511 for one that is encrypted in part."""
    secret = entry.object
    if not isinstance(secret, Secret):
        return
    values = [("data", key, value) for key, value in secret.data.items() if value]
    values += [("stringData", key, value) for key, value in secret.string_data.items() if value]
    plain = [(field, key) for field, key, value in values if not is_encrypted(field, value)]
    if not plain:
        return
    names = shorten_list([f"'{key}'" for _, key in plain])
    pointer = json_pointer(plain[0])
    if len(plain) < len(values):
        yield entry.finding(
            "GV511",
            pointer,
            f"{names} can be read, while the rest of this Secret is encrypted",
            "encrypt the whole document again, and change the secrets that were readable",
        )
    elif not policy.allows_plain_secrets:
        yield entry.finding(
            "GV510",
            pointer,
            f"everyone who can read this repo can read {names}, and the values stay in Git history",
            f"encrypt it with `gitvirt secret rekey {entry.key.namespace}/{entry.key.name}`, SOPS or age, and change the secret itself; "
            "for a test repo, set `secrets: {plain: allow}` in gitvirt.yaml",
        )


def is_encrypted(field: str, value: str) -> bool:
    """By SOPS, age or OpenPGP."""
    if value.startswith("ENC[") and value.endswith("]"):
        return True
    return is_armored(value) or (field == "data" and is_encrypted_base64(value))


def is_armored(text: str) -> bool:
    """Whether the text is ASCII armor of age or OpenPGP."""
    return text.lstrip().startswith(ARMOR)


def is_encrypted_base64(value: str) -> bool:
    """Whether base64 data starts like an encrypted file."""
    start = "".join(value[: 4 * HEADER].split())[:HEADER]
    try:
        decoded = base64.b64decode(start[: len(start) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
    return decoded.startswith(AGE) or is_armored(decoded.decode("ascii", "replace"))
