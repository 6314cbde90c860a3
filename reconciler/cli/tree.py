"""`gitvirt tree`: machines under their pools, with their volumes and interfaces. Machines without a pool and
retained volumes are shown too.

A machine is under the pool of its assignment, not of a pin in its spec: what is only wanted there is below "without
a pool". Reads the target branch, writes nothing. Exit codes: 0, or 1 for a `--pool` that does not exist.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from reconciler.cli.fleet_changes import add_watch, show_screen
from reconciler.cli.fleet_repo import add_repo
from reconciler.cli.objects import columns
from reconciler.cli.objects.selectors import find_item
from reconciler.cli.output import add_format, is_value, show_value
from reconciler.cli.terminal import Terminal, TextStyle, err, out, printable
from reconciler.query.inventory import FleetInventory, InventoryItem
from reconciler.query.pool_usage import COUNTED, list_machine_pools, pool_of
from schemas.kinds import Kind
from schemas.model import Machine

EXAMPLES = """examples:
  gitvirt tree
  gitvirt tree --pool rack-a1
  gitvirt tree --watch
  gitvirt tree -o json"""

NOWHERE = "without a pool"


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """A pool with what is on it."""

    name: str
    pool: InventoryItem | None
    machines: Sequence[InventoryItem]
    retained: Sequence[InventoryItem] = ()  # volumes that are no longer declared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pool", metavar="POOL", help="only this machine pool")
    add_watch(parser, "show it again after each change")
    add_format(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    return show_screen(arguments, COUNTED, lambda inventory: show(inventory, arguments))


def show(inventory: FleetInventory, arguments: argparse.Namespace) -> None:
    if arguments.pool is not None:
        find_item(inventory, Kind.MACHINE_POOL, arguments.pool, None)
    branches = [branch for branch in build_tree(inventory) if arguments.pool in (None, branch.name)]
    if is_value(arguments.output):
        values = [value(inventory, branch) for branch in branches]
        show_value(out(), arguments.output, values, is_one_of_many=arguments.watch)
    elif branches:
        draw(out(), inventory, branches)
    else:
        err().line("there are no pools and no machines")


def build_tree(inventory: FleetInventory) -> Iterator[TreeBranch]:
    """Volume pools of their own have a place for the retained volumes that are on them, and for nothing else."""
    kept: dict[str, list[InventoryItem]] = {}
    for item in inventory.of(Kind.VOLUME):
        if item.is_retained:
            kept.setdefault(pool_of(item), []).append(item)
    known = set()
    for use in list_machine_pools(inventory):
        name = use.pool.key.name
        known.add(name)
        yield TreeBranch(name, use.pool, use.machines, kept.pop(name, ()))
    stray = [item for item in inventory.of(Kind.MACHINE) if pool_of(item) not in known]
    if stray:
        yield TreeBranch(NOWHERE, None, stray)
    for name, volumes in sorted(kept.items()):
        yield TreeBranch(name or NOWHERE, inventory.get(Kind.VOLUME_POOL, "", name), (), volumes)


def draw(terminal: Terminal, inventory: FleetInventory, branches: Sequence[TreeBranch]) -> None:
    for branch in branches:
        state = "" if branch.pool is None else style_line(terminal, branch.pool)
        terminal.line(f"{terminal.paint(printable(branch.name), TextStyle.BOLD)}  {state}".rstrip())
        for number, item in enumerate(items := (*branch.machines, *branch.retained)):
            is_last = number == len(items) - 1
            why = "".join(
                f"  {printable(each)}" for each in (pending_class(item), columns.reason_cell(item)) if each
            )
            what = "" if item.key.kind is Kind.MACHINE else "volume "
            title = f"{what}{item.key.namespace}/{item.key.name}"
            terminal.line(f"{'└─ ' if is_last else '├─ '}{title}  {style_line(terminal, item)}{why}")
            leaves = list(below(inventory, item)) if item.key.kind is Kind.MACHINE else []
            for place, leaf in enumerate(leaves):
                stem = "   " if is_last else "│  "
                terminal.line(f"{stem}{'└─ ' if place == len(leaves) - 1 else '├─ '}{printable(leaf)}")


def pending_class(item: InventoryItem) -> str:
    """`m -> xl` of a machine that its host has as another class; the reason is beside it already."""
    found = item.object
    if not isinstance(found, Machine) or found.status.machine_class_ref is None:
        return ""
    return columns.class_cell(item).partition(":")[0]


def style_line(terminal: Terminal, item: InventoryItem) -> str:
    return terminal.paint(columns.state(item), columns.style(item))


@dataclass(frozen=True, slots=True)
class TreeDisk:
    """`volume` is nothing for a disk that lives and dies with the machine."""

    device: str
    name: str
    volume: str
    pool: str
    state: str


@dataclass(frozen=True, slots=True)
class TreeInterface:
    name: str
    state: str
    ips: tuple[str, ...]


def below(inventory: FleetInventory, item: InventoryItem) -> Iterator[str]:
    for disk in disks(inventory, item):
        where = f" on {disk.pool}" if disk.pool else ""
        what = f"volume {disk.volume}{where}" if disk.volume else f"local disk {disk.name}"
        yield f"{disk.device}  {what}  {disk.state}"
    for interface in interfaces(item):
        addresses = ", ".join(interface.ips)
        yield "  ".join(part for part in (f"interface {interface.name}", addresses) if part)


def disks(inventory: FleetInventory, item: InventoryItem) -> Iterator[TreeDisk]:
    """The disks of a machine in the order of its spec, with the state that its host reports. One that is not
    reported yet is Pending."""
    machine = item.object
    assert isinstance(machine, Machine)
    states = {disk.name: disk.state for disk in machine.status.volumes}
    for disk in machine.spec.volumes:
        key = machine.volume_key(disk)
        found = inventory.get(*key) if key else None
        pool = "" if found is None else pool_of(found)
        volume = key.name if key else ""
        yield TreeDisk(disk.device, disk.name, volume, pool, str(states.get(disk.name) or "Pending"))


def interfaces(item: InventoryItem) -> Iterator[TreeInterface]:
    """The interfaces of a machine in the order of its spec, with the addresses that its host reports."""
    machine = item.object
    assert isinstance(machine, Machine)
    seen = {interface.name: interface for interface in machine.status.network_interfaces}
    for interface in machine.spec.network_interfaces:
        found = seen.get(interface.name)
        yield TreeInterface(
            interface.name, str(found.state if found else "") or "Pending", tuple(found.ips) if found else ()
        )


def value(inventory: FleetInventory, branch: TreeBranch) -> dict[str, object]:
    return {
        "pool": None if branch.name == NOWHERE else branch.name,
        "state": None if branch.pool is None else columns.state(branch.pool),
        "machines": [
            {
                "namespace": machine.key.namespace,
                "name": machine.key.name,
                "state": columns.state(machine),
                "reason": columns.reason(machine),
                "class": columns.class_cell(machine),
                "disks": [asdict(disk) for disk in disks(inventory, machine)],
                "interfaces": [{**asdict(each), "ips": list(each.ips)} for each in interfaces(machine)],
            }
            for machine in branch.machines
        ],
        "retained": [
            {"namespace": each.key.namespace, "name": each.key.name, "uid": each.object.metadata.uid}
            for each in branch.retained
        ],
    }
