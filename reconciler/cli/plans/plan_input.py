"""The World that plan and explain look at: a checkout with its uncommitted files, or a remote as it is now.

| asked for | source | target branch and reports | network |
|---|---|---|---|
| nothing | the files on disk | as fetched last | no |
| `--source`, `--target` | the revision of the first | the revision of the second; reports as fetched | no |
| `--repo` | the remote's source branch | the remote's, now | yes |

Of the two revisions each may be missing: then it is as in the first row. `explain` takes GITVIRT_REPO for
`--repo`; `plan` does not. A plan of a checkout says on standard error how old the fetched branches are. Where the target branch was never
fetched, hosts and placements are unknown, and that is said instead of "does not fit". Nothing is written, neither
to the checkout nor to the remote.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from reconciler.cli import fleet_repo as location
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import TextStyle, err, printable
from reconciler.gitstore import guards
from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.repo import Repo, Snapshot
from reconciler.gitstore.store import Store
from reconciler.gitstore.worktree.revision import open_revision
from reconciler.query.check import CheckRequest
from reconciler.query.offline_repo import OfflineRequest, open_offline_repo
from reconciler.query.scope import Scope, checked_out_branch, find_root, short_branch
from reconciler.query.source import CommitFiles, FolderSource, RevisionSource
from reconciler.world.changes import WorldChanges
from reconciler.world.source.parse_cache import cache as parse_cache
from reconciler.world.source.parse_cache.cache import ParseCache
from reconciler.world.source.rules import NO_FLEET
from reconciler.world.world import World
from schemas.settings.fleet import PATH


@dataclass(frozen=True, slots=True)
class PlanInput:
    """`unfetched` names the target branch where it is not here, and the remote may have it. `assumptions` are notes that a reader of the
    plan needs wherever it is shown; they are among `notes` too. `manifests` is what `gitvirt validate` would check of the same input."""

    repo: Repo
    world: World
    advance: WorldChanges
    now: datetime
    notes: tuple[str, ...] = ()
    unfetched: str = ""
    assumptions: tuple[str, ...] = ()
    manifests: CheckRequest | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", metavar="REV", help="the desired state (default: the files on disk)")
    parser.add_argument(
        "--target", metavar="REV", help="the present state (default: the target branch as fetched last)"
    )
    parser.add_argument("--repo", metavar="URL|DIR", help="look at a remote as it is now, not at a checkout")


@contextmanager
def open_input(arguments: argparse.Namespace, path: str, ambient: str = "") -> Iterator[PlanInput]:
    """`ambient` is the repo that is meant where neither --repo nor a revision of a checkout is named."""
    now = datetime.now(UTC)
    is_by_revision = bool(arguments.source or arguments.target)
    named = arguments.repo or ("" if is_by_revision else ambient)
    if named:
        if is_by_revision:
            raise CommandError(
                "--repo is the remote as it is now", "leave --source and --target out", Exit.USAGE
            )
        with location.open_fleet(location.locate_repo(named, os.environ, Path.cwd())) as fleet:
            location.check_settings(fleet)
            seen = advance_world(fleet.repo, fleet.snapshot, now)
            yield replace(seen, manifests=check_of_commit(fleet.repo, fleet.snapshot.source))
        return
    folder = Path.cwd() / path
    if not folder.is_dir():
        raise CommandError(
            f"{printable(path)} is not a folder", "name a checkout of the fleet's repo", Exit.USAGE
        )
    found_root = find_root(folder)
    if found_root is None and not is_by_revision and not (folder / PATH).exists():
        cause = f"{printable(str(folder))} is not in a Git repo, and there is no {PATH}"
        cure = "name the fleet's repo with --repo, or go to a checkout of it; `gitvirt init` creates one"
        raise CommandError(cause, cure, Exit.USAGE)
    root = found_root or folder
    request = OfflineRequest(root, arguments.source or "", arguments.target or "")
    made = open_offline_repo(request, location.read_checkout_settings(root), now)
    snapshot = made.repo.snapshot()
    assert not isinstance(snapshot, RemoteUnavailable), "memory always answers"
    for problem in guards.of_refs(made.refs, snapshot):
        raise CommandError(f"{printable(str(root))}: {problem.message}", problem.hint)
    found = advance_world(made.repo, snapshot, now, made.notes, is_offline=not snapshot.reports)
    if (held := found.world.head.held) is not None and held.is_unsigned:
        found = plan_signed_merge(found, snapshot, is_offline=not snapshot.reports)
    target = (made.refs.target or "").removeprefix(location.HEADS)
    found = replace(found, manifests=check_of_checkout(root, arguments.source or ""))
    yield replace(found, unfetched=target) if made.is_unfetched else found


def check_of_commit(repo: Repo, commit: str | None) -> CheckRequest | None:
    if commit is None:
        return None
    return CheckRequest(Scope(Path(), ""), RevisionSource(CommitFiles(repo, commit)))


def check_of_checkout(root: Path, revision: str) -> CheckRequest:
    """The files on disk, or a revision: as `gitvirt validate` takes them, with the branch that decides what is allowed there."""
    if revision:
        source = RevisionSource(open_revision(root, revision))
        return CheckRequest(Scope(root, ""), source, short_branch(revision))
    return CheckRequest(Scope(root, ""), FolderSource(root), checked_out_branch(root))


def plan_signed_merge(held: PlanInput, snapshot: Snapshot, *, is_offline: bool) -> PlanInput:
    """What the reconciler would do with the source of a checkout once a signer, often the forge, has merged it. Without this the plan of a
    pull request would only say that its commits are not signed. That stays among the problems, first."""
    world = World(os.environ, is_offline=is_offline)
    world.assumes_signed = True
    found = world.advance(held.repo, snapshot, held.now)
    refused = tuple(each for each in held.advance.problems if each.code == "GV814")
    note = "the source is not signed as it must be; this plan is what a signed merge of it would do"
    advance = replace(found, problems=(*refused, *found.problems))
    return replace(held, world=world, advance=advance, notes=(*held.notes, note), assumptions=(note,))


def print_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        err().line(f"{err().paint('note:', TextStyle.DIM)} {printable(note)}")


@contextmanager
def open_readings(repo: Repo) -> Iterator[ParseCache]:
    """What earlier verbs and the reconciler parsed of this mirror. Without it all is read again, so that its troubles are not told here."""
    logging.getLogger(parse_cache.__name__).addHandler(logging.NullHandler())
    readings = ParseCache(repo.folder if isinstance(repo, Store) else None)
    try:
        yield readings
    finally:
        readings.close()


def advance_world(
    repo: Repo, snapshot: Snapshot, now: datetime, notes: tuple[str, ...] = (), *, is_offline: bool = False
) -> PlanInput:
    """A World of this one snapshot. Raises CommandError where the reconciler would refuse to tick: such a plan
    would show everything as gone."""
    with open_readings(repo) as readings:
        world = World(os.environ, readings=readings, is_offline=is_offline)
        advance = world.advance(repo, snapshot, now)
        readings.settle()
    for problem in world.unfit:
        where = f"{problem.file}:{problem.line}: " if problem.line else ""
        exit_code = Exit.FAILED if problem is NO_FLEET else Exit.PROBLEMS
        raise CommandError(where + printable(problem.message), printable(problem.hint), exit_code)
    return PlanInput(repo, world, advance, now, notes)
