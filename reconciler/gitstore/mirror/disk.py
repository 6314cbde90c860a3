"""Every write to a mirror's files, in one place: so that tests can let each of them fail, before and after its effect."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class MirrorDisk:
    """Each call is one step that may fail with OSError, or never return."""

    def make_folder(self, folder: Path) -> None:
        """Readable by this account only: the repo may be private and contain secrets."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """A new or emptied file, on the disk when this returns."""
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def rename(self, path: Path, to: Path) -> None:
        path.replace(to)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def remove_folder(self, folder: Path) -> None:
        if folder.exists():
            shutil.rmtree(folder)

    def sync(self, folder: Path) -> None:
        """What was made, renamed or removed in this folder stays so."""
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(place)
        finally:
            os.close(place)

    def replace(self, path: Path, data: bytes) -> None:
        """The whole new content or the whole old one, whenever the power goes."""
        beside = path.with_name(path.name + ".new")
        self.write(beside, data)
        self.rename(beside, path)
        self.sync(path.parent)
