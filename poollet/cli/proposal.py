"""A change of gitvirt.yaml that a host proposes: one commit on a branch of its own, with the host's access to the repo.

Must never happen: a push to the source or the target branch. People merge what a host proposes about itself.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from poollet import bootstrap
from poollet.bootstrap import HEADS, HostInputs
from poollet.clock import Clock
from poollet.sync.report_publisher import AUTHOR_MAIL
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.mutate.output import FileEdit, show_patch
from reconciler.cli.terminal import out, printable
from reconciler.gitstore.errors import RepoError
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Identity, Pushed, Refs, Repo, Snapshot, Unchanged
from schemas.settings import fleet
from schemas.settings.host import PoolletSettings

BY_HAND = "add it by hand: the same call without --branch prints it"
Change = Callable[[bytes], bytes]


def ambient_inputs() -> HostInputs:
    return HostInputs(os.environ, Path.cwd(), Clock(), random.SystemRandom(), version("gitvirt"))


def propose(one: PoolletSettings, arguments: argparse.Namespace, change: Change, message: str) -> None:
    """Commit the changed file to `--branch`, which is created from the source branch if it does not exist; or print the patch with
    `--dry-run`."""
    branch: str = arguments.branch
    ref, source = HEADS + branch, HEADS + one.repo.source
    if ref == source or ref == HEADS + one.repo.target:
        raise CommandError(
            f"{branch} is not a branch to propose on", "name a new branch, and merge it", Exit.USAGE
        )
    ambient = ambient_inputs()
    try:
        repo = bootstrap.open_repo(one.repo, Refs(source=source, target=ref, reports=None), ambient)
        try:
            snapshot = repo.snapshot()
            if isinstance(snapshot, RemoteUnavailable):
                raise CommandError(printable(snapshot.cause), printable(snapshot.cure))
            base = snapshot.target or snapshot.source
            edit = edit_file(repo, base, change)
            if not arguments.dry_run:
                push(repo, draft_of(snapshot, edit, ref, message, one, ambient))
        finally:
            repo.close()
    except RepoError as error:
        raise CommandError(printable(error.cause), printable(error.cure)) from None
    if arguments.dry_run:
        show_patch(out(), edit)
        return
    out().line(f"the entry is on the branch {printable(branch)}: merge it")


def edit_file(repo: Repo, base: str | None, change: Change) -> FileEdit:
    file = repo.file(base, fleet.PATH) if base else None
    if file is None:
        raise CommandError("the source branch has no gitvirt.yaml", "`gitvirt init` writes one")
    before = repo.read(file.id)
    return FileEdit(fleet.PATH, before, change(before))


def draft_of(
    snapshot: Snapshot, edit: FileEdit, ref: str, message: str, one: PoolletSettings, ambient: HostInputs
) -> Draft:
    return Draft(
        ref=ref,
        expected=snapshot.target,
        base=snapshot.target or snapshot.source,
        edits={edit.path: edit.after},
        message=message,
        author=Identity(f"poollet {one.name}", AUTHOR_MAIL),
        time=ambient.clock.now(),
        source=None if snapshot.target else snapshot.source,
    )


def push(repo: Repo, draft: Draft) -> None:
    """One commit with that one file changed. A branch that exists is continued by compare-and-swap, so
    nothing that others pushed to it is lost. An unchanged file is a success: the entry is there."""
    match repo.write([draft]):
        case Pushed() | Unchanged():
            return
        case PushRefused(_, words):
            reason = "; ".join(map(printable, words.splitlines()))
            raise CommandError(f"the server refused the push: {reason}", BY_HAND)
        case RemoteUnavailable(_, cause, cure):
            raise CommandError(printable(cause), printable(cure))
        case PushConflict():
            raise CommandError(f"another writer changed {draft.ref}", "try again")
