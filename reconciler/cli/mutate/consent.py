"""Asks a person before a verb commits what destroys data: first all that is destroyed, then the question.

`--yes` answers it, for scripts. Without a terminal and without `--yes` the verb is refused: silence is not consent. A dry run and a
branch for review name the losses and do not ask, because they destroy nothing yet.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate.output import MutationResult
from reconciler.cli.terminal import TextStyle, err, printable


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="destroy data without asking, for scripts")


def ask_consent(result: MutationResult, arguments: argparse.Namespace) -> None:
    """Returns if the person agrees; else a CommandError."""
    ask(result.verb, list(map(str, result.changed_keys)), result.losses, is_agreed=arguments.yes)


def ask(verb: str, objects: Sequence[str], losses: Sequence[str], *, is_agreed: bool) -> None:
    """The same for a verb that writes something else than fields of objects."""
    show_losses(losses)
    if is_agreed:
        return
    terminal = err()
    if not sys.stdin.isatty():
        cause = f"gitvirt {verb} destroys data, and there is no terminal to ask on"
        raise CommandError(cause, "add --yes, or look first with --dry-run", Exit.USAGE)
    terminal.stream.write(f"{verb} {', '.join(objects)}? Type yes: ")
    terminal.stream.flush()
    if sys.stdin.readline().strip() != "yes":
        raise CommandError("nothing was changed", "type yes to agree")


def show_losses(losses: Sequence[str]) -> None:
    """Each on its own line. Also for a dry run and for a branch: what a merge destroys is named before it happens."""
    terminal = err()
    for loss in losses:
        terminal.line(f"{terminal.paint('DESTROYS', TextStyle.RED, TextStyle.BOLD)} {printable(loss)}")
