"""Images by content, in one folder of this host. Knows digests and files, no servers.

    blobs/<algorithm>-<hex>     complete and verified; never written again
    partial/<key>               being fetched; the thread that fetches holds a lock on `<key>.lock`
    names/<key>                 the content that a URL had last, and the server's validator for it

Theory of operation. A blob goes through these states:

    state       files                    left by
    absent      none                     partial_file: locked for one thread; others wait and then find the blob
    fetching    partial, lock            add_blob with the right digest -> present; with another digest -> absent
    cut off     partial                  fetching continues it within a day; then it is removed -> absent
    present     blob                     collect, when it is not in use -> absent

A blob is created by one rename, so it is complete or absent. Its modification time says when it was used last. One runtime alone
has the folder: another would not know which disks have its blobs as backing files.

Must never happen: a blob is changed or replaced; a blob is removed that a disk has as its backing file or a domain boots from.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from iri.errors import FailedPrecondition
from iri.libvirt.folder_lock import FolderLock
from iri.libvirt.images.digest import Digest
from iri.libvirt.whole_files import sync_folder

PARTIAL_SECONDS = 24 * 3600  # how long an interrupted transfer can be continued
LOCK = ".lock"


class CachedName(msgspec.Struct, frozen=True):
    """What a URL had at its last answer."""

    digest: Digest
    validator: str


class ImageCache:
    """Thread-safe by the locks on partial files; two processes never share a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("blobs", "partial", "names"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        self.lock = FolderLock("the image cache")
        # QEMU's user reads blobs in it.
        folder.chmod(0o755)

    def blob(self, digest: Digest) -> Path | None:
        """The blob's path, marked as used now; None when it is not cached."""
        path = self.path(digest)
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    def path(self, digest: Digest) -> Path:
        """Where the blob is or would be. Does not mark it as used."""
        return self.folder / "blobs" / f"{digest.algorithm}-{digest.hex}"

    @contextmanager
    def partial_file(self, name: str) -> Iterator[Path]:
        """The partial file of that name, locked while the context lasts."""
        path = self.folder / "partial" / key(name)
        file = path.with_name(f"{path.name}{LOCK}")
        while True:
            with file.open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not _is_at(file, lock.fileno()):
                    continue  # its last holder has removed it
                try:
                    yield path
                finally:
                    file.unlink(missing_ok=True)
                return

    def add_blob(self, partial: Path, expected: Digest | None) -> Digest:
        """Turns the partial file into a blob. Discards it when its digest is not the expected one."""
        digest = digest_of(partial, expected.algorithm if expected else "sha256")
        if expected is not None and digest != expected:
            self.discard(partial)
            raise FailedPrecondition(f"the image has digest {digest}, not {expected}")
        partial.chmod(0o644)
        partial.replace(self.path(digest))
        os.utime(self.path(digest))
        sync_folder(self.folder / "blobs")
        self.discard(partial)
        return digest

    def discard(self, partial: Path) -> None:
        """With its validator. The caller holds its lock."""
        partial.unlink(missing_ok=True)
        partial.with_name(f"{partial.name}.validator").unlink(missing_ok=True)

    def lookup(self, name: str) -> CachedName | None:
        """The content that the name had last; None when it is not cached any more."""
        with suppress(FileNotFoundError, msgspec.DecodeError):
            cached = msgspec.json.decode((self.folder / "names" / key(name)).read_bytes(), type=CachedName)
            return cached if self.path(cached.digest).exists() else None
        return None

    def remember(self, name: str, cached: CachedName) -> None:
        """Replaced by a rename, so a reader finds the old note or the new one. A note that a crash loses costs one transfer."""
        path = self.folder / "names" / key(name)
        written = path.with_name(f"{path.name}.{os.getpid()}.{time.monotonic_ns()}")
        written.write_bytes(msgspec.json.encode(cached))
        written.replace(path)

    def collect(self, used: Set[str], *, now: float, unused_seconds: float, most_bytes: int) -> int:
        """Removes blobs that are not in use: those unused for `unused_seconds`, then the longest unused while the cache has more
        than `most_bytes`. `used` holds file names. Returns the bytes freed.

        The caller has proved that `used` is complete: with an incomplete set a disk would lose its backing file.
        """
        files = sorted(_files(self.folder / "blobs"), key=lambda entry: entry[1].st_mtime)
        total = sum(_bytes(status) for _, status in files)
        freed = 0
        for path, status in files:
            is_old = now - status.st_mtime > unused_seconds
            if path.name in used or not (is_old or total - freed > most_bytes):
                continue
            path.unlink(missing_ok=True)
            freed += _bytes(status)
        for path, status in _files(self.folder / "partial"):
            if path.suffix != LOCK and now - status.st_mtime > PARTIAL_SECONDS:
                path.unlink(missing_ok=True)
        return freed


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file is still the one at the path: a lock on a removed file protects nothing."""
    with suppress(FileNotFoundError):
        return path.stat().st_ino == os.fstat(handle).st_ino
    return False


def key(name: str) -> str:
    """A file name for any text, URLs with keys in them included."""
    return hashlib.sha256(name.encode()).hexdigest()


def digest_of(path: Path, algorithm: str) -> Digest:
    """Reads the whole file; for large images that takes longer than anything else here."""
    with path.open("rb") as file:
        return Digest(algorithm, hashlib.file_digest(file, algorithm).hexdigest())


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Files that are removed meanwhile are left out."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            yield path, path.stat()


def _bytes(status: os.stat_result) -> int:
    """What the file takes of the disk; images are often sparse."""
    return status.st_blocks * 512
