"""One process holds a folder's lock; a second one learns the holder; the lock ends with the process."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from iri.libvirt.folder_lock import LOCK, FolderLock, LockHeldError, lock_holder

HOLDER = """
import sys, signal
from pathlib import Path
from iri.libvirt.folder_lock import FolderLock
FolderLock("the folder").acquire(Path(sys.argv[1]))
print("taken", flush=True)
signal.pause()
"""


def test_second_process_learns_the_holder_until_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lock_holder:
        assert lock_holder.stdout is not None
        assert lock_holder.stdout.readline() == "taken\n"
        with pytest.raises(
            LockHeldError, match=rf"the folder at .* is in use by another runtime \(pid {lock_holder.pid}\)"
        ):
            FolderLock("the folder").acquire(tmp_path)
        lock_holder.send_signal(signal.SIGKILL)
    FolderLock("the folder").acquire(tmp_path)


def test_lock_can_be_acquired_again_and_is_free_after_release(tmp_path: Path) -> None:
    first, second = FolderLock("one"), FolderLock("two")
    first.acquire(tmp_path)
    first.acquire(tmp_path)
    with pytest.raises(LockHeldError) as refused:
        second.acquire(tmp_path)
    assert str(os.getpid()) in str(refused.value)
    assert "stop that runtime first" in refused.value.cure
    first.release()
    first.release()
    second.acquire(tmp_path)
    second.release()


def test_reading_the_holder_does_not_block_acquire(tmp_path: Path) -> None:
    with (tmp_path / LOCK).open("w") as asking:
        fcntl.flock(asking, fcntl.LOCK_SH | fcntl.LOCK_NB)
        claim = FolderLock("the folder", sleep=lambda _: fcntl.flock(asking, fcntl.LOCK_UN))
        claim.acquire(tmp_path)
    assert lock_holder(tmp_path) == str(os.getpid())
    claim.release()
    assert lock_holder(tmp_path) is None


def test_link_in_place_of_the_lock_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("not ours")
    (tmp_path / ".gitvirt.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        FolderLock("one").acquire(tmp_path)
    assert (tmp_path / "elsewhere").read_text() == "not ours"
