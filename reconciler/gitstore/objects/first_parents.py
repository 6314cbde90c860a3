"""What each commit of a branch changed against its first parent, newest first: as Git logs it, and by reading commits one by one.

`git log` compares 100,000 commits in about a second, because it enters only folders that differ and builds nothing. The twin in memory
compares the trees itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reconciler.gitstore.errors import MalformedError
from reconciler.gitstore.objects import tree_diff
from reconciler.gitstore.objects.ancestry import ReadCommit
from reconciler.gitstore.objects.tree import File, ObjectId, Read, mode_of, text
from reconciler.gitstore.objects.tree_edit import EMPTY
from reconciler.gitstore.repo import FileChange

_NONE = b"000000"
_FORMAT = ("-z", "--format=%H", "--first-parent", "-m", "--root", "--raw", "--no-renames", "--no-abbrev")


def log_arguments(head: ObjectId, path: str | None, *, removals: bool) -> list[str]:
    """For git. A path is taken as it is written, with all its stars and colons."""
    only = ["--diff-filter=D"] if removals else []
    return ["--literal-pathspecs", "log", *_FORMAT, *only, head, "--", *([path] if path else [])]


def parse_log(fields: Iterable[bytes]) -> Iterator[tuple[ObjectId, FileChange]]:
    """The fields of its answer: the id of a commit, then for each file `:modes ids status` and the path."""
    commit = ""
    waiting = iter(fields)
    for field in waiting:
        entry = field.lstrip(b"\n")
        if not entry.startswith(b":"):
            commit = entry.decode() or commit
            continue
        old_mode, new_mode, old, new, _ = entry[1:].split(b" ")
        path = next(waiting, None)
        if path is None:
            raise MalformedError("the answer of `git log` ends in the middle", "run the command again")
        yield commit, FileChange(text(path), _file(path, old_mode, old), _file(path, new_mode, new))


def walk_changes(
    read_commit: ReadCommit, read_tree: Read, head: ObjectId, keeps: Callable[[FileChange], bool]
) -> Iterator[tuple[ObjectId, FileChange]]:
    """The same, by comparing all trees."""
    here: ObjectId | None = head
    while here is not None:
        commit = read_commit(here)
        before = commit.first_parent
        old = EMPTY.id if before is None else read_commit(before).tree
        for change in tree_diff.diff_trees(read_tree, old, commit.tree):
            if keeps(change):
                yield here, change
        here = before


def _file(path: bytes, mode: bytes, id: bytes) -> File | None:
    return None if mode == _NONE else File(text(path), mode_of(mode), id.decode())
