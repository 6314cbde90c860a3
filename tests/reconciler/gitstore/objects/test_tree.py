"""Trees: walked, compared and edited, against the simplest model and against the git program."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.gitstore.errors import MalformedError
from reconciler.gitstore.objects.database import ObjectType, hash_object
from reconciler.gitstore.objects.tree import File, FileMode, entries, files
from reconciler.gitstore.objects.tree_diff import diff_trees, list_missing
from reconciler.gitstore.objects.tree_edit import EMPTY, PathError, edit_tree
from reconciler.gitstore.repo import Edit, ExistingBlob, FileChange
from tests.reconciler.gitstore.git import git, init
from tests.reconciler.gitstore.model import CONTENTS, PATHS, Model, Shelf, fits, models


def blob(content: bytes) -> str:
    return hash_object(ObjectType.BLOB, content).id


def as_model(shelf: Shelf, tree: str) -> Model:
    return {file.path: (file.mode, shelf.objects[file.id].data) for file in files(shelf.read, tree)}


@given(models())
def test_what_is_stored_is_what_is_listed(model: Model) -> None:
    shelf = Shelf()
    assert as_model(shelf, shelf.store_model(model)) == model


@given(models())
def test_files_come_in_gits_own_order(model: Model) -> None:
    shelf = Shelf()
    paths = [
        file.path.encode("utf-8", "surrogateescape") for file in files(shelf.read, shelf.store_model(model))
    ]
    assert paths == sorted(paths)  # by bytes, which is how git ls-files sorts


@settings(max_examples=20, deadline=None)
@given(models())
def test_the_id_of_a_tree_is_the_one_that_git_gives_it(
    tmp_path_factory: pytest.TempPathFactory, model: Model
) -> None:
    shelf = Shelf()
    repo = init(tmp_path_factory.mktemp("git"))
    tree = shelf.store_model(model)
    index = b"".join(
        b"%o %b\t%b\0" % (mode, blob(content).encode(), path.encode("utf-8", "surrogateescape"))
        for path, (mode, content) in model.items()
    )
    git(repo, "update-index", "-z", "--index-info", data=index)
    assert git(repo, "write-tree", "--missing-ok") == tree


@given(models(), models())
def test_the_difference_is_what_differs(old: Model, new: Model) -> None:
    shelf = Shelf()
    changes = list(diff_trees(shelf.read, shelf.store_model(old), shelf.store_model(new)))
    assert len({change.path for change in changes}) == len(changes)
    found = {change.path: (change.before, change.after) for change in changes}
    want = {
        path: tuple(
            File(path, side[path][0], blob(side[path][1])) if path in side else None for side in (old, new)
        )
        for path in old.keys() | new.keys()
        if old.get(path) != new.get(path)
    }
    assert found == want


@given(models(), models())
def test_what_is_missing_is_what_the_difference_adds(old: Model, new: Model) -> None:
    shelf = Shelf()
    before, after = shelf.store_model(old), shelf.store_model(new)
    found = list(list_missing(shelf.read, after, before))
    assert len({file.path for file in found}) == len(found)
    added = (each.after for each in diff_trees(shelf.read, before, after) if each.before is None)
    assert set(found) == {file for file in added if file is not None}


@given(models(), st.booleans())
def test_the_difference_to_nothing_is_everything(model: Model, is_gone: bool) -> None:
    shelf = Shelf()
    tree = shelf.store_model(model)
    changes = list(diff_trees(shelf.read, *((tree, None) if is_gone else (None, tree))))
    listed = list(files(shelf.read, tree))
    assert [change.before if is_gone else change.after for change in changes] == listed
    assert all((change.after if is_gone else change.before) is None for change in changes)


@given(models(), st.dictionaries(PATHS, st.none() | CONTENTS, max_size=6))
def test_edits_do_what_the_model_does(model: Model, edits: dict[str, Edit]) -> None:
    shelf = Shelf()
    want = dict(model)
    for path, edit in edits.items():
        if edit is None:
            want.pop(path, None)
    for path, edit in edits.items():
        if isinstance(edit, bytes):
            mode = want[path][0] if path in want and want[path][0] is not FileMode.LINK else FileMode.FILE
            want[path] = (mode, edit)
    tree = shelf.store_model(model)
    if all(fits(path, want) for path in want):
        done = shelf.edit_tree(tree, edits)
        assert done == shelf.store_model(want)
    else:
        with pytest.raises(PathError):
            shelf.edit_tree(tree, edits)


@given(models(), models())
def test_the_edits_of_a_difference_lead_from_one_tree_to_the_other(old: Model, new: Model) -> None:
    shelf = Shelf()
    before, after = shelf.store_model(old), shelf.store_model(new)
    edits: dict[str, Edit] = {
        change.path: ExistingBlob(change.after.mode, change.after.id) if change.after else None
        for change in diff_trees(shelf.read, before, after)
    }
    assert shelf.edit_tree(before, edits) == after


@given(models())
def test_edits_that_change_nothing_make_no_objects(model: Model) -> None:
    shelf = Shelf()
    tree = shelf.store_model(model)
    edits: dict[str, Edit] = {
        path: content for path, (mode, content) in model.items() if mode is not FileMode.LINK
    }
    edits |= {path + "/none": None for path in model} | {"none": None}
    done = edit_tree(shelf.read, tree, edits)
    assert (done.tree, done.objects) == (tree, {})


def test_only_folders_that_differ_are_read_for_what_is_missing() -> None:
    shelf, tree = wide()
    other = shelf.edit_tree(tree, {"f7/m3": b"new", "f7/m20": b"new"})
    shelf.reads.clear()
    assert [file.path for file in list_missing(shelf.read, other, tree)] == ["f7/m20"]
    assert len(shelf.reads) == 4  # two roots, two folders


def wide() -> tuple[Shelf, str]:
    shelf = Shelf()
    model = {
        f"f{folder}/m{place}": (FileMode.FILE, b"%d" % place) for folder in range(50) for place in range(20)
    }
    return shelf, shelf.store_model(model)


def test_a_difference_reads_only_what_changed() -> None:
    shelf, tree = wide()
    other = shelf.edit_tree(tree, {"f7/m3": b"new"})
    shelf.reads.clear()
    changes = list(diff_trees(shelf.read, tree, other))
    assert [change.path for change in changes] == ["f7/m3"]
    assert len(shelf.reads) == 4  # two roots, two folders


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(0, 199), st.sampled_from([b"x", b"y", None]), max_size=6),
    st.dictionaries(st.integers(0, 199), st.sampled_from(["0", "00", "."]), max_size=2),
)
def test_a_wide_folder_differs_where_it_was_edited(
    edited: dict[int, bytes | None], renamed: dict[int, str]
) -> None:
    """Also where a file was renamed to one of the same length, or of another."""
    shelf = Shelf()
    old: Model = {f"m{place:03}": (FileMode.FILE, b"%d" % place) for place in range(200)}
    new = dict(old)
    for place, content in edited.items():
        leaf = new.pop(f"m{place:03}")
        if content:
            new[f"m{place:03}"] = (leaf[0], content)
    for place, suffix in renamed.items():
        if (name := f"m{place:03}") in new:
            new[name[: -len(suffix)] + suffix + "-"] = new.pop(name)
    changes = diff_trees(shelf.read, shelf.store_model(old), shelf.store_model(new))
    want = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    assert [change.path for change in changes] == want


def test_an_edit_reads_and_makes_only_what_is_on_its_path() -> None:
    shelf, tree = wide()
    shelf.reads.clear()
    done = edit_tree(shelf.read, tree, {"f7/m3": b"new", "f7/m4": b"newer", "f9/new": b""})
    assert len(shelf.reads) == 3  # the root, two folders
    assert (
        sorted(object.type for object in done.objects.values())
        == [ObjectType.TREE] * 3 + [ObjectType.BLOB] * 3
    )


@pytest.mark.parametrize(
    "path", ["", "/", "a/", "/a", "a//b", ".", "..", "a/../b", ".git", "a/.GIT/config", "a\0b"]
)
def test_paths_that_git_would_not_check_out_are_refused(path: str) -> None:
    with pytest.raises(PathError):
        edit_tree(Shelf().read, None, {path: b""})


def test_a_folder_is_not_taken_over_as_a_file() -> None:
    with pytest.raises(PathError):
        edit_tree(Shelf().read, None, {"a": ExistingBlob(FileMode.FOLDER, EMPTY.id)})


@pytest.mark.parametrize("mode", [FileMode.EXECUTABLE, FileMode.LINK, FileMode.SUBMODULE])
def test_an_existing_blob_keeps_its_mode(mode: FileMode) -> None:
    shelf = Shelf()
    tree = shelf.edit_tree(None, {"x/y": ExistingBlob(mode, "1" * 40)})
    assert list(files(shelf.read, tree)) == [File("x/y", mode, "1" * 40)]


def test_a_file_becomes_a_folder_and_a_folder_a_file_in_one_step() -> None:
    shelf = Shelf()
    tree = shelf.edit_tree(None, {"a": b"1", "b/c": b"2"})
    after = shelf.edit_tree(tree, {"a": None, "a/x": b"3", "b/c": None, "b": b"4"})
    assert as_model(shelf, after) == {"a/x": (FileMode.FILE, b"3"), "b": (FileMode.FILE, b"4")}
    paths = [
        (change.path, change.before is None, change.after is None)
        for change in diff_trees(shelf.read, tree, after)
    ]
    assert sorted(paths) == [
        ("a", False, True),
        ("a/x", True, False),
        ("b", True, False),
        ("b/c", False, True),
    ]


def test_an_old_group_writable_mode_is_a_file_and_no_change() -> None:
    old = hash_object(ObjectType.TREE, b"100664 a\0" + bytes.fromhex("1" * 40))
    new = hash_object(ObjectType.TREE, b"100644 a\0" + bytes.fromhex("1" * 40))
    shelf = Shelf()
    shelf.objects |= {old.id: old, new.id: new}
    assert list(files(shelf.read, old.id)) == [File("a", FileMode.FILE, "1" * 40)]
    assert list[FileChange](diff_trees(shelf.read, old.id, new.id)) == []


@given(st.binary(max_size=80))
def test_any_bytes_are_entries_or_malformed(data: bytes) -> None:
    try:
        found = entries(data)
    except MalformedError:
        return
    assert b"".join(b"%b %b\0%b" % entry for entry in found) == data
