"""`gitvirt secret`: Secrets that are encrypted in Git, and opened on the hosts that need them.

    create   a new Secret, encrypted for the admins and for the hosts where what uses it may be placed
    edit     in your editor; the readable text is on tmpfs alone
    show     values, with a private key
    rekey    encrypt for those who have to read it now, and say what those who could may have kept
    check    who can open what, who cannot and has to, and who could before

`files` says where Secrets are read and written: on the source branch by a commit, or in the checkout (`--worktree`). `sealing` has what
`create`, `edit` and `rekey` ask alike. `private_keys` finds the keys of the person.

Must never happen: a value in an argument, an error, a commit message or a log; a readable text on a disk; a Secret encrypted for fewer
readers because a file could not be read.
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Sequence

from reconciler.cli.core_dumps import refuse_core_dumps
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate import change
from reconciler.cli.secret.files import NO_VALUES, add_worktree
from reconciler.cli.secret.private_keys import add_keys

EXAMPLES = """examples:
  gitvirt secret create shop/database --generate password
  gitvirt secret create shop/tls --from-file tls.key=key.pem --branch tls
  gitvirt secret edit shop/database
  gitvirt secret show shop/database password
  gitvirt secret rekey                          all Secrets, after hosts or machines changed
  gitvirt secret rekey --worktree               in the files of this checkout, before you commit
  gitvirt secret check

Private keys: --key FILE, else those of sops (SOPS_AGE_KEY_FILE, ~/.config/sops/age/keys.txt), else ~/.ssh/id_ed25519.
See `gitvirt help secrets`."""

ACTIONS = {
    "create": "write a new Secret",
    "edit": "change one in your editor",
    "show": "print the values of one",
    "rekey": "encrypt for those who have to read it now",
    "check": "list who can open what, and who has to",
}

_UNKNOWN = "unrecognized arguments: "
_OPTION = re.compile(r"--[a-z]+(?:-[a-z]+)*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, summary in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        importlib.import_module(f"reconciler.cli.secret.{name}").add_arguments(action)
        add_worktree(action)
        if name != "create":
            add_keys(action)
        change.add_arguments(action)


def hide_values(error: CommandError, words: Sequence[str]) -> CommandError:
    """The error of a wrong call, without the words that may be a value, such as `password=hunter2`. Options keep their names."""
    names = {word: word.partition("=")[0] for word in words}
    if error.cause.startswith(_UNKNOWN):
        given = error.cause.removeprefix(_UNKNOWN)
        options = [name for word, name in names.items() if _OPTION.fullmatch(name) and word in given]
        what = (
            f"{', '.join(options)} is not an option here" if options else "there are more words than it takes"
        )
        return CommandError(what, f"{NO_VALUES}; {error.cure}", Exit.USAGE)
    cause = error.cause
    for word, name in names.items():
        if name != word:
            value = word.removeprefix(f"{name}=")
            cause = cause.replace(word, f"{name}=...").replace(repr(value), "'...'")
    return CommandError(cause, error.cure, error.exit_code)


def run(arguments: argparse.Namespace) -> int:
    refuse_core_dumps()
    module = importlib.import_module(f"reconciler.cli.secret.{arguments.action}")
    found: int = module.run(arguments)
    return found
