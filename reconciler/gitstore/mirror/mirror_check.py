"""Whether a mirror is whole, and what a crash left in it. Looks and sweeps; the mirror decides whether to build it again.

Only for a mirror that no other process uses at this moment.

Two depths. `is_sound` costs milliseconds and is asked at each start: refs name commits that can be read, and packs are complete. `is_damaged` reads
every object and costs seconds, so the store asks for it only after a read or a fetch has failed. A mirror that fails either is built again;
to repair one would be code for cases that a fetch solves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from reconciler.gitstore.mirror.disk import MirrorDisk
from reconciler.gitstore.process import run_git

# What the exit status of git fsck means, bit by bit. Bit 1, a malformed object, was written that way: not damage.
_UNREACHABLE, _BAD_PACK, _BAD_REF = 2, 4, 8
_FSCK_SECONDS = 600
_COMMIT_BYTES = 1 << 20  # whose tree is looked for; a larger one is not ours
_REF = re.compile(rb"[0-9a-f]{40}\n")


def sweep(repo: Path, disk: MirrorDisk) -> bool:
    """Remove locks, half-written files and packs without an index. Whether there were any."""
    leftovers = list(_leftovers(repo))
    for path in leftovers:
        if path.is_dir():
            disk.remove_folder(path)
        else:
            disk.remove(path)
    return bool(leftovers)


def is_sound(repo: Path) -> bool:
    """A quick look: it opens, every ref has its commit and root tree, every pack is there."""
    packs = repo / "objects" / "pack"
    if any(not index.with_suffix(".pack").is_file() for index in packs.glob("*.idx")):
        return False
    refs = [path for path in (repo / "refs").rglob("*") if path.is_file()]
    if not all(_REF.fullmatch(path.read_bytes()) for path in refs):
        return False  # the library passes over these in silence
    try:
        store = pygit2.Repository(str(repo))
    except pygit2.GitError:
        return False
    try:
        return all(_is_there(store, ref.target) for ref in store.references.iterator())
    except (KeyError, ValueError, pygit2.GitError):
        return False
    finally:
        store.free()


def _is_there(store: pygit2.Repository, target: pygit2.Oid | str) -> bool:
    """By headers alone, but for the commit: a ref may name a blob of any size."""
    id = pygit2.Oid(hex=str(target))
    type, size = store.odb.read_header(id)
    if type != ObjectType.COMMIT or size > _COMMIT_BYTES:
        return True
    data = store.odb.read(id)[1]
    return bool(store.odb.read_header(pygit2.Oid(hex=data[5:45].decode("ascii"))))


def is_damaged(repo: Path, lock: int) -> bool:
    """A thorough look, which reads everything: seconds for 100,000 files."""
    result = run_git(repo, ["fsck", "--full", "--no-dangling", "--no-progress"], lock, _FSCK_SECONDS)
    return (
        result.status < 0
        or bool(result.status & (_UNREACHABLE | _BAD_PACK | _BAD_REF))
        or result.status >= 128
    )


def _leftovers(repo: Path) -> Iterator[Path]:
    """Files in the mirror's repo that a killed git or a crash left: locks, unfinished packs and objects,
    and packs without an index, which no reader would find."""
    yield from repo.glob("*.lock")
    yield from (repo / "refs").rglob("*.lock")
    objects = repo / "objects"
    yield from objects.glob("tmp_*")
    yield from objects.glob("incoming-*")
    yield from objects.glob("[0-9a-f][0-9a-f]/tmp_obj_*")
    for path in (objects / "pack").glob("*"):
        if (
            path.suffix in (".new", ".keep")
            or path.name.startswith(("tmp_", ".tmp"))
            or (path.suffix != ".idx" and not path.with_suffix(".idx").exists())
        ):
            yield path
