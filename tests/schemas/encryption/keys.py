"""Keys of tests alone, the golden files that the program `sops` 3.13.3 made for them, and what these contain.

The golden files were made of plain.yaml with `sops encrypt --encrypted-regex '^(data|stringData)$' --age ...`: for age_key.txt, for both
keys, with mac_only_encrypted, and of two documents.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from schemas.encryption.age_armor import Identities, parse_identities, public_half
from schemas.encryption.sops_document import mac_of, open_documents, read_metadata, walk
from schemas.encryption.sops_text import read_body, seal_text
from schemas.encryption.sops_values import NONCE_BYTES, Plain, plain_of, seal_value

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


def seal_with_document(secret: str, other: str) -> str:
    """A file of a Secret and another document for HOST, as sops writes it: both have the metadata, whose MAC is over both."""
    sealed = seal_text(secret, [HOST_PUBLIC], datetime(2026, 11, 20, tzinfo=UTC))
    body = read_body(sealed)
    metadata = read_metadata(body)
    opened = open_documents([body], HOST)
    values = [(path, plain_of(value)) for path, value in walk(read_body(other))]
    mac = mac_of([opened.documents[0], values], lambda _: True)
    new = seal_value(Plain(mac.encode()), opened.data_key, metadata.modified, bytes(NONCE_BYTES))
    sealed = sealed.replace(metadata.mac, new)
    return f"{sealed}---\n{other}{sealed[sealed.index('sops:') :]}"


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.sops.yaml").read_text()
