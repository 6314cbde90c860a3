"""How the libvirt runtime, which knows no YAML, reads Ignition data that people wrote in it."""

from __future__ import annotations

from schemas.reader import read
from schemas.reader.value import Unreadable


def yaml_value(data: bytes) -> object:
    """Of its only document. None for what is no such text."""
    try:
        values = read(data.decode())
    except UnicodeDecodeError:
        return None
    return None if isinstance(values, Unreadable) or len(values) != 1 else values[0]
