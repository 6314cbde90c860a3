"""`gitvirt get`: objects as they are on the target branch, in a table, or as the documents themselves. The newest reports of hosts are laid
over their status, so that progress shows that is not worth a commit.

Before there is a target branch it shows the source and says so on standard error. With `--watch` it prints each
object that differs from what it printed last, until Ctrl-C. It writes nothing. Exit codes: 0 also if nothing is
found, 1 for a name that does not exist, 2 for wrong usage.

Must never happen: the data of a Secret is printed without `--show-secrets`. It is hidden in every format, also in
one that only programs read.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from reconciler.cli.access.expiring_certificates import note_expiring
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_changes import add_watch, show_fleet
from reconciler.cli.fleet_repo import FleetRepo, add_repo
from reconciler.cli.kept_machine import note_replacements
from reconciler.cli.linked_fleet import note_unlinked
from reconciler.cli.objects import columns, nouns
from reconciler.cli.objects.nouns import ObjectWords, TakenKinds
from reconciler.cli.objects.references import parse_kind, parse_named, parse_reference
from reconciler.cli.objects.selectors import (
    FIELDS,
    STATE_FIELDS,
    add_selectors,
    field,
    find_by_key,
    has_selectors,
    read_kinds,
    read_target,
    select_items,
)
from reconciler.cli.objects.unapplied import list_lines
from reconciler.cli.output import quote_controls, show_table, show_value
from reconciler.cli.terminal import Terminal, err, out, printable
from reconciler.query.inventory import FleetInventory, InventoryItem, natural_order
from schemas.edit import render
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind
from schemas.model import Object

EXAMPLES = """examples:
  gitvirt get machines
  gitvirt get machines -A -o wide
  gitvirt get machines -l app=web --field state=Running
  gitvirt get machines -l 'tier in (web,api),!test'
  gitvirt get machines --sort-by pool --no-headers
  gitvirt get machines --sort-by age
  gitvirt get pools,volumes
  gitvirt get all -A
  gitvirt get volume/web-1-root -o yaml
  gitvirt get machines --watch

It shows the target branch (live), with the newest reports of the hosts. Objects that the reconciler has not synced yet are missing;
those that it cannot apply are named below the table, each with file, line and cure."""

FORMATS = ("table", "wide", "json", "yaml", "name")
TABLES = ("table", "wide")
POOLS = frozenset((Kind.MACHINE_POOL, Kind.VOLUME_POOL))
ALL = "all"
EVERY = TakenKinds(tuple(Kind), None)
AGE = "age"
NEVER = datetime.min.replace(tzinfo=UTC)
HIDDEN = "hidden; use --show-secrets"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "objects",
        nargs="+",
        action=ObjectWords,
        taken=EVERY,
        metavar="KIND",
        help="KIND NAME..., KIND/NAME..., KIND,KIND or all; KIND is machines, pools, volumes, ...",
    )
    parser.set_defaults(all=False)
    add_selectors(parser)
    parser.add_argument("-o", "--output", choices=FORMATS, default="table", help="format (default: table)")
    parser.add_argument(
        "--sort-by",
        metavar="FIELD",
        help="by name if not given: state, pool, class, power, age (the newest first), or a path",
    )
    parser.add_argument("--no-headers", action="store_true", help="print tables without their titles")
    add_watch(parser, "print every change")
    parser.add_argument("--show-secrets", action="store_true", help="print the data of Secrets as it is")
    add_repo(parser)


@dataclass(frozen=True, slots=True)
class GetRequest:
    """What a call asks for: objects by name, or all of these kinds that fit the selectors."""

    kinds: tuple[Kind, ...]
    keys: tuple[Key, ...]

    @property
    def only_kind(self) -> Kind | None:
        return self.kinds[0] if len(self.kinds) == 1 else None


def read_request(arguments: argparse.Namespace) -> GetRequest:
    """`m,v` and `all` are kinds; a word with a slash is an object. Names need one kind."""
    words: list[str] = arguments.objects
    if "/" in words[0]:
        keys = tuple(parse_reference(word, EVERY, arguments) for word in words)
        kinds = tuple(dict.fromkeys(key.kind for key in keys))
    else:
        kinds = parse_kinds(words[0])
        if len(words) > 1 and len(kinds) > 1:
            raise CommandError("names need one kind", "write KIND NAME... or KIND/NAME...", Exit.USAGE)
        keys = tuple(parse_named(kinds[0], word, arguments.namespace) for word in words[1:])
    if keys and has_selectors(arguments):
        cure = "leave out the names, or -l and --field"
        raise CommandError("a call either names objects or selects them", cure, Exit.USAGE)
    return GetRequest(kinds, keys)


def parse_kinds(text: str) -> tuple[Kind, ...]:
    """`machines,volumes`, or `all`."""
    if text.lower() == ALL:
        return tuple(Kind)
    return tuple(dict.fromkeys(parse_kind(word) for word in text.split(",")))


def run(arguments: argparse.Namespace) -> int:
    """Prints the objects, and with `--watch` those that differ after each change.

    What is compared is the whole document, not the printed row, so a change that no column shows prints its row
    again. Objects that went away are not printed; `gitvirt events --watch` shows their commits.
    """
    request = read_request(arguments)
    printed: dict[tuple[Key, bool], Object] = {}
    widths: dict[Kind, list[int]] = {}

    def show_changed(fleet: FleetRepo, is_first: bool) -> None:
        now = (read_kinds if is_first else read_target)(fleet, request.kinds)
        bodies = {(item.key, item.is_retained): item for item in choose_items(now, request, arguments)}
        changed = [item for name, item in bodies.items() if printed.get(name) != item.object]
        printed.clear()
        printed.update({name: item.object for name, item in bodies.items()})
        if is_first and arguments.output in TABLES and not POOLS.isdisjoint(request.kinds):
            note_expiring(fleet)
            note_unlinked(fleet)
        if is_first or changed:
            show(out(), changed, request, arguments, widths)
        if is_first and not (request.keys or arguments.label or arguments.field):
            note_unapplied(now, arguments)

    return show_fleet(arguments, show_changed, with_reports=True)


def note_unapplied(inventory: FleetInventory, arguments: argparse.Namespace) -> None:
    """What people declared and no table has, because its file has errors. On standard error, since the target branch does not have it."""
    namespace = arguments.namespace or DEFAULT_NAMESPACE
    hidden = [
        each
        for each in inventory.unapplied
        if each.key is None
        or arguments.all_namespaces
        or not each.key.kind.is_namespaced
        or each.key.namespace == namespace
    ]
    for line in list_lines(hidden):
        err().line(printable(line))


def choose_items(
    now: FleetInventory, request: GetRequest, arguments: argparse.Namespace
) -> list[InventoryItem]:
    """In a table a name is also that of retained data beside it; a document is that of the object itself."""
    if not request.keys:
        items = [item for kind in request.kinds for item in select_items(now, kind, arguments)]
    else:
        items = [find_by_key(now, key) for key in request.keys]
        if arguments.output in ("table", "wide"):
            items += [item for item in now.beside if item.key in request.keys]
    return sort_items(items, arguments.sort_by) if arguments.sort_by else items


def sort_items(items: list[InventoryItem], name: str) -> list[InventoryItem]:
    """By a field, as `--field` names it, or by age; objects without it come last."""
    if name == AGE:
        return sorted(items, key=lambda item: columns.creation_time(item) or NEVER, reverse=True)
    if items and not any(sort_value(item, name) for item in items):
        cure = f"{', '.join((*FIELDS, AGE))}, or a path such as spec.priority"
        raise CommandError(f"nothing to sort has anything at {printable(name)}", cure, Exit.USAGE)
    return sorted(items, key=lambda item: (not (found := sort_value(item, name)), natural_order(found)))


def sort_value(item: InventoryItem, name: str) -> str:
    return columns.state(item) if name in STATE_FIELDS else field(item, name)


def show(
    terminal: Terminal,
    items: Sequence[InventoryItem],
    request: GetRequest,
    arguments: argparse.Namespace,
    widths: dict[Kind, list[int]],
) -> None:
    """Prints the items in the format of `-o`. JSON is one value: the object if exactly one name was given, else a
    list, also an empty one."""
    bodies = (body_of(item, arguments.show_secrets) for item in items)  # a table needs no documents
    match arguments.output:
        case "json" if arguments.watch:
            for body in bodies:
                show_value(terminal, "json", body, is_one_of_many=True)
        case "json":
            show_value(terminal, "json", next(bodies) if len(request.keys) == 1 else list(bodies))
        case "yaml":
            start = "---\n" if arguments.watch else ""
            texts = (quote_controls(render(body).decode(), body) for body in bodies)
            terminal.line(start + "---\n".join(texts).rstrip("\n"))
        case "name":
            for item in items:
                terminal.line(str(item.key))
        case _ if not items and not widths:
            what = "objects" if request.only_kind is None else nouns.plural(request.only_kind)
            err().line(f"no {what} found{hint_of(request, arguments)}")
        case _:
            show_tables(terminal, items, request, arguments, widths)
            note_replacements(items)


def show_tables(
    terminal: Terminal,
    items: Sequence[InventoryItem],
    request: GetRequest,
    arguments: argparse.Namespace,
    widths: dict[Kind, list[int]],
) -> None:
    """One table for each kind, since each has columns of its own. Names of several kinds have their kind with them.
    `widths` are those of what was printed before, as by `--watch`: such a table goes on without a header."""
    is_one = request.only_kind is not None
    kinds = [kind for kind in request.kinds if any(kind is item.key.kind for item in items)]
    for number, kind in enumerate(kinds):
        if number:
            terminal.line()
        named = columns.columns(
            kind,
            with_namespace=kind.is_namespaced and arguments.all_namespaces,
            with_kind=not is_one,
            is_wide=arguments.output == "wide",
        )
        rows = [item for item in items if item.key.kind is kind]
        is_new = kind not in widths or not is_one
        widths[kind] = show_table(
            terminal,
            named,
            rows,
            with_header=is_new and not arguments.no_headers,
            earlier=widths.get(kind, ()),
        )


def hint_of(request: GetRequest, arguments: argparse.Namespace) -> str:
    if arguments.all_namespaces or not any(kind.is_namespaced for kind in request.kinds):
        return ""
    return f" in namespace {printable(arguments.namespace or DEFAULT_NAMESPACE)}; -A looks in all"


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
