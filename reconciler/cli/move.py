"""`gitvirt move`: a machine stops on its pool and starts on another one. Cold: its memory does not go along.

Writes one commit on the source branch: `spec.machinePoolRef` names the new pool, and where the machine has local disks the annotation
gitvirt.dev/move-consent names its present assignment. That is consent to lose them in this one move: the next assignment has another id.
Volumes and addresses go along. Before the commit the scheduler and the rule of the reconciler are asked whether the pool can take the
machine; if it cannot, nothing is committed (exit code 5). Without a pool it takes the best one of the others.

It lists the local disks that this DESTROYS and asks; `--yes` answers for scripts. A paused machine is refused.

Limits: the machine stays pinned to the new pool until people remove `machinePoolRef`. It does not wait; it prints the `gitvirt wait` that
does, which ends once the machine runs on the new pool, and not before.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.explain import describe_unknown, explain_object, rank_rows
from reconciler.cli.fleet_repo import check_settings, named_fleet
from reconciler.cli.kept_machine import refuse_kept
from reconciler.cli.mutate import change
from reconciler.cli.mutate.consent import add_yes
from reconciler.cli.mutate.paused import refuse_paused
from reconciler.cli.objects import nouns
from reconciler.cli.objects.references import MACHINES, read_reference
from reconciler.cli.objects.selectors import add_selectors
from reconciler.cli.plans import phrases
from reconciler.cli.plans.plan_input import PlanInput, advance_world
from reconciler.cli.terminal import printable
from reconciler.decide.eviction import find_bound_volume, why_pool_rejects
from reconciler.schedule.decision import Refusal
from reconciler.schedule.scheduler import Fit
from reconciler.world.objects.relations import pin_of
from schemas import live_layout
from schemas.edit import Annotation, Changes, Field
from schemas.effects.removal import list_local_disks
from schemas.kinds import Key, Kind
from schemas.model import Assignment, Machine, Object

EXAMPLES = """examples:
  gitvirt move web-1 rack-b1
  gitvirt move production/web-1             to the best other pool
  gitvirt move web-1 rack-b1 --yes          in a script: its local disks are DESTROYED

The machine stops on its pool and starts on the other one, where it is pinned from then on. Volumes and addresses go along."""

CONSENT = Annotation(live_layout.MOVE_CONSENT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="[NAMESPACE/]NAME")
    parser.add_argument("pool", metavar="POOL", nargs="?", default="", help="default: the best other pool")
    parser.add_argument("after_pool", metavar="", nargs="?", default="", help=argparse.SUPPRESS)
    add_selectors(parser)
    parser.set_defaults(all=False)
    add_yes(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    shift_kind(arguments)
    arguments.objects = [arguments.machine]
    (key,) = read_reference(arguments, MACHINES, "MACHINE").keys
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        check_settings(fleet, changes=True)
        refuse_kept(fleet, key)
        seen = advance_world(fleet.repo, fleet.snapshot, datetime.now(UTC))
        assignment = find_assignment(seen, key)
        target = find_target(seen, key, assignment, arguments.pool)
        machine = seen.world.objects[key].object
    assert isinstance(machine, Machine), "by its kind"
    losses = list_local_disks(machine)

    def changes(found: Object | None) -> Changes:
        refuse_paused(found, "move")
        return list_changes(target, assignment if losses else None)

    intent = change.Mutation(
        "move",
        changes,
        f"moves: STOPS on {assignment.pool}, starts on {target}",
        f"already ordered to move to {target}",
        losses=lambda _fleet, _keys: losses,
        waiting=f"--for state={'Running' if machine.spec.power == 'On' else 'Shutdown'}",
    )
    return change.apply_change(arguments, key, intent)


def shift_kind(arguments: argparse.Namespace) -> None:
    """`machine web-1 rack-b1`, as other verbs take it: the kind in front is passed over. A third word without it is refused."""
    if arguments.pool and nouns.ALIASES.get(arguments.machine.lower()) is Kind.MACHINE:
        arguments.machine, arguments.pool, arguments.after_pool = (
            arguments.pool,
            arguments.after_pool,
            "",
        )
    if arguments.after_pool:
        cause = f"unrecognized arguments: {printable(arguments.after_pool)}"
        raise CommandError(cause, "`gitvirt move --help` lists its arguments", Exit.USAGE)


def list_changes(target: str, consent: Assignment | None) -> Changes:
    """`consent` is the assignment that ends with its local disks; None for a machine without any."""
    pin: Changes = {Field.MACHINE_POOL_REF: {"name": target}}
    return pin if consent is None else {**pin, CONSENT: consent.id}


def find_assignment(seen: PlanInput, key: Key) -> Assignment:
    """A CommandError for a machine that does not exist, or that is on no pool."""
    known, name = seen.world.objects.get(key), printable(f"{key.namespace}/{key.name}")
    if known is None:
        raise describe_unknown(seen, key)
    if known.record.assignment is None:
        cure = f"`gitvirt explain machine {name}` shows why"
        raise CommandError(f"{name} is on no pool, so there is nothing to move", cure)
    return known.record.assignment


def find_target(seen: PlanInput, key: Key, assignment: Assignment, named: str) -> str:
    """The pool that can take the machine; a CommandError with the reasons where none can."""
    machine, name = seen.world.objects[key].object, printable(f"{key.namespace}/{key.name}")
    assert isinstance(machine, Machine), "by its kind"
    if named == assignment.pool:
        raise CommandError(f"{name} is on {printable(named)} already", "name another pool", Exit.USAGE)
    if volume := find_bound_volume(seen.world, assignment.pool, machine):
        cause = f"volume {volume} is only on the host of {assignment.pool}, so {name} cannot leave that host"
        raise CommandError(cause, "copy its data to a volume that other hosts reach", Exit.UNPLACEABLE)
    if pin_of(machine) and not named:
        cause = f"{name} is pinned to {printable(pin_of(machine))}"
        raise CommandError(cause, f"name the pool: gitvirt move {name} POOL", Exit.USAGE)
    rows = [] if pin_of(machine) else rank_rows(explain_object(seen, key).rows)
    refusals = [row for row in rows if isinstance(row, Refusal) and row.pool in ("", named or row.pool)]
    if not named:
        fits = [row.pool for row in rows if isinstance(row, Fit) and row.pool != assignment.pool]
        named = next((pool for pool in fits if not why_pool_rejects(seen.world, key, machine, pool)), "")
        refusals = [row for row in refusals if row.pool != assignment.pool]
    why = why_pool_rejects(seen.world, key, machine, named) if named else ""
    reasons = [f"{pools}: {reason}" if pools else reason for pools, reason in phrases.rows_of(refusals)]
    if not why and named and not any(row.pool == named or not row.pool for row in refusals):
        return named
    cause = f"{name} does not fit on {printable(named) if named else 'any other pool'}"
    listed = "; ".join(printable(each) for each in ([why] if why else reasons))
    cure = f"`gitvirt explain machine {name}` shows every pool; nothing was changed"
    raise CommandError(f"{cause}: {listed}" if listed else cause, cure, Exit.UNPLACEABLE)
