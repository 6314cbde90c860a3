"""Combines many small packs into few, and drops unreachable objects. Runs beside a loop that reads, fetches and pushes.

It knows no remote. Small packs are combined without looking at what is in them, so nothing can be lost. Garbage is collected when
the number of objects has doubled since the last time. `prepare` only adds a pack; `finish` removes the old ones, while no fetch or push runs,
and only if nothing that was garbage at `prepare` has become reachable since.
"""

from __future__ import annotations

import contextlib
import errno
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from reconciler.gitstore.mirror.disk import MirrorDisk
from reconciler.gitstore.objects import pack
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.gitstore.process import run_git

_SECONDS = 900


@dataclass(frozen=True, slots=True)
class RepackLimits:
    """How untidy a mirror may be. Every fetch and every commit leaves a pack, every heartbeat of a poollet an object."""

    packs: int = 24  # cost nothing to read
    garbage: int = 10_000  # objects
    loose_refs: int = 50


@dataclass(frozen=True, slots=True)
class _Pack:
    index: Path
    count: int  # of objects

    def ids(self) -> set[ObjectId]:
        return set(pack.read_index(self.index.read_bytes()))


@dataclass(frozen=True, slots=True)
class _Ready:
    """`roots` None: everything in `old` is in `new`. Else only what they reach."""

    new: Path
    old: tuple[_Pack, ...]
    roots: frozenset[ObjectId] | None


class Repack:
    def __init__(self, repo: Path, disk: MirrorDisk, lock: int, allowed: RepackLimits) -> None:
        self._repo = repo
        self._disk = disk
        self._lock = lock
        self._allowed = allowed
        self._protected: set[str] = set()
        self._ready: _Ready | None = None

    def protect(self, name: str) -> None:
        """This pack is not reachable yet, and no garbage."""
        self._protected.add(f"pack-{name}")

    def unprotect(self) -> None:
        self._protected.clear()

    def prepare(self, roots: Callable[[], Iterable[ObjectId]]) -> None:
        """Make the pack that replaces others. `roots` are asked for after the packs: what is in a pack that is listed, and
        not held, has its ref by then, or is garbage."""
        packs = sorted(self._packs(), key=lambda each: each.count)
        total = sum(each.count for each in packs)
        limit = self._limit(total)
        self._ready = None
        if total > limit:
            reached = frozenset(roots())
            self._ready = self._make_pack(packs, reached)
            self._remember(sum(each.count for each in self._packs() if each.index == self._ready.new))
        elif len(packs) > self._allowed.packs and (rolled := packs[: _count_to_combine(packs)]):
            self._ready = self._make_pack(rolled, None)

    def finish(self, refs: set[ObjectId]) -> None:
        """Remove what was replaced, and keep refs in one file."""
        ready, self._ready = self._ready, None
        if ready and not self._has_revived(ready, refs):
            for each in ready.old:
                if each.index != ready.new:
                    # The index first: without it Git does not look for the rest.
                    for suffix in (".idx", ".rev", ".bitmap", ".pack"):
                        self._disk.remove(each.index.with_suffix(suffix))
        if sum(1 for path in (self._repo / "refs").rglob("*") if path.is_file()) > self._allowed.loose_refs:
            self._git(["pack-refs", "--all", "--prune"])

    def _packs(self) -> list[_Pack]:
        found = []
        for index in (self._repo / "objects" / "pack").glob("pack-*.idx"):
            if index.stem not in self._protected and not index.with_suffix(".keep").exists():
                with contextlib.suppress(FileNotFoundError), index.open("rb") as file:
                    file.seek(8 + 255 * 4)
                    found.append(_Pack(index, struct.unpack(">I", file.read(4))[0]))
        return found

    def _make_pack(self, packs: list[_Pack], roots: frozenset[ObjectId] | None) -> _Ready:
        arguments = ["pack-objects", "--quiet", "--delta-base-offset", "--threads=1"]
        names: Iterable[ObjectId] = set().union(*(each.ids() for each in packs))
        if roots is not None:
            arguments.append("--revs")
            names = roots
        given = "".join(f"{name}\n" for name in sorted(names)).encode()
        place = self._repo / "objects" / "pack"
        name = self._git([*arguments, str(place / "pack")], given).decode("ascii").strip()
        return _Ready(place / f"pack-{name}.idx", tuple(packs), roots)

    def _has_revived(self, ready: _Ready, refs: set[ObjectId]) -> bool:
        """Whether anything that was garbage when the new pack was made is reachable now: a ref moved back to it, or a push
        had landed whose process died before it moved its ref here, and more was built on it."""
        if ready.roots is None or not (fresh := refs - ready.roots):
            return False
        given = "".join([f"{id}\n" for id in fresh] + [f"^{id}\n" for id in ready.roots])
        lines = self._git(["rev-list", "--objects", "--stdin"], given.encode()).decode("ascii", "replace")
        reached = {line[:40] for line in lines.splitlines()}
        kept = set(pack.read_index(ready.new.read_bytes()))
        return any(reached & each.ids() - kept for each in ready.old)

    def _limit(self, total: int) -> int:
        """How many objects are too many. A mirror that was never tidied starts counting now."""
        try:
            last = int((self._repo / "consolidated").read_text("ascii"))
        except (FileNotFoundError, ValueError):
            self._remember(total)
            last = total
        return 2 * last + self._allowed.garbage

    def _remember(self, total: int) -> None:
        self._disk.replace(self._repo / "consolidated", b"%d\n" % total)

    def _git(self, arguments: list[str], given: bytes = b"") -> bytes:
        done = run_git(self._repo, arguments, self._lock, _SECONDS, given)
        if done.status:
            raise OSError(errno.EIO, f"git {arguments[0]} failed: {done.words.strip()[-300:]}")
        return done.output


def _count_to_combine(packs: list[_Pack]) -> int:
    """How many of the packs, smallest first, to roll up so that each that stays is twice as big as all before it."""
    total = 0
    rolled = 0
    for place, each in enumerate(packs):
        if each.count < 2 * total:
            rolled = place + 1
        total += each.count
    return rolled
