"""`gitvirt history`: who changed an object when, and why. People's commits and the reconciler's, newest first.

It follows the object's file on the target branch back to the commit that created it, and into the source where a
commit merged it. For an object that is deleted it searches the commit that removed it, and shows the last object of
that name; a note on standard error says so. It writes nothing. Exit codes: 0, or 1 if there never was such an
object.

Limits: it reads Git alone. What a host did without a commit is in `gitvirt events`. A file that was renamed begins
with its new name.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain, islice

from reconciler.cli.exits import Exit
from reconciler.cli.fleet_repo import FleetRepo, add_repo, named_fleet
from reconciler.cli.objects.references import ANY, add_objects, read_reference, select_keys
from reconciler.cli.objects.selectors import find_by_key, read_current
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import TextStyle, err, out, printable
from reconciler.query.inventory import InventoryItem
from reconciler.query.object_history import HistoryEntry, find_deletion, list_history
from schemas.kinds import Key

EXAMPLES = """examples:
  gitvirt history machine web-1
  gitvirt history machine production/web-1 --limit 5
  gitvirt history volume/db-data web-1 -o json

It reads the target branch back to the commit that created the object."""

LIMIT = 30
LAST_STEPS = 10  # of a deletion: stopped, ordered, removed, and what was reported meanwhile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, ANY)
    parser.add_argument(
        "--limit",
        type=int,
        default=LIMIT,
        metavar="N",
        help=f"show at most this many commits (default: {LIMIT}); 0: all",
    )
    add_format(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    """Of one object its commits; of several, one table or one value for each."""
    reference = read_reference(arguments, ANY)
    limit = arguments.limit or None
    found: dict[Key, list[HistoryEntry]] = {}
    with named_fleet(arguments.repo) as fleet:
        for key in select_keys(reference, arguments, lambda: read_current(fleet, reference.kind)):
            found[key] = list(islice(find_commits(fleet, key), limit and limit + 1))
    if is_value(arguments.output):
        values = [[value(event) for event in events[:limit]] for events in found.values()]
        several = [{"object": str(key), "commits": each} for key, each in zip(found, values, strict=True)]
        show_value(out(), arguments.output, values[0] if len(reference.keys) == 1 else several)
        return Exit.OK
    for number, (key, events) in enumerate(found.items()):
        if len(found) > 1:
            out().line(("\n" if number else "") + out().paint(printable(str(key)), TextStyle.BOLD))
        show_table(out(), COLUMNS, events[:limit])
    if limit is not None and any(len(events) > limit for events in found.values()):
        err().line(f"there are more commits: use --limit {2 * limit}")
    return Exit.OK


def find_commits(fleet: FleetRepo, key: Key) -> Iterator[HistoryEntry]:
    """Of this object or, if it is deleted, of the last one that had the name."""
    inventory = read_current(fleet, key.kind)
    deleted = None if key in inventory.items else find_deletion(fleet.repo, inventory.commit, key)
    if deleted is None:
        return commits_of(fleet, find_by_key(inventory, key))
    commit, path = deleted
    commits = list_history(fleet.repo, commit, path, key)
    newest = list(islice(commits, LAST_STEPS))
    removals = (each for each in newest if each.is_of_people and fleet.repo.file(each.commit, path) is None)
    who = next((f" by {each.author.name} in {each.commit[:10]}" for each in removals), "")
    note = f"{key} was deleted{who}, and removed from live in {commit[:10]}; these are the commits of the last one with that name"
    err().line(printable(note))
    return chain(newest, commits)


def commits_of(fleet: FleetRepo, item: InventoryItem) -> Iterator[HistoryEntry]:
    """The commits of an object that exists, on the branch on which it was found. `describe` shows the first few of
    them."""
    head = fleet.snapshot.target or fleet.snapshot.source
    assert head is not None, "an object was found on it"
    return list_history(fleet.repo, head, item.path, item.key)


COLUMNS: list[Column[HistoryEntry]] = [
    Column("WHEN", lambda event: event.time.astimezone().strftime("%Y-%m-%d %H:%M:%S %z")),
    Column("COMMIT", lambda event: event.commit[:10], lambda _: TextStyle.YELLOW),
    Column(
        "WHO",
        lambda event: event.author.name,
        lambda event: TextStyle.CYAN if event.is_of_people else TextStyle.DIM,
    ),
    Column("WHAT", lambda event: event.what),
]


def value(event: HistoryEntry) -> dict[str, object]:
    return {
        "commit": event.commit,
        "time": event.time.isoformat(),
        "author": {"name": event.author.name, "email": event.author.email},
        "branch": "source" if event.is_of_people else "target",
        "subject": event.subject,
        "what": event.what,
    }
