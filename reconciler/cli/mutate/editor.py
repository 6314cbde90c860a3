"""A person's editor on one text: $VISUAL, else $EDITOR, else what Git would take.

The text is in a folder of its own that only this account may read, because a file of the source may have values of Secrets. The folder is
removed when the text is used; whoever could not use it keeps it (`keep`) and names it, so that no typing is lost.

While the editor runs, Ctrl-C and Ctrl-Backslash are its own, as with Git: the terminal sends their signals to both, an editor goes on after
them, and the text that a person typed would be lost with the folder.

Must never happen: an editor that failed, or that was never started, counts as an edit.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable

VARIABLES = ("VISUAL", "EDITOR")
# Ctrl-C and Ctrl-Backslash.
KEYS = (signal.SIGINT, signal.SIGQUIT)
# For an editor that is told to end: it puts the terminal right, and may save what it has.
END_SECONDS = 2.0


def find_editor(environment: Mapping[str, str]) -> str:
    """The command, as a shell takes it. A CommandError where none is named and none is installed."""
    for name in VARIABLES:
        if command := environment.get(name, "").strip():
            return command
    for name in ("sensible-editor", "vi", "nano"):
        if shutil.which(name, path=environment.get("PATH")):
            return name
    raise CommandError("there is no editor", "set VISUAL or EDITOR to the command of one", Exit.USAGE)


@contextmanager
def without_keys() -> Iterator[None]:
    """Nothing happens here at the signals of the terminal's keys. They are handled and not ignored, because a program that is started
    inherits what is ignored: the editor hears them. What the caller ignores stays so, as with nohup."""
    before = {number: signal.getsignal(number) for number in KEYS}
    taken = [number for number in KEYS if before[number] is not signal.SIG_IGN]
    try:
        for number in taken:
            signal.signal(number, lambda *_: None)
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def list_children(process: int) -> list[int]:
    """What the shell runs. Empty where it became the editor itself, and where the kernel does not list children."""
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


class OpenedText:
    """The text of one file of the source, in a file of the same name. Use as a context: at its end the folder goes, unless it was kept.
    `within` is where the folder is made, if not where temporary files are."""

    def __init__(
        self, path: str, data: bytes, environment: Mapping[str, str], within: Path | None = None
    ) -> None:
        self._command = find_editor(environment)
        self._folder = Path(tempfile.mkdtemp(prefix="gitvirt-edit-", dir=within))
        self.file = self._folder / PurePosixPath(path).name
        self.file.write_bytes(data)
        self.is_kept = False
        self._editor: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OpenedText:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """The folder with all that an editor left there, unless it was kept."""
        if not self.is_kept:
            shutil.rmtree(self._folder, ignore_errors=True)

    def open(self) -> bytes:
        """Waits until the editor ends, and returns what it left; a CommandError if it failed."""
        # A shell that waits for the editor has to go on after the keys, too; what it starts hears them.
        words = ["/bin/sh", "-c", f'trap : INT QUIT; {self._command} "$@"', self._command, str(self.file)]
        with without_keys(), subprocess.Popen(words, env=dict(os.environ)) as self._editor:
            code = self._editor.wait()
        self._editor = None
        if code:
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
            cause = f"the editor {printable(self._command)} {how}; nothing was changed"
            raise CommandError(cause, "set VISUAL or EDITOR to the command of an editor that works")
        try:
            return self.file.read_bytes()
        except OSError as error:
            cause = f"cannot read what the editor wrote to {printable(str(self.file))}: {error.strerror}"
            raise CommandError(cause, "save the file under its name; nothing was changed") from None

    def end_editor(self) -> None:
        """Called by a handler of signals: tells an editor that runs to end, and the shell that waits for it, and waits a bounded time for each. It
        waits without taking the exit code, which `open` may be waiting for."""
        if self._editor is None:
            return
        shell, processes = self._editor.pid, []
        try:
            for number in (*list_children(shell), shell):
                with suppress(OSError):  # it has ended
                    processes.append(os.pidfd_open(number))
            for process in processes:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, signal.SIGTERM)
            for process in processes:
                select.select([process], [], [], END_SECONDS)
        finally:
            for process in processes:
                os.close(process)

    def keep(self) -> str:
        """The file stays after the end; how a message names it."""
        self.is_kept = True
        return printable(str(self.file))
