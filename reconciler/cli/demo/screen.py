"""What the demo shows: on a terminal a picture of the fleet that is redrawn in place, elsewhere a line for each
news.

A picture is drawn over the one before by moving the cursor up as many lines as were drawn. So nothing else may
print while a picture is open: `settle` closes it, and then titles and quotes may come. No line is ever wider than
the terminal, since a line that wraps would be two lines and the cursor would move to the wrong place.
"""

from __future__ import annotations

import io
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from reconciler.cli.objects import columns
from reconciler.cli.output import Column, show_table
from reconciler.cli.terminal import Terminal, TextStyle, width
from reconciler.cli.top import bar
from reconciler.cli.top import style as bar_style
from reconciler.gitstore.objects.commit import decode_commit
from reconciler.gitstore.repo import Repo
from reconciler.query.inventory import FleetInventory, InventoryItem
from reconciler.query.pool_usage import PoolUse, list_machine_pools, pool_of
from schemas.kinds import Kind
from schemas.model.capacity import CPU

T = TypeVar("T")
COMMITS = 4
GAP = 4  # columns between two texts in a row
INDENT = "  "
COMMAND_COLUMNS = 38
_PARTS = re.compile(r"\x1b\[[0-9;]*m|.", re.DOTALL)


class DemoScreen:
    """Titles, quotes and the picture of the fleet. The only part of the demo that prints."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.drawn = 0  # lines of the picture on the screen
        self.known: dict[str, str] = {}

    def say(self, text: str) -> None:
        """The title of an act."""
        self.terminal.line()
        for line in self.wrap(text):
            self.terminal.line(self.terminal.paint(line, TextStyle.BOLD))
        self.terminal.stream.flush()

    def quote(self, line: str) -> None:
        """A line as another program printed it, indented. On a terminal it is cut to the width."""
        line = f"{INDENT}{line}"
        self.terminal.line(clip_line(line, self.columns) if self.terminal.is_interactive else line)
        self.terminal.stream.flush()

    def suggest(self, command: str, about: str) -> None:
        """Beside each other where there is room, else below."""
        beside = f"{INDENT}{command.ljust(COMMAND_COLUMNS)}{about}"
        if not self.terminal.is_interactive or width(beside) <= self.columns:
            self.terminal.line(beside)
            return
        self.terminal.line(f"{INDENT}{command}")
        for line in textwrap.wrap(about, max(1, self.columns - 2 * len(INDENT))):
            self.terminal.line(f"{2 * INDENT}{line}")

    def wrap(self, text: str) -> list[str]:
        return textwrap.wrap(text, self.columns) if self.terminal.is_interactive else [text]

    @property
    def columns(self) -> int:
        """The last one stays free: some terminals go on in the next line when it is filled."""
        return max(1, shutil.get_terminal_size().columns - 1)

    def show(self, repo: Repo, fleet: FleetInventory, note: str = "") -> None:
        """The fleet as it is; `note` says what is waited for."""
        if self.terminal.is_interactive:
            self.draw(repo, fleet, note)
        else:
            self.tell(fleet)

    def draw(self, repo: Repo, fleet: FleetInventory, note: str) -> None:
        """In one write, and each line over the one that was there, so that nothing flickers."""
        most = max(1, shutil.get_terminal_size().lines - 2)
        lines = self.picture(repo, fleet, note)
        lines = [clip_line(line, self.columns) for line in lines[:most]]
        up = f"\x1b[{self.drawn}F" if self.drawn else ""
        self.terminal.stream.write(up + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self.terminal.stream.flush()
        self.drawn = len(lines)

    def picture(self, repo: Repo, fleet: FleetInventory, note: str) -> list[str]:
        """The lines of the picture: pools and machines beside each other where there is room, else below each
        other, then the newest commits."""
        pools = self.table(POOLS, list_machine_pools(fleet))
        machines = self.table(MACHINES, fleet.of(Kind.MACHINE))
        below = [self.terminal.paint(line, TextStyle.DIM) for line in commits(repo, fleet.commit)]
        if note:
            below.append(self.terminal.paint(note, TextStyle.CYAN))
        across = max(map(width, pools), default=0) + GAP
        if across + max(map(width, machines), default=0) <= self.columns:
            pairs = zip_longest(pools, machines, fillvalue="")
            return [
                *(f"{left}{' ' * (across - width(left))}{right}".rstrip() for left, right in pairs),
                "",
                *below,
            ]
        return [*pools, "", *machines, "", *below]

    def table(self, shape: Sequence[Column[T]], rows: Sequence[T]) -> list[str]:
        """A table as lines, with the colors of this terminal, to be put beside another one."""
        stream = io.StringIO()
        canvas = Terminal(stream, {})
        canvas.has_color = self.terminal.has_color
        show_table(canvas, shape, rows)
        return stream.getvalue().splitlines()

    def settle(self) -> None:
        """What is shown now stays."""
        self.drawn = 0

    def tell(self, fleet: FleetInventory) -> None:
        """Without a terminal: one line for each pool and machine whose state or pool differs from what was printed
        last."""
        for item in (*fleet.of(Kind.MACHINE_POOL), *fleet.of(Kind.MACHINE)):
            news = describe_item(item)
            if news and self.known.get(str(item.key)) != news:
                self.known[str(item.key)] = news
                self.terminal.line(f"{INDENT}{news}")
        self.terminal.stream.flush()


def describe_item(item: InventoryItem) -> str:
    """The state of a pool or a machine in one line; nothing for a pool that no host has reported yet."""
    name = "/".join(part for part in (item.key.namespace, item.key.name) if part)
    if item.key.kind is Kind.MACHINE_POOL:
        return f"pool {name}: {columns.state(item)}" if columns.conditions(item) else ""
    where = f" on {pool_of(item)}" if pool_of(item) else ""
    why = f" ({columns.reason(item)})" if columns.reason(item) and not where else ""
    return f"machine {name}: {columns.state(item)}{where}{why}"


def commits(repo: Repo, head: str | None) -> Iterator[str]:
    """The newest commits of the target branch, one line each."""
    for _ in range(COMMITS):
        if head is None:
            return
        commit = decode_commit(repo.read(head))
        yield f"{head[:8]}  {commit.message.partition(chr(10))[0]}"
        head = commit.first_parent


def clip_line(line: str, columns: int) -> str:
    """As wide as the terminal, so that no line of the picture becomes two. Colors stay whole."""
    if width(line) <= columns:
        return line
    kept, room = "", max(0, columns - 1)
    for part in _PARTS.findall(line):
        if part.startswith("\x1b"):
            kept += part
        elif width(part) <= room:
            kept, room = kept + part, room - width(part)
        else:
            return f"{kept}…\x1b[0m" if "\x1b" in kept else f"{kept}…"
    return kept


POOLS: list[Column[PoolUse]] = [
    Column("POOL", lambda use: use.pool.key.name),
    Column("STATE", lambda use: columns.state(use.pool), lambda use: columns.style(use.pool)),
    Column("CPU", lambda use: bar(use, CPU), lambda use: bar_style(use, CPU)),
]
MACHINES: list[Column[InventoryItem]] = [
    Column("MACHINE", lambda item: f"{item.key.namespace}/{item.key.name}"),
    Column("STATE", columns.state, columns.style),
    Column("POOL", pool_of),
    Column("IPS", lambda item: columns.ips(item.object)),
    Column("WHY", columns.reason_cell),
]
