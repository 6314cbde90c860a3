"""A persistent bare mirror of a remote on this disk: an object database by the Git library, written as packs of our own.

Owns its directory, by a lock that its children inherit. It must not talk to the remote; a transport brings what that has into `repo`.

# Theory of operation

Nothing in a mirror exists only there. So it may be deleted at any time, by us and by anybody, and all that a loss costs is a fetch.
Every doubt is resolved by building it again instead of repairing it.

| found when it is opened, or by `heal` | what happens |
|---|---|
| marker missing, of another remote or of an older format | built again |
| locks, half-written files, packs without index (a crash) | removed, the rest is kept |
| a ref without its commit or root tree, an index without its pack | built again |
| an unreadable object (thorough check) | built again |
| directory removed while we run | `refs` is empty, so everything is fetched again |

A write is visible only when it is complete: `add` writes the pack before its index, each under a temporary name, and renames the index
last. `point` moves a ref like git does, through a `.lock` file, so that a git process beside us is safe. The marker is removed
first and written last when a mirror is built, so half a mirror never passes for a whole one.

Objects that `add` stored have no ref until their push succeeded. Until `point` or `forget`, `Repack` must not treat them as garbage.

# Must never happen

- Two processes write one mirror: the lock is held until every child that inherited it has ended, also when we are killed.
- Objects of a push that is on its way are removed by housekeeping.
- A damaged mirror makes an object look absent: a missing object raises DamageError.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from reconciler.gitstore.errors import DamageError, InUseError
from reconciler.gitstore.mirror import mirror_check
from reconciler.gitstore.mirror.ancestor_sets import AncestorSets
from reconciler.gitstore.mirror.disk import MirrorDisk
from reconciler.gitstore.mirror.repack import Repack, RepackLimits
from reconciler.gitstore.objects.database import GitObject, ObjectType
from reconciler.gitstore.objects.first_parents import log_arguments, parse_log
from reconciler.gitstore.objects.pack import build_pack
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.process import stream_git
from reconciler.gitstore.repo import FileChange

# As git itself does: an object is hashed when it is fetched and when the mirror is looked through; what decays on the disk
# in between fails the checksum of its compression. Hashing each at every read takes a third of reading.
pygit2.settings.enable_strict_hash_verification(False)
# Each fetch and each write is a pack, which the library keeps open: hundreds until the next housekeeping, where a process may
# have no more than 1,024 files open.
PACKS_OPEN = 128
pygit2.settings.mwindow_file_limit = PACKS_OPEN

_FORMAT = 2
_TYPES = {int(type): type for type in ObjectType}
# One thread: a pack is made beside the loop, which shall not notice. Packs stay packs when they are fetched. A ref that the
# power took is fetched again, so a thousand of them need not wait for the disk one by one.
_CONFIG = b"""\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tlogAllRefUpdates = false
\tfsync = committed,-loose-object,-reference
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fetch]
\tunpackLimit = 1
[pack]
\tthreads = 1
"""


class Mirror:
    """`key` says what this mirrors: what was made for another key is thrown away. `patience` is for the lock, in seconds.

    Raises InUseError, or OSError when its directory cannot be written.
    """

    def __init__(
        self,
        directory: Path,
        key: str,
        *,
        disk: MirrorDisk | None = None,
        patience: float = 10,
        allowed: RepackLimits | None = None,
    ) -> None:
        self.folder = directory
        self.repo = directory / "repo.git"
        self._marker = directory / "mirror.json"
        remote = hashlib.sha256(key.encode()).hexdigest()
        self._mark = json.dumps({"format": _FORMAT, "remote": remote}).encode()
        self._disk = disk or MirrorDisk()
        self._disk.make_folder(directory)
        self.lock = _take_lock(directory / "lock", patience)
        self._tidying = threading.Lock()
        self._repack = Repack(self.repo, self._disk, self.lock, allowed or RepackLimits())
        try:
            self._store = self._open()
        except BaseException:
            os.close(self.lock)
            raise
        self._ancestors = AncestorSets(self._store)

    def get(self, id: ObjectId) -> tuple[ObjectType, bytes]:
        try:
            type, data = self._store.odb.read(pygit2.Oid(hex=id))
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise _missing(id) from error
        return _TYPES[type], data

    def header(self, id: ObjectId) -> tuple[ObjectType, int]:
        try:
            type, size = self._store.odb.read_header(pygit2.Oid(hex=id))
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise _missing(id) from error
        return _TYPES[type], size

    def add(self, objects: Sequence[GitObject]) -> None:
        made = build_pack(objects)
        place = self.repo / "objects" / "pack" / f"pack-{made.name}"
        self._repack.protect(made.name)
        try:
            self._disk.write(place.with_suffix(".pack.new"), made.data)
            self._disk.write(place.with_suffix(".idx.new"), made.idx)
            # The index makes a pack visible, so it comes last.
            self._disk.rename(place.with_suffix(".pack.new"), place.with_suffix(".pack"))
            self._disk.rename(place.with_suffix(".idx.new"), place.with_suffix(".idx"))
            self._disk.sync(place.parent)
        except OSError:
            # Room for whoever comes next; what stays is swept later.
            with contextlib.suppress(OSError):
                self._disk.remove(place.with_suffix(".pack.new"))
                self._disk.remove(place.with_suffix(".idx.new"))
            raise

    def forget(self) -> None:
        self._repack.unprotect()

    def refs(self) -> Mapping[str, ObjectId]:
        """Empty once the directory was removed, which may happen at any time: then everything is fetched again."""
        try:
            found = self._store.references.iterator()
            return {ref.name: str(ref.target) for ref in found if isinstance(ref.target, pygit2.Oid)}
        except (KeyError, OSError, pygit2.GitError):
            if (self.repo / "refs").is_dir():
                raise
            return {}

    def point(self, refs: Mapping[str, ObjectId]) -> None:
        for ref, id in refs.items():
            place = self.repo / ref
            lock = place.with_name(place.name + ".lock")  # which a git beside us respects
            self._disk.make_folder(place.parent)
            self._disk.write(lock, id.encode() + b"\n")
            self._disk.rename(lock, place)

    def commits(self, head: ObjectId, since: ObjectId | None) -> Iterator[ObjectId]:
        try:
            walk = self._store.walk(pygit2.Oid(hex=head), SortMode.TOPOLOGICAL | SortMode.TIME)
            if since:
                with contextlib.suppress(KeyError, ValueError):
                    walk.hide(pygit2.Oid(hex=since))
            for commit in walk:
                yield str(commit.id)
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise _incomplete(head) from error

    def changes(
        self, head: ObjectId, path: str | None, *, removals: bool
    ) -> Iterator[tuple[ObjectId, FileChange]]:
        fields = stream_git(self.repo, log_arguments(head, path, removals=removals), self.lock)
        with contextlib.closing(fields):
            try:
                for id, change in parse_log(fields):
                    if path in (None, change.path):  # git names the files below it too, where it was a folder
                        yield id, change
            except OSError as error:
                raise _incomplete(head) from error

    def is_descendant(self, commit: ObjectId, ancestor: ObjectId) -> bool:
        try:
            if commit == ancestor:
                return pygit2.Oid(hex=commit) in self._store
            return self._ancestors.is_descendant(pygit2.Oid(hex=commit), pygit2.Oid(hex=ancestor))
        except (KeyError, ValueError, pygit2.GitError):
            return False

    def heal(self, is_thorough: bool) -> bool:
        with self._tidying:
            swept = mirror_check.sweep(self.repo, self._disk)
            is_sound = mirror_check.is_sound(self.repo)
            if is_sound and is_thorough:
                is_sound = not mirror_check.is_damaged(self.repo, self.lock)
            if not is_sound:
                # The library knows packs by their paths while any repo has them open, and the next may be named the same.
                self._store.free()
                self._store = self._rebuild()
                self._ancestors = AncestorSets(self._store)
            return swept or not is_sound

    def repack(self, pins: Sequence[ObjectId]) -> None:
        def roots() -> Iterator[ObjectId]:
            yield from self.refs().values()
            yield from (id for id in pins if pygit2.Oid(hex=id) in self._store)

        with self._tidying:
            self._repack.prepare(roots)

    def finish_repack(self, refs: Collection[str]) -> None:
        with self._tidying:
            mirror_check.sweep(self.repo, self._disk)
            for ref in self.refs().keys() - refs:
                self._store.references.delete(ref)
            self._repack.finish(set(self.refs().values()))

    def close(self) -> None:
        self._store.free()
        os.close(self.lock)

    def _open(self) -> pygit2.Repository:
        if self._marker.is_file() and self._marker.read_bytes() == self._mark:
            mirror_check.sweep(self.repo, self._disk)
            if mirror_check.is_sound(self.repo):
                return pygit2.Repository(str(self.repo))
        return self._rebuild()

    def _rebuild(self) -> pygit2.Repository:
        """An empty one. The marker goes first and comes last, so that half a mirror never passes for a whole one."""
        self._disk.remove(self._marker)
        self._disk.remove_folder(self.repo)
        for folder in ("objects/pack", "refs/heads"):
            self._disk.make_folder(self.repo / folder)
        self._disk.write(self.repo / "config", _CONFIG)
        self._disk.write(self.repo / "HEAD", b"ref: refs/heads/main\n")
        self._disk.replace(self._marker, self._mark)
        return pygit2.Repository(str(self.repo))


def _incomplete(head: ObjectId) -> DamageError:
    return DamageError(f"the history of {head} is incomplete", "gitvirt repairs its mirror at the next fetch")


def _missing(id: ObjectId) -> DamageError:
    return DamageError(f"object {id} is missing or damaged", "gitvirt repairs its mirror at the next fetch")


def _take_lock(path: Path, patience: float) -> int:
    """Held until it is closed here and in every child that has it, even when this process is killed."""
    place = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(0.05)
                continue
            os.close(place)
            raise InUseError(
                f"another process uses {path.parent}", "wait for it, or choose another directory"
            ) from None
        return place
