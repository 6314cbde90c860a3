"""The kinds on the command line of `gitvirt iri`, under all the names that people type, irictl's among them.

A noun is accepted in any letter case, under its own name, under irictl's short name, and in the plural where there can be several.
Output and help always show the first of these. Each action names the nouns that it takes; the error for another one suggests the
closest of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from iri.client import MACHINE, VOLUME, Endpoint
from iri.machine import RuntimeMachine
from iri.volume import RuntimeSnapshot, RuntimeVolume
from reconciler.cli.verbs import closest


class Noun(StrEnum):
    """The values are those that output and help show."""

    MACHINE = "machine"
    VOLUME = "volume"
    SNAPSHOT = "volumesnapshot"
    INTERFACE = "networkinterface"
    POWER = "power"
    STATUS = "status"
    EVENTS = "events"
    VERSION = "version"


# irictl's short names. Those of things that there are several of have a plural.
SHORT_NAMES = {
    "mach": Noun.MACHINE,
    "vol": Noun.VOLUME,
    "snap": Noun.SNAPSHOT,
    "snapshot": Noun.SNAPSHOT,
    "nic": Noun.INTERFACE,
}
COUNTABLE = SHORT_NAMES | {
    noun.value: noun for noun in (Noun.MACHINE, Noun.VOLUME, Noun.SNAPSHOT, Noun.INTERFACE)
}
ALIASES: Mapping[str, Noun] = {
    **{noun.value: noun for noun in Noun},
    **COUNTABLE,
    **{f"{name}s": noun for name, noun in COUNTABLE.items()},
    "event": Noun.EVENTS,
}


# The kinds of objects, and where a runtime for each is looked for.
KINDS: Mapping[Noun, tuple[type[Any], Endpoint]] = {
    Noun.MACHINE: (RuntimeMachine, MACHINE),
    Noun.VOLUME: (RuntimeVolume, VOLUME),
    Noun.SNAPSHOT: (RuntimeSnapshot, VOLUME),
}


def add_noun(parser: argparse.ArgumentParser, *known: Noun, metavar: str = "KIND") -> None:
    """The first argument after the action: one of these nouns, under any of its names."""
    parser.add_argument("noun", type=noun_type(*known), metavar=metavar, help=", ".join(known))


def noun_type(*known: Noun) -> Callable[[str], Noun]:
    """The type of an argument that accepts these nouns."""

    def parse(text: str) -> Noun:
        """The noun for an alias; an error suggests the closest one."""
        noun = ALIASES.get(text.lower())
        if noun in known:
            return noun
        near = closest(text, [alias for alias, meant in ALIASES.items() if meant in known])
        hint = f"did you mean {near}?" if near else f"there are: {', '.join(known)}"
        raise argparse.ArgumentTypeError(f"{text!r} cannot be used here; {hint}")

    return parse


def parse_label(text: str) -> tuple[str, str]:
    """`key=value`, as -l takes it."""
    key, separator, value = text.partition("=")
    if not key or not separator:
        raise argparse.ArgumentTypeError(f"invalid label {text!r}; write KEY=VALUE")
    return key, value
