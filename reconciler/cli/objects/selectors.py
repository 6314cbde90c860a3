"""Which objects are meant: by kind, namespace, name, label and field.

Namespaces, labels and fields narrow a list; a name that does not exist is an error with the nearest one, never an
empty list. `read_current` decides which branch a verb looks at: the target branch, and before there is one the
source, with a note. A field is a path of the document, or one of the words in FIELDS; `wait --for` and `get
--field` understand the same.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import msgspec

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import FleetRepo, check_settings
from reconciler.cli.objects import columns
from reconciler.cli.objects.labels import parse_labels, select_all
from reconciler.cli.objects.nouns import list_command, parse_key
from reconciler.cli.objects.unapplied import describe_cure, describe_unapplied, find_unapplied
from reconciler.cli.terminal import err, printable
from reconciler.cli.verbs import closest
from reconciler.gitstore.store import Store
from reconciler.query.cached_inventory import read_cached_inventory
from reconciler.query.disk_cache import DiskCache
from reconciler.query.inventory import FleetInventory, InventoryItem, read_inventory
from reconciler.query.newest_reports import read_newest_reports
from reconciler.query.overlay import with_reports
from reconciler.query.unapplied import UnappliedObject, list_unapplied
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind
from schemas.model import TYPES

# Words that say what they mean without the path.
FIELDS = {
    "state": ("status", "state"),
    "power": ("spec", "power"),
    "class": ("spec", "machineClassRef", "name"),
    "pool": ("spec", "machinePoolRef", "name"),
}
STATE_FIELDS = ("state", "status.state")
VOLUME_FIELDS = {"class": ("spec", "volumeClassRef", "name"), "pool": ("spec", "volumePoolRef", "name")}


def add_selectors(parser: argparse.ArgumentParser) -> None:
    """The options by which verbs that list objects choose among them; all of them must apply."""
    parser.add_argument("-n", "--namespace", metavar="NS", help=f"default: {DEFAULT_NAMESPACE}")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="in every namespace")
    parser.add_argument(
        "-l",
        "--label",
        action="extend",
        type=parse_labels,
        default=[],
        metavar="SELECTOR",
        help="only with these labels: app=web, tier!=db, 'tier in (a,b)', gpu, '!gpu'; commas mean AND",
    )
    parser.add_argument(
        "--field",
        action="append",
        type=parse_pair,
        default=[],
        metavar="FIELD=VALUE",
        help="only with this value: state, pool, class, power, or a path such as spec.priority",
    )


def parse_pair(text: str) -> tuple[str, str]:
    """The type of an argument NAME=VALUE. The value may be empty: then the field is absent or empty."""
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def select_items(inventory: FleetInventory, kind: Kind, arguments: argparse.Namespace) -> list[InventoryItem]:
    """All of a kind that fit, in order."""
    items = inventory.of(kind)
    for name, _ in arguments.field:
        if items and not any(field(item, name) for item in items):
            words = ", ".join(FIELDS)
            cure = f"{words}, or a path such as spec.priority"
            raise CommandError(f"no {kind} has anything at {printable(name)}", cure, Exit.USAGE)
    return [item for item in items if is_selected(item, arguments)]


def is_selected(item: InventoryItem, arguments: argparse.Namespace) -> bool:
    """Whether an object has the namespace, all labels and all field values that the arguments ask for."""
    namespace = arguments.namespace or DEFAULT_NAMESPACE
    if item.key.kind.is_namespaced and not arguments.all_namespaces and item.key.namespace != namespace:
        return False
    return select_all(arguments.label, item.object.metadata.labels) and all(
        has_value(item, name, value) for name, value in arguments.field
    )


def has_selectors(arguments: argparse.Namespace) -> bool:
    """Whether a call chooses objects by what they are, and not by name."""
    return bool(arguments.label or arguments.field or arguments.all)


def has_value(item: InventoryItem, name: str, value: str) -> bool:
    """Whether a field is as `NAME=VALUE` says. The state is what the STATE column shows, or a word of it: on the target branch
    an object keeps the last state that its host reported, also when that is not known to be so any more."""
    if value and name in STATE_FIELDS and states(item.key.kind):
        shown = columns.shown_state(item)
        return value in (shown.word, str(shown)) or (value == columns.PAUSED and value in shown.details)
    return field(item, name) == value


def field(item: InventoryItem, name: str) -> str:
    """What an object has at a path of its document, written there or meant by default, as text; else nothing."""
    words = {**FIELDS, **(VOLUME_FIELDS if item.key.kind is Kind.VOLUME else {})}
    written: Any = item.body
    meant: Any = item.object
    for part in words.get(name, tuple(name.split("."))):
        written = written.get(part) if isinstance(written, Mapping) else None
        meant = meant.get(part) if isinstance(meant, Mapping) else getattr(meant, snake(part), None)
    return format_value(meant if written is None else written)


def has_field(kind: Kind, name: str) -> bool:
    """Whether an object of this kind can have anything at this path, judged by the first name of the path."""
    first = name.partition(".")[0]
    return name in FIELDS or first in ("apiVersion", "kind") or type_of(TYPES[kind], snake(first)) is not None


def states(kind: Kind) -> tuple[str, ...]:
    """All that the STATE column of such an object can show; none where the kind has no state."""
    status = type_of(TYPES[kind], "status")
    known = tuple(filter(None, get_args(type_of(status, "state"))))
    if not known:
        return ()
    own = {Kind.VOLUME: (columns.RETAINED,), Kind.MACHINE: (columns.DELETED,)}
    held = str(columns.ShownState(columns.DELETING, (columns.HELD,)))
    return (*known, columns.UNKNOWN, columns.PAUSED, columns.DELETING, held, *own.get(kind, ()))


def type_of(part: Any, name: str) -> Any:
    """The type of a field of one of the model's structs; None where there is no such field."""
    is_part = isinstance(part, type) and issubclass(part, msgspec.Struct)
    fields = msgspec.structs.fields(part) if is_part else ()
    return next((each.type for each in fields if each.name == name), None)


def format_value(found: Any) -> str:
    """A list is its entries, or their names, with commas."""
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, list | tuple):
        return ",".join(
            format_value(each.get("name", "") if isinstance(each, Mapping) else each) for each in found
        )
    return "" if found is None else str(found)


def snake(camel: str) -> str:
    """`machinePoolRef` of a document as the model's `machine_pool_ref`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", camel).lower()


def read_current(fleet: FleetRepo, kind: Kind | None = None) -> FleetInventory:
    """The target; before there is one, the source, and that is said. With a kind, no more than that is asked of it."""
    return read_kinds(fleet, tuple(Kind) if kind is None else (kind,))


def read_kinds(fleet: FleetRepo, kinds: Sequence[Kind]) -> FleetInventory:
    """The same of several kinds."""
    check_settings(fleet)
    snapshot = fleet.snapshot
    if snapshot.target is None:
        name = (fleet.refs.target or "").removeprefix("refs/heads/")
        err().line(
            f"there is no branch {printable(name)} yet; showing the source. Start `gitvirt run` to reconcile it"
        )
        found = read_inventory(fleet.repo, snapshot.source)
    else:
        found = add_unapplied(fleet, read_target(fleet, kinds), kinds)
    if found.broken:
        err().line(f"{len(found.broken)} files cannot be read: `gitvirt validate` says why")
    return found


def add_unapplied(fleet: FleetRepo, live: FleetInventory, kinds: Sequence[Kind]) -> FleetInventory:
    """The target branch with what people declared and the reconciler could not apply."""
    frozen = {item.path for item in live.items.values() if columns.is_frozen(item)}
    found = list_unapplied(fleet.repo, fleet.snapshot, live.items, frozen, frozenset(kinds))
    return replace(live, unapplied=tuple(found))


def read_target(fleet: FleetRepo, kinds: Sequence[Kind]) -> FleetInventory:
    """The target branch, without a word. Where the verb fetched reports, objects are as their hosts report them now."""
    snapshot, settings = fleet.snapshot, fleet.settings
    cache = DiskCache(fleet.repo.folder if isinstance(fleet.repo, Store) else None)
    # gRPC, with which some verbs ask hosts, has threads, and a process with threads is not to be forked.
    processes = 1 if "grpc" in sys.modules else len(os.sched_getaffinity(0))
    found = read_cached_inventory(fleet.repo, snapshot.target, kinds, cache, processes)
    if snapshot.target is None or settings is None:
        return found
    now = datetime.now(UTC)
    for kind in kinds:
        if reports := read_newest_reports(fleet.repo, snapshot, kind, cache):
            found = with_reports(found, kind, reports, settings, now)
    return found


def find_item(inventory: FleetInventory, kind: Kind, written: str, namespace: str | None) -> InventoryItem:
    """The object of that name, or a CommandError that names one that comes near."""
    return find_by_key(inventory, parse_key(kind, written, namespace))


def find_by_key(inventory: FleetInventory, key: Key) -> InventoryItem:
    """The object of this key, or a CommandError: with the errors of its file where that declares it, else with the nearest name or the command
    that lists all."""
    if found := inventory.items.get(key):
        return found
    if refused := find_unapplied(inventory, key):
        raise refuse_unapplied(refused)
    cause = f"there is no {key.kind} {printable(key.name)}"
    if key.namespace:
        cause += f" in namespace {printable(key.namespace)}"
    raise CommandError(cause, suggest_item(inventory, key.kind, key.name))


def refuse_unapplied(refused: UnappliedObject) -> CommandError:
    """What a verb says about an object whose file has errors."""
    cause, cure = describe_unapplied(refused), describe_cure(refused)
    return CommandError(printable(cause), printable(cure), Exit.PROBLEMS)


def suggest_item(inventory: FleetInventory, kind: Kind, name: str) -> str:
    """A cure for a name that does not exist. The same name in another namespace is the most frequent mistake, so it
    comes first."""
    other = next((item for item in inventory.of(kind) if item.key.name == name), None)
    if other is not None:
        return f"it exists in namespace {other.key.namespace}: use -n {other.key.namespace}"
    near = closest(name, sorted({item.key.name for item in inventory.of(kind)}))
    return f"did you mean {near}?" if near else list_command(kind)
