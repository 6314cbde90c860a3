"""The private keys of the person who calls a verb: named, else where sops and ssh keep them. Read when they are needed, and never shown."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable
from schemas.encryption.age_armor import Identities, IdentityError, parse_identities


def add_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="private key of age or ssh-ed25519 (default: as sops finds it, else ~/.ssh/id_ed25519); repeatable",
    )


def read_keys(arguments: argparse.Namespace) -> Identities:
    """A CommandError where there is none. A key that was named has to be usable; of the others those count that are."""
    found = Identities()
    for path in arguments.key:
        found += read_key(path)
    if arguments.key:
        return found
    for path in usual_places(os.environ):
        if path.is_file():
            try:
                found += read_key(path)
            except CommandError:
                continue  # such as an ssh key with a passphrase: another one may do
    if not found:
        cause = "there is no private key to open Secrets with"
        raise CommandError(cause, "name one with --key FILE; `age-keygen -o FILE` makes one", Exit.USAGE)
    return found


def try_keys(arguments: argparse.Namespace) -> Identities:
    """For verbs that can do without."""
    if arguments.key:
        return read_keys(arguments)
    try:
        return read_keys(arguments)
    except CommandError:
        return Identities()


def read_key(path: Path) -> Identities:
    try:
        return parse_identities(path.read_bytes())
    except OSError as error:
        cause = f"cannot read the private key {printable(str(path))}: {error.strerror}"
        raise CommandError(cause, "name a file that exists", Exit.USAGE) from None
    except IdentityError as error:
        raise CommandError(f"{printable(str(path))}: {error.cause}", error.cure, Exit.USAGE) from None


def usual_places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where sops and ssh keep private keys."""
    if named := environment.get("SOPS_AGE_KEY_FILE"):
        yield Path(named)
    home = Path(environment.get("HOME", "/"))
    yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "sops" / "age" / "keys.txt"
    yield home / ".ssh" / "id_ed25519"
