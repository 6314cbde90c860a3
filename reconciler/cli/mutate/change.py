"""A small change to one object or several: found in the source, edited in place, committed, pushed unless another writer was first.

# Theory of operation

Each try reads the newest source, edits the text of the object's own file (no other byte changes) and pushes one commit, by
compare-and-swap against the source that was read.

| the push | what happens |
|---|---|
| accepted | done |
| every object is as desired already | done, without a commit |
| conflict on the source branch | the whole change is computed again from the newest source, TRIES times, after a random wait |
| conflict on `--branch` | an error: that branch exists |
| rejected by a hook or a rule | an error with the server's words |

Must never happen: an edit that was computed for one source is pushed onto another; a file is created for an object that people
declare elsewhere (only a pool that a host announced, and that no file declares, gets one).
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import HEADS, FleetRepo, add_repo, check_settings, named_fleet
from reconciler.cli.kept_machine import refuse_held, refuse_kept
from reconciler.cli.mutate import output
from reconciler.cli.mutate.branch_name import parse_branch_name
from reconciler.cli.mutate.consent import ask_consent, show_losses
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange
from reconciler.cli.objects.nouns import TakenKinds
from reconciler.cli.objects.references import read_reference, select_keys
from reconciler.cli.objects.selectors import find_by_key, read_current, refuse_unapplied
from reconciler.cli.objects.unapplied import find_unapplied
from reconciler.cli.output import add_format
from reconciler.cli.terminal import err, out, printable
from reconciler.gitstore.remote.git_errors import NOT_BARE_CURE
from reconciler.gitstore.remote.transport import PushConflict, PushRefused, RemoteUnavailable
from reconciler.gitstore.repo import Draft, Identity, Pushed, Unchanged
from reconciler.gitstore.worktree.checkout import read_identity
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from reconciler.write.yaml_documents import remove_documents
from schemas.backoff import jitter
from schemas.edit import Changes, Edited, Value, edit, render
from schemas.effects.effect import Loss
from schemas.kinds import Key, Kind, api_version
from schemas.model import Object

TRIES = 5
PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Mutation:
    """What a verb is for. `changes` says what to write, given the object as the source has it; `done` and `already` are
    how a sentence about the object ends."""

    verb: str
    changes: Callable[[Object | None], Changes]
    done: str
    already: str
    removes: bool = False  # the documents, in place of an edit
    losses: Callable[[FleetRepo, Sequence[Key]], Sequence[Loss]] = (
        lambda _fleet, _keys: ()
    )  # what it destroys
    # What else it does, given all edits.
    notes: Callable[[FleetRepo, Sequence[FileEdit], Sequence[Key]], Sequence[str]] = (
        lambda _fleet, _edits, _keys: ()
    )
    may_declare: bool = False  # a pool that was only announced gets a file of its own
    reads_reports: bool = False  # to forecast what the reconciler does about it
    # Which of its objects the reconciler would not change at once, and why, given all edits.
    held: Callable[[FleetRepo, Sequence[FileEdit], Sequence[Key]], Mapping[Key, str]] = (
        lambda _fleet, _edits, _keys: {}
    )
    facts: tuple[tuple[str, str], ...] = ()  # what a program wants to know of it, beside the commit
    waiting: str | Callable[[FleetRepo], Callable[[Key], str]] = (
        ""  # the condition of the `gitvirt wait` that returns once it is done
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that all verbs have which change something."""
    parser.add_argument("-m", "--message", metavar="TEXT", help="commit message (default: the change)")
    parser.add_argument(
        "--branch",
        type=parse_branch_name,
        metavar="NAME",
        help="push to this new branch, for review, instead of the source branch",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the patch and change nothing")
    add_format(parser, "name")
    add_repo(parser)


def apply_change(arguments: argparse.Namespace, key: Key, intent: Mutation) -> int:
    """The change of one object that the caller knows already."""
    return apply_changes(arguments, lambda _: (key,), intent)


def apply_named(arguments: argparse.Namespace, taken: TakenKinds, intent: Mutation, metavar: str) -> int:
    """The change of all objects that the arguments name or select. They select among what `get` shows, so that a
    look with the same selector shows beforehand what will be changed."""
    reference = read_reference(arguments, taken, metavar)

    def choose(fleet: FleetRepo) -> tuple[Key, ...]:
        keys = select_keys(reference, arguments, lambda: read_current(fleet, reference.kind))
        if reference.keys:
            return keys
        source = read_inventory(fleet.repo, fleet.snapshot.source, reference.kind)
        return tuple(key for key in keys if key in source.items or is_announced(fleet, key))

    return apply_changes(arguments, choose, intent)


def apply_changes(
    arguments: argparse.Namespace, choose: Callable[[FleetRepo], Sequence[Key]], intent: Mutation
) -> int:
    """Makes the change of all objects in one commit, or finds that nothing is to change. Prints the outcome; the
    exit code is 0 for both.

    Each turn of the loop computes the edits from the newest source. An edit is never pushed onto a source that it
    was not computed for.
    """
    holds: dict[Key, str] = {}
    with named_fleet(arguments.repo, with_reports=intent.removes or intent.reads_reports) as fleet:
        check_settings(fleet, changes=True)
        refuse_unsigned(fleet, arguments)
        keys = choose(fleet)
        for turn in range(TRIES):
            result = compute_change(fleet, keys, intent)
            if turn == 0:
                for key, hold in intent.held(fleet, result.edits, result.changed_keys).items():
                    holds[key] = hold
                    err().line(printable(f"{key} {hold}"))
            result = result.with_holds(holds)
            for note in intent.notes(fleet, result.edits, result.changed_keys) if turn == 0 else ():
                err().line(printable(note))
            if turn == 0 and (arguments.dry_run or arguments.branch):
                show_losses(result.losses)
            if not result.edits or arguments.dry_run:
                output.show(out(), result, fleet, arguments)
                return Exit.OK
            if turn == 0 and result.losses and not arguments.branch:
                ask_consent(result, arguments)
            commit = push_files(
                fleet, result.edits, arguments, output.write_message(result, arguments.message or "")
            )
            if commit is not None:
                output.show(out(), replace(result, commit=commit), fleet, arguments)
                return Exit.OK
            time.sleep(jitter(PAUSE_SECONDS * 2**turn, random.Random()))  # noqa: S311 - it spreads tries
            fleet = fleet.again()
    raise CommandError(f"{TRIES} pushes in a row lost to other writers", "try it again")


def compute_change(fleet: FleetRepo, keys: Sequence[Key], intent: Mutation) -> MutationResult:
    """The edits of all objects, computed from one source. Several objects may share a file, so the edit of the next
    one begins with the text that the one before left."""
    source = read_inventory(fleet.repo, fleet.snapshot.source)
    files: dict[str, FileEdit] = {}
    objects: list[ObjectChange] = []
    for key in keys:
        find = find_removal if intent.removes else find_edit
        made = find(fleet, source, key, intent, files)
        if made is not None:
            files[made.path] = made
        path = "" if made is None else made.path
        objects.append(ObjectChange(key, intent.already if made is None else intent.done, path))
    result = MutationResult(intent.verb, tuple(objects), tuple(files.values()), facts=intent.facts)
    losses = tuple(map(str, intent.losses(fleet, result.changed_keys)))
    return replace(result, losses=losses, waiting=group_waiting(fleet, intent, result.changed_keys))


def group_waiting(
    fleet: FleetRepo, intent: Mutation, keys: Sequence[Key]
) -> tuple[tuple[str, tuple[Key, ...]], ...]:
    """The objects that are waited for alike, by what they are waited for."""
    found: dict[str, tuple[Key, ...]] = {}
    of_key = intent.waiting(fleet) if callable(intent.waiting) and keys else None
    for key in keys:
        condition = str(intent.waiting) if of_key is None else of_key(key)
        found[condition] = (*found.get(condition, ()), key)
    return tuple((condition, same) for condition, same in found.items() if condition)


def find_edit(
    fleet: FleetRepo, source: FleetInventory, key: Key, intent: Mutation, files: Mapping[str, FileEdit]
) -> FileEdit | None:
    """None when it is so already. `files` are the edits of other objects so far."""
    if key not in source.items and is_announced(fleet, key):
        return declare_pool(key, intent, source) if intent.may_declare else None
    item = find_declared(fleet, source, key)
    earlier = files.get(item.path)
    original = read_text(fleet, item) if earlier is None else earlier.before
    before = original if earlier is None else earlier.after
    assert before is not None, "an object was found in it"
    changes = intent.changes(item.object)
    after = edit_document(before, item.index, changes, item) if changes else before
    return None if after == before else FileEdit(item.path, original, after)


def find_removal(
    fleet: FleetRepo, source: FleetInventory, key: Key, _: Mutation, files: Mapping[str, FileEdit]
) -> FileEdit:
    """The file without the documents that are removed so far and this one; the file itself goes with the last of them."""
    item = find_declared(fleet, source, key)
    earlier = files.get(item.path)
    original = read_text(fleet, item) if earlier is None else earlier.before
    assert original is not None, "an object was found in it"
    removed = (*(() if earlier is None else earlier.removed), item.index)
    return FileEdit(item.path, original, remove_documents(original, removed), removed)


def find_declared(fleet: FleetRepo, source: FleetInventory, key: Key) -> InventoryItem:
    """The object as the source has it; a CommandError for one that is deleted and kept or held, for one that does not exist, and for one
    whose file has errors: a change of it would be committed, and have no effect."""
    if (refused := find_unapplied(source, key)) is not None:
        raise refuse_unapplied(refused)
    if key not in source.items:
        refuse_kept(fleet, key)
        refuse_held(fleet, key)
    return find_by_key(source, key)


def read_text(fleet: FleetRepo, item: InventoryItem) -> bytes:
    """The file of an object of the source, as it is there."""
    assert fleet.snapshot.source is not None, "an object was found on it"
    file = fleet.repo.file(fleet.snapshot.source, item.path)
    assert file is not None, "an object was found in it"
    return fleet.repo.read(file.id)


def is_announced(fleet: FleetRepo, key: Key) -> bool:
    """A pool without a file in the source: people have not decided anything about it yet."""
    is_pool = key.kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL)
    return is_pool and key in read_inventory(fleet.repo, fleet.snapshot.target).items


def declare_pool(key: Key, intent: Mutation, source: FleetInventory) -> FileEdit:
    """A first file for a pool that a host announced by itself: only what people decide about it."""
    body: dict[str, Value] = {
        "apiVersion": api_version(key.kind),
        "kind": key.kind.value,
        "metadata": {"name": key.name},
    }
    folder = "volumepools" if key.kind is Kind.VOLUME_POOL else "pools"
    path = f"{folder}/{key.name}.yaml"
    if any(item.path == path for item in source.items.values()):
        path = f"{folder}/{key.kind.value.lower()}-{key.name}.yaml"
    return FileEdit(path, None, edit_document(render(body), 0, intent.changes(None), None))


def edit_document(before: bytes, index: int, changes: Changes, item: InventoryItem | None) -> bytes:
    """The bytes with the fields set. An edit that cannot be made without touching other bytes is an error, with the
    reason of `schemas.edit`: a person makes it by hand."""
    outcome = edit(before, index, changes, path=item.path if item else "")
    if isinstance(outcome, Edited):
        return outcome.data
    problem = outcome.problem
    cause = f"{problem.file}:{problem.line}: {problem.message}"
    raise CommandError(cause, problem.hint or "make the change by hand", Exit.PROBLEMS)


def describe_refusal(
    fleet: FleetRepo, ref: str, refused: PushRefused, arguments: argparse.Namespace
) -> CommandError:
    """What people can do about a push that the remote refused: a rule of the server, or a repo that is not bare."""
    if refused.is_checked_out:
        branch = printable(ref.removeprefix(HEADS))
        cause = f"{fleet.location.address} is not a bare repo and has branch {branch} checked out, so Git refuses pushes to it"
        return CommandError(cause, f"{NOT_BARE_CURE}; or push a branch for review: --branch NAME")
    cure = "push a branch for review: --branch NAME"
    if arguments.branch:
        cure = "the server has a rule about that branch: choose another name, or ask its administrator"
    words = "; ".join(map(printable, refused.words.splitlines()))
    return CommandError(f"the server refused the push: {words}", cure)


def push_files(
    fleet: FleetRepo, edits: Sequence[FileEdit], arguments: argparse.Namespace, message: str
) -> str | None:
    """Commits and pushes. Returns the commit, or None when another writer was first on the source branch: then the
    caller computes the edit again."""
    source = fleet.refs.source or ""
    ref = HEADS + arguments.branch if arguments.branch else source
    draft = Draft(
        ref=ref,
        expected=None if arguments.branch else fleet.snapshot.source,
        base=fleet.snapshot.source,
        edits={made.path: made.after for made in edits},
        message=message,
        author=find_author(fleet),
        time=datetime.now().astimezone(),
        source=fleet.snapshot.source if arguments.branch else None,
    )
    match fleet.repo.write([draft]):
        case Pushed(commits):
            return commits[ref]
        case Unchanged():
            raise CommandError("there was nothing to commit", "look again: gitvirt get")
        case PushConflict() if arguments.branch:
            cause = f"the branch {printable(arguments.branch)} already exists"
            raise CommandError(cause, "name another one")
        case PushConflict():
            return None
        case PushRefused() as refused:
            raise describe_refusal(fleet, ref, refused, arguments)
        case RemoteUnavailable(_, cause, cure):
            raise CommandError(f"{fleet.location.address}: {cause}", cure)
        case other:
            assert_never(other)


def find_author(fleet: FleetRepo) -> Identity:
    """The person of the commit, as Git would know it: environment, then configuration of the checkout. gitvirt
    never invents one, because the commit is the audit trail."""
    found = read_identity(fleet.location.checkout, os.environ)
    if found is None:
        cure = "git config --global user.name 'Your Name'; git config --global user.email you@example.org"
        raise CommandError("git does not know your name and email", cure)
    return found


def refuse_unsigned(fleet: FleetRepo, arguments: argparse.Namespace) -> None:
    """Where only signed commits count, one that gitvirt makes would hold everything up."""
    is_enforced = fleet.settings is not None and fleet.settings.signatures.mode == "enforce"
    if is_enforced and not arguments.dry_run and not arguments.branch:
        cure = "--dry-run prints the patch: pipe it into `git apply`, then `git commit -S` and push"
        raise CommandError(
            "this fleet accepts only signed commits, and gitvirt would make an unsigned one", cure
        )
