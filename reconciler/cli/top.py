"""`gitvirt top`: how full the pools are, by the capacity that assignments charge. What machines and hosts really use is not in the repo: it is
asked over the link (top_use.py).

The numbers are those of the scheduler: the same charge function decides whether a machine fits. A pool can be
fuller than 100% after its host announced less capacity. Reads the target branch, writes nothing, exit code 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from reconciler.cli.api_client import add_client, is_named
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_changes import add_watch, show_screen
from reconciler.cli.fleet_repo import add_repo
from reconciler.cli.objects import columns
from reconciler.cli.output import Column, add_format, is_value, show_table, show_value
from reconciler.cli.terminal import TextStyle, err, out, width
from reconciler.query.inventory import FleetInventory
from reconciler.query.pool_usage import COUNTED, PoolUse, list_machine_pools, list_volume_pools
from schemas.model.capacity import CPU, MEMORY, STORAGE, format_amount

EXAMPLES = """examples:
  gitvirt top
  gitvirt top --watch
  gitvirt top -o json
  gitvirt top machines                 what machines really use, measured by their hosts
  gitvirt top hosts --sort cpu --watch

Without a word, or with `pools`, a bar shows the requested share of what the pool can offer: capacity minus reserve, times
overcommit. `machines` and `hosts` are what hosts measure every 15 seconds; they need a client of the API (--client) with the
right read. MEMORY of a machine is what it takes of the host's; IN THE GUEST is what its balloon driver says."""

WIDTH = 12  # of a bar, where there is room for it
FRAME_LINES = 4  # titles of two tables, the line between them, and the cursor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="?", choices=("pools", "machines", "hosts"), default="pools", help="(default: pools)"
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="of hosts, or [NAMESPACE/]NAME of machines (default: all)"
    )
    parser.add_argument("-n", "--namespace", metavar="NS", help="machines of this namespace alone")
    parser.add_argument("--sort", choices=("name", "cpu", "memory"), default="name", help="(default: name)")
    add_watch(parser, "show it again after each change")
    add_format(parser)
    add_client(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.what != "pools":
        from reconciler.cli.top_use import show_use  # with gRPC's messages, which pools do not need

        return show_use(arguments)
    refuse_options(arguments)
    return show_screen(arguments, COUNTED, lambda inventory: show(inventory, arguments))


def refuse_options(arguments: argparse.Namespace) -> None:
    """Those that pools have no use for."""
    if arguments.names or arguments.namespace or arguments.sort != "name" or is_named(arguments):
        cause = "names, --namespace, --sort and the options of the link do not go with pools"
        raise CommandError(cause, "write `gitvirt top machines` or `gitvirt top hosts`", Exit.USAGE)


def show(inventory: FleetInventory, arguments: argparse.Namespace) -> None:
    machines, volumes = list_machine_pools(inventory), list_volume_pools(inventory)
    if is_value(arguments.output):
        values = [value(use) for use in (*machines, *volumes)]
        show_value(out(), arguments.output, values, is_one_of_many=arguments.watch)
        return
    terminal = out()
    size = terminal.size if arguments.watch else None
    machine_count, volume_count = share_lines(len(machines), len(volumes), size.lines if size else None)
    bar_width = fit_bars(machines, size.columns) if size else WIDTH
    if machines:
        show_table(terminal, machine_columns(bar_width), machines[:machine_count])
    if volumes:
        terminal.line()
        show_table(terminal, volume_columns(bar_width), volumes[:volume_count])
    if hidden := len(machines) + len(volumes) - machine_count - volume_count:
        terminal.line(f"{hidden} more pools: `gitvirt top` shows all")
    if not machines and not volumes:
        err().line("there are no pools yet; a host announces its pools when `gitvirt poollet` runs there")


def share_lines(machines: int, volumes: int, lines: int | None) -> tuple[int, int]:
    """How many pools of each kind a screen has room for, beside titles, the line of what is hidden and the cursor."""
    if lines is None or machines + volumes + FRAME_LINES <= lines:
        return machines, volumes
    room = max(2, lines - FRAME_LINES - 1)
    shown = min(volumes, max(room // 3, room - machines))
    return min(machines, room - shown), shown


def fit_bars(machines: Sequence[PoolUse], columns: int) -> int:
    """The longest bars with which the table fits on the screen; none where not even the numbers fit."""
    for bar_width in range(WIDTH, 0, -1):
        shown = machine_columns(bar_width)
        cells = [[each.title, *(each.cell(use) for use in machines)] for each in shown]
        if sum(max(map(width, cell)) for cell in cells) + 2 * (len(cells) - 1) <= columns:
            return bar_width
    return 0


def bar(use: PoolUse, resource: str, bar_width: int = WIDTH) -> str:
    """How much of a resource is given away, drawn and written."""
    whole = use.capacity.get(resource, 0)
    used = use.used.get(resource, 0)
    if whole <= 0:
        return "" if not used else f"{format_amount(resource, used)} used"
    filled = min(bar_width, -(-used * bar_width // whole))
    drawn = f"{'█' * filled}{'░' * (bar_width - filled)} " if bar_width else ""
    share = f"{100 * used // whole:3}%"
    return f"{drawn}{share}  {format_amount(resource, used)} of {format_amount(resource, whole)}"


def style(use: PoolUse, resource: str) -> TextStyle | None:
    """Green below 70% of what can be given away, yellow below 90%, else red. A pool that announced nothing has no
    color."""
    whole, used = use.capacity.get(resource, 0), use.used.get(resource, 0)
    if whole <= 0 or used * 10 < whole * 7:
        return TextStyle.GREEN if whole > 0 else None
    return TextStyle.YELLOW if used * 10 < whole * 9 else TextStyle.RED


def volumes(use: PoolUse) -> str:
    return f"{len(use.volumes)}" + (f" ({use.retained_count} retained)" if use.retained_count else "")


def bars(title: str, resource: str, bar_width: int) -> Column[PoolUse]:
    return Column(title, lambda use: bar(use, resource, bar_width), lambda use: style(use, resource))


POOL = [
    Column[PoolUse]("POOL", lambda use: use.pool.key.name),
    Column[PoolUse]("STATE", lambda use: columns.state(use.pool), lambda use: columns.style(use.pool)),
]


def machine_columns(bar_width: int) -> list[Column[PoolUse]]:
    count = Column[PoolUse]("MACHINES", lambda use: str(len(use.machines)))
    return [*POOL, count, bars("CPU", CPU, bar_width), bars("MEMORY", MEMORY, bar_width)]


def volume_columns(bar_width: int) -> list[Column[PoolUse]]:
    return [*POOL, Column("VOLUMES", lambda use: volumes(use)), bars("STORAGE", STORAGE, bar_width)]


def value(use: PoolUse) -> dict[str, object]:
    return {
        "kind": use.pool.key.kind.value,
        "name": use.pool.key.name,
        "state": columns.state(use.pool),
        "machines": len(use.machines),
        "volumes": len(use.volumes),
        "retained": use.retained_count,
        "used": {resource: format_amount(resource, count) for resource, count in sorted(use.used.items())},
        "allocatable": {
            resource: format_amount(resource, count) for resource, count in sorted(use.capacity.items())
        },
    }
