"""Reading a revision of a checkout: what git lists is what we list, and every refusal says why."""

from __future__ import annotations

import os
from pathlib import Path

import pygit2
import pytest

from reconciler.cli.codes import CODES
from reconciler.gitstore.errors import (
    DamageError,
    FormatError,
    MalformedError,
    NotARepoError,
    OwnershipError,
    RepoError,
    UnknownRevisionError,
)
from reconciler.gitstore.objects.tree import FileMode
from reconciler.gitstore.worktree.revision import _why_closed, find_checkout, open_revision
from tests.reconciler.gitstore.git import commit, git, init


def listing(directory: Path, rev: str, folder: str = "") -> list[tuple[int, str, str]]:
    """(mode, id, path) as git tells it."""
    lines = git(directory, "ls-tree", "-r", "-z", rev, *((folder,) if folder else ())).split("\0")
    found = []
    for line in filter(None, lines):
        head, path = line.split("\t", 1)
        mode, _, id = head.split()
        found.append((int(mode, 8), id, path))
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return init(tmp_path / "fleet")


def awkward(checkout: Path) -> None:
    """Names and modes that break naive readers."""
    commit(
        checkout, {"a/b/c.yaml": b"c", "a.yaml": b"a", "a-b": b"", "a/b.yaml": b"\0\xff", "ü/ß.yaml": b"u"}
    )
    (checkout / os.fsdecode(b"latin-\xe9.yaml")).write_bytes(b"latin")
    (checkout / 'new\nline "quoted".yaml').write_bytes(b"odd")
    (checkout / "link").symlink_to("a.yaml")
    (checkout / "run.sh").write_bytes(b"#!/bin/sh\n")
    (checkout / "run.sh").chmod(0o755)
    inner = init(checkout / "module")
    commit(inner, {"x": b"x"})
    git(checkout, "add", "--all", "-f")
    git(checkout, "commit", "--quiet", "-m", "awkward")


def test_files_are_what_git_lists(checkout: Path) -> None:
    awkward(checkout)
    found = open_revision(checkout, "HEAD")
    assert found.commit == git(checkout, "rev-parse", "HEAD")
    assert found.tree == git(checkout, "rev-parse", "HEAD^{tree}")
    assert [(file.mode, file.id, file.path) for file in found.files()] == listing(checkout, "HEAD")
    data = {file.path: found.read(file) for file in found.files()}
    assert data[os.fsdecode(b"latin-\xe9.yaml")] == b"latin"
    assert data["a/b.yaml"] == b"\0\xff"
    assert data["link"] == b"a.yaml"
    assert data["module"] == b""
    modes = {file.path: file.mode for file in found.files()}
    assert (modes["link"], modes["module"], modes["run.sh"]) == (
        FileMode.LINK,
        FileMode.SUBMODULE,
        FileMode.EXECUTABLE,
    )


@pytest.mark.parametrize("folder", ["a", "a/", "/a/b", "ü"])
def test_a_folder_alone(checkout: Path, folder: str) -> None:
    awkward(checkout)
    want = listing(checkout, "HEAD", folder.strip("/") + "/")
    assert want
    assert [(f.mode, f.id, f.path) for f in open_revision(checkout, "HEAD").files(folder)] == want


@pytest.mark.parametrize("folder", ["nothing", "a.yaml", "a/b/c.yaml/d"])
def test_a_folder_that_is_none_is_empty(checkout: Path, folder: str) -> None:
    awkward(checkout)
    assert list(open_revision(checkout, "HEAD").files(folder)) == []


def test_every_way_to_name_a_commit(checkout: Path) -> None:
    first = commit(checkout, {"a": b"1"})
    second = commit(checkout, {"a": b"2"})
    git(checkout, "tag", "-a", "v1", "-m", "one", first)
    for rev, want in [
        ("HEAD", second),
        ("main", second),
        ("HEAD~1", first),
        ("v1", first),
        (first[:9], first),
    ]:
        assert open_revision(checkout, rev).commit == want
    assert [open_revision(checkout, "HEAD~1").read(f) for f in open_revision(checkout, "HEAD~1").files()] == [
        b"1"
    ]


def test_discover(checkout: Path, tmp_path: Path) -> None:
    commit(checkout, {"deep/down/a.yaml": b""})
    git(checkout, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    init(tmp_path / "bare", "--bare")
    for inside, root in [
        (checkout, checkout),
        (checkout / "deep/down", checkout),
        (tmp_path / "linked/deep", tmp_path / "linked"),
        (tmp_path / "bare", None),
    ]:
        found = find_checkout(inside)
        assert found is not None
        assert found.root == root
    assert find_checkout(tmp_path) is None
    assert find_checkout(tmp_path / "not there") is None
    assert open_revision(tmp_path / "linked", "HEAD").commit == open_revision(checkout, "HEAD").commit


@pytest.mark.parametrize(
    "rev", ["nope", "HEAD~7", "", "deadbeef", "HEAD:a", "^{/(}", "v1^{tree}", "0" * 40, "a\0b"]
)
def test_unknown_revision(checkout: Path, rev: str) -> None:
    commit(checkout, {"a": b"1"})
    with pytest.raises(UnknownRevisionError) as caught:
        open_revision(checkout, rev)
    assert "names no commit" in caught.value.cause
    assert "git fetch" in caught.value.cure


def test_unknown_revision_says_when_the_repo_is_empty_or_shallow(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownRevisionError) as caught:
        open_revision(checkout, "HEAD")
    assert "no commits" in caught.value.cure
    commit(checkout, {"a": b"1"})
    commit(checkout, {"a": b"2"})
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{checkout}", "shallow")
    with pytest.raises(UnknownRevisionError) as caught:
        open_revision(tmp_path / "shallow", "HEAD~1")
    assert "--unshallow" in caught.value.cure


def test_not_a_repo(tmp_path: Path) -> None:
    with pytest.raises(NotARepoError):
        open_revision(tmp_path, "HEAD")


def test_sha256_is_refused_by_name(tmp_path: Path) -> None:
    repo = init(tmp_path / "new", "--object-format=sha256")
    for ask in (lambda: find_checkout(repo), lambda: open_revision(repo, "HEAD")):
        with pytest.raises(FormatError) as caught:
            ask()
        assert "sha256" in caught.value.cause


def test_reftable_is_refused_by_name_in_a_linked_worktree_too(checkout: Path, tmp_path: Path) -> None:
    commit(checkout, {"a": b"1"})
    git(checkout, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    # The installed git may be too old to make one; the setting is all that a reader goes by.
    with (checkout / ".git/config").open("a") as config:
        config.write("[extensions]\n\trefStorage = reftable\n")
    git_version = (
        (checkout / ".git/config")
        .read_text()
        .replace("repositoryformatversion = 0", "repositoryformatversion = 1")
    )
    (checkout / ".git/config").write_text(git_version)
    for directory in (checkout, tmp_path / "linked"):
        with pytest.raises(FormatError) as caught:
            open_revision(directory, "HEAD")
        assert "reftable" in caught.value.cause


def test_a_repo_of_another_user_is_refused_by_name(checkout: Path) -> None:
    commit(checkout, {"a": b"1"})
    refusal = _why_closed(checkout / ".git", os.geteuid() + 1, "not owned by current user")
    if os.geteuid() == 0:  # only root can give a repo away, and so see the library refuse it
        for place in (checkout, checkout / ".git"):
            os.chown(place, 4321, 4321)
        with pytest.raises(OwnershipError) as caught:
            open_revision(checkout, "HEAD")
        refusal = caught.value
    assert isinstance(refusal, OwnershipError)
    assert "safe.directory" in refusal.cure


def test_a_missing_object_is_damage(checkout: Path) -> None:
    commit(checkout, {"a": b"1"})
    found = open_revision(checkout, "HEAD")
    [file] = found.files()
    (checkout / ".git/objects" / file.id[:2] / file.id[2:]).unlink()
    with pytest.raises(DamageError) as caught:
        found.read(file)
    assert file.id in caught.value.cause


def tree_object(checkout: Path, data: bytes) -> str:
    return git(checkout, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=data)


@pytest.mark.parametrize(
    "malformed",
    [
        b"100644 a\0short",
        b"100644 a/b\0" + b"x" * 20,
        b"100644 \0" + b"x" * 20,
        b"777777 a\0" + b"x" * 20,
        b"junk",
    ],
)
def test_a_malformed_tree_is_an_error_and_never_an_empty_one(checkout: Path, malformed: bytes) -> None:
    bad = git(checkout, "commit-tree", "-m", "bad", tree_object(checkout, malformed))
    with pytest.raises(MalformedError):
        list(open_revision(checkout, bad).files())


def test_a_tree_as_deep_as_anybody_likes(checkout: Path) -> None:
    tree = tree_object(checkout, b"")
    tree = tree_object(
        checkout, b"100644 leaf\0" + bytes.fromhex(git(checkout, "hash-object", "-w", "--stdin", data=b"x"))
    )
    store = pygit2.Repository(str(checkout))
    for _ in range(2000):
        tree = str(store.odb.write(pygit2.enums.ObjectType.TREE, b"40000 d\0" + bytes.fromhex(tree)))
    deep = git(checkout, "commit-tree", "-m", "deep", tree)
    [file] = open_revision(checkout, deep).files()
    assert file.path == "d/" * 2000 + "leaf"


def test_every_error_has_its_own_explained_code() -> None:
    kinds = RepoError.__subclasses__()
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert {kind.code for kind in kinds} <= set(CODES)
