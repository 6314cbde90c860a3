"""Digests of content as image references and registries write them: `sha256:<hex>` or `sha512:<hex>`. Pure.

Only these two algorithms: a digest that can be forged would let other content take an image's place in the cache.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from iri.errors import InvalidArgument

HEX_LENGTHS = {"sha256": 64, "sha512": 128}
WRITTEN = re.compile(r"(?P<algorithm>sha256|sha512)[:=](?P<hex>[0-9a-fA-F]+)")


class Digest(msgspec.Struct, frozen=True):
    """An algorithm and its value; two digests of one content by different algorithms are different."""

    algorithm: str
    hex: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"

    @classmethod
    def of(cls, body: bytes, algorithm: str = "sha256") -> Digest:
        """Of content in memory; `cache.digest_of` reads files."""
        return cls(algorithm, hashlib.new(algorithm, body).hexdigest())


def parse(text: str) -> Digest:
    """Takes `sha256=<hex>` too, which URLs have behind a #. Raises InvalidArgument."""
    match = WRITTEN.fullmatch(text)
    if match is None:
        raise InvalidArgument(
            f"invalid digest {text[:80]!r}: write sha256:<64 hex digits> or sha512:<128 hex digits>"
        )
    digest = Digest(match["algorithm"], match["hex"].lower())
    if len(digest.hex) != HEX_LENGTHS[digest.algorithm]:
        expected = HEX_LENGTHS[digest.algorithm]
        raise InvalidArgument(f"a {digest.algorithm} digest has {expected} hex digits, not {len(digest.hex)}")
    return digest
