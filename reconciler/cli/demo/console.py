"""The serial console of a machine, as a person sees it who types: through the runtime, by `gitvirt console` in a
process of its own.

A console is a stream without frames: nothing says where an answer ends. So a session types one line at a time, each
only at a prompt, and waits for the prompt that follows. A real guest may still boot, say nothing until Enter is
pressed, or print messages of its kernel in between; `await_prompt` accepts all of that and gives up after
PATIENCE_SECONDS.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from functools import partial

from reconciler.cli.demo.processes import PATIENCE_SECONDS, DemoProcesses, die_with, gitvirt
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b.")
PROMPT = re.compile(r"(login: |[$#] )$")
BARE_PROMPT = re.compile(r"[$#]$")  # with nothing typed at it
LOOK_SECONDS = 0.02
SILENCE_SECONDS = 1.0
LONG_SILENCE_SECONDS = 10.0  # then Enter is pressed again


class ConsoleSession:
    """One that ends with the block, and the machine goes on."""

    def __init__(self, processes: DemoProcesses, host: str, machine: str) -> None:
        self._cast = processes
        command = gitvirt("console", "--address", str(processes.socket(host)), machine)
        self._process = subprocess.Popen(
            [*processes.hosts.inside(host), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=processes.environment,
            start_new_session=True,
            pass_fds=(processes.held,),
            preexec_fn=partial(die_with, os.getpid()),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._keys, self._screen = self._process.stdin, self._process.stdout
        os.set_blocking(self._screen.fileno(), False)
        self.said = ""

    def type(self, line: str) -> None:
        """Types a line and Enter. It does not wait for an answer."""
        os.write(self._keys.fileno(), f"{line}\n".encode())

    def look(self) -> bool:
        """Whether there was news."""
        self._cast.pause(LOOK_SECONDS)
        try:
            data = os.read(self._screen.fileno(), 65536)
        except BlockingIOError:
            return False
        if not data:
            lines = visible_text(self.said)[-1:] or ["without output"]
            raise CommandError(f"the console connection ended: {lines[0]}", "this is a bug")
        self.said += ESCAPES.sub("", data.decode(errors="replace"))
        return True

    def settle(self) -> None:
        """Until nothing more comes."""
        since = time.monotonic()
        while time.monotonic() < since + SILENCE_SECONDS:
            if self.look():
                since = time.monotonic()

    def close(self) -> None:
        """Ends the connection. The machine and whatever its shell was doing go on."""
        self._process.kill()
        self._process.wait()
        self._keys.close()
        self._screen.close()


def open_session(processes: DemoProcesses, host: str, machine: str, keys: Sequence[str]) -> list[str]:
    """Lines of a session in which these are typed, each at a prompt. CommandError when none comes."""
    at = ConsoleSession(processes, host, machine)
    try:
        await_prompt(at, machine, "", is_silent=processes.hosts.is_silent)
        at.settle()  # what is typed while a shell answers an Enter of before is echoed twice
        at.said = at.said.replace("\r\n", "\n").rpartition("\n")[2]  # what it said before is the past
        for line in keys:
            before = len(at.said)
            at.type(line)
            await_prompt(at, machine, line, before)
    finally:
        at.close()
    return [line for line in visible_text(at.said) if not BARE_PROMPT.search(line)]


def await_prompt(
    at: ConsoleSession, machine: str, line: str, since: int = 0, *, is_silent: bool = False
) -> None:
    """The one that follows the line: a prompt for an Enter of before may come in between.

    A silent console says nothing before Enter is pressed. Others would take that for an answer.
    """
    ends = time.monotonic() + PATIENCE_SECONDS
    news = time.monotonic()
    if is_silent:
        at.type("")
    while not PROMPT.search(at.said[since:].partition(line)[2] if line else at.said):
        now = time.monotonic()
        if now > ends:
            cause = f"no prompt on the console of {machine}: {' / '.join(visible_text(at.said)[-3:])}"
            raise CommandError(cause, "this is a bug", Exit.TIMED_OUT)
        if at.look():
            news = now
        elif is_silent and now > news + LONG_SILENCE_SECONDS:
            at.type("")
            news = now


def visible_text(text: str) -> list[str]:
    """As a terminal shows it, without the lines that are empty."""
    lines = (printable(line.rpartition("\r")[2]) for line in text.replace("\r\n", "\n").split("\n"))
    return [line.rstrip() for line in lines if line.strip()]
