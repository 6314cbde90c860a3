"""Finds the fleet's repo for a verb, opens it, and names its branches.

# Theory of operation

| the repo | comes from |
|---|---|
| a URL, or a path that is not a folder | `--repo`, else GITVIRT_REPO |
| a folder | its `origin` (or its only remote); without one the checkout itself |
| nothing named | the checkout around the working folder |

The branches are in gitvirt.yaml, which is on a branch. So the settings of the checkout, or the defaults, are only a first guess: the remote
is asked with it, and once more if the effective settings there name other branches. All verbs take the effective settings (of the
newest usable version), as the reconciler does.

While the source branch is missing and `live` is there, the settings are those of `live`: verbs that read answer from it, with a note, and
verbs that change something refuse.

Must never happen: a verb answers from a branch that is not the target. Without usable settings or without the target branch that they
name it refuses; an empty answer would look like an empty fleet.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import err, printable
from reconciler.gitstore import bootstrap, guards
from reconciler.gitstore.effective_settings import EffectiveSettings, read_effective_settings
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import Sign, decode_commit
from reconciler.gitstore.remote import access, address
from reconciler.gitstore.remote.address import RemoteAddress
from reconciler.gitstore.remote.transport import RemoteUnavailable
from reconciler.gitstore.repo import Refs, Repo, Snapshot
from reconciler.gitstore.store import Store
from reconciler.gitstore.worktree import revision
from reconciler.gitstore.worktree.checkout import find_remote_url
from schemas.settings import fleet
from schemas.settings.fleet import PATH

HEADS = "refs/heads/"


class NoAnswerError(CommandError):
    """The remote cannot be used now; the same call may succeed later."""


@dataclass(frozen=True, slots=True)
class Location:
    """`checkout` is the top of a checkout of the repo, where there is one."""

    address: RemoteAddress
    checkout: Path | None = None


@dataclass(frozen=True, slots=True)
class FleetRepo:
    """A repo that answered, and whose settings name its branches."""

    location: Location
    repo: Repo
    refs: Refs
    snapshot: Snapshot
    effective: EffectiveSettings

    @property
    def settings(self) -> fleet.FleetSettings | None:
        return self.effective.settings

    def again(self) -> FleetRepo:
        """The same, as it is now."""
        return replace(self, snapshot=take_snapshot(self.repo, self.location))


def add_repo(parser: argparse.ArgumentParser) -> None:
    """The option --repo, with the same meaning for every verb."""
    parser.add_argument(
        "--repo",
        metavar="URL|DIR",
        help="the fleet's repo (default: GITVIRT_REPO, else the checkout you are in)",
    )


def locate_repo(named: str | None, environment: Mapping[str, str], here: Path) -> Location:
    """Raises CommandError when no repo is named and none is around."""
    text = named or environment.get("GITVIRT_REPO", "")
    if text and not (here / text).is_dir():
        found = address.parse_address(text, here)
        if found.scheme is address.Scheme.PATH and not Path(found.url).exists():
            cure = "give the path of a checkout or of a bare repo, or a URL, with --repo or GITVIRT_REPO"
            raise CommandError(f"{printable(found.url)} does not exist", cure)
        return Location(found)
    folder = here / text
    checkout = revision.find_checkout(folder)
    if checkout is None:
        cure = "name the fleet's repo with --repo URL|DIR or GITVIRT_REPO, or go to a checkout of it"
        raise CommandError(f"{printable(str(folder))} is not in a Git repo", cure, Exit.USAGE)
    if checkout.root is None:
        return Location(address.parse_address(str(checkout.git_directory), here))
    url = find_remote_url(folder)
    return Location(address.parse_address(url or str(checkout.root), checkout.root), checkout.root)


def named_fleet(
    named: str | None, *, with_reports: bool = False, with_inputs: bool = False
) -> AbstractContextManager[FleetRepo]:
    """The fleet that --repo or GITVIRT_REPO names, or the one around the working folder."""
    location = locate_repo(named, os.environ, Path.cwd())
    return open_fleet(location, with_reports=with_reports, with_inputs=with_inputs)


@contextmanager
def open_fleet(
    location: Location,
    environment: Mapping[str, str] | None = None,
    *,
    with_reports: bool = True,
    with_inputs: bool = False,
    sign: Sign | None = None,
    one_ref: str = "",
) -> Iterator[FleetRepo]:
    """Asks the remote once, or once more where its settings name other branches than expected. `one_ref` is read in the place of reports, and
    is in the snapshot among them, by the last part of its name."""
    environment = os.environ if environment is None else environment

    named_refs = partial(
        refs_from_settings, with_reports=with_reports, with_inputs=with_inputs, one_ref=one_ref
    )
    guess = read_checkout_settings(location.checkout)
    refs = named_refs(guess)
    absent = ""
    for _ in range(3):
        own = access.from_environment({"GITVIRT_GIT_CONFIG": "own", **environment})
        with closing(open_store_of(location.address, own, refs, environment, sign)) as repo:
            snapshot = take_snapshot(repo, location)
            found = read_effective_settings(repo, snapshot.source)
            better = refs
            if found.settings is not None:
                better = named_refs(found.settings)
            if guess is None and snapshot.source is None:
                better = use_default_branch(refs, snapshot)
            if better == refs and snapshot.source is None and snapshot.target is not None:
                found = read_effective_settings(repo, snapshot.target)
                if found.settings is not None:
                    better = named_refs(found.settings)
            if better == refs:
                made = FleetRepo(location, repo, refs, snapshot, found)
                refuse_unknown_target(made)
                yield made
                return
            if snapshot.source is None and refs.source is not None:
                absent = refs.source
            refs = better
    raise build_refs_error(location, refs, absent)


def use_default_branch(refs: Refs, snapshot: Snapshot) -> Refs:
    """Where no settings name the source branch, it is the default one of the remote, if that is not the target."""
    default = snapshot.default_branch
    return replace(refs, source=default) if default not in (None, refs.target) else refs


def build_refs_error(location: Location, refs: Refs, absent: str) -> CommandError:
    """Each look at the remote named other branches than the one before. `absent` is a source branch that was named and is missing."""
    if absent:
        # The settings on the default branch name a branch that was renamed or never pushed.
        cure = f"set branches.source in gitvirt.yaml on {refs.source}, or push {absent}"
        return CommandError(f"{location.address}: the source branch {absent} does not exist", cure)
    cause = f"the settings of {location.address} changed their branch names while gitvirt read them"
    return CommandError(cause, "try again")


def open_store_of(
    address: RemoteAddress,
    credentials: access.RemoteAccess,
    refs: Refs,
    environment: Mapping[str, str],
    sign: Sign | None = None,
) -> Store:
    """The repo over a mirror in the cache. The caller closes it. A cache that cannot be written is an error with
    its cure, because every verb would be slow without it and none would say why."""
    mirrors = mirrors_folder(environment)
    try:
        return bootstrap.open_store(
            address, credentials, refs, mirrors=mirrors, ambient=environment, sign=sign
        )
    except OSError as error:
        cure = "set GITVIRT_CACHE to a folder that can be written"
        raise CommandError(f"cannot write the local copy of the repo: {error}", cure) from None


def mirrors_folder(environment: Mapping[str, str]) -> Path:
    """Copies of remotes; whoever deletes them loses only time."""
    if named := environment.get("GITVIRT_CACHE"):
        return Path(named) / "mirrors"
    cache = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME") or "/tmp") / ".cache")  # noqa: S108
    return Path(cache) / "gitvirt" / "mirrors"


def take_snapshot(repo: Repo, location: Location) -> Snapshot:
    """The refs as the remote has them now. All that a verb prints comes from one snapshot, so its parts fit
    together."""
    found = repo.snapshot()
    if isinstance(found, RemoteUnavailable):
        raise NoAnswerError(f"{location.address}: {found.cause}", found.cure)
    return found


def read_checkout_settings(checkout: Path | None) -> fleet.FleetSettings | None:
    """Of the files on disk; broken ones say nothing here, gitvirt validate says what is wrong."""
    if checkout is None or not (checkout / PATH).is_file():
        return None
    found = fleet.parse((checkout / PATH).read_bytes())
    return found if isinstance(found, fleet.FleetSettings) else None


def refuse_unknown_target(fleet: FleetRepo) -> None:
    """Raises CommandError if the target branch is unknown: an answer from another branch would be wrong."""
    found, branch = fleet.effective, source_branch(fleet)
    if found.settings is None or fleet.snapshot.target is None:
        for problem in guards.of_refs(fleet.refs, fleet.snapshot):
            raise CommandError(f"{fleet.location.address}: {problem.message}", problem.hint)
    if found.is_of_head or (found.settings is not None and fleet.snapshot.target is not None):
        return
    if found.settings is None and not found.is_there and fleet.snapshot.target is None:
        cure = "name the fleet's repo with --repo URL|DIR or GITVIRT_REPO; `gitvirt init` creates one"
        raise CommandError(f"{fleet.location.address} is not a fleet repo: {branch} has no {PATH}", cure)
    if found.settings is None:
        cause = f"{found.trouble(branch)}, and no earlier commit has a usable one"
    else:
        cause = f"{found.note(branch)}, but their target branch {(fleet.refs.target or '').removeprefix(HEADS)} does not exist"
    raise CommandError(printable(cause), settings_cure(found))


def check_settings(fleet: FleetRepo, *, changes: bool = False) -> None:
    """Settings that cannot be used, or a source branch that is missing, are told, and stop a change."""
    found, branch = fleet.effective, source_branch(fleet)
    if fleet.snapshot.source is None and fleet.snapshot.target is not None:
        target = (fleet.refs.target or "").removeprefix(HEADS)
        cause, cure = f"the source branch {branch} does not exist", restore_command(fleet)
        if changes:
            raise CommandError(printable(cause), cure)
        err().line(printable(f"{cause}; showing {target}, which stays as it is. {cure}"))
    if found.is_of_head:
        return
    if changes:
        raise CommandError(printable(found.trouble(branch)), settings_cure(found), Exit.PROBLEMS)
    err().line(f"{printable(found.note(branch))}: {settings_cure(found)}")


def restore_command(fleet: FleetRepo) -> str:
    """How to push the source branch again, at the commit that the target branch was made of last."""
    commit = fleet.snapshot.target
    source = reconciled_source(decode_commit(fleet.repo.read(commit))) if commit is not None else None
    return f"To restore it: git push origin {source or 'COMMIT'}:{fleet.refs.source}"


def source_branch(fleet: FleetRepo) -> str:
    """The name of the source branch, for messages."""
    return (fleet.refs.source or "").removeprefix(HEADS)


def settings_cure(found: EffectiveSettings) -> str:
    """What to do about settings that cannot be used: fix them, or restore them if the file is missing."""
    if found.is_there:
        return "run `gitvirt validate` to see them"
    return "restore it; `git log` shows who removed it"


def refs_from_settings(
    settings: fleet.FleetSettings | None,
    *,
    with_reports: bool,
    with_inputs: bool = False,
    one_ref: str = "",
) -> Refs:
    """The refs that the settings name, or the default ones. Reports are fetched only for verbs that show them: in a
    large fleet they are most of the refs. So are the inputs of commits, which have all reports of some months."""
    inputs = (fleet.AuditSettings() if settings is None else settings.audit).ref or fleet.DEFAULT_INPUTS
    branches = fleet.BranchSettings() if settings is None else settings.branches
    reports = fleet.ReportSettings() if settings is None else settings.reports
    return Refs(
        HEADS + branches.source,
        HEADS + branches.target,
        (one_ref,) if one_ref else reports.ref if with_reports else None,
        inputs if with_inputs else None,
    )
