"""A user at a terminal: attaches with the real client and prints the outcome. Run as a process on a pty."""

from __future__ import annotations

import sys

from iri.exec.console_client import attach
from iri.exec.keyboard import Keyboard

if __name__ == "__main__":
    outcome = attach(sys.argv[1], Keyboard(0), 1, linger_seconds=float(sys.argv[2]))
    print(f"<{outcome}>", flush=True)
