"""`gitvirt link`: the key and the certificate of the link's servers, and their entry in gitvirt.yaml.

Called on the machine of `gitvirt run`. Several servers share one key: copy both files to the others. `rotate` is called once for each step, and
finds by itself which one is next (reconciler/cli/access/rotation.py).
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from reconciler.cli.access import rotation
from reconciler.cli.access.key_pair import PairFiles, PairNames, adopt_next, resume_adoption
from reconciler.cli.access.proposal import AccessChange, commit_access, make_pair, read_in_force, refuse_third
from reconciler.cli.access.rotation import RotationFacts, RotationStep
from reconciler.cli.access.settings_text import change_settings, read_settings
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate import change
from reconciler.cli.terminal import out
from schemas.edit import Value
from schemas.settings.certificate import LINK_NAME
from schemas.settings.link import is_address

FILES = PairFiles(Path("/etc/gitvirt/link-server.key"), Path("/etc/gitvirt/link-server.crt"))
NAMES = PairNames(LINK_NAME, LINK_NAME)
EXAMPLES = f"""examples:
  gitvirt link init --address link.example.org:7443 --branch link   make key and certificate, and propose the link
  gitvirt link rotate --branch rotate-link                          make the next pair and propose it; once merged, the same call ends it

The key stays in {FILES.key}. Hosts connect to each address; gitvirt run serves it. See docs/link.md."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("init", "rotate"),
        help="init: make the certificate and list it; rotate: replace it in two steps",
    )
    parser.add_argument(
        "--address",
        action="append",
        type=parse_address,
        default=[],
        metavar="HOST:PORT",
        help="where hosts and clients reach a server; repeat it for several",
    )
    parser.add_argument(
        "--key", type=Path, default=FILES.key, metavar="FILE", help=f"private key (default: {FILES.key})"
    )
    parser.add_argument(
        "--certificate",
        type=Path,
        default=FILES.certificate,
        metavar="FILE",
        help=f"its certificate (default: {FILES.certificate})",
    )
    parser.add_argument("--force", action="store_true", help="rotate a certificate that is valid for long")
    change.add_arguments(parser)


def parse_address(text: str) -> str:
    if is_address(text):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, as link.example.org:7443")


def run(arguments: argparse.Namespace) -> int:
    files = PairFiles(arguments.key, arguments.certificate)
    if arguments.action == "init":
        own = make_pair(arguments, files, NAMES)
        made = AccessChange(
            "list",
            "link",
            own,
            files,
            lambda text: add_link(text, own, arguments.address),
            "link: list its certificate",
            notes=("serve the link with both files: see docs/link.md",),
        )
        return commit_access(arguments, made)
    return rotate(arguments, files)


def add_link(text: bytes, own: str, addresses: list[str]) -> bytes:
    """Addresses and certificate beside those that are listed."""
    link = read_settings(text).link
    every = tuple(dict.fromkeys((*link.addresses, *addresses)))
    if not every:
        raise CommandError("gitvirt.yaml has no address of the link", "add --address HOST:PORT", Exit.USAGE)
    certificates = rotation.add_certificate(link.certificates, own)
    if certificates is None:
        raise refuse_third("link")
    values: dict[tuple[str, ...], Value] = {
        ("link", "addresses"): list(every),
        ("link", "certificates"): list(certificates),
    }
    return change_settings(text, values)


def rotate(arguments: argparse.Namespace, files: PairFiles) -> int:
    if not files.is_there():
        cause = f"the link has no key {files.key} here"
        raise CommandError(cause, "rotate where the key is, or name it with --key FILE")
    if not arguments.dry_run:
        resume_adoption(files)
    own = make_pair(arguments, files, NAMES)
    next_pem = make_pair(arguments, files.next, NAMES) if files.next.is_there() else None
    facts = RotationFacts(own, next_pem, read_in_force(arguments).link.certificates, arguments.force)
    step = rotation.find_step(facts, datetime.now(UTC))
    match step:
        case RotationStep.REST:
            out().line("the certificate of the link is valid for more than 30 days; --force replaces it now")
            return Exit.OK
        case RotationStep.LIST:
            raise CommandError("gitvirt.yaml does not list this certificate", "run `gitvirt link init`")
        case RotationStep.BEGIN:
            return begin(arguments, files, own)
        case RotationStep.END:
            return end(arguments, files, next_pem or own)


def begin(arguments: argparse.Namespace, files: PairFiles, own: str) -> int:
    new = make_pair(arguments, files.next, NAMES)

    def text(before: bytes) -> bytes:
        listed = rotation.begin_rotation(read_settings(before).link.certificates, own, new)
        return change_settings(before, {("link", "certificates"): list(listed)})

    note = "once it is on live, run `gitvirt link rotate` again: it puts the new pair into use"
    made = AccessChange(
        "rotate", "link", new, files.next, text, "link: list its next certificate", notes=(note,)
    )
    return commit_access(arguments, made)


def end(arguments: argparse.Namespace, files: PairFiles, new: str) -> int:
    """The servers use the new pair first, then the old certificate is dropped. Hosts accept both until then."""

    def text(before: bytes) -> bytes:
        return change_settings(before, {("link", "certificates"): [new]})

    if files.next.is_there() and not arguments.dry_run:
        adopt_next(files)
    note = "copy both files to each server of the link before you merge: hosts then accept the new certificate alone"
    made = AccessChange(
        "rotate",
        "link",
        new,
        files,
        text,
        "link: REVOKE its former certificate",
        "lists the new certificate alone already",
        (note,),
    )
    return commit_access(arguments, made)
