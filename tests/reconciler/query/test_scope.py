"""What people mean by the paths they name: the repo, and the part of it they ask about."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.query.revision_paths import find_root as around_at
from reconciler.query.revision_paths import split_path as meant_at
from reconciler.query.scope import NoSuchPathError, Scope, checked_out_branch, find_scopes, short_branch
from tests.reconciler.gitstore.git import commit, git, init


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout that holds a repo of its own in a folder, and files outside of both."""
    for path in (
        "checkout/.git/HEAD",
        "checkout/a.yaml",
        "checkout/site/gitvirt.yaml",
        "checkout/site/machines/m.yaml",
        "lone/x.yaml",
        "lone/y.yaml",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("here", "paths", "root", "prefix", "named"),
    [
        ("checkout", [], "checkout", "", ()),
        ("checkout/site", [], "checkout/site", "", ()),
        ("checkout/site/machines", [], "checkout/site", "../", ()),
        ("lone", [], "lone", "", ()),
        ("checkout", ["site"], "checkout/site", "site/", ()),
        ("checkout", ["."], "checkout", "", ()),
        ("checkout", ["site/machines"], "checkout/site", "site/", ("machines/",)),
        ("checkout", ["site/machines/m.yaml"], "checkout/site", "site/", ("machines/m.yaml",)),
        ("checkout", ["a.yaml"], "checkout", "", ("a.yaml",)),
        ("checkout/site", ["../a.yaml"], "checkout", "../", ("a.yaml",)),
        ("checkout", ["site", "site/machines/m.yaml"], "checkout/site", "site/", ()),
        (".", ["lone"], "lone", "lone/", ()),
    ],
)
def test_scope(
    place: Path, here: str, paths: list[str], root: str, prefix: str, named: tuple[str, ...]
) -> None:
    assert find_scopes(paths, place / here) == [Scope(place / root, prefix, named)]


def test_files_outside_of_any_repo_are_checked_alone(place: Path) -> None:
    assert find_scopes(["lone/x.yaml"], place) == [Scope(place / "lone", "lone/", ("x.yaml",), is_lone=True)]
    assert find_scopes(["lone/x.yaml", "lone"], place) == [Scope(place / "lone", "lone/")]


def test_paths_of_several_repos(place: Path) -> None:
    found = find_scopes(["checkout/a.yaml", "lone", "checkout/site/machines"], place)
    assert [(scope.root.name, scope.named) for scope in found] == [
        ("checkout", ("a.yaml",)),
        ("lone", ()),
        ("site", ("machines/",)),
    ]


def test_a_path_that_is_not_there(place: Path) -> None:
    with pytest.raises(NoSuchPathError):
        find_scopes(["nowhere"], place)


def test_what_a_scope_concerns() -> None:
    scope = Scope(Path("/"), "", ("a.yaml", "folder/"))
    paths = ("a.yaml", "folder/b.yaml", "a.yaml.bak", "folder.yaml", "other/folder/b.yaml")
    assert [scope.concerns(path) for path in paths] == [True, True, False, False, False]
    assert Scope(Path("/"), "").concerns("anything")


FILES = {"a.yaml", "site/gitvirt.yaml", "site/machines/m.yaml", "plain/x.yaml"}


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("", ("", "")),
        ("a.yaml", ("", "a.yaml")),
        ("site", ("site", "")),
        ("site/machines", ("site", "machines/")),
        ("site/machines/m.yaml", ("site", "machines/m.yaml")),
        ("plain", ("plain", "")),
        ("plain/x.yaml", ("", "plain/x.yaml")),
        ("nowhere", (None, "")),
    ],
)
def test_scope_at_a_revision(path: str, want: tuple[str | None, str]) -> None:
    assert meant_at(path, FILES) == want


def test_settings_at_the_top_hold_for_all_folders() -> None:
    files = {"gitvirt.yaml", "machines/m.yaml"}
    assert around_at("machines", files) == ""
    assert meant_at("machines", files) == ("", "machines/")


def test_branch_that_is_checked_out(tmp_path: Path) -> None:
    top = init(tmp_path / "top")
    commit(top, {"a/b.yaml": b""})
    assert checked_out_branch(top) == checked_out_branch(top / "a") == "main"
    git(top, "worktree", "add", "--quiet", "-b", "live", str(tmp_path / "other"))
    assert checked_out_branch(tmp_path / "other") == "live"
    git(top, "checkout", "--quiet", "--detach")
    assert checked_out_branch(top) == ""
    assert checked_out_branch(tmp_path) == ""


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("live", "live"),
        ("origin/live", "live"),
        ("refs/heads/live", "live"),
        ("refs/remotes/upstream/gitvirt/live", "gitvirt/live"),
    ],
)
def test_short_branch(name: str, want: str) -> None:
    assert short_branch(name) == want


def test_a_repo_outside_the_current_folder_is_named_by_its_whole_path(place: Path) -> None:
    (scope,) = find_scopes([str(place / "checkout" / "site")], place / "lone")
    assert scope.prefix == f"{place}/checkout/site/"
