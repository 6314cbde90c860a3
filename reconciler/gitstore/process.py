"""Runs one program with a deadline, in a process group of its own that ends with it.

Knows nothing of repos. No shell, no inherited input, bounded output; past the deadline the whole group is gone.

Git starts programs of its own (ssh, index-pack, helpers), and a remote may stall any of them. So each call has its own session: a signal to the
group reaches all of them. The end is TERM, a second to clean up lock files, then KILL. Only then is the leader reaped: while it is a zombie,
the number of the group belongs to no other process that could be hit instead.

Outputs are read while input is written, both without blocking, or a program that fills one pipe while we fill the other would stop for ever.

Must never happen: a program outlives its deadline; half of an output passes for the whole; a credential in an argument, where every user
of the machine can read it (they travel in the environment of one process, see `remote.git_command`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from schemas.settings.duration import format_duration

MOST_OUTPUT_BYTES = 64 * 2**20
MOST_ERROR_BYTES = 256 * 2**10
TOO_LARGE = b"\nfatal: its output was larger than %d MiB\n" % (MOST_OUTPUT_BYTES >> 20)
STOP_SECONDS = 1.0
PIECE_BYTES = 64 * 2**10
# Git reads larger blobs in pieces instead of as a whole: a host may push one of any size.
BIG_FILE = "4m"
# What git sees when it works in a mirror: no configuration of a person or of the machine.
_PASSES = ("PATH", "TMPDIR")
_MIRROR_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
}


@dataclass(frozen=True, slots=True)
class Exited:
    """`status` is negative when a signal ended it, or when its output was too large: then the rest of that is lost, and
    half an answer must not pass for a whole one. Errors past their bound are dropped."""

    status: int
    output: bytes
    errors: bytes

    @property
    def words(self) -> str:
        return self.errors.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class ProgramTimedOut:
    """It was still running at the deadline, and was killed."""

    seconds: float
    errors: bytes


@dataclass(frozen=True, slots=True)
class CannotRun:
    """The program does not exist, or this account may not run it."""

    reason: str


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    given: bytes = b"",
    inherit: Sequence[int] = (),
) -> Exited | ProgramTimedOut | CannotRun:
    """`inherit` are descriptors that stay open in it, such as a lock that must last until it is over."""
    try:
        process = subprocess.Popen(
            arguments,
            env=dict(environment),
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=inherit,
        )
    except OSError as error:
        return CannotRun(f"cannot run {arguments[0]}: {error.strerror}")
    try:
        output, errors, is_over = _exchange(process, given, time.monotonic() + seconds)
        if not is_over:
            return ProgramTimedOut(seconds, errors)
        if len(output) >= MOST_OUTPUT_BYTES:
            return Exited(-signal.SIGXFSZ, output, errors + TOO_LARGE)
        return Exited(process.wait(), output, errors)
    finally:
        _end(process)


def run_to_end(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    given: bytes = b"",
    inherit: Sequence[int] = (),
) -> Exited:
    """Like `run`, for work that never leaves this machine: raises OSError when the program cannot run or takes too long."""
    match run(arguments, environment, seconds, given, inherit):
        case Exited() as exited:
            return exited
        case ProgramTimedOut():
            name = " ".join(word for word in arguments[:3] if not word.startswith("-"))
            raise OSError(errno.ETIMEDOUT, f"{name} took longer than {format_duration(int(seconds))}")
        case CannotRun(reason):
            raise OSError(errno.ENOENT, reason)


def run_git(repo: Path, arguments: Sequence[str], lock: int, seconds: float, given: bytes = b"") -> Exited:
    """Git in a mirror. `lock` stays held until git is over, even when we are killed."""
    passed = {name: os.environ[name] for name in _PASSES if name in os.environ}
    command = ["git", f"--git-dir={repo}", "-c", f"core.bigFileThreshold={BIG_FILE}", *arguments]
    return run_to_end(command, passed | _MIRROR_ENVIRONMENT, seconds, given, inherit=(lock,))


def stream_git(repo: Path, arguments: Sequence[str], lock: int) -> Generator[bytes, None, None]:
    """The answer of a git that only reads a mirror, field by field (`-z`), while it is made. It ends with its reader and not at a
    deadline: a reader that has enough closes it. Raises OSError when git cannot run, or fails."""
    passed = {name: os.environ[name] for name in _PASSES if name in os.environ}
    process = subprocess.Popen(
        ["git", f"--git-dir={repo}", *arguments],
        env=passed | _MIRROR_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=(lock,),
    )
    assert process.stdout is not None
    try:
        rest = b""
        while data := os.read(process.stdout.fileno(), PIECE_BYTES):
            *fields, rest = (rest + data).split(b"\0")
            yield from fields
        if status := process.wait():
            raise OSError(errno.EIO, f"git {arguments[1]} failed with status {status}")
        if rest.strip():
            yield rest
    finally:
        _end(process)


def _exchange(process: subprocess.Popen[bytes], given: bytes, deadline: float) -> tuple[bytes, bytes, bool]:
    """Feeds and reads until both outputs are closed and the process is over, or the deadline has come."""
    assert process.stdout is not None
    assert process.stderr is not None
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    most: dict[IO[bytes], int] = {process.stdout: MOST_OUTPUT_BYTES, process.stderr: MOST_ERROR_BYTES}
    rest = memoryview(given)
    is_over = False
    with selectors.DefaultSelector() as selector:
        for stream in kept:
            selector.register(stream, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                if key.fileobj is process.stdin:
                    rest = _feed(selector, process.stdin, rest)
                    continue
                stream = next(each for each in kept if each is key.fileobj)
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(stream)
                elif len(kept[stream]) < most[stream]:
                    kept[stream] += chunk
        if not selector.get_map():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.001, deadline - time.monotonic()))
                is_over = True
    return bytes(kept[process.stdout]), bytes(kept[process.stderr]), is_over


def _feed(selector: selectors.BaseSelector, stream: IO[bytes], rest: memoryview) -> memoryview:
    """Writes what the pipe takes now, and closes it at the end. That a program reads no further is not an error here: its status decides."""
    try:
        rest = rest[os.write(stream.fileno(), rest) :]
    except BrokenPipeError:
        rest = rest[:0]
    if not rest:
        selector.unregister(stream)
        stream.close()
    return rest


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asks first, so that git takes its lock files away, then kills. The leader is reaped last: until then no other process
    can get its number, which is the group's."""
    if process.returncode is None:
        _signal(process.pid, signal.SIGTERM)
        until = time.monotonic() + STOP_SECONDS
        while time.monotonic() < until and not _has_ended(process.pid):
            time.sleep(0.01)
        _signal(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
