"""`gitvirt get`: objects as they are on the target branch, in a table, or as the documents themselves.

Before there is a target branch it shows the source and says so. With `--watch` it prints each object that differs from what it printed
last, until Ctrl-C. The data of Secrets is hidden unless it is asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.cli.exits import Exit
from reconciler.cli.fleet_changes import follow_fleet
from reconciler.cli.fleet_repo import FleetRepo, add_repo, check_settings, named_fleet
from reconciler.cli.interrupt import once_or_watching
from reconciler.cli.objects import columns, nouns
from reconciler.cli.objects.selectors import add_selectors, find_item, select_items
from reconciler.cli.output import show_table, show_value
from reconciler.cli.terminal import Terminal, err, out, printable
from reconciler.gitstore.waker import Waker
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from schemas.edit import render
from schemas.kinds import Kind

EXAMPLES = """examples:
  gitvirt get machines
  gitvirt get machines -A -o wide
  gitvirt get machines -l app=web --field state=Running
  gitvirt get pools
  gitvirt get volume web-1-root -o yaml
  gitvirt get machines --watch

It shows the target branch (live). Objects that the reconciler has not synced yet are missing."""

FORMATS = ("table", "wide", "json", "yaml", "name")
HIDDEN = "hidden; use --show-secrets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind", type=nouns.parse_kind, metavar="KIND", help="machines, pools, volumes, classes, ..."
    )
    parser.add_argument(
        "names", nargs="*", default=[], metavar="NAME", help="only these: NAME or NAMESPACE/NAME"
    )
    add_selectors(parser)
    parser.add_argument("-o", "--output", choices=FORMATS, default="table", help="format (default: table)")
    parser.add_argument("-w", "--watch", action="store_true", help="print every change until Ctrl-C")
    parser.add_argument("--show-secrets", action="store_true", help="print the data of Secrets as it is")
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    return once_or_watching(arguments.watch, lambda waker: look(arguments, waker))


def look(arguments: argparse.Namespace, waker: Waker | None) -> int:
    """Once, or with a waker until that is stopped."""
    with named_fleet(arguments.repo) as fleet:
        now = read_current(fleet, arguments.kind)
        items = format_rows(now, arguments)
        show(out(), items, arguments)
        if waker is not None:
            out().stream.flush()
            watch(fleet, items, arguments, waker)
    return Exit.OK


def read_current(fleet: FleetRepo, kind: Kind | None = None) -> FleetInventory:
    """The target; before there is one, the source, and that is said. With a kind, no more than that is asked of it."""
    check_settings(fleet)
    snapshot = fleet.snapshot
    if snapshot.target is None:
        name = (fleet.refs.target or "").removeprefix("refs/heads/")
        err().line(
            f"there is no branch {printable(name)} yet; showing the source. Start `gitvirt run` to reconcile it"
        )
    found = read_inventory(fleet.repo, snapshot.target or snapshot.source, kind)
    if found.broken:
        err().line(f"{len(found.broken)} files cannot be read: `gitvirt validate` says why")
    return found


def find_current(fleet: FleetRepo, arguments: argparse.Namespace) -> InventoryItem:
    """The one object that the arguments name."""
    inventory = read_current(fleet, arguments.kind)
    return find_item(inventory, arguments.kind, arguments.name, arguments.namespace)


def format_rows(now: FleetInventory, arguments: argparse.Namespace) -> list[InventoryItem]:
    """In a table a name is also that of retained data beside it; a document is that of the object itself."""
    items = select_items(now, arguments.kind, arguments.names, arguments)
    if arguments.names and arguments.output in ("table", "wide"):
        keys = {item.key for item in items}
        items += [item for item in now.beside if item.key in keys]
    return items


def watch(
    fleet: FleetRepo, seen: Sequence[InventoryItem], arguments: argparse.Namespace, waker: Waker
) -> None:
    before = {(item.key, item.is_retained): item.body for item in seen}
    for now in follow_fleet(fleet, waker):
        items = format_rows(read_inventory(now.repo, now.snapshot.target, arguments.kind), arguments)
        changed = [item for item in items if before.get((item.key, item.is_retained)) != item.body]
        before = {(item.key, item.is_retained): item.body for item in items}
        if changed:
            show(out(), changed, arguments, with_header=False)
            out().stream.flush()


def show(
    terminal: Terminal,
    items: Sequence[InventoryItem],
    arguments: argparse.Namespace,
    *,
    with_header: bool = True,
) -> None:
    bodies = [body_of(item, arguments.show_secrets) for item in items]
    kind: Kind = arguments.kind
    match arguments.output:
        case "json" if arguments.watch:
            for body in bodies:
                show_value(terminal, "json", body, is_one_of_many=True)
        case "json":
            is_one = len(arguments.names) == 1
            show_value(terminal, "json", bodies[0] if is_one else bodies)
        case "yaml":
            start = "---\n" if arguments.watch else ""
            terminal.line(start + "---\n".join(render(body).decode() for body in bodies).rstrip("\n"))
        case "name":
            for item in items:
                terminal.line("/".join(part for part in (item.key.namespace, item.key.name) if part))
        case format:
            if not items and with_header:
                err().line(f"no {nouns.plural(kind)} found" + hint_of(arguments))
                return
            with_namespace = kind.is_namespaced and arguments.all_namespaces
            named = columns.columns(kind, with_namespace=with_namespace, is_wide=format == "wide")
            show_table(terminal, named, items, with_header=with_header)


def hint_of(arguments: argparse.Namespace) -> str:
    if not arguments.kind.is_namespaced or arguments.all_namespaces:
        return ""
    return f" in namespace {printable(arguments.namespace or 'default')}; -A looks in all"


def body_of(item: InventoryItem, with_secrets: bool) -> dict[str, Any]:
    body = dict(item.body)
    if item.key.kind is not Kind.SECRET or with_secrets:
        return body
    return {
        name: dict.fromkeys(value, HIDDEN)
        if name in ("data", "stringData") and isinstance(value, Mapping)
        else value
        for name, value in body.items()
    }
