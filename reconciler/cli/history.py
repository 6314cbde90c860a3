"""`gitvirt history`: who changed an object when, and why. People's commits and the reconciler's, newest first.

It follows the object's file on the target branch back to the commit that created it, and into the source where a
commit merged it; then the earlier objects of the same name. A note on standard error names who deleted an object, and where it was
created again. A uid in place of a name shows that one object alone, also after its deletion. It writes nothing. Exit codes:
0, or 1 if there never was such an object.

Limits: it reads Git alone. What a host did without a commit is in `gitvirt events`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, add_repo, named_fleet
from reconciler.cli.objects.references import ANY, add_objects, read_reference, select_keys
from reconciler.cli.objects.selectors import find_by_key, has_selectors, read_current
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import TextStyle, err, out, printable
from reconciler.gitstore.objects.tree import ObjectId
from reconciler.query.inventory import InventoryItem
from reconciler.query.object_history import (
    HistoryEntry,
    Removal,
    find_deleted_uid,
    find_deletion,
    list_history,
    list_life,
    list_life_of,
    split_lives,
)
from reconciler.world.record import stamp
from schemas.kinds import Key

EXAMPLES = """examples:
  gitvirt history machine web-1
  gitvirt history machine production/web-1 --limit 5
  gitvirt history volume/db-data web-1 -o json
  gitvirt history 2f1d6c1e-5a0e-5f0c-9f5c-0c1d2e3f4a5b

It reads the target branch back to the commit that created the object, and shows
earlier objects of the same name too. With a uid it shows that object alone."""

UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
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
    parser.add_argument(
        "--uid",
        metavar="UID",
        help="the one object with this uid, deleted or not; a uid as OBJECT is the same",
    )
    add_format(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    """Of one object its commits; of several, one table or one value for each."""
    limit = arguments.limit or None
    found: dict[Key, list[HistoryEntry]] = {}
    uid = read_named_uid(arguments)
    reference = None if uid else read_reference(arguments, ANY)
    with named_fleet(arguments.repo) as fleet:
        if reference is None:
            key, commits = find_commits_of_uid(fleet, uid)
            found[key] = list(islice(commits, limit and limit + 1))
        else:
            for key in select_keys(reference, arguments, lambda: read_current(fleet, reference.kind)):
                found[key] = list(islice(find_commits(fleet, key), limit and limit + 1))
                for note in describe_lives(key, found[key][:limit]):
                    err().line(printable(note))
    if is_value(arguments.output):
        values = [[value(event) for event in events[:limit]] for events in found.values()]
        several = [{"object": str(key), "commits": each} for key, each in zip(found, values, strict=True)]
        is_one = reference is None or len(reference.keys) == 1
        show_value(out(), arguments.output, values[0] if is_one else several)
        return Exit.OK
    show_tables(found, limit)
    return Exit.OK


def show_tables(found: Mapping[Key, list[HistoryEntry]], limit: int | None) -> None:
    for number, (key, events) in enumerate(found.items()):
        if len(found) > 1:
            out().line(("\n" if number else "") + out().paint(printable(str(key)), TextStyle.BOLD))
        show_table(out(), COLUMNS, events[:limit])
    if limit is not None and any(len(events) > limit for events in found.values()):
        err().line(f"there are more commits: use --limit {2 * limit}")


def read_named_uid(arguments: argparse.Namespace) -> str:
    """Of `--uid`, or of a word that is one; empty where the call names objects in another way."""
    words: list[str] = arguments.objects
    if arguments.uid and (words or has_selectors(arguments)):
        cure = "leave out the names, -l, --field and --all, or leave out --uid"
        raise CommandError("--uid names one object, and the call names others", cure, Exit.USAGE)
    is_uid = len(words) == 1 and UID.fullmatch(words[0])
    return arguments.uid or (words[0] if is_uid else "")


def find_commits(fleet: FleetRepo, key: Key) -> Iterator[HistoryEntry]:
    """Of this object and of the earlier ones that had the name."""
    inventory = read_current(fleet, key.kind)
    if key in inventory.items:
        item = inventory.items[key]
        return list_history(fleet.repo, head_of(fleet), item.path, item.key)
    deleted = find_deletion(fleet.repo, inventory.commit, key)
    if deleted is None:
        return commits_of(fleet, find_by_key(inventory, key))
    return note_deletion(deleted, list_history(fleet.repo, deleted.commit, deleted.path, key))


def find_commits_of_uid(fleet: FleetRepo, uid: str) -> tuple[Key, Iterator[HistoryEntry]]:
    """Of this object alone, which may be deleted while another one has its name."""
    inventory = read_current(fleet)
    every = (*inventory.items.values(), *inventory.beside)
    item = next((each for each in every if each.object.metadata.uid == uid), None)
    if item is not None:
        return item.key, list_life_of(fleet.repo, head_of(fleet), item.path, item.key, uid)
    deleted = find_deleted_uid(fleet.repo, inventory.commit, uid)
    if deleted is None:
        cause = f"there never was an object with uid {printable(uid)} on live"
        raise CommandError(cause, "`gitvirt get machines -A -o wide` lists the uids of machines")
    commits = list_life_of(fleet.repo, deleted.commit, deleted.path, deleted.key, uid)
    return deleted.key, note_deletion(deleted, commits)


def note_deletion(deleted: Removal, commits: Iterator[HistoryEntry]) -> Iterator[HistoryEntry]:
    newest = list(islice(commits, LAST_STEPS))
    who = find_person(split_lives(newest)[0])
    note = f"{deleted.key} was deleted{who}, and removed from live in {deleted.commit[:10]}; these are the commits of the last one with that name"
    err().line(printable(note))
    return chain(newest, commits)


def find_person(life: Sequence[HistoryEntry]) -> str:
    """Who deleted it, by the last commits of its life."""
    removals = (each for each in life[:LAST_STEPS] if each.is_of_people and each.is_removal)
    return next((f" by {each.author.name} in {each.commit[:10]}" for each in removals), "")


def describe_lives(key: Key, entries: Sequence[HistoryEntry]) -> Iterator[str]:
    """One note for each life that another one followed, the newest first."""
    for later, earlier in pairwise(split_lives(entries)):
        begin, end = later[-1], earlier[0]
        if not end.is_removal:
            yield f"{key} was recreated in {begin.commit[:10]}: an earlier object had uid {end.uid}"
            continue
        again = f"created again by {begin.author.name} in {begin.commit[:10]}"
        yield f"{key} was deleted{find_person(earlier)}, and removed from live in {end.commit[:10]}; {again}"


def head_of(fleet: FleetRepo) -> ObjectId:
    """The branch on which objects are found: the target, and before there is one the source."""
    head = fleet.snapshot.target or fleet.snapshot.source
    assert head is not None, "an object was found on it"
    return head


def commits_of(fleet: FleetRepo, item: InventoryItem) -> Iterator[HistoryEntry]:
    """The commits of an object that exists. `describe` shows the first few of them."""
    return list_life(fleet.repo, head_of(fleet), item.path, item.key)


COLUMNS: list[Column[HistoryEntry]] = [
    Column("WHEN", lambda event: stamp(event.time)),
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
        "uid": event.uid,
    }
