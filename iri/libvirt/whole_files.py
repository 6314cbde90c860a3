"""Files that are complete or absent, whatever happens: written beside their place, flushed to disk, then renamed.

Both flushes matter. Without that of the file, a crash of the host can leave a renamed file that is empty; without that of the
folder, the rename itself can be lost, and a record that a caller relies on with it.
"""

from __future__ import annotations

import os
from pathlib import Path

PRIVATE, READABLE = 0o600, 0o644


def replace_file(path: Path, data: bytes, mode: int = READABLE) -> None:
    """On disk when it returns. Follows no link, which another writer to the folder could have put there. A crash leaves
    `<name>.partial` at most, which the next call removes."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A rename or a removal in the folder is on disk when it returns."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
