"""Everything a host's key, or a damaged server, may put on a report ref: made by the git program in a bare repo, no ref is moved."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.servers import repository
from tests.servers.repository import git

MIB = 1 << 20
ENTRY = json.dumps({"uid": "u", "assignment": "x", "phase": "present", "pool": "evil"})


def put_blob(repo: Path, text: str) -> str:
    return git(repo, "hash-object", "-w", "--stdin", given=text)


def put_tree(repo: Path, *lines: str) -> str:
    return git(repo, "mktree", "--missing", given="".join(f"{line}\n" for line in lines))


def put_commit(repo: Path, tree: str) -> str:
    return git(repo, "commit-tree", tree, "-m", "report")


def put_object(repo: Path, type: str, data: bytes) -> str:
    """As it is, also where Git would not write it so."""
    command = ["git", "-C", str(repo), "hash-object", "-w", "-t", type, "--literally", "--stdin"]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()


def put_blanks(repo: Path, mebibytes: int) -> str:
    """A large blob that no process keeps in memory."""
    file = repo / "blanks"
    with file.open("wb") as blanks:
        for _ in range(mebibytes):
            blanks.write(b" " * MIB)
    try:
        return git(repo, "-c", "core.compression=1", "hash-object", "-w", str(file))
    finally:
        file.unlink()


def put_file(repo: Path, path: str, blob: str) -> str:
    """A commit of one file."""
    *folders, name = path.split("/")
    tree = put_tree(repo, f"100644 blob {blob}\t{name}")
    for folder in reversed(folders):
        tree = put_tree(repo, f"040000 tree {tree}\t{folder}")
    return put_commit(repo, tree)


def blob(repo: Path) -> str:
    return put_blob(repo, "hello\n")


def tree(repo: Path) -> str:
    return put_tree(repo)


def annotated_tag(repo: Path) -> str:
    commit = put_commit(repo, put_tree(repo))
    return git(repo, "mktag", given=f"object {commit}\ntype commit\ntag t\ntagger e <e@e> 1 +0000\n\nt\n")


def commit_without_author(repo: Path) -> str:
    return put_object(repo, "commit", f"tree {put_tree(repo)}\n\nx\n".encode())


def malformed_tree(repo: Path) -> str:
    return put_commit(repo, put_object(repo, "tree", b"100644 a\0short"))


def unknown_mode(repo: Path) -> str:
    raw = bytes.fromhex(put_blob(repo, "{}"))
    return put_commit(repo, put_object(repo, "tree", b"100600 poollet.json\0" + raw))


def tree_that_is_a_blob(repo: Path) -> str:
    return put_commit(
        repo, put_object(repo, "tree", b"40000 machines\0" + bytes.fromhex(put_blob(repo, "{}")))
    )


def missing_blob(repo: Path) -> str:
    tree = put_tree(repo, f"100644 blob {'12' * 20}\tpoollet.json")
    return put_commit(repo, tree)


def missing_tree(repo: Path) -> str:
    return put_object(
        repo, "commit", f"tree {'34' * 20}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n".encode()
    )


def names(repo: Path, width: int = 2000) -> str:
    """Five objects that unfold to millions of machines."""
    entry = put_blob(repo, ENTRY)
    machines = put_tree(repo, *(f"100644 blob {entry}\tm{number}.json" for number in range(width)))
    namespaces = put_tree(repo, *(f"040000 tree {machines}\tns{number}" for number in range(width)))
    return put_commit(repo, put_tree(repo, f"040000 tree {namespaces}\tmachines"))


def levels(repo: Path, depth: int = 8, width: int = 8) -> str:
    entry = put_blob(repo, ENTRY)
    below = put_tree(repo, *(f"100644 blob {entry}\tm{number}.json" for number in range(width)))
    for _ in range(depth):
        below = put_tree(repo, *(f"040000 tree {below}\td{number}" for number in range(width)))
    return put_commit(repo, put_tree(repo, f"040000 tree {below}\tmachines"))


def wide_folder(repo: Path, width: int = 120_000) -> str:
    """One folder of files that no report has."""
    entry = put_blob(repo, ENTRY)
    return put_commit(
        repo, put_tree(repo, *(f"100644 blob {entry}\tx{number:06}" for number in range(width)))
    )


def one_blob_everywhere(repo: Path, width: int = 400) -> str:
    """A file that is small enough, at so many paths that all together are not."""
    entry = put_blob(repo, ENTRY[:-1] + ', "reasons": [{"message": "' + "x" * MIB + '"}]}')
    machines = put_tree(repo, *(f"100644 blob {entry}\tm{number}.json" for number in range(width)))
    below = put_tree(repo, f"040000 tree {machines}\tdefault")
    return put_commit(repo, put_tree(repo, f"040000 tree {below}\tmachines"))


def large_commit(repo: Path) -> str:
    head = f"tree {put_tree(repo)}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\n"
    return put_object(repo, "commit", head.encode() + b"x" * (4 * MIB))


def large_blob(repo: Path, mebibytes: int = 40) -> str:
    return put_blanks(repo, mebibytes)


def large_file(repo: Path, mebibytes: int = 40) -> str:
    return put_file(repo, "machines/default/x.json", put_blanks(repo, mebibytes))


def large_unknown_file(repo: Path, mebibytes: int = 40) -> str:
    return put_file(repo, "readme", put_blanks(repo, mebibytes))


def many_values(repo: Path) -> str:
    return put_file(repo, "poollet.json", put_blob(repo, "[" + "[]," * 600_000 + "[]]"))


def candidates_on_candidates(repo: Path, count: int = 150) -> str:
    commit = put_commit(repo, put_tree(repo))
    for number in range(count):
        tree = put_tree(repo, f"100644 blob {put_blob(repo, f'[{number}]')}\tcandidate.json")
        commit = git(repo, "commit-tree", tree, "-p", commit, "-m", "x")
    return commit


Make = Callable[[Path], str]
# What the reader finds, by a part of the words. A stock server accepts each of these.
PUSHABLE: Mapping[str, tuple[Make, str]] = {
    "a blob": (blob, "a blob and not a commit"),
    "a tree": (tree, "a tree and not a commit"),
    "an annotated tag": (annotated_tag, "a tag and not a commit"),
    "a commit without author": (commit_without_author, "malformed"),
    "an unknown mode": (unknown_mode, "unknown mode 100600"),
    "4 million machines": (names, "more than 20,000 files"),
    "130 million files": (levels, "no poollet.json"),
    "a wide folder": (wide_folder, "more than 40,000 entries"),
    "one blob everywhere": (one_blob_everywhere, "more than 33,554,432 bytes"),
    "a large commit": (large_commit, "more than 65,536"),
    "a blob of 40 MiB": (large_blob, "a blob and not a commit"),
    "a file of 40 MiB": (large_file, "no poollet.json"),
    "an unknown file of 40 MiB": (large_unknown_file, "no poollet.json"),
    "600,000 values": (many_values, "no poollet.json"),
    "a chain of candidates": (candidates_on_candidates, "more than 100 commits"),
}
# Only a damaged server has these: it cannot send them.
UNSENDABLE: Mapping[str, Make] = {
    "a malformed tree": malformed_tree,
    "a folder that is a file": tree_that_is_a_blob,
    "a missing blob": missing_blob,
    "a missing tree": missing_tree,
}


def point(repo: Path, ref: str, id: str) -> None:
    """Also to what Git does not let a ref name."""
    place = repo / ref
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"{id}\n")


def remove(repo: Path, ref: str) -> None:
    repository.git(repo, "update-ref", "-d", ref)
