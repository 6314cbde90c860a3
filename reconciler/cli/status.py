"""`gitvirt status`: the fleet on one screen: what is reconciled, how many pools and machines are in which state, and what waits for a person.

Reads both branches and writes nothing. Exit code 0, also if something is wrong: `wait` and `get` are for scripts.

Limits: it reads Git alone. A reconciler without anything to write is not seen there, so "not synced yet" is what shows that none runs; its own
word is at `/healthz` (`gitvirt run --listen`).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from reconciler.cli.duration import format_age
from reconciler.cli.exits import Exit
from reconciler.cli.fleet_repo import FleetRepo, add_repo, named_fleet, source_branch
from reconciler.cli.objects import columns, nouns
from reconciler.cli.objects.selectors import read_current
from reconciler.cli.output import add_format, is_value, show_value
from reconciler.cli.terminal import Terminal, TextStyle, out, printable
from reconciler.gitstore.live_commit import reconciled_source
from reconciler.gitstore.objects.commit import Commit, decode_commit
from reconciler.query.inventory import FleetInventory, InventoryItem
from schemas.kinds import Kind

EXAMPLES = """examples:
  gitvirt status
  gitvirt status -o json | jq .awaitingApproval

It reads both branches. Details: gitvirt get pools, gitvirt get machines -A, gitvirt approve, gitvirt events."""

COUNTED = (Kind.MACHINE_POOL, Kind.VOLUME_POOL, Kind.MACHINE, Kind.VOLUME)
LISTED = 8  # objects that wait for something; more are counted


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """`unsynced` counts commits of the source that are not on the target branch yet; None where it has none."""

    source: str
    target: str
    last_write: datetime | None
    unsynced: int | None
    unsynced_since: datetime | None
    states: dict[Kind, Counter[str]]
    awaiting: tuple[InventoryItem, ...]
    unwell: tuple[InventoryItem, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_format(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    with named_fleet(arguments.repo) as fleet:
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
    awaiting = [item for kind in Kind for item in inventory.of(kind) if columns.awaiting_approval(item)]
    unwell = [
        item
        for kind in COUNTED
        for item in inventory.of(kind)
        if item not in awaiting and columns.first_unmet(item) is not None
    ]
    return FleetStatus(
        snapshot.source or "",
        snapshot.target or "",
        None if last is None else last.time,
        None if last is None else len(waiting),
        waiting[-1].time if waiting else None,
        states,
        tuple(awaiting),
        tuple(unwell),
    )


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
    terminal.table((), rows)
    for title, items, cure in (
        ("Awaiting approval", found.awaiting, "`gitvirt approve` lists and approves"),
        ("Not as declared", found.unwell, "`gitvirt describe OBJECT` says why"),
    ):
        if items:
            terminal.line()
            terminal.line(f"{terminal.paint(title, TextStyle.BOLD)}  {cure}")
            terminal.table((), [row_of(terminal, item) for item in items[:LISTED]])
            if len(items) > LISTED:
                terminal.line(f"and {len(items) - LISTED} more")


def describe_sync(terminal: Terminal, found: FleetStatus, branch: str, now: datetime) -> str:
    """Whether the target branch has what the source says, and since when it does not."""
    if found.unsynced is None or found.last_write is None:
        return "never; start `gitvirt run`"
    ago = format_age((now - found.last_write).total_seconds())
    if found.unsynced_since is None:
        return f"{terminal.paint('up to date', TextStyle.GREEN)} with {branch}, last commit {ago} ago"
    late = format_age((now - found.unsynced_since).total_seconds())
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
    def names(items: Iterable[InventoryItem]) -> list[str]:
        return [str(item.key) for item in items]

    return {
        "source": found.source,
        "target": found.target,
        "lastCommit": None if found.last_write is None else found.last_write.isoformat(),
        "unsynced": found.unsynced,
        "unsyncedSince": None if found.unsynced_since is None else found.unsynced_since.isoformat(),
        "states": {nouns.plural(kind): dict(found.states[kind]) for kind in COUNTED},
        "awaitingApproval": names(found.awaiting),
        "notAsDeclared": names(found.unwell),
    }
