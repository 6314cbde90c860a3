"""`gitvirt describe`: one object: its spec, status and conditions, its events, its commits."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from reconciler.cli.exits import Exit
from reconciler.cli.fleet_repo import FleetRepo, add_repo, locate_repo, open_fleet
from reconciler.cli.get import body_of, read_current
from reconciler.cli.history import COLUMNS as HISTORY
from reconciler.cli.history import value as history_value
from reconciler.cli.objects import columns, nouns
from reconciler.cli.objects.selectors import find_item
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import Terminal, TextStyle, out, printable
from reconciler.query.inventory import InventoryItem, read_reports
from reconciler.query.object_history import HistoryEntry, list_history
from schemas import report
from schemas.edit import render
from schemas.model import Condition

EXAMPLES = """examples:
  gitvirt describe machine web-1
  gitvirt describe pool rack-a1
  gitvirt describe machine production/web-1 -o json"""

COMMITS = 8


@dataclass(frozen=True, slots=True)
class ObjectDescription:
    """What is said of one object."""

    item: InventoryItem
    events: tuple[tuple[str, report.ReportedEvent], ...]  # with the poollet that reports it
    commits: tuple[HistoryEntry, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", type=nouns.parse_kind, metavar="KIND", help="machine, volume, pool, ...")
    parser.add_argument("name", metavar="NAME", help="NAME or NAMESPACE/NAME")
    parser.add_argument("-n", "--namespace", metavar="NS", help="default: default")
    add_format(parser)
    parser.add_argument("--show-secrets", action="store_true", help="print the data of Secrets as it is")
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    location = locate_repo(arguments.repo, os.environ, Path.cwd())
    with open_fleet(location) as fleet:
        item = find_item(
            read_current(fleet, arguments.kind), arguments.kind, arguments.name, arguments.namespace
        )
        description = ObjectDescription(item, events_of(fleet, item), commits_of(fleet, item))
    body = body_of(item, arguments.show_secrets)
    if is_value(arguments.output):
        show_value(out(), arguments.output, value(description, body))
    else:
        show(out(), description, body)
    return Exit.OK


def value(description: ObjectDescription, body: dict[str, Any]) -> dict[str, object]:
    item = description.item
    return {
        "object": body,
        "file": item.path,
        "state": columns.state(item),
        "reason": columns.reason(item),
        "message": columns.message(item),
        "events": [event_value(poollet, event) for poollet, event in description.events],
        "commits": [history_value(event) for event in description.commits],
    }


def events_of(fleet: FleetRepo, item: InventoryItem) -> tuple[tuple[str, report.ReportedEvent], ...]:
    key = item.key
    found = [
        (poollet, event)
        for poollet, each in read_reports(fleet.repo, fleet.snapshot).items()
        for event in each.events
        if (event.kind, event.namespace, event.name) == (key.kind.value, key.namespace, key.name)
    ]
    return tuple(sorted(found, key=lambda description: (description[1].last, description[0])))


def commits_of(fleet: FleetRepo, item: InventoryItem) -> tuple[HistoryEntry, ...]:
    head = fleet.snapshot.target or fleet.snapshot.source
    return () if head is None else tuple(islice(list_history(fleet.repo, head, item.path, item.key), COMMITS))


def show(terminal: Terminal, description: ObjectDescription, body: dict[str, Any]) -> None:
    item = description.item
    state = terminal.paint(columns.state(item), columns.style(item) or TextStyle.BOLD)
    terminal.line(f"{terminal.paint(str(item.key), TextStyle.BOLD)}  {state}  {printable(item.path)}")
    if why := columns.message(item):
        terminal.line(f"{printable(columns.reason(item))}: {printable(why)}")
    conditions = columns.conditions(item)
    section(terminal, "Conditions", CONDITIONS, conditions)
    section(terminal, "Events", EVENTS, [event for _, event in description.events])
    section(terminal, "Commits", HISTORY, description.commits)
    terminal.line()
    terminal.line(terminal.paint("Document", TextStyle.BOLD))
    status = body.get("status")
    plain = {**body, "status": {name: value for name, value in status.items() if name != "conditions"}} if isinstance(status, dict) else body  # fmt: skip
    for line in render(plain).decode().rstrip("\n").split("\n"):
        terminal.line(f"  {line}")


def section(terminal: Terminal, title: str, shown: Sequence[Column], items: Iterable[object]) -> None:  # type: ignore[type-arg]
    rows = list(items)
    if rows:
        terminal.line()
        terminal.line(terminal.paint(title, TextStyle.BOLD))
        show_table(terminal, shown, rows)


CONDITIONS: list[Column[Condition]] = [
    Column("TYPE", lambda each: each.type),
    Column(
        "STATUS",
        lambda each: each.status,
        lambda each: TextStyle.GREEN if each.status == "True" else TextStyle.YELLOW,
    ),
    Column("SINCE", lambda each: each.last_transition_time),
    Column("REASON", lambda each: each.reason),
    Column("MESSAGE", lambda each: each.message),
]
EVENTS: list[Column[report.ReportedEvent]] = [
    Column("LAST", lambda event: event.last),
    Column(
        "TYPE", lambda event: event.type, lambda event: TextStyle.YELLOW if event.type == "Warning" else None
    ),
    Column("COUNT", lambda event: str(event.count)),
    Column("REASON", lambda event: event.reason),
    Column("MESSAGE", lambda event: event.message),
]


def event_value(poollet: str, event: report.ReportedEvent) -> dict[str, object]:
    return {
        "poollet": poollet,
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "count": event.count,
        "last": event.last,
    }
