"""The demo's last process: makes its folder, and removes it when no process is left that could write there, however they ended.

Run as `python cleanup.py FOLDER` in a session of its own; prints the folder that it made in that one. All who play hold the
other end of its standard input, and no process writes there. Imports nothing of the project.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 30.0
PREFIX = "gitvirt-demo."  # short: the paths of sockets are


def main() -> None:
    """Makes the folder, prints its path, and waits until its standard input ends: that is when no process holds the
    other end any more. Signals that end a terminal session are ignored, because the cleanup has to outlive all
    others."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=sys.argv[1]))
    os.write(sys.stdout.fileno(), f"{folder}\n".encode())
    sys.stdin.buffer.read()
    ends = time.monotonic() + SECONDS
    while folder.exists() and time.monotonic() < ends:
        # Again, when a program that was ended in the middle of its work had children who still do some.
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
