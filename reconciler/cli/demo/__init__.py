"""`gitvirt demo`: a whole fleet on this machine, from the first commit to a host that fails, live in the terminal."""

from __future__ import annotations

import argparse
import shutil
import signal
import tempfile
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import out

EXAMPLES = """examples:
  gitvirt demo                      three simulated hosts; half a minute
  gitvirt demo --keep               leaves the fleet running at the end, to play with"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", action="store_true", help="leave it running at the end, until Ctrl-C")


def run(arguments: argparse.Namespace) -> int:
    from reconciler.cli.demo.cast import Cast
    from reconciler.cli.demo.story import told
    from reconciler.cli.interrupt import Interrupt

    if shutil.which("git") is None:
        raise CommandError("there is no git on this machine", "apt-get install git")
    folder = Path(tempfile.mkdtemp(prefix="gitvirt-demo."))  # short: the paths of sockets are
    cast = Cast(folder, Interrupt())
    try:
        told(out(), cast, keep=arguments.keep)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who is in a hurry still wants nothing left
        cast.close()
        shutil.rmtree(folder, ignore_errors=True)
    return Exit.OK
