"""A console that is a real process on a real pty: what the exec tests attach to."""

from __future__ import annotations

import os
import pty
import subprocess

from iri.exec.pty_console import PtyConsole

STARTED: list[subprocess.Popen[bytes]] = []

# The program opens its terminal itself, as the leader of a new session: that makes it the controlling one.
TAKE_TERMINAL = 'exec 0<>"$1" 1>&0 2>&0; shift; exec "$@"'


def process_console(*command: str) -> PtyConsole:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        ["/bin/sh", "-c", TAKE_TERMINAL, "sh", os.ttyname(slave), *command],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], "PS1": "$ ", "TERM": "dumb"},
    )
    os.close(slave)
    STARTED.append(process)
    return PtyConsole(master, lambda: process.wait(60))
