"""`make help`: the targets and what they are for; with color on a terminal only."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
HELP = ["make", "--no-print-directory", "help"]


def test_piped_output_has_no_color() -> None:
    output = subprocess.run(HELP, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "  help            show this\n" in output
    assert "\x1b" not in output


def test_a_terminal_has_color() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run(HELP, cwd=ROOT, check=True, stdout=theirs)
        os.close(theirs)
        assert b"  \x1b[1mhelp           \x1b[0m show this" in screen.read(4096)
