"""Where the Secrets of a call are: on the source branch, changed by a commit; or in the checkout, changed on disk (`--worktree`).

A commit is pushed by compare-and-swap: if another writer was first, the caller computes its edits again from the newest source.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, check_settings, named_fleet, read_checkout_settings
from reconciler.cli.mutate import change, output
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange
from reconciler.cli.objects.nouns import TakenKinds
from reconciler.cli.objects.references import parse_reference
from reconciler.cli.output import is_value, show_value
from reconciler.cli.progress import Progress
from reconciler.cli.terminal import err, out, printable
from reconciler.gitstore.errors import RepoError
from reconciler.query.fleet_secrets import (
    FleetSecrets,
    read_announced_labels,
    read_fetched_labels,
    read_fleet_secrets,
)
from reconciler.query.scope import checked_out_branch, find_root
from reconciler.query.secret_history import SecretPlace, list_earlier_holders, list_removed_places
from reconciler.query.source import CommitFiles, FolderSource, ManifestSource, RevisionSource
from schemas.backoff import jitter
from schemas.encryption.recipients import shorten
from schemas.kinds import Key, Kind
from schemas.problem import Problem
from schemas.validate.secret_readers import ADMINS
from schemas.validate.secret_uses import PoolLabels
from schemas.validate.tree import AnyDeclaration, Name

SECRETS = TakenKinds((Kind.SECRET,), Kind.SECRET)
NO_VALUES = "values never come from arguments: use --from-stdin KEY"


def add_worktree(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--worktree", action="store_true", help="use the files of the checkout around you, and commit nothing"
    )


def add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="[NAMESPACE/]NAME", help="the Secret")
    add_namespace(parser)


def add_namespace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--namespace", metavar="NAME", help="namespace (default: default)")


def read_key(arguments: argparse.Namespace, name: str) -> Key:
    """A CommandError for what cannot be a name; it does not repeat a word that may have a value in it."""
    if "=" in name:
        raise CommandError("a word with = is not the name of a Secret", NO_VALUES, Exit.USAGE)
    return parse_reference(name, SECRETS, arguments)


@dataclass(frozen=True)
class SecretFiles:
    """The files of one moment. `fleet` is None in a checkout, whose top is `root`."""

    source: ManifestSource
    secrets: FleetSecrets
    fleet: FleetRepo | None = None
    root: Path | None = None

    def find(self, key: Key) -> AnyDeclaration:
        """A CommandError where no file declares it."""
        found = self.secrets.secrets.get((key.namespace, key.name))
        if found is None:
            raise CommandError(f"no file declares {key}", "gitvirt secret check lists what there is")
        return found

    @cached_property
    def holders(self) -> Mapping[str, str]:
        """Whose key is which; of a key that left gitvirt.yaml, whose it was. Empty for an admin. A checkout is not asked for its history."""
        keys = self.secrets.keys
        assert keys is not None, "the settings were checked"
        if self.fleet is None or self.fleet.snapshot.source is None:
            return keys.holders
        return {**list_earlier_holders(self.fleet.repo, self.fleet.snapshot.source), **keys.holders}

    @cached_property
    def removed_places(self) -> Mapping[Name, Sequence[SecretPlace]]:
        """Files that declared a Secret and were removed or renamed, by its name. A checkout is not asked for its history."""
        if self.fleet is None or self.fleet.snapshot.source is None:
            return {}
        return list_removed_places(self.fleet.repo, self.fleet.snapshot.source)

    def name_holder(self, recipient: str) -> str:
        """For people: a host's name, `admins`, or the end of a key that is not known."""
        return self.holders.get(recipient, shorten(recipient)) or ADMINS

    def name_holders(self, recipients: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({self.name_holder(one) for one in recipients}))

    def command(self, verb: str, key: Key | None = None) -> str:
        """A command for a person, about the same files."""
        words = ("gitvirt secret", verb, "--worktree" if self.fleet is None else "")
        name = f"{key.namespace}/{key.name}" if key else ""
        return " ".join(word for word in (*words, name) if word)

    def text(self, path: str) -> str:
        data = self.source.read(path)
        if isinstance(data, Problem):
            raise CommandError(f"{printable(path)}: {data.message}", data.hint or "restore the file")
        return data.decode("utf-8", "replace")


@contextmanager
def open_files(arguments: argparse.Namespace) -> Iterator[SecretFiles]:
    """The Secrets that the call is about. A CommandError for settings that cannot be used."""
    progress = Progress(err(), "read")
    if arguments.worktree:
        refuse_remote(arguments)
        root = find_root(Path.cwd())
        if root is None:
            raise CommandError("you are not in a checkout", "go to one, or leave --worktree out", Exit.USAGE)
        source = FolderSource(root)
        announced = read_known_labels(root)
        secrets = read_fleet_secrets(source, checked_out_branch(root), progress, announced, is_old=True)
        yield check_files(SecretFiles(source, secrets, root=root))
        return
    with named_fleet(arguments.repo) as fleet:
        check_settings(fleet, changes=True)
        yield read_files(fleet)


def read_known_labels(root: Path) -> PoolLabels:
    """What hosts announced, as far as this checkout has it. Without it, only hosts with declared pools can be told apart."""
    settings = read_checkout_settings(root)
    if settings is None or settings.pools != "open":
        return {}
    try:
        return read_fetched_labels(root, settings.branches.target)
    except RepoError as error:
        err().line(f"note: pools that hosts announced are not known here: {error.cause}; {error.cure}")
        return {}


def refuse_remote(arguments: argparse.Namespace) -> None:
    """A CommandError for options that say where a commit goes, where none is made."""
    options = {"--repo": arguments.repo, "--branch": arguments.branch, "--message": arguments.message}
    if given := [name for name, value in options.items() if value]:
        cause = f"--worktree changes the files of the checkout around you, and {given[0]} is about a commit"
        raise CommandError(cause, "leave one of the two out", Exit.USAGE)


def read_files(fleet: FleetRepo) -> SecretFiles:
    """As the source branch has them now."""
    assert fleet.snapshot.source is not None, "the settings were checked"
    source = RevisionSource(CommitFiles(fleet.repo, fleet.snapshot.source))
    announced = read_announced_labels(fleet.repo, fleet.snapshot.target)
    branch = fleet.settings.branches.source if fleet.settings is not None else "main"
    secrets = read_fleet_secrets(source, branch, Progress(err(), "read"), announced)
    return check_files(SecretFiles(source, secrets, fleet))


def check_files(files: SecretFiles) -> SecretFiles:
    if files.secrets.keys is None or files.secrets.problems:
        cause = "gitvirt.yaml cannot be used, and it says who can open Secrets"
        raise CommandError(cause, "run `gitvirt validate`, and correct it")
    return files


def refuse_changes(found: SecretFiles, arguments: argparse.Namespace) -> None:
    """A CommandError where no change could be written, before a person types it."""
    if found.fleet is not None:
        change.refuse_unsigned(found.fleet, arguments)
        if not arguments.dry_run:
            change.find_author(found.fleet)
    elif found.root is not None and not os.access(found.root, os.W_OK):
        raise CommandError(f"you may not write in {printable(str(found.root))}", "change its rights")


Compute = Callable[[SecretFiles], MutationResult]


def apply(arguments: argparse.Namespace, compute: Compute) -> MutationResult:
    """Computes the edits and makes them. `compute` refuses what a person typed for another text."""
    with open_files(arguments) as files:
        for turn in range(change.TRIES):
            result = compute(files)
            if files.fleet is None:
                return finish_on_disk(files, result, arguments)
            change.refuse_unsigned(files.fleet, arguments)
            commit: str | None = ""
            if result.edits and not arguments.dry_run:
                commit = change.push_files(
                    files.fleet,
                    result.edits,
                    arguments,
                    output.write_message(result, arguments.message or ""),
                )
            if commit is not None:
                result = replace(result, commit=commit)
                output.show(out(), result, files.fleet, arguments)
                return result
            time.sleep(jitter(change.PAUSE_SECONDS * 2**turn, random.Random()))  # noqa: S311 - it spreads tries
            files = read_files(files.fleet.again())
    raise CommandError("another writer changed the source branch each time", "try again")


def finish_on_disk(
    files: SecretFiles, result: MutationResult, arguments: argparse.Namespace
) -> MutationResult:
    """Writes whole files, or shows what they would be."""
    assert files.root is not None, "files on disk have a folder"
    for made in result.edits:
        if not arguments.dry_run:
            assert made.after is not None, "no Secret is removed"
            write_file(files.root / made.path, made.after)
        elif arguments.output == "table":
            output.show_patch(out(), made)
    if is_value(arguments.output):
        values = [output.value(result, each, "") for each in result.objects]
        show_value(out(), arguments.output, values)
        return result
    for each in result.objects:
        where = f": {printable(each.path)}" if each.path else ""
        out().line(f"{printable(str(each.key))} {each.sentence}{where}")
    return result


def write_file(path: Path, data: bytes) -> None:
    """Whole, or not at all. What is encrypted may be read by anyone who may read the repository."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(data)
        fresh.replace(path)
    except OSError as error:
        raise CommandError(
            f"cannot write {printable(str(path))}: {error.strerror}", "free some space, or change its rights"
        ) from None


def edit_result(verb: str, objects: Sequence[ObjectChange], edits: Sequence[FileEdit]) -> MutationResult:
    return MutationResult(verb, tuple(objects), tuple(edits))
