"""Core dumps of processes that hold values of Secrets: none, also where the kernel pipes dumps; a call that fails ends nothing."""

from __future__ import annotations

import os
import subprocess
import sys

ASK = """
import ctypes, logging, os, resource, subprocess, sys
from reconciler.cli.core_dumps import refuse_core_dumps
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
{before}
refuse_core_dumps()
print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
{after}
"""


def ask(before: str = "", after: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ASK.format(before=before, after=after)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_neither_the_limit_nor_a_pipe_lets_a_dump_be_written() -> None:
    assert ask().stdout == "(0, 0) 0\n"


def test_a_limit_that_cannot_be_set_is_logged_and_ends_nothing() -> None:
    """As under a unit that forbids the call."""
    done = ask(before="resource.setrlimit = lambda *_: (_ for _ in ()).throw(OSError(1, 'not permitted'))")
    assert done.returncode == 0, done.stderr
    assert "cannot limit core dumps" in done.stdout
    assert done.stdout.endswith(" 0\n")


def test_a_process_without_rights_still_starts_programs_that_inherit_a_file() -> None:
    """The kernel gives its files below /proc to root: another program can open none of them, and reads what it inherits."""
    after = """
handle = os.memfd_create("x", 0)
os.write(handle, b"value")
for path in (f"/proc/self/fd/{handle}", f"/proc/{os.getpid()}/fd/{handle}"):
    done = subprocess.run(["cat", path], pass_fds=(handle,), capture_output=True, text=True)
    print(done.stdout, done.returncode)
print(open("/proc/self/mounts").read() != "")
"""
    account = "os.setgroups([]); os.setgid(65534); os.setuid(65534)" if os.geteuid() == 0 else ""
    done = ask(before=account, after=after)
    assert done.stdout.splitlines()[1:] == ["value 0", " 1", "True"], done.stderr
