"""`gitvirt iri get --watch`: one line for every object that changes, until it is interrupted.

A notice of the runtime only says when to list; a line is printed for each object that differs from the last list, and
for each that is missing from it. Where a runtime has no watch, objects are listed every second.

A notice is only a reason to list, so a notice that was lost or came twice does no harm. The lines of an object are its differences
between two lists: states that came and went in between are not shown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

from iri.cli.iri.output import select_columns
from iri.cli.iri.selection import select_objects
from iri.client import Client
from iri.errors import Unimplemented
from iri.runtime import RuntimeKind, RuntimeObject, Subscription
from reconciler.cli.interrupt import end_at_once
from reconciler.cli.output import Column, style_rows
from reconciler.cli.terminal import Terminal, TextStyle, printable, width

POLL_SECONDS = 1.0
GONE = "Gone"


def watch(terminal: Terminal, arguments: argparse.Namespace, client: Client, kind: RuntimeKind) -> None:
    """Runs until it is interrupted."""
    lines = GrowingTable(terminal, select_columns(kind, arguments.output), arguments.output == "name")
    with end_at_once():
        _watch(lines, arguments, client, kind)


def _watch(lines: GrowingTable, arguments: argparse.Namespace, client: Client, kind: RuntimeKind) -> None:
    """Compares each list with the one before."""
    known: dict[str, RuntimeObject] = {}
    for _ in wait_for_changes(client):
        items = select_objects(client, kind, arguments.id or "", dict(arguments.label))
        gone = known.keys() - {item.id for item in items}
        lines.show([item for item in items if known.get(item.id) != item])
        lines.show([known[id] for id in gone], is_gone=True)
        known = {item.id: item for item in items}


def wait_for_changes(client: Client) -> Iterator[None]:
    """Yields when it is time to list: at once, and then after every notice."""
    subscription = _subscription(client)
    if subscription is None:
        while True:
            yield
            time.sleep(POLL_SECONDS)
    try:
        while True:
            yield
            while not subscription.next(POLL_SECONDS):
                pass
    finally:
        subscription.close()


def _subscription(client: Client) -> Subscription | None:
    """None for a runtime without a watch."""
    try:
        return client.watch()
    except Unimplemented:
        return None


class GrowingTable:
    """A table that grows: a column is as wide as its widest cell so far. `has_ids_alone` is for `-o name`."""

    def __init__(
        self, terminal: Terminal, columns: Sequence[Column[RuntimeObject]], has_ids_alone: bool
    ) -> None:
        self._terminal = terminal
        self._columns = columns
        self._has_ids_alone = has_ids_alone
        self._widths: list[int] = []

    def show(self, items: Sequence[RuntimeObject], *, is_gone: bool = False) -> None:
        """A line for each; the last known state of those that do not exist any more. The first call prints the titles."""
        if self._has_ids_alone:
            for item in items:
                self._terminal.line(printable(item.id))
        else:
            titles = [self._terminal.paint(column.title, TextStyle.BOLD) for column in self._columns]
            rows = [[self._cell(column, item, is_gone) for column in self._columns] for item in items]
            for row in rows if self._widths else [titles, *rows]:
                self._row(row, [titles, *rows])
        self._terminal.stream.flush()

    def _cell(self, column: Column[RuntimeObject], item: RuntimeObject, is_gone: bool) -> str:
        """In the last line of an object the state is `Gone`; its other cells are those that were known last."""
        if is_gone and column.title == "STATE":
            return self._terminal.paint(GONE, TextStyle.DIM)
        return style_rows(self._terminal, column, item)

    def _row(self, row: list[str], together: list[list[str]]) -> None:
        """Pads each cell to the widest so far. A column never shrinks: the lines above it are printed already."""
        before = self._widths or [0] * len(row)
        self._widths = [max(old, *(width(other[i]) for other in together)) for i, old in enumerate(before)]
        cells = [cell + " " * (wide - width(cell)) for cell, wide in zip(row, self._widths, strict=True)]
        self._terminal.line("  ".join(cells).rstrip())
