"""`gitvirt status`: the fleet on one screen: what is reconciled, how many pools and machines are in which state, and what waits for a person.

Reads both branches and the reports, and writes nothing. Exit code 0, also if something is wrong: `wait` and `get` are for scripts.

| part | from | as in |
|---|---|---|
| awaiting approval, held | the plan of the next tick (`Plan.awaiting`, `Plan.holds`) | `approve`, `plan --repo`, /healthz |
| not applied | errors of the source, and objects of files that cannot be used | `validate`, `plan`, `get` |
| not as declared | conditions of objects, with the newest reports | `get`, `describe` |
| hosts that live waits for | reports, while `live` is lost or rewound | the log of `gitvirt run`, `plan --repo` |
| hosts that wait without a pool | candidate.json of the newest reports | `HostMismatch`, `OnAnotherHost` |
| orphans | the newest reports | the condition `OnAnotherHost` of an object of that name |
| certificates | gitvirt.yaml, and the time | `get pools`, `validate` |
| link | the newest reports | `get pools` |

An object is in the first part that has it, and in no other.

Limits: it reads Git alone. A reconciler without anything to write is not seen there, so "not synced yet" is what shows that none runs; its own
word is at `/healthz` (`gitvirt run --listen`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reconciler.cli import candidate_hosts, linked_fleet, missing_hosts
from reconciler.cli.access.expiring_certificates import find_expiring
from reconciler.cli.candidate_hosts import CandidateHost
from reconciler.cli.exits import Exit
from reconciler.cli.fleet_repo import FleetRepo, add_repo, named_fleet, source_branch
from reconciler.cli.kept_machine import find_replacement, is_kept
from reconciler.cli.linked_fleet import LinkedFleet
from reconciler.cli.objects import columns, nouns
from reconciler.cli.objects.selectors import read_current
from reconciler.cli.objects.unapplied import name_of, place_of
from reconciler.cli.output import add_format, is_value, show_value
from reconciler.cli.plans import plan_input
from reconciler.cli.plans.name_ranges import join_keys
from reconciler.cli.terminal import Terminal, TextStyle, out, printable
from reconciler.decide.decide import make_plan
from reconciler.gitstore.approval import approve_command
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import Commit, decode_commit
from reconciler.plan.types import PendingApproval
from reconciler.query.inventory import FleetInventory, InventoryItem
from reconciler.world.reports.recovery_wait import MissingHost
from reconciler.world.view import View
from schemas import live_layout
from schemas.kinds import Key, Kind
from schemas.problem import Problem, Severity
from schemas.report.objects import Orphan
from schemas.settings.duration import format_duration

if TYPE_CHECKING:  # it loads a library of cryptography, which a fleet without certificates does without
    from schemas.settings.certificate_dates import ExpiringCertificate

EXAMPLES = """examples:
  gitvirt status
  gitvirt status -o json | jq .awaitingApproval

It reads both branches and the reports. Details: gitvirt get pools, gitvirt get machines -A, gitvirt approve, gitvirt events."""

COUNTED = (Kind.MACHINE_POOL, Kind.VOLUME_POOL, Kind.MACHINE, Kind.VOLUME)
LISTED = 8  # rows of each part; more are counted


@dataclass(frozen=True, slots=True)
class NotApplied:
    """What people declared and the reconciler does not apply, for this error. `object` is the file where nothing else is known of it."""

    object: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class FoundOrphan:
    """An object on a host that `live` does not assign there, and the poollet that reports it."""

    poollet: str
    orphan: Orphan

    @property
    def object(self) -> str:
        """By its name where the host knows it, else by what its runtime calls it."""
        found = self.orphan
        return str(Key(Kind(found.kind), found.namespace, found.name)) if found.name else found.id

    @property
    def file(self) -> str:
        """The file that orders its deletion; empty where only its host can remove it."""
        return f"{live_layout.ORPHANS}{self.orphan.uid}.yaml" if self.orphan.uid else ""


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """`unsynced` counts commits of the source that are not on the target branch yet; None where it has none."""

    source: str
    target: str
    last_write: datetime | None
    unsynced: int | None
    unsynced_since: datetime | None
    states: dict[Kind, Counter[str]]
    awaiting: tuple[PendingApproval, ...]
    held: tuple[PendingApproval, ...]
    unapplied: tuple[NotApplied, ...]
    unwell: tuple[InventoryItem, ...]
    expiring: tuple[ExpiringCertificate, ...] = ()
    kept: tuple[InventoryItem, ...] = ()  # deleted machines that an undo brings back
    orphans: tuple[FoundOrphan, ...] = ()
    missing: tuple[MissingHost, ...] = ()  # hosts that a lost or rewound live waits for
    candidates: tuple[CandidateHost, ...] = ()
    source_held: str = ""  # why the head of the source is not applied
    linked: LinkedFleet | None = None  # which hosts are connected to the link


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_format(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        found = collect_status(fleet, read_current(fleet))
        address, branch = str(fleet.location.address), source_branch(fleet)
    if is_value(arguments.output):
        show_value(out(), arguments.output, value(found))
    else:
        show(out(), found, address, branch, datetime.now(UTC))
    return Exit.OK


def collect_status(fleet: FleetRepo, inventory: FleetInventory) -> FleetStatus:
    snapshot = fleet.snapshot
    last = None if snapshot.target is None else decode_commit(fleet.repo.read(snapshot.target))
    waiting = [] if last is None else list_unsynced(fleet, last)
    states = {
        kind: Counter(columns.shown_state(item).word for item in inventory.of(kind)) for kind in COUNTED
    }
    now = datetime.now(UTC)
    seen = plan_input.advance_world(fleet.repo, snapshot, now)
    plan = make_plan(seen.world, seen.advance, now)
    unapplied = list_unapplied(inventory, plan.problems)
    listed = {str(key) for each in plan.pending_approvals for key in each.keys}
    kept = [item for item in inventory.of(Kind.MACHINE) if is_kept(item)]
    listed |= {each.object for each in unapplied} | {str(item.key) for item in kept}
    unwell = [
        item
        for kind in COUNTED
        for item in inventory.of(kind)
        if str(item.key) not in listed and columns.first_unmet(item) is not None
    ]
    return FleetStatus(
        snapshot.source or "",
        snapshot.target or "",
        None if last is None else last.time,
        None if last is None else len(waiting),
        waiting[-1].time if waiting else None,
        states,
        plan.awaiting,
        plan.holds,
        unapplied,
        tuple(unwell),
        find_expiring(fleet),
        tuple(kept),
        tuple(list_orphans(seen.world)),
        tuple(missing_hosts.sort_missing(seen.world.missing_hosts, now)),
        tuple(candidate_hosts.list_candidates(seen.world)),
        seen.world.head.held.message if seen.world.head.held is not None else "",
        linked_fleet.find_linked(fleet),
    )


def list_orphans(view: View) -> Iterator[FoundOrphan]:
    """Those of all reports of this fleet, whether or not the host has a grant: nothing else says that they are there."""
    for name, report in sorted(view.reports.by_poollet.items()):
        yield from (FoundOrphan(name, orphan) for orphan in report.orphans if view.is_ours(report))


def list_unapplied(inventory: FleetInventory, problems: Iterable[Problem]) -> tuple[NotApplied, ...]:
    """Objects that no commit of the reconciler brought, because their file has errors; then those that it keeps as they were, for theirs."""
    found = {name_of(each): NotApplied(name_of(each), each.problems[0]) for each in inventory.unapplied}
    files = {each.path for each in inventory.unapplied}
    for problem in problems:
        if (
            problem.severity is Severity.ERROR
            and problem.file
            and (problem.object or problem.file not in files)
        ):
            found.setdefault(
                problem.object or problem.file, NotApplied(problem.object or problem.file, problem)
            )
    return tuple(found.values())


def list_unsynced(fleet: FleetRepo, last: Commit) -> list[Commit]:
    """Commits of the source, newest first, that the newest commit of the target branch was not made of."""
    source, synced = fleet.snapshot.source, reconciled_source(last)
    if source is None or source == synced:
        return []
    return [decode_commit(fleet.repo.read(commit)) for commit in fleet.repo.commits(source, synced)]


def show(terminal: Terminal, found: FleetStatus, address: str, branch: str, now: datetime) -> None:
    rows = [("repo", printable(address)), ("reconciled", describe_sync(terminal, found, branch, now))]
    for kind in COUNTED:
        rows.append((nouns.plural(kind), describe_states(terminal, found.states[kind])))
    if found.linked is not None:
        rows.append(("link", linked_fleet.describe(found.linked)))
    terminal.table((), rows)
    parts = (
        missing_hosts.part_of_status(found.missing, now),
        *list_parts(terminal, found),
        candidate_hosts.part_of_status(found.candidates),
        linked_fleet.part_of_status(found.linked),
    )
    for title, cure, part in parts:
        if part:
            terminal.line()
            terminal.line(f"{terminal.paint(title, TextStyle.BOLD)}  {cure}")
            terminal.table((), part[:LISTED])
            if len(part) > LISTED:
                terminal.line(f"and {len(part) - LISTED:,} more")


def list_parts(
    terminal: Terminal, found: FleetStatus
) -> Iterator[tuple[str, str, Sequence[tuple[str, ...]]]]:
    """Each part with its title and what to do about it."""
    yield (
        "Awaiting approval",
        "a person has to agree",
        [
            (printable(objects_of(each)), printable(each.reason), approve_command(each.digest))
            for each in found.awaiting
        ],
    )
    yield (
        "Held",
        "no approval ends it",
        [(printable(objects_of(each)), printable(each.reason)) for each in found.held],
    )
    yield (
        "Not applied",
        "fix the file, commit and push; `gitvirt validate` shows the lines",
        [row_of_error(each) for each in found.unapplied],
    )
    yield (
        "Not as declared",
        "`gitvirt describe OBJECT` says why",
        [row_of(terminal, item) for item in found.unwell],
    )
    yield (
        "Orphans",
        "on a host without an order; to DELETE one with its data, commit its file with the line `pool: POOL`",
        [row_of_orphan(each) for each in found.orphans],
    )
    yield "Certificates", "expire soon, or have expired", [(str(each), each.cure) for each in found.expiring]
    yield (
        "Deleted, kept for an undo",
        "`git revert` brings it back, `gitvirt purge NAME` deletes it now, `gitvirt describe NAME` says what that destroys",
        [
            row_of_kept(terminal, item)
            for item in sorted(found.kept, key=lambda each: not find_replacement(each))
        ],
    )


def row_of_orphan(each: FoundOrphan) -> tuple[str, str, str, str]:
    cure = each.file or f"no uid: remove it on the host of poollet {each.poollet}"
    return (
        printable(each.object),
        printable(f"pool {each.orphan.pool}"),
        printable(cure),
        printable(each.orphan.reason),
    )


def row_of_kept(terminal: Terminal, item: InventoryItem) -> tuple[str, str, str]:
    """Where another machine waits for its end, all that is known of it: at that end data is DESTROYED."""
    state = terminal.paint(columns.state(item), columns.style(item))
    waits = find_replacement(item)
    return printable(str(item.key)), state, printable(waits.message) if waits is not None else ""


def objects_of(pending: PendingApproval) -> str:
    return join_keys(pending.keys) if pending.keys else "all"


def row_of_error(each: NotApplied) -> tuple[str, str, str, str]:
    cure = f" ({each.problem.hint})" if each.problem.hint else ""
    text = printable(f"{each.problem.message}{cure}")
    return printable(each.object), printable(place_of(each.problem)), each.problem.code, text


def describe_sync(terminal: Terminal, found: FleetStatus, branch: str, now: datetime) -> str:
    """Whether the target branch has what the source says, and since when it does not."""
    if found.unsynced is None or found.last_write is None:
        return "never; start `gitvirt run`"
    ago = format_duration(int((now - found.last_write).total_seconds()))
    if found.source_held:
        held = terminal.paint(f"the head of {branch} is not applied", TextStyle.YELLOW)
        return f"{held}: {printable(found.source_held)}; last commit {ago} ago"
    if found.unsynced_since is None:
        return f"{terminal.paint('up to date', TextStyle.GREEN)} with {branch}, last commit {ago} ago"
    late = format_duration(int((now - found.unsynced_since).total_seconds()))
    words = f"{found.unsynced} commits of {branch} are not synced, for {late}"
    return f"{terminal.paint(words, TextStyle.YELLOW)}; last commit {ago} ago. Does `gitvirt run` run?"


def describe_states(terminal: Terminal, states: Counter[str]) -> str:
    """`12 Running, 1 Pending`; the most frequent first."""
    if not states:
        return "none"
    return ", ".join(
        terminal.paint(f"{count} {state}", *([TextStyle.RED] if state in columns.BAD else ()))
        for state, count in states.most_common()
    )


def row_of(terminal: Terminal, item: InventoryItem) -> tuple[str, str, str, str]:
    state = terminal.paint(columns.state(item), columns.style(item))
    why = columns.message(item)
    return printable(str(item.key)), state, printable(columns.reason(item)), printable(why[:100])


def value(found: FleetStatus) -> dict[str, object]:
    return {
        "source": found.source,
        "target": found.target,
        "lastCommit": None if found.last_write is None else found.last_write.isoformat(),
        "unsynced": found.unsynced,
        "unsyncedSince": None if found.unsynced_since is None else found.unsynced_since.isoformat(),
        "sourceHeld": found.source_held,
        "states": {nouns.plural(kind): dict(found.states[kind]) for kind in COUNTED},
        "awaitingApproval": [
            {"digest": each.digest, "reason": each.reason, "objects": [str(key) for key in each.keys]}
            for each in found.awaiting
        ],
        "held": [{"reason": each.reason, "objects": [str(key) for key in each.keys]} for each in found.held],
        "notApplied": [error_value(each) for each in found.unapplied],
        "notAsDeclared": [str(item.key) for item in found.unwell],
        "expiringCertificates": [
            {"owner": each.entry.owner, "expires": each.ends.isoformat(), "cure": each.cure}
            for each in found.expiring
        ],
        "kept": [str(item.key) for item in found.kept],
        "orphans": [orphan_value(each) for each in found.orphans],
        "missingHosts": [missing_hosts.value_of_missing(each) for each in found.missing],
        "waitingHosts": [candidate_hosts.value_of(each) for each in found.candidates],
        "link": linked_fleet.value_of(found.linked),
    }


def orphan_value(each: FoundOrphan) -> dict[str, object]:
    return {
        "object": each.object,
        "uid": each.orphan.uid or "",
        "poollet": each.poollet,
        "pool": each.orphan.pool,
        "reason": each.orphan.reason,
        "file": each.file,
    }


def error_value(each: NotApplied) -> dict[str, object]:
    found = each.problem
    return {
        "object": each.object if each.object != found.file else "",
        "file": found.file,
        "line": found.line,
        "column": found.column,
        "code": found.code,
        "message": found.message,
        "hint": found.hint,
    }
