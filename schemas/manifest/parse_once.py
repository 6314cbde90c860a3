"""Parsing each file once, within a verb that looks at the same files in several ways: `gitvirt plan` validates them, brings the world up to date
with them, and compares them with those of `live`.

The same path and bytes always give the same Manifest, so a kept one is the answer. No caller changes the values of one.

Limits: nothing is kept outside of `parse_once`, and no more than MOST files within: the values of a file take about ten times its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from schemas.manifest import documents
from schemas.manifest.documents import Manifest

MOST = 20_000  # files, about 100 MB

_kept: ContextVar[dict[tuple[str, bytes], Manifest] | None] = ContextVar("manifests", default=None)


@contextmanager
def parse_once() -> Iterator[None]:
    """Within it a file with the same path and bytes is parsed once. One within another keeps nothing of its own."""
    token = _kept.set({} if (outer := _kept.get()) is None else outer)
    try:
        yield
    finally:
        _kept.reset(token)


def parse(path: str, data: bytes) -> Manifest:
    """The manifest of a file, as `documents.parse` reads it."""
    kept = _kept.get()
    if kept is None:
        return documents.parse(path, data)
    if (found := kept.get((path, data))) is None:
        found = documents.parse(path, data)
        if len(kept) < MOST:
            kept[path, data] = found
    return found


def count_kept() -> int:
    """How many files are not parsed again, as far as they are asked for."""
    return len(_kept.get() or ())
