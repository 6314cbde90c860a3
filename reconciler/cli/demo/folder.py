"""The demo's folder: there from the beginning, and gone when the demo is, even one that was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from reconciler.cli.exits import CommandError

CLEANUP = Path(__file__).with_name("cleanup.py")
REMOVAL_SECONDS = 60.0


class DemoFolder:
    """`held` is for everybody who plays: while it is open somewhere the folder stays."""

    def __init__(self) -> None:
        reader, self.held = os.pipe()
        place = tempfile.gettempdir()
        self._cleanup = subprocess.Popen(
            [sys.executable, "-I", CLEANUP, place],
            stdin=reader,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        os.close(reader)
        assert self._cleanup.stdout is not None
        line = self._cleanup.stdout.readline().strip()
        if not line:
            raise CommandError(
                f"cannot create a folder in {place}", "set TMPDIR to a folder that can be written"
            )
        self.path = Path(line)

    def __enter__(self) -> DemoFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.held)
        assert self._cleanup.stdout is not None
        self._cleanup.stdout.close()
        self._cleanup.wait(REMOVAL_SECONDS)
