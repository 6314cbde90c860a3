"""`gitvirt edit`: a person's editor on the file that declares an object; then the plan of the change, and one commit on the source branch.

# Theory of operation

| after the editor has ended | what happens |
|---|---|
| the text is as before | nothing; exit code 0 |
| it has errors, those of `gitvirt validate` | they are shown, and the editor opens again if the person agrees; else the text is kept, exit code 3 |
| it can be applied | `gitvirt plan` of this change, the question, and the commit |
| the file changed on the source branch meanwhile | nothing; the text is kept and named, exit code 1 |

On a terminal it always asks, after the plan. Without one it asks nothing, like other verbs: it refuses to destroy data without `--yes`.

Must never happen: a text is pushed over another one than the person has seen; a text that a person typed is lost.
Limits: one file for each call, all documents of it. An object that no file declares cannot be edited.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, check_settings, named_fleet
from reconciler.cli.kept_machine import refuse_held, refuse_kept
from reconciler.cli.mutate import change, output
from reconciler.cli.mutate.consent import add_yes, ask
from reconciler.cli.mutate.editor import OpenedText
from reconciler.cli.mutate.forecast import lay_over
from reconciler.cli.mutate.output import FileEdit, MutationResult, ObjectChange
from reconciler.cli.objects.references import ANY, add_objects, read_reference, select_keys
from reconciler.cli.objects.selectors import find_by_key, read_current
from reconciler.cli.objects.unapplied import find_unapplied
from reconciler.cli.plan import add_problems, make_outline
from reconciler.cli.plans import as_text
from reconciler.cli.plans.manifest_errors import find_manifest_errors
from reconciler.cli.plans.outline import Outline, Standing
from reconciler.cli.plans.plan_input import advance_world, check_of_commit
from reconciler.cli.terminal import err, out, printable
from reconciler.query.inventory import FleetInventory, read_inventory
from schemas.backoff import jitter
from schemas.kinds import Key
from schemas.problem import Problem, Severity

EXAMPLES = """examples:
  gitvirt edit web-1
  gitvirt edit pool/rack-a1 --branch more-memory
  EDITOR='sed -i s/small/large/' gitvirt edit web-1 --yes      in a script

It opens $VISUAL or $EDITOR on the file of the source branch that declares the object, shows the errors and the plan of the change, and
commits it. `gitvirt help resources` lists every field."""


@dataclass(frozen=True, slots=True)
class EditReview:
    """What a change would do: the plan with its errors, and those that prevent the commit."""

    outline: Outline
    errors: tuple[Problem, ...]

    @property
    def losses(self) -> tuple[str, ...]:
        planned = (each for each in self.outline.entries() if each.standing is Standing.PLANNED)
        return tuple(str(loss) for entry in planned for loss in entry.losses)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, ANY, may_take_all=False)
    add_yes(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    reference = read_reference(arguments, ANY)
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        check_settings(fleet, changes=True)
        change.refuse_unsigned(fleet, arguments)
        keys = select_keys(reference, arguments, lambda: read_current(fleet, reference.kind))
        path = find_path(fleet, keys)
        before = read_file(fleet, path)
        assert before is not None, "an object was found in it"
        with OpenedText(path, before, os.environ) as text:
            edits, review = edit_until_valid(fleet, FileEdit(path, before, before), text)
            done = "is changed" if edits else "as it was"
            objects = tuple(ObjectChange(key, done, path if edits else "") for key in keys)
            losses = () if review is None else review.losses
            result = MutationResult("edit", objects, tuple(edits), losses=losses)
            if edits and not arguments.dry_run:
                agree(result, arguments, text)
                commit, fleet = push(fleet, result, arguments, text)
                result = replace(result, commit=commit)
        output.show(out(), result, fleet, arguments)
    return Exit.OK


def find_path(fleet: FleetRepo, keys: Sequence[Key]) -> str:
    """The file that declares all of these objects, also one with errors; a CommandError where they are in several, or in none."""
    source = read_inventory(fleet.repo, fleet.snapshot.source)
    paths = {path_of(fleet, source, key) for key in keys}
    if len(paths) > 1:
        named = ", ".join(map(printable, sorted(paths)))
        raise CommandError(
            f"these objects are in {len(paths)} files: {named}", "edit one after the other", Exit.USAGE
        )
    return paths.pop()


def path_of(fleet: FleetRepo, source: FleetInventory, key: Key) -> str:
    if (refused := find_unapplied(source, key)) is not None:
        return refused.path
    if key not in source.items:
        refuse_kept(fleet, key)
        refuse_held(fleet, key)
        if change.is_announced(fleet, key):
            cause = f"no file declares {key}; its host announces it"
            raise CommandError(cause, "write a file for it, or let `gitvirt cordon` write the first one")
    return find_by_key(source, key).path


def read_file(fleet: FleetRepo, path: str) -> bytes | None:
    """As the source has it now; None if it was removed."""
    source = fleet.snapshot.source
    file = fleet.repo.file(source, path) if source is not None else None
    return None if file is None else fleet.repo.read(file.id)


def edit_until_valid(
    fleet: FleetRepo, edit: FileEdit, text: OpenedText
) -> tuple[list[FileEdit], EditReview | None]:
    """Opens the editor until the text can be applied, or is as it was; a CommandError where the person gives up."""
    while True:
        after = text.open()
        if after == edit.before:
            return [], None
        # A file without content declares nothing: it goes, as it does with the last document that `delete` removes.
        made = replace(edit, after=after if after.strip() else None)
        review = review_edit(fleet, made)
        as_text.write(review.outline, err(), is_verbose=False)
        if not review.errors:
            return [made], review
        if not (sys.stdin.isatty() and is_agreed("open the editor again? Type yes: ")):
            count = len(review.errors)
            cause = f"{printable(edit.path)} would have {count} error{'s' if count > 1 else ''}; nothing was changed"
            raise CommandError(cause, f"your text is in {text.keep()}", Exit.PROBLEMS)


def review_edit(fleet: FleetRepo, made: FileEdit) -> EditReview:
    """The plan with the change laid over the source. Errors that other files had before do not prevent it."""
    now = datetime.now(UTC)
    repo, snapshot = lay_over(fleet, [made], now)
    seen = advance_world(repo, snapshot, now)
    found = find_manifest_errors(check_of_commit(repo, snapshot.source))
    known = set(find_manifest_errors(check_of_commit(fleet.repo, fleet.snapshot.source)))
    outline = add_problems(make_outline(seen), found)
    errors = (each for each in outline.plan.problems if each.severity is Severity.ERROR)
    return EditReview(
        outline, tuple(each for each in errors if each.file == made.path or (each.file and each not in known))
    )


def agree(result: MutationResult, arguments: argparse.Namespace, text: OpenedText) -> None:
    """Returns if the change may be committed; else the text is kept, and a CommandError says where. A new branch destroys nothing yet."""
    if arguments.yes:
        return
    names = ", ".join(map(str, result.changed_keys))
    try:
        if result.losses and not arguments.branch:
            ask(result.verb, [names], result.losses, is_agreed=False)
        elif sys.stdin.isatty() and not is_agreed(f"commit the change of {printable(names)}? Type yes: "):
            raise CommandError("nothing was changed", "type yes to agree")
    except CommandError as error:
        raise CommandError(
            error.cause, f"{error.cure}; your text is in {text.keep()}", error.exit_code
        ) from None


def is_agreed(question: str) -> bool:
    terminal = err()
    terminal.stream.write(question)
    terminal.stream.flush()
    return sys.stdin.readline().strip() == "yes"


def push(
    fleet: FleetRepo, result: MutationResult, arguments: argparse.Namespace, text: OpenedText
) -> tuple[str, FleetRepo]:
    """The commit, and the fleet that it was made on. Another commit that leaves this file alone prevents nothing."""
    made = result.edits[0]
    message = output.write_message(result, arguments.message or "")
    for turn in range(change.TRIES):
        try:
            commit = change.push_files(fleet, result.edits, arguments, message)
        except CommandError as error:
            raise CommandError(
                error.cause, f"{error.cure}; your text is in {text.keep()}", error.exit_code
            ) from None
        if commit is not None:
            return commit, fleet
        time.sleep(jitter(change.PAUSE_SECONDS * 2**turn, random.Random()))  # noqa: S311 - it spreads tries
        fleet = fleet.again()
        if read_file(fleet, made.path) != made.before:
            cause = f"{printable(made.path)} changed on the source branch meanwhile; nothing was changed"
            raise CommandError(cause, f"your text is in {text.keep()}; edit the object again")
    cause = f"{change.TRIES} pushes in a row lost to other writers"
    raise CommandError(cause, f"try it again; your text is in {text.keep()}")
