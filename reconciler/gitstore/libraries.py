"""Which Git library this is."""

from __future__ import annotations

import importlib.metadata

import pygit2


def versions() -> dict[str, str | None]:
    return {"pygit2": importlib.metadata.version("pygit2"), "libgit2": pygit2.LIBGIT2_VERSION}
