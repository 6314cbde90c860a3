"""`gitvirt poollet rotate`: a second certificate for the link, and later its former one revoked. Called once for each step; the step is found
from the files and from the settings on `live` (reconciler/cli/access/rotation.py has the table).

    BEGIN   makes link.key.next and link.crt.next, and lists the certificate beside the one in use
    END     once that is on live: the next pair takes the place of the old one, which is dropped from the entry

The poollet reads the files at each connection, so it needs no restart: it connects with the new certificate when its stream with the revoked one
ends. Without `--branch` the entry is printed, for hosts whose key may write nothing but their report.

Must never happen: the former certificate is dropped before the next one is in force; the files change in a dry run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import UTC, datetime

from poollet import bootstrap
from poollet.cli.join import find_files, find_key, only_host
from poollet.cli.proposal import ambient_inputs, propose
from reconciler.cli.access import rotation
from reconciler.cli.access.key_pair import PairFiles, PairNames, adopt_next, ensure_pair, resume_adoption
from reconciler.cli.access.rotation import RotationFacts, RotationStep
from reconciler.cli.access.settings_text import change_settings, read_settings, show_entry
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import out, printable
from reconciler.gitstore.errors import RepoError
from schemas.settings.fleet import FleetSettings
from schemas.settings.host import PoolletSettings

JOIN = "run `gitvirt poollet join`, which makes the certificate and lists it"


def run(arguments: argparse.Namespace) -> int:
    one = only_host(arguments)
    files = find_files(one, find_key(arguments, one))
    if files is None or not files.is_there():
        raise CommandError(f"{one.name} has no certificate for the link", JOIN)
    if not arguments.dry_run:
        resume_adoption(files)
    names, now = PairNames(one.name), datetime.now(UTC)
    own = ensure_pair(files, names, now)
    next_pem = ensure_pair(files.next, names, now) if files.next.is_there() else None
    in_force = read_in_force(one)
    match rotation.find_step(RotationFacts(own, next_pem, in_force, arguments.force), now):
        case RotationStep.REST:
            out().line("the certificate is valid for more than 30 days; --force replaces it now")
        case RotationStep.LIST:
            cause = f"poollets.{one.name} of gitvirt.yaml does not list this host's certificate"
            raise CommandError(cause, JOIN)
        case RotationStep.BEGIN:
            begin(arguments, one, files, own)
        case RotationStep.END:
            end(arguments, one, files, next_pem or own)
    return Exit.OK


def read_in_force(one: PoolletSettings) -> tuple[str, ...]:
    """What the host's entry lists on `live`; on the source while there is no `live`."""
    try:
        found = bootstrap.fleet_settings(one.repo, ambient_inputs())
    except RepoError as error:
        raise CommandError(printable(error.cause), printable(error.cure)) from None
    if not isinstance(found, FleetSettings):
        if isinstance(found, tuple):
            raise CommandError("gitvirt.yaml cannot be used", "run `gitvirt validate` in a checkout")
        raise CommandError(printable(found.cause), printable(found.cure))
    entry = found.poollets.get(one.name)
    return entry.certificates if entry else ()


def begin(arguments: argparse.Namespace, one: PoolletSettings, files: PairFiles, own: str) -> None:
    if arguments.dry_run and not files.next.is_there():
        out().line(
            f"would create {files.next.key} and {files.next.certificate}, and list that certificate too"
        )
        return
    new = ensure_pair(files.next, PairNames(one.name), datetime.now(UTC))
    out().line(f"the next certificate is {files.next.certificate}")

    def change(text: bytes) -> bytes:
        return list_certificates(
            text, one.name, rotation.begin_rotation(read_listed(text, one.name), own, new)
        )

    finish(arguments, one, change, (own, new), f"poollets: list the next certificate of {one.name}")
    out().line("once it is on live, run `gitvirt poollet rotate` again: it puts the new pair into use")


def end(arguments: argparse.Namespace, one: PoolletSettings, files: PairFiles, new: str) -> None:
    """The files change after the proposal: if that fails, all is as before, and the next call does the same."""

    def change(text: bytes) -> bytes:
        return list_certificates(text, one.name, (new,))

    finish(arguments, one, change, (new,), f"poollets: REVOKE the former certificate of {one.name}")
    if not arguments.dry_run:
        adopt_next(files)
        out().line(f"{files.certificate} is the new certificate now")


def finish(
    arguments: argparse.Namespace,
    one: PoolletSettings,
    change: Callable[[bytes], bytes],
    shown: tuple[str, ...],
    message: str,
) -> None:
    """To the branch, or printed for a person."""
    if arguments.branch is not None:
        propose(one, arguments, change, message)
        return
    out().line("its certificates for gitvirt.yaml:")
    out().line()
    path = ("poollets", one.name, "certificates")
    for line in show_entry(path, list(shown)).splitlines():
        out().line(printable(line))


def read_listed(text: bytes, name: str) -> tuple[str, ...]:
    entry = read_settings(text).poollets.get(name)
    return entry.certificates if entry else ()


def list_certificates(text: bytes, name: str, certificates: tuple[str, ...]) -> bytes:
    if name not in read_settings(text).poollets:
        raise CommandError(f"gitvirt.yaml on the source branch has no poollets.{name}", JOIN)
    return change_settings(text, {("poollets", name, "certificates"): list(certificates)})
