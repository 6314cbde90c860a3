"""`gitvirt get`: objects as they are on the target branch, in a table, or as the documents themselves.

Before there is a target branch it shows the source and says so on standard error. With `--watch` it prints each
object that differs from what it printed last, until Ctrl-C. It writes nothing. Exit codes: 0 also if nothing is
found, 1 for a name that does not exist, 2 for wrong usage.

Must never happen: the data of a Secret is printed without `--show-secrets`. It is hidden in every format, also in
one that only programs read.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.cli.fleet_changes import add_watch, show_fleet
from reconciler.cli.fleet_repo import FleetRepo, add_repo
from reconciler.cli.objects import columns, nouns
from reconciler.cli.objects.selectors import add_selectors, read_current, select_items
from reconciler.cli.output import quote_controls, show_table, show_value
from reconciler.cli.terminal import Terminal, err, out, printable
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from schemas.edit import render
from schemas.kinds import Key, Kind

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
    add_watch(parser, "print every change")
    parser.add_argument("--show-secrets", action="store_true", help="print the data of Secrets as it is")
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the objects, and with `--watch` those that differ after each change.

    What is compared is the whole document, not the printed row, so a change that no column shows prints its row
    again. Objects that went away are not printed; `gitvirt events --watch` shows their commits.
    """
    printed: dict[tuple[Key, bool], Mapping[str, Any]] = {}

    def show_changed(fleet: FleetRepo, is_first: bool) -> None:
        if is_first:
            now = read_current(fleet, arguments.kind)
        else:
            now = read_inventory(fleet.repo, fleet.snapshot.target, arguments.kind)
        bodies = {(item.key, item.is_retained): item for item in format_rows(now, arguments)}
        changed = [item for name, item in bodies.items() if printed.get(name) != item.body]
        printed.clear()
        printed.update({name: item.body for name, item in bodies.items()})
        if is_first or changed:
            show(out(), changed, arguments, with_header=is_first)

    return show_fleet(arguments, show_changed)


def format_rows(now: FleetInventory, arguments: argparse.Namespace) -> list[InventoryItem]:
    """In a table a name is also that of retained data beside it; a document is that of the object itself."""
    items = select_items(now, arguments.kind, arguments.names, arguments)
    if arguments.names and arguments.output in ("table", "wide"):
        keys = {item.key for item in items}
        items += [item for item in now.beside if item.key in keys]
    return items


def show(
    terminal: Terminal,
    items: Sequence[InventoryItem],
    arguments: argparse.Namespace,
    *,
    with_header: bool = True,
) -> None:
    """Prints the items in the format of `-o`. JSON is one value: the object if exactly one name was given, else a
    list, also an empty one."""
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
            texts = (quote_controls(render(body).decode(), body) for body in bodies)
            terminal.line(start + "---\n".join(texts).rstrip("\n"))
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
    """The document of an object, as it may be printed: the values of a Secret are replaced, its keys stay.
    `describe` uses it too; no other code prints documents."""
    body = dict(item.body)
    if item.key.kind is not Kind.SECRET or with_secrets:
        return body
    return {
        name: dict.fromkeys(value, HIDDEN)
        if name in ("data", "stringData") and isinstance(value, Mapping)
        else value
        for name, value in body.items()
    }
