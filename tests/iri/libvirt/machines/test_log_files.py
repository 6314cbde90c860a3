"""The files of console logs: their parts, what a start does to them, and readers that go on while they are moved."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from iri.console_log import PART_BYTES, LogRequest
from iri.errors import FailedPrecondition
from iri.libvirt.machines.log_files import LogFile, keep_previous, list_parts

FOLLOW = LogRequest(follow=True)


def read_all(folder: Path, **request: object) -> bytes:
    with closing(LogFile(folder, LogRequest(**request), lambda: False)) as log:  # type: ignore[arg-type]
        return b"".join(iter(log.read, b""))


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def test_the_parts_that_virtlogd_began_are_one_log(tmp_path: Path) -> None:
    write(tmp_path, console_log="e\nf\n", console_log_0="c\nd", console_log_1="a\nb\n", console_log_10="0\n")
    write(tmp_path, console_log_old="no", other_log="no")
    assert read_all(tmp_path) == b"0\na\nb\nc\nde\nf\n"
    assert read_all(tmp_path, tail_lines=3) == b"c\nde\nf\n"
    assert read_all(tmp_path, tail_lines=1) == b"f\n"
    assert read_all(tmp_path, tail_lines=-1) == b""


def test_a_start_keeps_the_log_of_the_one_before_and_only_that(tmp_path: Path) -> None:
    write(
        tmp_path,
        console_log="2",
        console_log_0="1",
        previous_log="old",
        previous_log_0="older",
        previous_log_7="x",
    )
    keep_previous(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["previous.log", "previous.log.0"]
    assert read_all(tmp_path, previous=True) == b"12"
    with pytest.raises(FailedPrecondition, match="never"):
        read_all(tmp_path)
    write(tmp_path, console_log="")
    keep_previous(tmp_path)  # a start that failed before the guest wrote anything
    assert read_all(tmp_path, previous=True) == b"12"


def test_a_machine_without_a_folder_has_no_log(tmp_path: Path) -> None:
    keep_previous(tmp_path / "none")
    assert list_parts(tmp_path / "none", "console.log") == []
    with pytest.raises(FailedPrecondition):
        read_all(tmp_path / "none")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/passwd")])
def test_only_a_plain_file_is_read(tmp_path: Path, make: object) -> None:
    make(tmp_path / "console.log")  # type: ignore[operator]
    with pytest.raises(FailedPrecondition):
        read_all(tmp_path)


def test_a_large_log_comes_in_parts_and_ends_where_it_ended_at_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    path.write_bytes(b"x" * (2 * PART_BYTES + 5))
    with closing(LogFile(tmp_path, LogRequest(), lambda: False)) as log:
        sizes = [len(log.read())]
        with path.open("ab") as more:
            more.write(b"y" * PART_BYTES)
        sizes += [len(part) for part in iter(log.read, b"")]
    assert sizes == [PART_BYTES, PART_BYTES, 5]


def test_a_reader_that_follows_loses_nothing_when_files_are_moved(tmp_path: Path) -> None:
    path, is_gone = tmp_path / "console.log", False
    path.write_text("one\n")
    with closing(LogFile(tmp_path, FOLLOW, lambda: is_gone)) as log:
        assert log.read() == b"one\n"
        with path.open("a") as writer:
            path.rename(tmp_path / "console.log.0")
            writer.write("last words of the first file\n")
        path.write_text("two\n")
        assert log.read() == b"last words of the first file\n"
        assert log.read() == b"two\n"
        keep_previous(tmp_path)
        path.write_text("three\n")
        assert log.read() == b"three\n"
        is_gone = True
        assert log.read() == b""


def test_a_reader_may_begin_before_the_first_start(tmp_path: Path) -> None:
    with closing(LogFile(tmp_path, FOLLOW, lambda: False)) as log:
        (tmp_path / "console.log").write_text("first\n")
        assert log.read() == b"first\n"
