"""Profiles of simulated hosts as people write them."""

from __future__ import annotations

from iri.simulated.profile import Profile, decoded
from reconciler.cli.runtime.document import document_of

SHOWN = "`gitvirt runtime simulated --help` shows a profile"
COUNTS = frozenset(("tps", "iops", "local_disk_bytes"))
RESOURCES = frozenset(("capacity", "resources"))  # mappings of nothing but counts


def profile_of(path: str) -> Profile:
    """A CommandError says what is wrong with the file."""
    return document_of(path, "--profile", SHOWN, (COUNTS | RESOURCES).__contains__, decoded)
