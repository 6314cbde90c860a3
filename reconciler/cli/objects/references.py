"""The objects that a call names: `KIND NAME...`, `KIND/NAME...`, `KIND/NAMESPACE/NAME`, or a kind and a selector.

# Theory of operation

| the words | mean |
|---|---|
| `machine web-1 web-2` | two machines; the first word is a kind and no other one is |
| `Machine/default/web-1` | an object as our own output names it |
| `machine/web-1`, `pool/rack-a` | one in the namespace of `-n` |
| `web-1`, `lab/web-1` | a machine, where the verb has a kind of its own |
| `machines -l app=web` | all that have the label, as `get` shows them |

`a/b` is kind and name if `a` is a kind, else namespace and name. After a kind of its own word it is always namespace and name.

Must never happen: a call without a name and without a selector means all objects. For that there is `--all`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.objects import nouns
from reconciler.cli.objects.nouns import ObjectWords, TakenKinds
from reconciler.cli.objects.selectors import add_selectors, find_by_key, has_selectors, select_items
from reconciler.cli.terminal import printable
from reconciler.cli.verbs import closest
from reconciler.query.inventory import FleetInventory, InventoryItem
from schemas.kinds import Key, Kind

SHORTEST_TYPO = 4  # shorter words are near some alias by chance
ANY = TakenKinds(tuple(Kind), Kind.MACHINE)
MACHINES = TakenKinds((Kind.MACHINE,), Kind.MACHINE)
POOLS = TakenKinds((Kind.MACHINE_POOL, Kind.VOLUME_POOL), Kind.MACHINE_POOL)
SCHEDULED = TakenKinds((Kind.MACHINE, Kind.VOLUME), Kind.MACHINE)


def add_objects(
    parser: argparse.ArgumentParser, taken: TakenKinds, metavar: str = "OBJECT", *, may_take_all: bool = True
) -> None:
    """The arguments that name objects, one or several, and those that select them."""
    forms = "NAME, KIND NAME or KIND/NAME" if len(taken.kinds) > 1 else "NAME or NAMESPACE/NAME"
    parser.add_argument(
        "objects",
        nargs="*",
        default=[],
        action=ObjectWords,
        taken=taken,
        metavar=metavar,
        help=f"{forms}, one or several; KIND is {taken.plain} (a name alone: {taken.default})"
        if 1 < len(taken.kinds) < len(Kind)
        else f"{forms}, one or several",
    )
    add_selectors(parser)
    parser.set_defaults(all=False)
    if may_take_all:
        parser.add_argument("--all", action="store_true", help="all of the kind in the namespace")


@dataclass(frozen=True, slots=True)
class NamedObjects:
    """What a call names: `keys`, or all of `kind` that fit the selectors."""

    kind: Kind
    keys: tuple[Key, ...]


def read_reference(arguments: argparse.Namespace, taken: TakenKinds, metavar: str = "OBJECT") -> NamedObjects:
    """What the words of a call mean; a CommandError if they name nothing, or something that the verb does not take."""
    words: list[str] = arguments.objects
    selects = has_selectors(arguments)
    kind = leading_kind(words, taken, selects=selects)
    names = words if kind is None else words[1:]
    if names and selects:
        cure = "leave out the names, or -l, --field and --all"
        raise CommandError("a call either names objects or selects them", cure, Exit.USAGE)
    if not names and not selects:
        which = metavar if kind is None else f"the name of a {kind}"
        cure = f"`gitvirt {arguments.verb} --help` lists its arguments"
        raise CommandError(f"the following arguments are required: {which}", cure, Exit.USAGE)
    if kind is not None:
        refuse_other(kind, taken, arguments.verb)
        return NamedObjects(kind, tuple(parse_named(kind, name, arguments.namespace) for name in names))
    keys = tuple(parse_reference(name, taken, arguments) for name in words)
    return NamedObjects(taken.default or taken.kinds[0], keys)


def leading_kind(words: Sequence[str], taken: TakenKinds, *, selects: bool) -> Kind | None:
    """The kind that the first word is, where names or selectors follow; one word alone is the name of an object. A word that is
    nearly a kind is refused where it would be the first of several names."""
    if not words or "/" in words[0] or (len(words) == 1 and not selects):
        return None
    first = words[0].lower()
    is_typo = (
        len(taken.kinds) > 1
        and first.isalpha()
        and len(first) >= SHORTEST_TYPO
        and closest(first, nouns.ALIASES)
    )
    return parse_kind(first) if first in nouns.ALIASES or is_typo else None


def parse_kind(text: str) -> Kind:
    """The kind of that name, or a CommandError with what was probably meant."""
    try:
        return nouns.parse_kind(text)
    except argparse.ArgumentTypeError as error:
        cause, _, cure = str(error).partition("; ")
        raise CommandError(cause, cure, Exit.USAGE) from None


def parse_reference(text: str, taken: TakenKinds, arguments: argparse.Namespace) -> Key:
    """One word that names an object: with its kind, or of the kind that the verb is about."""
    first, slash, rest = text.partition("/")
    kind = nouns.ALIASES.get(first.lower()) if slash else None
    if kind is None and text.count("/") > 1 and first.isalpha():
        kind = parse_kind(first)
    if kind is None and taken.default is None:
        cause = f"{printable(repr(text))} does not say its kind"
        raise CommandError(cause, "write KIND NAME or KIND/NAME", Exit.USAGE)
    if kind is None:
        assert taken.default is not None
        return nouns.parse_key(taken.default, text, arguments.namespace)
    refuse_other(kind, taken, arguments.verb)
    return nouns.parse_key(kind, rest, arguments.namespace)


def parse_named(kind: Kind, text: str, namespace: str | None) -> Key:
    """A name after its kind. The kind may be there once more, because `-o name` prints it."""
    first, _, rest = text.partition("/")
    is_repeated = nouns.ALIASES.get(first.lower()) is kind and ("/" in rest or not kind.is_namespaced)
    return nouns.parse_key(kind, rest if is_repeated and rest else text, namespace)


def refuse_other(kind: Kind, taken: TakenKinds, verb: str) -> None:
    if kind not in taken.kinds:
        cause = f"gitvirt {verb} takes {taken.plain}, not a {kind}"
        raise CommandError(cause, f"`gitvirt {verb} --help` shows what it takes", Exit.USAGE)


def select_keys(
    reference: NamedObjects, arguments: argparse.Namespace, read: Callable[[], FleetInventory]
) -> tuple[Key, ...]:
    """The keys that a call names, or those of all objects that it selects; `read` is called only for these."""
    if reference.keys:
        return tuple(dict.fromkeys(reference.keys))
    found = tuple(item.key for item in select(read(), reference.kind, arguments))
    if not found:
        cause = f"no {nouns.plural(reference.kind)} are selected"
        raise CommandError(cause, nouns.list_command(reference.kind))
    return tuple(dict.fromkeys(found))


def select(inventory: FleetInventory, kind: Kind, arguments: argparse.Namespace) -> list[InventoryItem]:
    """All of the kind that have the namespace, the labels and the fields that the arguments ask for."""
    return [item for item in select_items(inventory, kind, arguments) if not item.is_retained]


def find_objects(
    reference: NamedObjects, arguments: argparse.Namespace, read: Callable[[Kind], FleetInventory]
) -> list[InventoryItem]:
    """The objects that a call names or selects, each of which is there. Each kind is read once."""
    kinds = {key.kind for key in reference.keys} or {reference.kind}
    inventories = {kind: read(kind) for kind in sorted(kinds)}
    keys = select_keys(reference, arguments, lambda: inventories[reference.kind])
    return [find_by_key(inventories[key.kind], key) for key in keys]
