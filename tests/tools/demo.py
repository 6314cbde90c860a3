"""A demo that runs, and everything that it could leave behind, looked for without its help."""

from __future__ import annotations

import codecs
import contextlib
import os
import pty
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

COMMAND = (sys.executable, "-m", "reconciler", "demo")
PATIENCE_SECONDS = 300.0


class Demo:
    """`folder` is where it makes its own."""

    def __init__(
        self, folder: Path, *options: str, stdout: int = subprocess.PIPE, term: str = "dumb"
    ) -> None:
        self.folder = folder
        self.said = ""
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            env=os.environ | {"TMPDIR": str(folder), "TERM": term},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def until(self, text: str) -> None:
        assert self.process.stdout is not None
        while text not in self.said:
            line = self.process.stdout.readline()
            assert line, f"the demo ended early: {self.said}"
            self.said += line

    def end(self) -> int:
        """Reads the rest, and waits. Not by `communicate`, which forgets what `until` has read ahead."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
        return self.process.wait(PATIENCE_SECONDS)

    def namespaces(self) -> frozenset[str]:
        """Of processes that work in its folder: they are gone when none is left in them, with all devices in them."""
        own = {kind: Path("/proc/self/ns", kind).readlink() for kind in ("net", "pid")}
        found = set()
        for process in processes_of(self.folder):
            for kind, ours in own.items():
                with contextlib.suppress(OSError):
                    theirs = (process / "ns" / kind).readlink()
                    found |= {str(theirs)} if theirs != ours else set()
        return frozenset(found)

    def assert_nothing_is_left(self, namespaces: frozenset[str] = frozenset()) -> None:
        ends = time.monotonic() + PATIENCE_SECONDS
        while left := self.leftovers(namespaces):
            assert time.monotonic() < ends, left
            time.sleep(0.05)

    def leftovers(self, namespaces: frozenset[str]) -> list[str]:
        return [
            *(command_line(process) for process in processes_of(self.folder)),
            *(command_line(process) for process in processes_in(namespaces)),
            *map(str, self.folder.iterdir()),
        ]

    def kill(self) -> None:
        """Whatever became of it: the next test has the machine for itself."""
        self.process.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait()


@contextlib.contextmanager
def playing(folder: Path, *options: str) -> Iterator[Demo]:
    demo = Demo(folder, *options)
    try:
        yield demo
    finally:
        demo.kill()


class Watched:
    """A terminal of some size, from the side of whoever looks at it."""

    def __init__(self, side: int) -> None:
        self._side = side
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.said = ""

    def read(self) -> bool:
        """False when the other side has closed it."""
        try:
            data = os.read(self._side, 65536)
        except OSError:
            return False
        self.said += self._decoder.decode(data)
        return bool(data)

    def until(self, holds: Callable[[str], bool]) -> None:
        while not holds(self.said):
            assert self.read(), f"the demo ended early: {self.said}"

    def until_closed(self) -> None:
        while self.read():
            pass


@contextlib.contextmanager
def on_a_terminal(folder: Path, columns: int, lines: int, *options: str) -> Iterator[tuple[Demo, Watched]]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (lines, columns))
    demo = Demo(folder, *options, stdout=theirs, term="xterm")
    os.close(theirs)
    try:
        yield demo, Watched(ours)
    finally:
        demo.kill()
        os.close(ours)


def processes_of(folder: Path) -> list[Path]:
    """Those whose command line names the folder."""
    return [process for process in processes() if str(folder) in command_line(process)]


def processes_in(namespaces: frozenset[str]) -> Iterator[Path]:
    for process in processes() if namespaces else ():
        with contextlib.suppress(OSError):
            if {str((process / "ns" / kind).readlink()) for kind in ("net", "pid")} & namespaces:
                yield process


def processes() -> Sequence[Path]:
    return list(Path("/proc").glob("[0-9]*"))


def command_line(process: Path) -> str:
    with contextlib.suppress(OSError):
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""
