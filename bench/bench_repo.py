"""Reading, comparing and committing in 100,000 manifests, each against the obvious way."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial

import pygit2

from bench.fleet_repo import FILES, FOLDERS, LIVE, Fleet, draft, edits, fleet, git, party, put
from bench.measure import figure, seconds
from reconciler.gitstore.objects.commit_builder import CommitBuilder
from reconciler.gitstore.objects.reader import ObjectReader
from reconciler.gitstore.remote.access import RemoteAccess
from reconciler.gitstore.repo import FileChange, Pushed, Snapshot

COUNTS = (1, 100, 10_000)
REPORTS = 1000


def main() -> None:
    start = time.perf_counter()
    with fleet() as made:
        figure("commit and push of 100,000 new files", f"{time.perf_counter() - start:.1f} s")
        differences(made)
        commits(made)
        snapshots(made)


def differences(made: Fleet) -> None:
    """With nothing known, and as a tick does it: the older side was the newer one a tick ago."""
    library = pygit2.Repository(str(made.mirror.repo))
    for count in COUNTS:
        for spread in [False, True] if count == COUNTS[-1] else [False]:
            other = put(
                made.store, f"refs/heads/d{count}{spread}", made.main, edits(count, 1, spread), expected=None
            )
            old, new = (library.get(commit).peel(pygit2.Tree) for commit in (made.main, other))  # type: ignore[union-attr]
            theirs = partial(old.diff_to_tree, new)
            assert len(compare(ObjectReader(made.mirror), made.main, other)) == len(theirs()) == count
            cold = seconds(lambda other=other: compare(ObjectReader(made.mirror), made.main, other), 5)  # type: ignore[misc]
            warm = tick(made, other)
            obvious = seconds(theirs, 5)
            where = " over all folders" if spread else ""
            figure(
                f"difference of {count} changes{where}",
                f"{warm * 1000:.2f} ms, with nothing known {cold * 1000:.2f} ms, libgit2 {obvious * 1000:.0f} ms:"
                f" {obvious / warm:.1f} and {obvious / cold:.1f} times faster",
            )


def compare(reader: ObjectReader, old: str, new: str) -> list[FileChange]:
    return list(reader.diff(old, new))


def tick(made: Fleet, other: str) -> float:
    times = []
    for _ in range(5):
        reader = ObjectReader(made.mirror)
        assert sum(1 for _ in reader.files(made.main)) >= FOLDERS * FILES
        start = time.perf_counter()
        compare(reader, made.main, other)
        times.append(time.perf_counter() - start)
    return sorted(times)[2]


def commits(made: Fleet) -> None:
    """Blobs, trees and the commit on disk; nothing is pushed."""
    copy = made.folder / "loose.git"
    git(made.mirror.repo, "repack", "-adq")
    shutil.copytree(made.mirror.repo, copy)
    loose = pygit2.Repository(str(copy))
    builder = CommitBuilder(ObjectReader(made.mirror), made.mirror.is_descendant)
    marks = iter(range(100, 200))

    def ours(count: int) -> None:
        built = builder.build(draft(LIVE, made.main, edits(count, next(marks))))
        assert built
        made.mirror.add(built.objects)
        made.mirror.forget()

    def theirs(count: int) -> None:
        loose_commit(loose, made.main, edits(count, next(marks)))

    for count in COUNTS:
        ours(count)
        mine = seconds(partial(ours, count), 3)
        obvious = seconds(partial(theirs, count), 1 if count == COUNTS[-1] else 3)
        figure(
            f"commit of {count} edits, on the disk",
            f"{mine * 1000:.1f} ms, loose objects without fsync {obvious * 1000:.0f} ms: {obvious / mine:.1f} times faster",
        )
    pygit2.settings.enable_fsync_gitdir(True)
    figure("loose objects of 100 edits, on the disk", f"{seconds(partial(theirs, 100)) * 1000:.0f} ms")
    pygit2.settings.enable_fsync_gitdir(False)


def loose_commit(repo: pygit2.Repository, base: str, changes: Mapping[str, object]) -> None:
    """As the library's own calls do it: a blob and a tree at a time, a file each."""
    found = repo.revparse_single(base)
    top = found.peel(pygit2.Tree)
    machines = top["machines"].peel(pygit2.Tree)
    folders: dict[str, pygit2.TreeBuilder] = {}
    for path, data in changes.items():
        _, folder, name = path.split("/")
        if folder not in folders:
            folders[folder] = repo.TreeBuilder(machines[folder].peel(pygit2.Tree))
        assert isinstance(data, bytes)
        folders[folder].insert(name, repo.create_blob(data), pygit2.enums.FileMode.BLOB)
    middle, root = repo.TreeBuilder(machines), repo.TreeBuilder(top)
    for folder, made in folders.items():
        middle.insert(folder, made.write(), pygit2.enums.FileMode.TREE)
    root.insert("machines", middle.write(), pygit2.enums.FileMode.TREE)
    who = pygit2.Signature("gitvirt", "gitvirt@example.org", 1, 0)
    repo.create_commit(None, who, who, "change", root.write(), [found.id])


def snapshots(made: Fleet) -> None:
    """All reports in one atomic push, then what a tick pays to look."""

    def beat(names: range, values: dict[str, str], mark: int) -> dict[str, str]:
        outcome = made.store.write(
            [
                draft(ref, None, {"r": b"%d %d" % (name, mark)}, expected=values.get(ref), has_parents=False)
                for name in names
                for ref in [f"refs/poollets/host-{name}"]
            ]
        )
        assert isinstance(outcome, Pushed), outcome
        return values | dict(outcome.commits)

    start = time.perf_counter()
    values = beat(range(REPORTS), {}, 0)
    figure(f"{REPORTS} report refs in one atomic push", f"{time.perf_counter() - start:.2f} s")
    made.store.housekeep()

    def look(change: Callable[[], object]) -> float:
        """Seen by another party, whose mirror knows nothing of the change yet."""
        times = []
        for _ in range(5):
            change()
            begin = time.perf_counter()
            assert isinstance(other.snapshot(), Snapshot)
            times.append(time.perf_counter() - begin)
        return sorted(times)[2] * 1000

    _, other = party(made.folder / "other", str(made.remote), RemoteAccess())
    first = time.perf_counter()
    assert isinstance(other.snapshot(), Snapshot)
    figure("first snapshot (all of 100,000 manifests, 1,000 reports)", f"{time.perf_counter() - first:.2f} s")
    other.housekeep()
    figure(f"snapshot, {REPORTS} reports, nothing new", f"{look(lambda: None):.1f} ms")
    mark = iter(range(1, 1000))

    def move(names: range) -> None:
        nonlocal values
        values = beat(names, values, next(mark))

    figure(f"snapshot, {REPORTS} reports, 1 moved", f"{look(lambda: move(range(1))):.1f} ms")
    figure(f"snapshot, {REPORTS} reports, all moved", f"{look(lambda: move(range(REPORTS))):.0f} ms")
    other.close()


if __name__ == "__main__":
    main()
