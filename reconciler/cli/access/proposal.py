"""A change of gitvirt.yaml by `gitvirt link` and `gitvirt client`: committed, proposed on a branch or printed, as by all verbs that change something.

The certificate is made before the commit and stays if the commit fails: the next call finds it and proposes it again. A dry run makes no
file, so without a certificate it says which files it would make.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from reconciler.cli.access.key_pair import PairFiles, PairNames, ensure_pair
from reconciler.cli.access.settings_text import read_settings
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, named_fleet
from reconciler.cli.mutate import output
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.mutate.statements import commit_statements
from reconciler.cli.output import is_value, show_value
from reconciler.cli.terminal import TextStyle, out, printable
from reconciler.gitstore.effective_settings import read_effective_settings
from schemas.settings.certificate import Certificate, read_certificate
from schemas.settings.certificate_dates import day
from schemas.settings.fleet import PATH, FleetSettings


@dataclass(frozen=True, slots=True)
class AccessChange:
    """What a verb proposes. `owner` is as in the settings (`link`, `clients.ci`); `text` makes the new gitvirt.yaml from the old one; `notes`
    are for people, below the commit. `already` ends the sentence where nothing changes."""

    verb: str
    owner: str
    certificate: str
    files: PairFiles | None
    text: Callable[[bytes], bytes]
    message: str
    already: str = "is listed already"
    notes: tuple[str, ...] = ()


def commit_access(arguments: argparse.Namespace, change: AccessChange) -> int:
    def write(fleet: FleetRepo) -> list[FileEdit]:
        before = read_source(fleet)
        after = change.text(before)
        return [] if after == before else [FileEdit(PATH, before, after)]

    return commit_statements(arguments, write, change.message, partial(show, change))


def read_source(fleet: FleetRepo) -> bytes:
    """gitvirt.yaml on the source branch, as it is now."""
    file = fleet.repo.file(fleet.snapshot.source, PATH) if fleet.snapshot.source else None
    if file is None:
        raise CommandError(f"the source branch has no {PATH}", "`gitvirt init` writes one")
    return fleet.repo.read(file.id)


def read_in_force(arguments: argparse.Namespace) -> FleetSettings:
    """The settings of `live`, which apply; those of the source while there is no `live`."""
    with named_fleet(arguments.repo) as fleet:
        applied = read_effective_settings(fleet.repo, fleet.snapshot.target).settings
        return applied or read_settings(read_source(fleet))


def make_pair(arguments: argparse.Namespace, files: PairFiles, names: PairNames) -> str:
    """The certificate of the files, made if it is not there. Where a dry run would make it, the call ends with that."""
    if arguments.dry_run and not files.certificate.exists():
        cause = f"there is no certificate {files.certificate}, and a dry run makes none"
        raise CommandError(cause, "call it without --dry-run, with --branch NAME to propose the change")
    return ensure_pair(files, names, datetime.now(UTC))


def show(
    change: AccessChange, fleet: FleetRepo, edits: list[FileEdit], commit: str, arguments: argparse.Namespace
) -> None:
    terminal, branch = out(), output.branch_of(fleet, arguments)
    if is_value(arguments.output):
        show_value(terminal, arguments.output, value(change, edits, commit, branch))
    elif arguments.output == "name":
        terminal.line(printable(change.owner))
    elif not edits:
        terminal.line(f"{printable(change.owner)} {change.already}")
    elif not commit:
        for each in edits:
            output.show_patch(terminal, each)
    else:
        short = terminal.paint(commit[:10], TextStyle.YELLOW)
        terminal.line(f"{change.verb} {printable(change.owner)}: {short} on {printable(branch)}")
        for line in (*describe_files(change), *change.notes):
            terminal.line(printable(line))
        if arguments.branch:
            terminal.line("open a pull request for it; nothing happens before it is merged")


def describe_files(change: AccessChange) -> tuple[str, ...]:
    """What a reviewer compares with the entry, and where the key is."""
    found = read_certificate(change.certificate)
    assert isinstance(found, Certificate), "it was checked when it was made or read"
    line = f"certificate {found.short}, valid until {day(found.ends)}"
    if change.files is None:
        return (line,)
    return (line, f"private key: {change.files.key}, certificate: {change.files.certificate}")


def value(change: AccessChange, edits: list[FileEdit], commit: str, branch: str) -> dict[str, object]:
    found = read_certificate(change.certificate)
    assert isinstance(found, Certificate), "it was checked when it was made or read"
    return {
        "verb": change.verb,
        "owner": change.owner,
        "changed": bool(commit),
        "branch": branch,
        "commit": commit,
        "file": PATH if edits else "",
        "patch": "".join(f"{line}\n" for each in edits for line in output.patch(each)),
        "identity": found.identity,
        "expires": found.ends.isoformat(),
        "keyFile": str(change.files.key) if change.files else "",
        "certificateFile": str(change.files.certificate) if change.files else "",
    }


def refuse_third(owner: str) -> CommandError:
    return CommandError(
        f"{owner} lists two certificates already", "remove one of them from gitvirt.yaml first", Exit.PROBLEMS
    )
