"""`gitvirt explain`: why an object is where it is, or why it cannot be scheduled. One row per pool.

It asks the scheduler that the reconciler uses, with the same input, as if the object had no assignment: its own use
of its pool is given back first, so that the pool where it is counts as one that fits. It offers no explanation of
its own. It writes nothing. Exit codes: 0 if the object is on a pool or fits on one, 3 if an error in its manifest
prevents that, 5 if it cannot be scheduled otherwise, 1 if there is no such object.

An object that failed where it is has a line with its host's reason, as of the last commit on the target branch.

Limits: only machines and volumes are scheduled. Scores are those of now; they say why a pool is best today, not why
it was chosen then (that is in `gitvirt history`).
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

import msgspec

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.kept_machine import describe_kept, find_replacement, is_kept
from reconciler.cli.objects import columns
from reconciler.cli.objects.references import SCHEDULED, add_objects, read_reference, select_keys
from reconciler.cli.objects.selectors import refuse_unapplied, suggest_item
from reconciler.cli.objects.unapplied import find_unapplied
from reconciler.cli.output import add_format, is_value, show_value
from reconciler.cli.plans import phrases, plan_input
from reconciler.cli.plans.plan_input import PlanInput
from reconciler.cli.terminal import Terminal, TextStyle, out, printable
from reconciler.decide import placement as placing
from reconciler.decide.need import Place
from reconciler.decide.obstacles import obstacles
from reconciler.decide.successors import without_assignment
from reconciler.plan.significance import WAITING
from reconciler.plan.suggestion import suggest
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from reconciler.schedule.decision import Refusal
from reconciler.schedule.scheduler import Fit, explain
from reconciler.world.objects.object_state import ObjectState, Origin
from reconciler.world.record import Record
from schemas.kinds import Key
from schemas.model import Machine, MachineStatus, Object
from schemas.problem import Severity

EXAMPLES = """\
examples:
  gitvirt explain machine web-1
  gitvirt explain volume/shop/data web-1
  gitvirt explain machines -l app=web
  gitvirt explain machine web-1 --repo /srv/fleet.git -o json

It reads the repo of --repo or GITVIRT_REPO. Without them it reads the checkout you are in, uncommitted changes included, and the
target branch as last fetched."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, SCHEDULED)
    plan_input.add_arguments(parser)
    add_format(parser, "text")


@dataclass(frozen=True, slots=True)
class Explanation:
    key: Key
    pool: str  # where it is
    blocked: tuple[str, ...]
    rows: tuple[Fit | Refusal, ...]
    pending: str = ""  # `m -> xl: InsufficientForResize`
    fault: str = ""  # why it is not ready where it is
    accepted: bool = False  # its host was asked before, and accepted

    @property
    def is_placeable(self) -> bool:
        return not self.blocked and any(isinstance(row, Fit) for row in self.rows)

    @property
    def suggestion(self) -> str:
        """What would make it fit; empty where a pool fits already, and something else blocks it."""
        refusals = [row for row in self.rows if isinstance(row, Refusal)]
        return suggest(refusals) if len(refusals) == len(self.rows) else ""


def run(arguments: argparse.Namespace) -> int:
    """Of one object its explanation; of several, one after the other, or a list of values."""
    reference = read_reference(arguments, SCHEDULED)
    with plan_input.open_input(arguments, ".", os.environ.get("GITVIRT_REPO", "")) as seen:
        keys = select_keys(reference, arguments, lambda: list_objects(seen))
        answers = [explain_object(seen, key) for key in keys]
    is_scheduled = all(answer.pool or answer.is_placeable for answer in answers)
    if seen.unfetched and not is_scheduled:
        cause = f"there is no branch {printable(seen.unfetched)} here, so hosts and placements are unknown"
        cure = "run `git fetch`, or name the remote with --repo"
        raise CommandError(cause, cure)
    if is_value(arguments.output):
        documents = [document(answer) for answer in answers]
        show_value(out(), arguments.output, documents[0] if len(reference.keys) == 1 else documents)
    else:
        for number, answer in enumerate(answers):
            if number:
                out().line()
            write(answer, out())
    plan_input.print_notes(seen.notes)
    if is_scheduled:
        return Exit.OK
    faults = (fault for key in keys for fault in seen.world.faults.get(key, ()))
    has_errors = any(fault.severity is Severity.ERROR for fault in faults)
    return Exit.PROBLEMS if has_errors else Exit.UNPLACEABLE


def list_objects(seen: PlanInput) -> FleetInventory:
    """What selectors choose from."""
    known = seen.world.objects
    return FleetInventory(None, {key: InventoryItem("", 0, known[key].object, {}) for key in known})


def explain_object(seen: PlanInput, key: Key) -> Explanation:
    """Asks the scheduler about one object. `blocked` are reasons that no pool can answer, such as a Secret that
    does not exist; pools may fit nevertheless."""
    world = seen.world
    known = world.objects.get(key)
    if known is None:
        raise describe_unknown(seen, key)
    # As if it were to be placed now, with what it takes where it is given back.
    need = Place(key=key, before=known.record, record=without_assignment(known.record))
    requests = placing.requests(world, [need], seen.now)
    rows: tuple[Fit | Refusal, ...] = ()
    if requests:
        cluster = placing.build_cluster_state(world, requests, [need])
        rows = explain(requests[0], cluster, placing.policy(world))
    kept = explain_kept(known)
    blocked = (*kept, *(() if kept else (each.message for each in obstacles(world, known))))
    pending, fault = find_pending_class(known), find_fault(known.record)
    assignment = known.record.assignment
    is_accepted = assignment is not None and assignment.accepted
    return Explanation(key, known.record.pool, blocked, rows, pending, fault, is_accepted)


def describe_unknown(seen: PlanInput, key: Key) -> CommandError:
    """That there is no such object, or that people declared it in a file with errors."""
    declared = read_inventory(seen.repo, seen.world.heads[0], key.kind)
    if (refused := find_unapplied(declared, key)) is not None:
        return refuse_unapplied(refused)
    cause = f"there is no {printable(str(key))}"
    return CommandError(cause, suggest_item(list_objects(seen), key.kind, key.name))


def explain_kept(known: ObjectState) -> tuple[str, ...]:
    """Of a deleted machine that is kept for an undo: that no pool is asked for it, until when, and what ends that."""
    place = known.live or known.source
    item = InventoryItem(place.path if place else "", 0, with_status(known), {})
    if known.origin is not Origin.LEAVING or not is_kept(item):
        return ()
    if (waits := find_replacement(item)) is not None:
        return (f"{describe_kept(item)}: {waits.message}",)
    name = f"{known.key.namespace}/{known.key.name}"
    return (
        f"{describe_kept(item)}; `gitvirt describe {name}` shows how it comes back, `gitvirt purge {name}` deletes it now",
    )


def with_status(known: ObjectState) -> Object:
    """The object with what is recorded of it."""
    machine, status = known.object, known.record.status
    is_machine = isinstance(machine, Machine) and isinstance(status, MachineStatus)
    return msgspec.structs.replace(machine, status=status) if is_machine else machine


def find_pending_class(known: ObjectState) -> str:
    """Of a machine that its host has as another class, both classes and why."""
    machine, status = known.object, known.record.status
    if not isinstance(machine, Machine) or not isinstance(status, MachineStatus):
        return ""
    shown = InventoryItem("", 0, with_status(known), {})
    return columns.class_cell(shown) if status.machine_class_ref is not None else ""


def find_fault(record: Record) -> str:
    """What its host says of an object that failed there, or why nothing is known of it; nothing of one that is merely on its way."""
    for one in getattr(record.status, "conditions", ()):
        if record.pool and one.type == "Ready" and one.status != "True" and one.reason not in WAITING:
            return f"{one.reason}: {one.message}" if one.message else str(one.reason)
    return ""


def write(answer: Explanation, terminal: Terminal) -> None:
    yet = "is not scheduled yet" if answer.is_placeable else "cannot be scheduled"
    accepted = ", whose host accepted it before" if answer.accepted else ""
    where = f"is on {answer.pool}{accepted}" if answer.pool else yet
    terminal.line(f"{terminal.paint(str(answer.key), TextStyle.BOLD)} {where}")
    if answer.pending:
        terminal.line(f"{terminal.paint('class:', TextStyle.YELLOW)} {printable(answer.pending)}")
    for words_of_it in answer.blocked:
        terminal.line(f"{terminal.paint('blocked:', TextStyle.RED)} {printable(words_of_it)}")
    if answer.fault:
        terminal.line(f"{terminal.paint('not ready there:', TextStyle.RED)} {printable(answer.fault)}")
    rows = table(answer, terminal)
    if rows:
        terminal.line()
        terminal.table(("POOL", "VERDICT", "WHY"), rows)
    if not answer.pool and not answer.is_placeable and answer.suggestion:
        terminal.line(f"\nwould fit: {printable(answer.suggestion)}")


def rank_rows(rows: tuple[Fit | Refusal, ...]) -> list[Fit | Refusal]:
    """The best first, then those that refuse, by name."""
    return sorted(
        rows, key=lambda row: (0, -row.score.points, row.pool) if isinstance(row, Fit) else (1, 0, row.pool)
    )


def table(answer: Explanation, terminal: Terminal) -> list[tuple[str, str, str]]:
    """Pools that fit each by itself (`room` for an object that is blocked), those that do not by their reasons. The pool where it is has rows of its own: it is marked `here`
    also where it would not be placed again."""
    rows = []
    for number, row in enumerate(rank_rows(answer.rows)):
        if isinstance(row, Fit):
            room = "room" if answer.blocked else "fits"  # a machine that is blocked fits on no pool
            review = "here" if answer.pool and row.pool == answer.pool else room
            first = "first choice: " if number == 0 else ""
            rows.append(
                (row.pool, terminal.paint(review, TextStyle.GREEN), first + phrases.describe_score(row.score))
            )
    refusals = [row for row in rank_rows(answer.rows) if isinstance(row, Refusal)]
    here = [row for row in refusals if answer.pool and row.pool == answer.pool]
    for pools, reason in phrases.rows_of(here):
        rows.append((pools, terminal.paint("here", TextStyle.YELLOW), printable(reason)))
    for pools, reason in phrases.rows_of(row for row in refusals if row not in here):
        is_one_of_several = here or len(refusals) < len(answer.rows)
        named = "every other pool" if is_one_of_several and pools == phrases.EVERY_POOL else pools or "any"
        rows.append((named, terminal.paint("no", TextStyle.YELLOW), printable(reason)))
    return rows


def document(answer: Explanation) -> dict[str, object]:
    return {
        "version": 1,
        "object": str(answer.key),
        "pool": answer.pool,
        "accepted": answer.accepted,
        "blocked": list(answer.blocked),
        "pendingClass": answer.pending,
        "wouldFit": "" if answer.pool or answer.is_placeable else answer.suggestion,
        "pools": [row_of(row) for row in rank_rows(answer.rows)],
    }


def row_of(row: Fit | Refusal) -> dict[str, object]:
    """One pool for programs: its score in parts if it fits, else every reason with what is needed and what is
    there."""
    if isinstance(row, Fit):
        return {"pool": row.pool, "fits": True, "score": row.score.points, "parts": dict(row.score.parts)}
    return {"pool": row.pool, "fits": False, "reasons": [phrases.fields_of(reason) for reason in row.reasons]}
