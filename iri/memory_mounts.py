"""Which folders are in memory alone: a file with a secret must not reach a disk. A tmpfs may still be swapped."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
IN_MEMORY = ("tmpfs", "ramfs")


def is_in_memory(folder: Path) -> bool:
    """By the mount that the folder is on."""
    try:
        place = folder.resolve(strict=True)
        mounts = [line.split() for line in MOUNTS.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return False
    found = [(Path(words[1]), words[2]) for words in mounts if place.is_relative_to(words[1])]
    return bool(found) and max(found, key=lambda each: len(each[0].parts))[1] in IN_MEMORY
