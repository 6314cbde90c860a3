"""What the demo shows of the fleet: on a terminal a picture that is redrawn in place, elsewhere a line for each news."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator

from reconciler.cli.objects import columns
from reconciler.cli.output import Column, show_table
from reconciler.cli.terminal import Style, Terminal, width
from reconciler.cli.top import bar
from reconciler.cli.top import style as bar_style
from reconciler.inventory import Inventory, Item
from reconciler.inventory.usage import Use, machine_pools, pool_of
from reconciler.repo.commit import decoded
from reconciler.repo.protocol import Repo
from schemas.capacity import CPU
from schemas.kinds import Kind

COMMITS = 4
_PARTS = re.compile(r"\x1b\[[0-9;]*m|.", re.DOTALL)


class Screen:
    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.drawn = 0  # lines of the picture that stand there
        self.known: dict[str, str] = {}

    def show(self, repo: Repo, fleet: Inventory) -> None:
        if self.terminal.is_interactive:
            self.draw(repo, fleet)
        else:
            self.tell(fleet)

    def draw(self, repo: Repo, fleet: Inventory) -> None:
        canvas = Terminal(io.StringIO(), {})
        canvas.has_colour = self.terminal.has_colour
        show_table(canvas, POOLS, machine_pools(fleet))
        canvas.line()
        show_table(canvas, MACHINES, fleet.of(Kind.MACHINE))
        canvas.line()
        for line in commits(repo, fleet.commit):
            canvas.line(canvas.paint(line, Style.DIM))
        assert isinstance(canvas.stream, io.StringIO)
        room = shutil.get_terminal_size()
        lines = [clipped(line, room.columns - 1) for line in canvas.stream.getvalue().splitlines()][
            : room.lines - 2
        ]
        self.clear()
        for line in lines:
            self.terminal.line(line)
        self.terminal.stream.flush()
        self.drawn = len(lines)

    def clear(self) -> None:
        if self.drawn:
            self.terminal.stream.write(f"\x1b[{self.drawn}F\x1b[J")
        self.drawn = 0

    def settle(self) -> None:
        """What is shown now stays."""
        self.drawn = 0

    def tell(self, fleet: Inventory) -> None:
        for item in (*fleet.of(Kind.MACHINE_POOL), *fleet.of(Kind.MACHINE)):
            news = told(item)
            if news and self.known.get(str(item.key)) != news:
                self.known[str(item.key)] = news
                self.terminal.line(f"  {news}")
        self.terminal.stream.flush()


def told(item: Item) -> str:
    name = "/".join(part for part in (item.key.namespace, item.key.name) if part)
    if item.key.kind is Kind.MACHINE_POOL:
        return f"pool {name}: {columns.state(item)}" if columns.conditions(item) else ""
    where = f" on {pool_of(item)}" if pool_of(item) else ""
    why = f" ({columns.reason(item)})" if columns.reason(item) and not where else ""
    return f"machine {name}: {columns.state(item)}{where}{why}"


def commits(repo: Repo, head: str | None) -> Iterator[str]:
    for _ in range(COMMITS):
        if head is None:
            return
        commit = decoded(repo.read(head))
        yield f"{head[:8]}  {commit.message.partition(chr(10))[0]}"
        head = commit.parents[0] if commit.parents else None


def clipped(line: str, columns: int) -> str:
    """As wide as the terminal, so that no line of the picture becomes two. Colours stay whole."""
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


POOLS: list[Column[Use]] = [
    Column("POOL", lambda use: use.pool.key.name),
    Column("STATE", lambda use: columns.state(use.pool), lambda use: columns.style(use.pool)),
    Column("CPU", lambda use: bar(use, CPU), lambda use: bar_style(use, CPU)),
]
MACHINES: list[Column[Item]] = [
    Column("MACHINE", lambda item: f"{item.key.namespace}/{item.key.name}"),
    Column("STATE", columns.state, columns.style),
    Column("POOL", pool_of),
    Column("IPS", lambda item: columns.ips(item.object)),
    Column("WHY", columns.reason),
]
