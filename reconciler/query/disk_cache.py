"""Values on disk beside the mirror, for verbs that run once: what an earlier verb read is not parsed again.

Only a shorter way to the same answer: a value counts if the same code wrote it, and if its digest is right. Anything else, also a
folder that cannot be written, means that the caller reads from Git, and is never an error.

Must never happen: a value of a Secret is written; half of a value is read (files are replaced, never changed).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import NamedTemporaryFile

from reconciler.world.source.parse_cache.cache import cache_key

FORMAT = b"gitvirt-1"
DIGEST_BYTES = 16


class DiskCache:
    """`folder` goes when the objects go that the values were read from. Without one nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load(self, name: str) -> bytes | None:
        """The value of that name, if it is there and whole."""
        if self._folder is None:
            return None
        try:
            data = (self._folder / name).read_bytes()
            head, body = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
            return body if head == _digest(body) else None
        except OSError:
            return None

    def save(self, name: str, body: bytes) -> None:
        """For this account alone. Two verbs at once may each write; one of them stays."""
        if self._folder is None:
            return
        try:
            with NamedTemporaryFile(dir=self._folder, prefix=f"{name}.", delete=False) as file:
                made = Path(file.name)
                file.write(_digest(body) + body)
            made.replace(self._folder / name)
        except OSError:
            return  # a full disk: the next verb reads from Git again


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=DIGEST_BYTES, key=FORMAT + cache_key()).digest()
