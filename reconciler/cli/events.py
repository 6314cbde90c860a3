"""`gitvirt events`: recent events, from the hosts' reports and from the commits of the target branch, newest last.

Reports keep a limited number of events; commits stay. A filter by namespace or object leaves commits out, because a
commit is about many objects (`gitvirt history` shows those of one). With `--watch` an event is printed once, when
it first appears; one that repeats is printed again with its new count. It writes nothing; the exit code is 0 also
if there are none.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from reconciler.cli.fleet_changes import add_watch, show_fleet
from reconciler.cli.fleet_repo import FleetRepo, add_repo, check_settings
from reconciler.cli.host_reports import read_host_events
from reconciler.cli.objects import nouns
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import TextStyle, err, out
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.world.record import stamp
from schemas.kinds import Key, Kind
from schemas.report import ReportedEvent

EXAMPLES = """examples:
  gitvirt events
  gitvirt events --limit 100
  gitvirt events --watch
  gitvirt events -n production
  gitvirt events --for machine/web-1
  gitvirt events -o json

Hosts keep a limited number of events. Commits stay: `git log` of the target branch has them all."""

LIMIT = 40


@dataclass(frozen=True, slots=True, order=True)
class ShownEvent:
    time: datetime
    who: str
    about: str
    reason: str
    message: str
    is_warning: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Whose events. A commit is about many objects, so it is told only where all are wanted."""

    namespace: str | None = None
    key: Key | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> EventFilter:
        if arguments.about is None:
            return cls(arguments.namespace)
        kind, name = arguments.about
        return cls(None, nouns.parse_key(kind, name, arguments.namespace))

    @property
    def is_narrow(self) -> bool:
        return self.namespace is not None or self.key is not None

    def takes(self, event: ReportedEvent) -> bool:
        """Whether an event of a report is wanted. Names are compared in full, because a name is unique only in its
        kind and namespace."""
        if self.key is not None:
            return (event.kind, event.namespace, event.name) == tuple(self.key)
        return self.namespace in (None, event.namespace)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=int, default=LIMIT, metavar="N", help=f"show at most this many (default: {LIMIT})"
    )
    parser.add_argument("-n", "--namespace", metavar="NS", help="only of objects in this namespace")
    parser.add_argument(
        "--for",
        dest="about",
        type=about,
        metavar="KIND/NAME",
        help="only of this object, without commits: see `gitvirt history`",
    )
    add_watch(parser, "print new events")
    add_format(parser)
    add_repo(parser)


def about(written: str) -> tuple[Kind, str]:
    """The type of --for."""
    kind, _, name = written.partition("/")
    if not name:
        raise argparse.ArgumentTypeError(f"{written!r} is not KIND/NAME, such as machine/web-1")
    return nouns.parse_kind(kind), name


def run(arguments: argparse.Namespace) -> int:
    """Prints the events, and with `--watch` each new one once. `seen` holds what was printed: a report repeats its
    events at each heartbeat."""
    wanted = EventFilter.of(arguments)
    seen: set[ShownEvent] = set()

    def show_new(fleet: FleetRepo, is_first: bool) -> None:
        if is_first:
            check_settings(fleet)
        found = list_events(fleet, arguments.limit, wanted)
        fresh = [each for each in found if each not in seen]
        seen.update(fresh)
        show(fresh[-arguments.limit :] if is_first else fresh, arguments, with_header=is_first)

    return show_fleet(arguments, show_new, with_reports=True)


def show(found: list[ShownEvent], arguments: argparse.Namespace, *, with_header: bool = True) -> None:
    if is_value(arguments.output) and arguments.watch:
        for each in found:
            show_value(out(), arguments.output, value(each), is_one_of_many=True)
    elif is_value(arguments.output):
        show_value(out(), arguments.output, [value(each) for each in found])
    elif found:
        show_table(out(), COLUMNS, found, with_header=with_header)
    elif with_header:
        is_narrow = EventFilter.of(arguments).is_narrow
        nothing = "no events yet: no host has reported, and there is no target branch"
        err().line("no host has reported such events" if is_narrow else nothing)


def list_events(fleet: FleetRepo, limit: int, wanted: EventFilter) -> list[ShownEvent]:
    """The newest last; commits of one second as they follow each other."""
    shown = sorted(
        list_report_events(poollet, event)
        for poollet, reported in read_host_events(fleet).items()
        for event in reported
        if wanted.takes(event)
    )
    commits = [] if wanted.is_narrow else list(islice(list_commit_events(fleet), limit))
    return sorted([*shown, *reversed(commits)], key=lambda each: each.time)


def list_report_events(poollet: str, event: ReportedEvent) -> ShownEvent:
    """One event of a report. Its time is the host's own clock, which may differ from that of commits."""
    about = "/".join(part for part in (event.kind, event.namespace, event.name) if part)
    time = datetime.fromisoformat(event.last)
    return ShownEvent(time, poollet, about, event.reason, event.message, event.type == "Warning", event.count)


def list_commit_events(fleet: FleetRepo) -> Iterable[ShownEvent]:
    """Of the target branch alone, newest first."""
    here = fleet.snapshot.target
    while here is not None:
        commit = decode_commit(fleet.repo.read(here))
        subject = commit.message.partition("\n")[0]
        yield ShownEvent(commit.time, commit.author.name, here[:10], "Commit", subject)
        here = commit.first_parent


def value(each: ShownEvent) -> dict[str, object]:
    return {
        "time": each.time.isoformat(),
        "who": each.who,
        "about": each.about,
        "reason": each.reason,
        "message": each.message,
        "type": "Warning" if each.is_warning else "Normal",
        "count": each.count,
    }


COLUMNS: list[Column[ShownEvent]] = [
    Column("WHEN", lambda each: stamp(each.time)),
    Column("WHO", lambda each: each.who, lambda _: TextStyle.CYAN),
    Column("ABOUT", lambda each: each.about),
    Column("REASON", lambda each: each.reason, lambda each: TextStyle.YELLOW if each.is_warning else None),
    Column("MESSAGE", lambda each: each.message + (f" ({each.count} times)" if each.count > 1 else "")),
]
