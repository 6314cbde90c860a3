"""`gitvirt plan`: what a reconcile would do, and why. It runs the reconciler's own decisions on a snapshot and
writes nothing.

| exit code | when (the first that applies) |
|---|---|
| 3 | there are errors in manifests: those that `gitvirt validate` finds in the same files, and those of the change |
| 5 | an object cannot be scheduled |
| 4 | something would change, and `--exit-code` was given |
| 0 | else |

Output forms: text, JSON and YAML for programs, Markdown for a comment on a pull request (`gitvirt comment` posts
it). All come from one Plan; what two of them say alike is in `plans.phrases`.

Limits: it decides nothing of its own. Whatever it shows comes from `reconciler.decide`, or a plan would promise
what the reconciler does not do. Placements are those of this moment; another tick before the merge may fill a pool.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from reconciler.cli.exits import Exit
from reconciler.cli.output import add_format, show_value
from reconciler.cli.plans import as_json, as_markdown, as_text, plan_input
from reconciler.cli.plans.access_changes import find_access_changes
from reconciler.cli.plans.entries import Builder, group_entries
from reconciler.cli.plans.file_links import FileLinks, forge_bases
from reconciler.cli.plans.manifest_errors import find_manifest_errors, join_problems
from reconciler.cli.plans.moves import find_moves, targets_of
from reconciler.cli.plans.outline import FilePlace, Outline
from reconciler.cli.plans.plan_input import PlanInput
from reconciler.cli.plans.pool_usage import pool_usage
from reconciler.cli.plans.survival import try_each_loss
from reconciler.cli.terminal import out
from reconciler.decide.decide import make_plan
from reconciler.plan.source_changes import compare_sources
from reconciler.plan.types import Action, Plan
from reconciler.world.bulk_load import bulk
from reconciler.world.reports.start_wait import StartWait, describe_start_wait
from reconciler.write.effect_context import find_context
from reconciler.write.source_documents import read_changed_documents
from schemas.manifest import parse_once
from schemas.problem import Problem, Severity

EXAMPLES = """\
examples:
  gitvirt plan                              the checkout you are in, against the target branch
  gitvirt plan --source origin/add-web      a pull request, whatever is checked out
  gitvirt plan -o markdown > comment.md     for a comment on it
  gitvirt plan --exit-code                  4 when something would change
  gitvirt plan --repo /srv/fleet.git        what a reconciler would do there now

exit codes: 0 fine, 3 errors in manifests, 5 an object cannot be scheduled, 4 changes pending (with --exit-code)"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="a checkout (default: here)")
    plan_input.add_arguments(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit with 4 when something would change")
    parser.add_argument("-v", "--verbose", action="store_true", help="show every change, with details")
    add_format(parser, "text", "markdown")


def run(arguments: argparse.Namespace) -> int:
    with bulk(is_much=True), parse_once(), plan_input.open_input(arguments, arguments.path) as seen:
        found = (*find_manifest_errors(seen.manifests), *find_access_changes(seen))
        outline = add_problems(make_outline(seen), found)
        plan = outline.plan
        terminal = out()
        match arguments.output:
            case "json" | "yaml":
                show_value(terminal, arguments.output, as_json.document(outline))
            case "markdown":
                terminal.line(as_markdown.render(outline, find_links(seen, os.environ)))
            case _:
                as_text.write(outline, terminal, is_verbose=arguments.verbose)
    is_remote = arguments.repo is not None
    plan_input.print_notes((*seen.notes, *(describe_start(seen, plan) if is_remote else ())))
    return verdict(plan, is_strict=arguments.exit_code)


def describe_start(seen: PlanInput, plan: Plan) -> Iterator[str]:
    """Which hosts a reconciler would wait for before it places anything, if it started now: those whose reports are not of this moment."""
    if any(change.action is Action.SCHEDULE for change in plan.changes):
        start_wait = StartWait(counts_dates=True)
        seen.world.update_wait(start_wait)
        if waits := describe_start_wait(start_wait.list_awaited(seen.world.reports)):
            yield f"a reconciler that starts now {waits}, before it places anything"


def verdict(plan: Plan, *, is_strict: bool) -> int:
    """The exit code of a plan. Errors come first: with broken files the rest of the plan is not what people meant."""
    if any(problem.severity is Severity.ERROR for problem in plan.problems):
        return Exit.PROBLEMS
    if plan.unschedulable:
        return Exit.UNPLACEABLE
    is_pending = bool(plan.changes or plan.source_changes)
    return Exit.CHANGES if is_strict and is_pending else Exit.OK


def add_problems(outline: Outline, found: tuple[Problem, ...]) -> Outline:
    """With the errors that validation finds in the same files, and what changes of who may connect: no reader of a plan has to run it as
    well to see that a merge is wrong."""
    plan = outline.plan
    return replace(outline, plan=replace(plan, problems=join_problems(plan.problems, found)))


def make_outline(seen: PlanInput) -> Outline:
    """The plan of the reconciler, with what it means for people."""
    view, now = seen.world, seen.now
    before, after = read_changed_documents(seen.repo, view)
    changes = compare_sources(before, after, partial(find_context, view))
    plan = replace(make_plan(view, seen.advance, now), source_changes=changes)
    moves = find_moves(view, plan, now)
    targets = targets_of(moves.values())
    usage = pool_usage(view, plan, before, targets)
    builder = Builder(view, plan, moves, {each.pool: each for each in usage}, before)
    return Outline(
        plan,
        groups=group_entries(builder.build()),
        background=builder.list_background(),
        usage=usage,
        survival=try_each_loss(view, plan, targets, now) if builder.entries else None,
        notes=seen.assumptions,
    )


def find_links(seen: PlanInput, environment: Mapping[str, str]) -> FileLinks:
    """To the files of the plan on the forge whose job this is."""
    new, old = forge_bases(environment, seen.world.last or "")

    def read(place: FilePlace) -> str:
        commit = seen.world.last if place.is_old else seen.world.source_commit
        found = seen.repo.file(commit, place.path) if commit else None
        return seen.repo.read(found.id).decode("utf-8", "replace") if found is not None else ""

    return FileLinks(new, old, read)
