"""`gitvirt describe`: objects: spec, status and conditions, events, commits.

Reads the target branch for the document, the reports of all hosts for events, and the history of the object's file.
Writes nothing. Exit codes: 0, or 1 if there is no such object. `-o json` has the same parts as the text; the data
of Secrets is hidden as in `get`.

Limits: events come from what hosts keep in their reports, so old ones are missing; commits stay, but only the
newest COMMITS are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from reconciler.cli.exits import Exit
from reconciler.cli.fleet_repo import FleetRepo, add_repo, named_fleet
from reconciler.cli.get import body_of
from reconciler.cli.history import COLUMNS as HISTORY
from reconciler.cli.history import commits_of
from reconciler.cli.history import value as history_value
from reconciler.cli.host_reports import read_host_events
from reconciler.cli.kept_machine import describe_ways, find_replacement, is_kept
from reconciler.cli.objects import columns
from reconciler.cli.objects.references import ANY, add_objects, find_objects, read_reference
from reconciler.cli.objects.selectors import read_current
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import Terminal, TextStyle, out, printable
from reconciler.query.inventory import InventoryItem
from reconciler.query.object_history import HistoryEntry
from schemas import report
from schemas.kinds import Kind
from schemas.model import Condition

EXAMPLES = """examples:
  gitvirt describe machine web-1
  gitvirt describe web-1 pool/rack-a1
  gitvirt describe machines -l app=web
  gitvirt describe machine production/web-1 -o json"""

COMMITS = 8
DOCUMENT_PARTS = ("apiVersion", "kind", "metadata", "spec", "status")


@dataclass(frozen=True, slots=True)
class ObjectDescription:
    """What is said of one object."""

    item: InventoryItem
    events: tuple[tuple[str, report.ReportedEvent], ...]  # with the poollet that reports it
    commits: tuple[HistoryEntry, ...]  # the newest
    has_more_commits: bool = False
    undo: str = ""  # of a deleted machine that is kept: how it comes back, and what ends the wait


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, ANY)
    add_format(parser)
    parser.add_argument("--show-secrets", action="store_true", help="print the data of Secrets as it is")
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    """Of one object the parts as they are; of several, one after the other, or a list of values."""
    reference = read_reference(arguments, ANY)
    with named_fleet(arguments.repo, with_reports=True) as fleet:
        found = find_objects(reference, arguments, lambda kind: read_current(fleet, kind))
        all = [
            ObjectDescription(
                replace(item, body=dict(item.body)),
                events_of(fleet, item),
                (commits := tuple(islice(commits_of(fleet, item), COMMITS + 1)))[:COMMITS],
                has_more_commits=len(commits) > COMMITS,
                undo=describe_ways(fleet, item) if is_kept(item) else "",
            )
            for item in found
        ]
    if is_value(arguments.output):
        values = [value(each, body_of(each.item, arguments.show_secrets)) for each in all]
        show_value(out(), arguments.output, values[0] if len(reference.keys) == 1 else values)
        return Exit.OK
    for number, each in enumerate(all):
        if number:
            out().line()
        show(out(), each, body_of(each.item, arguments.show_secrets))
    return Exit.OK


def value(description: ObjectDescription, body: dict[str, Any]) -> dict[str, object]:
    item = description.item
    return {
        "object": body,
        "file": item.path,
        "state": columns.state(item),
        "reason": columns.reason(item),
        "message": columns.message(item),
        "undo": description.undo,
        "events": [event_value(poollet, event) for poollet, event in description.events],
        "commits": [history_value(event) for event in description.commits],
    }


def events_of(fleet: FleetRepo, item: InventoryItem) -> tuple[tuple[str, report.ReportedEvent], ...]:
    """The events that hosts report about this object, oldest first, each with the poollet that reports it. Also a
    host that had the object earlier may still report some."""
    key = item.key
    found = [
        (poollet, event)
        for poollet, each in read_host_events(fleet).items()
        for event in each
        if (event.kind, event.namespace, event.name) == (key.kind.value, key.namespace, key.name)
    ]
    return tuple(sorted(found, key=lambda description: (description[1].last, description[0])))


def show(terminal: Terminal, description: ObjectDescription, body: dict[str, Any]) -> None:
    """Prints the parts in the order of what one looks for first: state and reason, conditions, events, commits,
    then what people declared."""
    item = description.item
    state = terminal.paint(columns.state(item), columns.style(item))
    terminal.line(f"{terminal.paint(str(item.key), TextStyle.BOLD)}  {state}  {printable(item.path)}")
    if why := columns.message(item):
        terminal.line(f"{printable(columns.reason_cell(item))}: {printable(why)}")
    if columns.creation_time(item) is not None:
        when = printable(item.object.metadata.creation_timestamp)
        terminal.line(f"Created: {when}, {columns.age_cell(item)} ago")
    if description.undo and find_replacement(item) is None:
        terminal.line(f"Undo: {description.undo}")
    if columns.is_paused(item):
        terminal.line(f"Paused: gitvirt changes nothing about it; {resume_command(item)} ends that")
    section(terminal, "Conditions", CONDITIONS, columns.conditions(item))
    section(terminal, "Events", EVENTS, [event for _, event in description.events])
    section(terminal, "Commits", HISTORY, description.commits)
    if description.has_more_commits:
        terminal.line(f"  there are more commits: `gitvirt history {printable(str(item.key))}`")
    show_fields(terminal, item, body)


def show_fields(terminal: Terminal, item: InventoryItem, body: dict[str, Any]) -> None:
    """What people declared, one line for each field; the whole document is for `get -o yaml`."""
    parts: dict[str, Any] = {
        **{name: body["metadata"].get(name) for name in ("labels", "annotations")},
        **{name: value for name, value in body.items() if name not in DOCUMENT_PARTS},
        **(body.get("spec") or {}),
    }
    if item.key.kind is Kind.MACHINE:
        parts["machineClassRef"] = columns.class_cell(item)
    rows = [
        (name, printable(summarize(value))) for name, value in parts.items() if value not in (None, {}, [])
    ]
    if rows:
        terminal.line()
        terminal.line(terminal.paint("Spec", TextStyle.BOLD))
        terminal.table((), rows)
    terminal.line(f"\n`gitvirt get {printable(str(item.key))} -o yaml` prints the whole document")


def summarize(value: object) -> str:
    """A value on one line: of a mapping that only has a name, the name; entries of a list with semicolons."""
    if isinstance(value, Mapping):
        if tuple(value) == ("name",):
            return str(value["name"])
        return ", ".join(f"{name}={group(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(summarize(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def group(value: object) -> str:
    """As `summarize`, with brackets around what has commas of its own."""
    text = summarize(value)
    return f"({text})" if isinstance(value, Mapping | list) and ("=" in text or ";" in text) else text


def resume_command(item: InventoryItem) -> str:
    """The command that ends the pause, with the kind where it is not a machine."""
    kind = "" if item.key.kind is Kind.MACHINE else f"{item.key.kind.value.lower()} "
    name = "/".join(part for part in (item.key.namespace, item.key.name) if part)
    return f"`gitvirt resume {kind}{printable(name)}`"


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
    Column("REASON", lambda each: each.reason if each.reason != each.type else ""),
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
