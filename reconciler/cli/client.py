"""`gitvirt client`: the key and the certificate of an API client, and its entry in gitvirt.yaml with what it may do.

Called where the client runs, or by an operator with `--certificate FILE` alone: then the key was made elsewhere and stays there. `rotate` is
called once for each step, as for the link.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from reconciler.cli.access import rotation
from reconciler.cli.access.key_pair import PairFiles, PairNames, adopt_next, read_pem, resume_adoption
from reconciler.cli.access.proposal import AccessChange, commit_access, make_pair, read_in_force, refuse_third
from reconciler.cli.access.rotation import RotationFacts, RotationStep
from reconciler.cli.access.settings_text import change_settings, read_settings
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate import change
from reconciler.cli.terminal import out
from schemas.edit import Value
from schemas.settings.link import ALL_NAMESPACES, RIGHTS, ClientEntry

EXAMPLES = """examples:
  gitvirt client join ci --rights read,schedule --namespaces staging --branch ci
  gitvirt client join dashboard --rights read --namespaces '*' --certificate dashboard.crt   the key was made elsewhere
  gitvirt client rotate ci --branch rotate-ci             make the next pair; once merged, the same call ends it

Remove the entry from gitvirt.yaml to revoke it. docs/link.md lists the rights, docs/controller-api.md the calls."""

NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")  # as the schema of the file has it
NAMESPACE = re.compile(r"\*|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("join", "rotate"),
        help="join: make the certificate and list it; rotate: replace it in two steps",
    )
    parser.add_argument("name", type=parse_name, metavar="NAME", help="the client's name in gitvirt.yaml")
    parser.add_argument(
        "--rights", type=parse_rights, metavar="RIGHT,...", help=f"what it may do: {', '.join(RIGHTS)}"
    )
    parser.add_argument(
        "--namespaces",
        type=parse_namespaces,
        metavar="NS,...",
        help="namespaces of the machines that it may do it with; * is all of them",
    )
    add_files(parser)
    change.add_arguments(parser)


def add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key", type=Path, metavar="FILE", help="private key (default: ~/.config/gitvirt/NAME.key)"
    )
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="its certificate (default: ~/.config/gitvirt/NAME.crt); without --key one that was made elsewhere",
    )
    parser.add_argument("--force", action="store_true", help="rotate a certificate that is valid for long")


def parse_name(text: str) -> str:
    if NAME.fullmatch(text):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is not a name: use lower case letters, digits, - and .")


def parse_rights(text: str) -> tuple[str, ...]:
    rights = tuple(dict.fromkeys(filter(None, text.split(","))))
    for right in rights:
        if right not in RIGHTS:
            raise argparse.ArgumentTypeError(
                f"there is no right {right!r}; the rights are {', '.join(RIGHTS)}"
            )
    return rights


def parse_namespaces(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, text.split(","))))
    for name in names:
        if not NAMESPACE.fullmatch(name):
            raise argparse.ArgumentTypeError(f"{name!r} is not a namespace; {ALL_NAMESPACES} is all of them")
    return names


def run(arguments: argparse.Namespace) -> int:
    files = find_files(arguments, os.environ)
    if arguments.action == "rotate":
        return rotate(arguments, files)
    is_foreign = arguments.certificate is not None and arguments.key is None
    pem = (
        read_pem(arguments.certificate)[0] if is_foreign else make_pair(arguments, files, names_of(arguments))
    )
    made = AccessChange(
        "list",
        f"clients.{arguments.name}",
        pem,
        None if is_foreign else files,
        lambda text: add_client(text, arguments, pem),
        f"clients: list {arguments.name}",
    )
    return commit_access(arguments, made)


def find_files(arguments: argparse.Namespace, environment: Mapping[str, str]) -> PairFiles:
    """Below the configuration of the account, unless they are named."""
    home = Path(environment.get("HOME") or "/")
    folder = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "gitvirt"
    key = arguments.key or folder / f"{arguments.name}.key"
    return PairFiles(key, arguments.certificate or key.with_name(f"{key.stem}.crt"))


def names_of(arguments: argparse.Namespace) -> PairNames:
    return PairNames(arguments.name)


def add_client(text: bytes, arguments: argparse.Namespace, pem: str) -> bytes:
    """A new entry needs both lists; of one that is there, those change that were given."""
    name = arguments.name
    entry = read_settings(text).clients.get(name)
    if entry is None and (arguments.rights is None or arguments.namespaces is None):
        cause = f"{name} is new: it needs --rights and --namespaces"
        raise CommandError(cause, "docs/link.md lists the rights; --namespaces '*' is all", Exit.USAGE)
    entry = entry or ClientEntry((), (), ())
    certificates = rotation.add_certificate(entry.certificates, pem)
    if certificates is None:
        raise refuse_third(f"clients.{name}")
    rights = entry.rights if arguments.rights is None else arguments.rights
    namespaces = entry.namespaces if arguments.namespaces is None else arguments.namespaces
    values: dict[str, Value] = {
        "rights": list(rights),
        "namespaces": list(namespaces),
        "certificates": list(certificates),
    }
    return change_settings(text, {("clients", name, field): found for field, found in values.items()})


def rotate(arguments: argparse.Namespace, files: PairFiles) -> int:
    if not files.is_there():
        cause = f"{arguments.name} has no key {files.key} here"
        raise CommandError(cause, "rotate where the key is, or name it with --key FILE")
    if not arguments.dry_run:
        resume_adoption(files)
    own = make_pair(arguments, files, names_of(arguments))
    next_pem = make_pair(arguments, files.next, names_of(arguments)) if files.next.is_there() else None
    entry = read_in_force(arguments).clients.get(arguments.name)
    facts = RotationFacts(own, next_pem, entry.certificates if entry else (), arguments.force)
    match rotation.find_step(facts, datetime.now(UTC)):
        case RotationStep.REST:
            out().line(
                f"the certificate of {arguments.name} is valid for more than 30 days; --force replaces it now"
            )
            return Exit.OK
        case RotationStep.LIST:
            cure = f"run `gitvirt client join {arguments.name}`, and merge it"
            raise CommandError("gitvirt.yaml on live does not list this certificate", cure)
        case RotationStep.BEGIN:
            return begin(arguments, files, own)
        case RotationStep.END:
            return end(arguments, files, next_pem or own)


def begin(arguments: argparse.Namespace, files: PairFiles, own: str) -> int:
    new, name = make_pair(arguments, files.next, names_of(arguments)), arguments.name

    def text(before: bytes) -> bytes:
        listed = read_entry(before, name).certificates
        return list_certificates(before, name, rotation.begin_rotation(listed, own, new))

    note = f"once it is on live, run `gitvirt client rotate {name}` again: it puts the new pair into use"
    message = f"clients: list the next certificate of {name}"
    return commit_access(
        arguments, AccessChange("rotate", f"clients.{name}", new, files.next, text, message, notes=(note,))
    )


def end(arguments: argparse.Namespace, files: PairFiles, new: str) -> int:
    name = arguments.name
    if files.next.is_there() and not arguments.dry_run:
        adopt_next(files)
    made = AccessChange(
        "rotate",
        f"clients.{name}",
        new,
        files,
        lambda before: list_certificates(before, name, (new,)),
        f"clients: REVOKE the former certificate of {name}",
        "lists the new certificate alone already",
        ("let the client read its files again before you merge",),
    )
    return commit_access(arguments, made)


def read_entry(text: bytes, name: str) -> ClientEntry:
    entry = read_settings(text).clients.get(name)
    if entry is None:
        raise CommandError(f"gitvirt.yaml has no clients.{name}", f"run `gitvirt client join {name}`")
    return entry


def list_certificates(text: bytes, name: str, certificates: tuple[str, ...]) -> bytes:
    read_entry(text, name)
    return change_settings(text, {("clients", name, "certificates"): list(certificates)})
