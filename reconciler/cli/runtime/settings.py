"""The libvirt runtime's settings as operators write them."""

from __future__ import annotations

from pathlib import Path

from iri.libvirt.settings import Settings, decoded
from reconciler.cli.runtime.document import document_of

SHOWN = "docs/libvirt.md shows all settings"
DEFAULT = "/etc/gitvirt/libvirt.yaml"
COUNTS = frozenset(("tps", "iops"))
RESOURCES = frozenset(("reserved", "resources"))  # mappings of nothing but counts


def settings_of(path: str | None, default: str = DEFAULT) -> Settings:
    """Of that file; without one, of the default file where there is one. A CommandError says what is wrong with it."""
    if path is None and not Path(default).exists():
        return Settings()
    return document_of(path or default, "--settings", SHOWN, is_count, decoded)


def is_count(key: str) -> bool:
    return key in COUNTS or key in RESOURCES or key.endswith("Bytes")
