"""Kinds under all the names that people type, and a pair of kind and name.

Every verb that takes a kind or a name takes it from here, so that `vm`, `machines` and `Machine`, and
`namespace/name`, are understood everywhere. Pure: whether an object of that name exists is for `selectors`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import printable
from reconciler.cli.verbs import closest
from schemas.kinds import DEFAULT_NAMESPACE, Key, Kind

_SHORT = {
    Kind.MACHINE: ("m", "vm", "vms"),
    Kind.MACHINE_CLASS: ("mc", "class", "classes"),
    Kind.MACHINE_POOL: ("mp", "pool", "pools"),
    Kind.VOLUME: ("v", "vol", "vols"),
    Kind.VOLUME_CLASS: ("vc",),
    Kind.VOLUME_POOL: ("vp",),
    Kind.VOLUME_SNAPSHOT: ("vs", "snapshot", "snapshots"),
    Kind.NETWORK: ("net", "nets"),
    Kind.NETWORK_INTERFACE: ("nic", "nics", "interface", "interfaces"),
    Kind.SECRET: (),
    Kind.RESOURCE_QUOTA: ("quota", "quotas"),
}


def plural(kind: Kind) -> str:
    """The name of the kind in commands that list it: machines, machineclasses."""
    word = kind.value.lower()
    return f"{word}es" if word.endswith("s") else f"{word}s"


ALIASES: Mapping[str, Kind] = {
    word: kind for kind in Kind for word in (kind.value.lower(), plural(kind), *_SHORT[kind])
}


def parse_kind(text: str) -> Kind:
    """The type of an argument that names a kind."""
    if found := ALIASES.get(text.lower()):
        return found
    near = closest(text.lower(), ALIASES)
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(map(plural, Kind))}"
    raise argparse.ArgumentTypeError(f"unknown kind {text!r}; {hint}")


@dataclass(frozen=True, slots=True)
class TakenKinds:
    """The kinds that a verb takes, and which one a name alone is of. Without a default, the kind has to be said."""

    kinds: tuple[Kind, ...]
    default: Kind | None

    @property
    def plain(self) -> str:
        """For messages: machines, or volumes."""
        return ", ".join(map(plural, self.kinds))


class ObjectWords(argparse._StoreAction):
    """The argument that names objects. Completion and the parser recognize it by its class."""

    def __init__(self, *, taken: TakenKinds, **others: Any) -> None:
        super().__init__(**others)
        self.taken = taken


def parse_key(kind: Kind, written: str, namespace: str | None) -> Key:
    """`name`, or `namespace/name` where the kind has namespaces; a CommandError for what can be neither."""
    before, slash, name = written.rpartition("/")
    if slash and not kind.is_namespaced:
        cause = f"{printable(repr(written))} is not a name: a {kind} has no namespace"
        raise CommandError(cause, f"write NAME; {list_command(kind)}", Exit.USAGE)
    if not name or (slash and not before) or "/" in before:
        cure = "write NAME or NAMESPACE/NAME" if kind.is_namespaced else "write NAME"
        raise CommandError(
            f"{printable(repr(written))} is not a name", f"{cure}; {list_command(kind)}", Exit.USAGE
        )
    return Key(kind, (before or namespace or DEFAULT_NAMESPACE) if kind.is_namespaced else "", name)


def list_command(kind: Kind) -> str:
    """The cure of a name that does not exist: the command that lists the objects of that kind."""
    return f"`gitvirt get {plural(kind)}{' -A' if kind.is_namespaced else ''}` lists them"
