"""Files of the source by which people state something once: approvals, and requests about the host of a pool.

The path says all; the content names the person and the time, so that the same statement made again is another content, and counts again.
Such a file survives each kind of merge, where the trailers of a commit may not.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, check_settings, named_fleet
from reconciler.cli.mutate import change
from reconciler.cli.mutate.output import FileEdit
from schemas.backoff import jitter

Show = Callable[[FleetRepo, list[FileEdit], str, argparse.Namespace], None]


def commit_statements(
    arguments: argparse.Namespace, edits_of: Callable[[FleetRepo], list[FileEdit]], message: str, show: Show
) -> int:
    """Commits the files to the source branch or to a new one, and shows them. Each turn writes them for the newest source. Without any there
    is nothing to commit, and that is shown."""
    with named_fleet(arguments.repo) as fleet:
        check_settings(fleet, changes=True)
        change.refuse_unsigned(fleet, arguments)
        for turn in range(change.TRIES):
            edits = edits_of(fleet)
            commit = ""
            if edits and not arguments.dry_run:
                commit = change.push_files(fleet, edits, arguments, arguments.message or message) or ""
            if commit or arguments.dry_run or not edits:
                show(fleet, edits, commit, arguments)
                return Exit.OK
            time.sleep(jitter(change.PAUSE_SECONDS * 2**turn, random.Random()))  # noqa: S311 - it spreads tries
            fleet = fleet.again()
    raise CommandError(f"{change.TRIES} pushes in a row lost to other writers", "try it again")


def write_statement(fleet: FleetRepo, path: str, line: str) -> FileEdit:
    """The file at that path, with the line for people who read it."""
    author = change.find_author(fleet)
    written = datetime.now(UTC).isoformat(timespec="microseconds")
    file = fleet.repo.file(fleet.snapshot.source, path) if fleet.snapshot.source else None
    before = fleet.repo.read(file.id) if file is not None else None
    text = f"{line}\ntime: {written}\nby: {quote_yaml(f'{author.name} <{author.email}>')}\n"
    return FileEdit(path, before, text.encode())


def quote_yaml(text: str) -> str:
    """A YAML scalar on one line, whatever is in a name."""
    return "'" + "".join(each for each in text if each.isprintable()).replace("'", "''") + "'"
