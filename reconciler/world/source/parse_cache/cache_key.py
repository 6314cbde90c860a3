"""Which code reads files here. What other code has read is read again."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from functools import cache
from pathlib import Path

import reconciler.world
import schemas

_PACKAGES = (schemas, reconciler.world)
_LIBRARIES = ("msgspec", "yaml-rs", "jsonschema-rs", "ruamel.yaml")


@cache
def cache_key() -> bytes:
    """Of every line and every schema that reading goes by. Raises OSError when they cannot be read."""
    digest = hashlib.blake2b(sys.version.encode(), digest_size=16)
    for library in _LIBRARIES:
        digest.update(f"{library} {_version(library)}\0".encode())
    for package in _PACKAGES:
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".json"):
                digest.update(f"{path.relative_to(folder)}\0".encode())
                digest.update(hashlib.blake2b(path.read_bytes()).digest())
    return digest.digest()


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError as error:
        raise OSError(f"the version of {library} is unknown") from error
