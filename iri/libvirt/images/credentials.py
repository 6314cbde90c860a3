"""Names and passwords of registries, from a file as `docker login` writes it. They go to their registry and nowhere else."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

import msgspec

from iri.errors import FailedPrecondition


class RegistryLogin(msgspec.Struct, frozen=True):
    auth: str = ""


class DockerConfig(msgspec.Struct, frozen=True):
    auths: dict[str, RegistryLogin] = {}


def basic(path: str, registry: str) -> str:
    """What an Authorization header says to that registry; empty without an entry. Read anew each time: people log in."""
    if not path:
        return ""
    try:
        file = msgspec.json.decode(Path(path).read_bytes(), type=DockerConfig)
        entry = file.auths.get(registry, RegistryLogin())
        base64.b64decode(entry.auth, validate=True)
    except (OSError, msgspec.DecodeError, binascii.Error) as error:
        # msgspec and binascii name places and types, never values.
        raise FailedPrecondition(f"the registry credentials in {path} cannot be read: {error}") from None
    return f"Basic {entry.auth}" if entry.auth else ""
