"""Keys of tests alone, the golden files that the program `sops` 3.13.3 made for them, and what these contain.

The golden files were made of plain.yaml with `sops encrypt --encrypted-regex '^(data|stringData)$' --age ...`: for age_key.txt, for both
keys, with mac_only_encrypted, and of two documents.
"""

from __future__ import annotations

from pathlib import Path

from schemas.encryption.age_armor import Identities, parse_identities, public_half

GOLDEN = Path(__file__).parent / "golden"
PLAIN = (GOLDEN / "plain.yaml").read_text()
AGE_KEY = (GOLDEN / "age_key.txt").read_bytes()
HOST_KEY = (GOLDEN / "host_key.txt").read_bytes()
ADMIN: Identities = parse_identities(AGE_KEY)
HOST: Identities = parse_identities(HOST_KEY)
(ADMIN_PUBLIC,) = public_half(AGE_KEY)
(HOST_PUBLIC,) = public_half(HOST_KEY)
VALUES = {
    "password": b"correct horse battery staple",
    "url": b"postgres://shop@db:5432/shop?sslmode=require",
    "port": b"5432",
    "ratio": b"0.25",
    "flag": b"True",
    "empty": b"",
    "config": b"[client]\nhost = db\n\nport = 5432\n",
}


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.sops.yaml").read_text()
