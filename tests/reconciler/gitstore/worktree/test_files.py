"""A folder on disk: whatever is in it becomes a path or a finding; nothing hangs, nothing is followed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.gitstore.worktree import files
from schemas.problem import Problem, Severity


def nothing_ignored(path: str, is_folder: bool) -> bool:
    return False


def list_folder(root: Path) -> files.FileListing:
    return files.list_files(root, nothing_ignored)


def only_problem(root: Path) -> Problem:
    (problem,) = list_folder(root).problems
    return problem


def test_files_come_in_order_with_paths_from_the_root(tmp_path: Path) -> None:
    for path in ("b/two.yaml", "a.yaml", "b/c/deep.json", "b/one.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    assert list_folder(tmp_path) == files.FileListing(
        ("a.yaml", "b/one.txt", "b/two.yaml", "b/c/deep.json"), ()
    )


def test_git_folder_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config.yaml").write_text("x")
    assert list_folder(tmp_path) == files.FileListing((), ())


def test_ignored_folders_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "ignored").mkdir(mode=0o000)
    (tmp_path / "kept/a.yaml").write_text("x")
    found = files.list_files(tmp_path, lambda path, is_folder: is_folder and path == "ignored")
    assert found == files.FileListing(("kept/a.yaml",), ())


def test_submodules_and_nested_clones_are_named_and_left(tmp_path: Path) -> None:
    (tmp_path / "module").mkdir()
    (tmp_path / "module/.git").write_text("gitdir: ../.git/modules/module")
    (tmp_path / "module/a.yaml").write_text("x")
    problem = only_problem(tmp_path)
    assert (problem.file, problem.code, problem.severity) == ("module", "GV182", Severity.WARNING)
    assert not list_folder(tmp_path).files


@pytest.mark.parametrize(
    ("target", "severity", "words"),
    [
        ("real.yaml", Severity.NOTICE, "to real.yaml"),
        (".", Severity.NOTICE, "to ."),  # a loop for whoever follows it
        ("../outside", Severity.WARNING, "out of this repo"),
        ("/etc/passwd", Severity.WARNING, "out of this repo"),
        ("nowhere", Severity.WARNING, "broken"),
        ("link", Severity.WARNING, "to itself"),
    ],
)
def test_links_are_named_and_never_followed(
    tmp_path: Path, target: str, severity: Severity, words: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_text("x")
    (root / "real.yaml").write_text("x")
    (root / "link").symlink_to(target)
    problem = only_problem(root)
    assert (problem.file, problem.code, problem.severity) == ("link", "GV181", severity)
    assert words in problem.message
    assert list_folder(root).files == ("real.yaml",)
    assert files.read_file(root, "link") == problem


def test_pipes_and_sockets_do_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tmp_path)  # the name of a socket may be 108 bytes long
        listener.bind("socket.yaml")
        os.chdir(here)
        problems = list_folder(tmp_path).problems
        assert [(problem.file, problem.code) for problem in problems] == [
            ("pipe.yaml", "GV183"),
            ("socket.yaml", "GV183"),
        ]
        assert [files.read_file(tmp_path, problem.file) for problem in problems] == list(problems)


@pytest.mark.parametrize("name", [b"new\nline.yaml", b"latin-\xe9.yaml", b"bell\x07.yaml"])
def test_unprintable_names_are_reported_and_read(tmp_path: Path, name: bytes) -> None:
    (tmp_path / os.fsdecode(name)).write_bytes(b"text")
    assert only_problem(tmp_path).code == "GV184"
    (path,) = list_folder(tmp_path).files
    assert os.fsencode(path) == name
    assert files.read_file(tmp_path, path) == b"text"


def test_a_file_that_vanishes_is_a_finding(tmp_path: Path) -> None:
    problem = files.read_file(tmp_path, "gone.yaml")
    assert isinstance(problem, Problem)
    assert problem.code == "GV185"


def test_a_folder_in_a_files_place_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    problem = files.read_file(tmp_path, "folder.yaml")
    assert isinstance(problem, Problem)


def test_a_file_too_large_is_not_loaded(tmp_path: Path) -> None:
    with (tmp_path / "huge.yaml").open("wb") as file:
        file.truncate(1 << 40)  # sparse
    problem = files.read_file(tmp_path, "huge.yaml")
    assert isinstance(problem, Problem)
    assert problem.code == "GV108"


def test_a_name_too_long_for_the_system_is_a_finding(tmp_path: Path) -> None:
    problem = files.read_file(tmp_path, "a/" * 3000)
    assert isinstance(problem, Problem)
    assert problem.code == "GV180"


UNREADABLE = """
import os, sys
from pathlib import Path
from reconciler.gitstore.worktree import files
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
root = Path(sys.argv[1])
found = files.list_files(root, lambda path, is_folder: False)
for problem in (*found.problems, *(files.read_file(root, path) for path in found.files)):
    print(problem.file, problem.code)
"""


def test_a_file_without_read_permission_is_a_finding(tmp_path: Path) -> None:
    """In a process of its own, without root's right to read everything."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "file.yaml").write_text("x")
    (root / "folder").mkdir()
    (root / "file.yaml").chmod(0)
    (root / "folder").chmod(0)
    for parent in [root, *root.parents][:-2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    result = subprocess.run(
        [sys.executable, "-c", UNREADABLE, str(root)], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == ["folder GV180", "file.yaml GV180"]
