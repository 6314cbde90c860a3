"""The demo's folder: there from the beginning, and gone when the demo is, even one that was killed.

A pipe is the proof that the demo goes on. Each process of it holds the writing end; the cleanup process reads the
other one and removes the folder when the last writer is gone. So nothing depends on an orderly end of this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reconciler.cli.exits import CommandError

CLEANUP = Path(__file__).with_name("cleanup.py")
REMOVAL_SECONDS = 60.0


@contextmanager
def open_folder() -> Iterator[tuple[Path, int]]:
    """The folder, and a descriptor for everybody who plays: while it is open somewhere the folder stays."""
    reader, held = os.pipe()
    place = tempfile.gettempdir()
    with subprocess.Popen(
        [sys.executable, "-I", CLEANUP, place],
        stdin=reader,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as cleanup:
        os.close(reader)
        assert cleanup.stdout is not None
        line = cleanup.stdout.readline().strip()
        try:
            if not line:
                cause = f"cannot create a folder in {place}"
                raise CommandError(cause, "set TMPDIR to a folder that can be written")
            yield Path(line), held
        finally:
            os.close(held)
            cleanup.wait(REMOVAL_SECONDS)
