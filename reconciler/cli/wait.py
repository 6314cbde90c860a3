"""`gitvirt wait`: blocks until objects reach a state, each of them once, or until the timeout.

It looks at the target branch with the newest reports of the hosts, at once and after each change of a ref, and writes nothing. Exit codes: 0 when the
state is reached, 6 after the timeout, 2 for a state or field that the kind can never have. An object that does not
exist yet is waited for, with a hint of similar names, since a script may wait before the first tick. One whose file has errors is waited for
too, and the errors are told at once: the commit that fixes them may be what the script waits for. A remote that
stops to answer meanwhile is asked again until the timeout.

A machine that `gitvirt replace` ordered to be recreated, `gitvirt move` to another pool, or `gitvirt restart` to restart, is not in any state before
that is done: what runs until then is the machine as it was (objects/pending_order.py). Each change of state or pool on the way is told on standard error.

Limits: only the reconciler knows that a host no longer reports: without one the last state stays.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from reconciler.cli.duration import parse_duration
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_changes import follow_fleet
from reconciler.cli.fleet_repo import FleetRepo, add_repo, check_settings, named_fleet
from reconciler.cli.interrupt import until_interrupted
from reconciler.cli.kept_machine import describe_kept, describe_ways, find_replacement, is_kept
from reconciler.cli.objects import columns
from reconciler.cli.objects.pending_order import find_order
from reconciler.cli.objects.references import (
    ANY,
    NamedObjects,
    add_objects,
    read_reference,
    select,
    select_keys,
)
from reconciler.cli.objects.selectors import (
    STATE_FIELDS,
    add_unapplied,
    has_field,
    has_value,
    parse_pair,
    read_target,
    states,
    suggest_item,
)
from reconciler.cli.objects.unapplied import describe_cure, describe_errors, find_unapplied
from reconciler.cli.output import add_format, is_value, show_value
from reconciler.cli.terminal import err, out, printable
from reconciler.cli.verbs import closest
from reconciler.gitstore.waker import Waker
from reconciler.query.inventory import (
    FleetInventory,
    InventoryItem,
    read_file,
    read_inventory,
    read_manifests,
)
from reconciler.query.pool_usage import pool_of
from reconciler.world.record import ACCEPTED, DELETION_HELD, SCHEDULED
from schemas.kinds import Key, Kind
from schemas.settings.duration import format_duration

EXAMPLES = """examples:
  gitvirt wait machine web-1 --for state=Running --timeout 60s
  gitvirt wait machine web-1 --for condition=Ready
  gitvirt wait machine web-1 --for deleted
  gitvirt wait volume/data --for spec.claimRef.name=web-1
  gitvirt wait machines -l app=web

It exits with 0 when the state is reached, with 6 after the timeout, also where the file of the object has errors:
it says them at once, and goes on to wait for the commit that fixes them. `gitvirt validate` exits with 3 for them."""

DELETED = "deleted"
FORMS = "state=STATE, condition=TYPE, PATH=VALUE such as spec.power=Off, or deleted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, ANY)
    parser.add_argument(
        "--for",
        dest="condition",
        type=parse_condition,
        metavar="FIELD=VALUE",
        help="state=Running, condition=Ready, a path=value, or deleted (default: the good state: Running, Ready or Available)",
    )
    parser.add_argument("--timeout", type=parse_duration, default=300, metavar="TIME", help="default: 5m")
    add_format(parser, "name")
    add_repo(parser)


def parse_condition(text: str) -> tuple[str, str]:
    """The type of --for."""
    if text == DELETED:
        return DELETED, ""
    if "=" not in text:
        is_state = any(text in states(kind) for kind in Kind)
        hint = f"did you mean state={text}?" if is_state else f"write {FORMS}"
        raise argparse.ArgumentTypeError(f"{text!r} cannot be waited for; {hint}")
    return parse_pair(text)


def run(arguments: argparse.Namespace) -> int:
    return until_interrupted(lambda waker: wait_until(arguments, waker))


def wait_until(arguments: argparse.Namespace, waker: Waker) -> int:
    """Returns as soon as all objects are as they are waited for. Each is told when it gets there, and does not have
    to stay so."""
    reference = read_reference(arguments, ANY)
    for kind in {key.kind for key in reference.keys} or {reference.kind}:
        check(kind, condition_of(arguments, kind))
    start = time.monotonic()
    met: dict[Key, WaitResult] = {}
    with (
        named_fleet(arguments.repo, with_reports=True) as fleet,
        closing(follow_in_time(fleet, arguments.timeout, waker)) as all,
    ):
        check_settings(fleet)
        keys = choose_keys(fleet, reference, arguments)
        now = {key: WaitResult(key, condition_of(arguments, key.kind)) for key in keys}
        for each_fleet in all:
            now = look(each_fleet, now, time.monotonic() - start)
            for key, result in now.items():
                if result.is_met and key not in met:
                    met[key] = result
                    show(arguments, result)
                    note_unapplied(each_fleet, result)
            if len(met) == len(keys):
                show_values(arguments, reference, [met[key] for key in keys])
                return Exit.OK
    show_values(arguments, reference, [met.get(key) or now[key] for key in keys])
    missing = [result for key, result in now.items() if key not in met]
    late = missing[0]
    rest = len(missing) - 1
    others = f"; and {rest} more {'object is' if rest == 1 else 'objects are'} not there yet" if rest else ""
    why = late.obstacle if late.item is None and late.obstacle else describe_state(late)
    raise CommandError(
        printable(
            f"{late.key} is not {describe_condition(late.condition)} after {format_duration(arguments.timeout)}: {why}{others}"
        ),
        cure_of(late),
        Exit.TIMED_OUT,
    )


@dataclass(frozen=True, slots=True)
class WaitResult:
    """An object that is waited for, as of the last look. `hint` is where it does not exist yet, `obstacle` what a person must remove first."""

    key: Key
    condition: tuple[str, str]
    item: InventoryItem | None = None
    seconds: float = 0.0
    hint: str = ""
    obstacle: str = ""
    order: str = ""  # of people, that ends its assignment: what it shows is the machine as it was before

    @property
    def is_met(self) -> bool:
        is_early = bool(self.order) and self.condition[0] in (*STATE_FIELDS, "condition")
        return not is_early and is_met(self.item, self.condition)


def cure_of(late: WaitResult) -> str:
    if late.item is None and late.obstacle:
        return "fix its file, commit and push; `gitvirt validate` checks it"
    return late.hint or f"`gitvirt describe {late.key}` shows more"


def condition_of(arguments: argparse.Namespace, kind: Kind) -> tuple[str, str]:
    return arguments.condition or ("state", good_state(kind))


def choose_keys(fleet: FleetRepo, reference: NamedObjects, arguments: argparse.Namespace) -> tuple[Key, ...]:
    """Objects that are selected are those of now, on the target branch and in the source: a script that has just pushed waits for what it
    declared. One that is declared later is not waited for. None at all is fine for whoever waits until they are deleted."""
    inventory = read_target(fleet, [reference.kind] if reference.kind else tuple(Kind))
    if reference.keys:
        return select_keys(reference, arguments, lambda: inventory)
    found = {item.key for item in select(inventory, reference.kind, arguments)}
    if arguments.condition == (DELETED, ""):
        return tuple(sorted(found))
    if not arguments.field and fleet.snapshot.source is not None:
        declared = read_inventory(fleet.repo, fleet.snapshot.source)
        found |= {item.key for item in select(declared, reference.kind, arguments)}
    return tuple(sorted(found)) or select_keys(reference, arguments, lambda: inventory)


def look(fleet: FleetRepo, before: Mapping[Key, WaitResult], seconds: float) -> dict[Key, WaitResult]:
    """All objects that are waited for, as they are now. One that does not exist is told once."""
    kinds = sorted({key.kind for key in before})
    inventory = add_unapplied(fleet, read_target(fleet, kinds), kinds)
    found: dict[Key, WaitResult] = {}
    for key, result in before.items():
        item = inventory.items.get(key)
        now = replace(result, item=item, seconds=seconds, hint=hint_of(fleet, inventory, key))
        now = replace(now, order="" if item is None else find_order(fleet, item))
        now = replace(now, obstacle=find_obstacle(inventory, now))
        if now.obstacle and now.obstacle != result.obstacle:
            what = describe_condition(result.condition)
            err().line(printable(f"{key} cannot become {what} yet: {now.obstacle}"))
        elif now.hint not in ("", result.hint) and not (now.obstacle or now.is_met):
            note_hint(now)
        elif seconds and not now.is_met and (step := describe_step(now)) not in ("", describe_step(result)):
            err().line(printable(f"{key} is {step}"))
        found[key] = now
    return found


def note_hint(result: WaitResult) -> None:
    """That the object does not exist yet, or is deleted and kept; whoever waits for its deletion needs no hint."""
    if result.condition[0] != DELETED:
        what = "does not exist yet" if result.item is None else f"is {describe_kept(result.item)}"
        err().line(f"waiting for {printable(str(result.key))}, which {what}; {result.hint}")


def note_unapplied(fleet: FleetRepo, result: WaitResult) -> None:
    """That what got there is not what people declare now: its file has errors, so the target branch keeps the object as it was."""
    if result.item is None:
        return
    files = read_manifests(fleet.repo, fleet.snapshot.source, [result.item.path])
    refused = [each for file in files for each in read_file(file)[1] if each.key in (result.key, None)]
    if refused:
        why = f"{describe_errors(refused[0])}; {describe_cure(refused[0])}"
        err().line(printable(f"the present declaration of {result.key} is not applied: {why}"))


def find_obstacle(inventory: FleetInventory, result: WaitResult) -> str:
    """What a person must do before it can get there: fix its file or what it needs, make room, resume it, or approve its deletion. Empty while only time is needed."""
    if result.is_met:
        return ""
    item, is_deletion = result.item, result.condition[0] == DELETED
    if item is None:
        refused = find_unapplied(inventory, result.key)
        return f"{describe_errors(refused)}; {describe_cure(refused)}" if refused is not None else ""
    if is_deletion:
        held = columns.awaiting_approval(item)
        return held.message if held is not None and held.type == DELETION_HELD else ""
    found = (each for each in columns.conditions(item) if each.type in (ACCEPTED, SCHEDULED))
    unmet = next((each for each in found if each.status == "False"), None)
    if unmet is not None:
        return unmet.message or unmet.reason
    return f"it is paused; `gitvirt resume {item.key}`" if columns.is_paused(item) else ""


def good_state(kind: Kind) -> str:
    """What is waited for without --for. Each kind that has a state has one good one; of the others `check` says that they have none."""
    return next((each for each in states(kind) if each in columns.GOOD), "Running")


def check(kind: Kind, condition: tuple[str, str]) -> None:
    """Refuses a condition that can never be met: exit code 2 at once, not 6 after the whole timeout. It needs the
    kind alone, so it runs before the repo is opened."""
    name, value = condition
    known = states(kind)
    if not value and name in ("state", "status.state", "condition"):
        has_states = known and name != "condition"
        cure = (
            f"there are: {', '.join(known)}"
            if has_states
            else "--for condition=TYPE, a path=value, or deleted"
        )
        raise CommandError(f"--for {printable(name)}= does not say which", cure, Exit.USAGE)
    if name not in (DELETED, "condition") and not has_field(kind, name):
        raise CommandError(f"a {kind} has no field {printable(name)}", f"--for takes {FORMS}", Exit.USAGE)
    if name not in ("state", "status.state") or value in known:
        return
    if not known:
        cure = "--for takes condition=TYPE, a path=value, or deleted"
        raise CommandError(f"a {kind} has no state to wait for", cure, Exit.USAGE)
    near = closest(value.lower(), {each.lower() for each in known})
    meant = next((each for each in known if each.lower() == near), "")
    cure = (f"did you mean {meant}? " if meant else "") + f"there are: {', '.join(known)}"
    raise CommandError(f"unknown state {printable(value)} of a {kind}", cure, Exit.USAGE)


def hint_of(now: FleetRepo, all_of_it: FleetInventory, key: Key) -> str:
    """Where there is no such object, or it is deleted and kept; before there is a target branch, `describe` shows what people declared."""
    item = all_of_it.items.get(key)
    if item is not None and is_kept(
        item
    ):  # where another machine waits for its end, its condition is the obstacle
        return describe_ways(now, item) if find_replacement(item) is None else ""
    if key in all_of_it.items or now.snapshot.target is None:
        return ""
    return suggest_item(all_of_it, key.kind, key.name)


def follow_in_time(fleet: FleetRepo, seconds: float, waker: Waker) -> Generator[FleetRepo]:
    """The fleet now, and again after each change, until the time is over. The first look counts even with a timeout
    of zero."""
    yield fleet
    yield from follow_fleet(fleet, waker, seconds)


def show(arguments: argparse.Namespace, result: WaitResult) -> None:
    """One object got there. Programs get all of them at the end."""
    if arguments.output == "table":
        words = describe_condition(result.condition)
        out().line(f"{result.key}: {words} after {format_duration(result.seconds)}")
    elif arguments.output == "name":
        out().line(str(result.key))
    out().stream.flush()


def show_values(
    arguments: argparse.Namespace, reference: NamedObjects, results: Sequence[WaitResult]
) -> None:
    """For programs, also after a timeout: then `isSo` is false, and state, reason and message are those of the last
    look. One value if one object was named, else a list."""
    if is_value(arguments.output):
        values = [value(result) for result in results]
        show_value(out(), arguments.output, values[0] if len(reference.keys) == 1 else values)


def value(result: WaitResult) -> dict[str, object]:
    (field_name, field_value), found = result.condition, result.item
    return {
        "object": str(result.key),
        "for": {"field": field_name, "value": field_value},
        "isSo": result.is_met,
        "state": None if found is None else columns.state(found),
        "reason": "" if found is None else columns.reason(found),
        "message": result.obstacle if found is None else columns.message(found),
        "seconds": round(result.seconds, 1),
    }


def is_met(item: InventoryItem | None, condition: tuple[str, str]) -> bool:
    """Whether the object is as `--for` asks for it. `deleted` means absent from the target branch: the reconciler
    removes the document only after the host confirmed it."""
    name, value = condition
    if name == DELETED:
        return item is None
    if item is None:
        return False
    if name == "condition":
        return any(each.type == value and each.status == "True" for each in columns.conditions(item))
    return has_value(item, name, value)


def describe_step(result: WaitResult) -> str:
    """Where it is on its way: its state, and the pool of a machine; empty if it does not exist."""
    item = result.item
    if item is None:
        return ""
    where = pool_of(item) if item.key.kind is Kind.MACHINE else ""
    return columns.state(item) + (f" on {where}" if where else "")


def describe_condition(condition: tuple[str, str]) -> str:
    name, value = condition
    if name == DELETED:
        return DELETED
    return value if name in ("state", "condition") else f"{name}={value}"


def describe_state(result: WaitResult) -> str:
    item = result.item
    if item is None:
        return "it does not exist on the target branch"
    if result.order:
        return f"it is {describe_step(result)}, and {result.order}"
    why = columns.message(item) or columns.reason(item)
    return f"it is {columns.state(item)}" + (f" ({printable(why)})" if why else "")
