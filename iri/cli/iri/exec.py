"""`gitvirt iri exec`: attaches this terminal to a machine's serial console.

`gitvirt console` uses `attach_terminal` too, once it has found the machine.

    how the session ends                           exit status
    the program behind the console ended           its own; 0 where the runtime reports none
    Ctrl-], or the end of a file as input          0
    Ctrl-C where it is not sent to the guest       that of an interrupt
    it could not begin, or was cut off             1, with the reason

Must never happen: the console's URL is printed, because whoever has it may attach once.
"""

from __future__ import annotations

import argparse
import sys
from typing import assert_never

from iri.cli.iri.connection import connect_runtimes
from iri.client import MACHINE, Client
from iri.exec.console_client import LINGER_SECONDS, attach
from iri.exec.console_line import SessionBroken, SessionEnded, SessionLeft, SessionOutcome
from iri.exec.keyboard import Keyboard
from reconciler.cli import interrupt
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import err, printable

EXAMPLES = """examples:
  gitvirt iri exec 3f2c9a1e-...
  printf 'root\\nuptime\\n' | gitvirt iri exec 3f2c9a1e-...

Ctrl-] leaves the console; the machine goes on. The exit status is that of the session, where it has one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="MACHINE-ID")
    add_linger(parser)


def add_linger(parser: argparse.ArgumentParser) -> None:
    """Shared with `gitvirt console`."""
    parser.add_argument(
        "--linger",
        type=float,
        default=LINGER_SECONDS,
        metavar="SECONDS",
        help="when input comes from a file: leave after so many seconds without output (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    with interrupt.end_at_once(), connect_runtimes(arguments, MACHINE) as client:
        return attach_terminal(client, arguments.id, arguments.linger)


def attach_terminal(client: Client, machine_id: str, linger_seconds: float) -> int:
    """Attaches this terminal to the machine until either side ends it. The exit status is the session's."""
    farewell = client.console_farewell()
    url = client.console_url(machine_id)
    if not url:
        raise CommandError(
            f"machine {printable(machine_id)} has no console", "this runtime serves no consoles"
        )
    keyboard = open_keyboard(machine_id)
    outcome = attach(url, keyboard, sys.stdout.fileno(), linger_seconds, farewell)
    cure = f"`gitvirt iri get machine {printable(machine_id)}` shows its state; only one session is possible at a time"
    return find_exit_code(outcome, keyboard, cure)


def open_keyboard(machine: str) -> Keyboard:
    """Standard input. A person is told how to leave."""
    if sys.stdin is None:
        raise CommandError("standard input is closed", "give it a terminal, a pipe or /dev/null")
    keyboard = Keyboard(sys.stdin.fileno())
    if keyboard.is_terminal:
        terminal = err()
        terminal.line(f"Console of machine {printable(machine)}; Ctrl-] leaves it.")
        terminal.stream.flush()
    return keyboard


def find_exit_code(outcome: SessionOutcome, keyboard: Keyboard, cure: str) -> int:
    """By the table above."""
    match outcome:
        case SessionEnded(exit_status):
            return exit_status
        case SessionLeft():
            if keyboard.is_terminal:
                err().line("")
            return interrupt.CODE if keyboard.is_interrupted else Exit.OK
        case SessionBroken(reason):
            raise CommandError(printable(reason), cure)
        case _:
            assert_never(outcome)
