"""`gitvirt wait`: until an object is as a script needs it, or time is over."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.interrupt import Interrupt
from reconciler.cli.iri.nouns import duration
from reconciler.cli.location import Fleet, add_repo, located, opened
from reconciler.cli.objects import columns, nouns
from reconciler.cli.objects.choosing import field, pair
from reconciler.cli.terminal import out, printable
from reconciler.cli.watching import moves
from reconciler.inventory import Item, inventory

EXAMPLES = """examples:
  gitvirt wait machine web-1 --for state=Running --timeout 60s
  gitvirt wait machine web-1 --for condition=Ready
  gitvirt wait machine web-1 --for deleted
  gitvirt wait volume data --for spec.claimRef.name=web-1

It exits 0 once it is so, 6 when time is over."""

DELETED = "deleted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", type=nouns.kind, metavar="KIND", help="machine, volume, pool, ...")
    parser.add_argument("name", metavar="NAME", help="NAME or NAMESPACE/NAME")
    parser.add_argument("-n", "--namespace", metavar="NS", help="default: default")
    parser.add_argument(
        "--for",
        dest="wanted",
        type=wish,
        default=("state", "Running"),
        metavar="FIELD=VALUE",
        help="state=Running, condition=Ready, a path=value, or deleted (default: state=Running)",
    )
    parser.add_argument("--timeout", type=duration, default=300, metavar="TIME", help="default: 5m")
    add_repo(parser)


def wish(text: str) -> tuple[str, str]:
    return (DELETED, "") if text == DELETED else pair(text)


def run(arguments: argparse.Namespace) -> int:
    location = located(arguments.repo, os.environ, Path.cwd())
    wanted = nouns.key(arguments.kind, arguments.name, arguments.namespace)
    start = time.monotonic()
    found: Item | None = None
    with opened(location, with_reports=False) as fleet:
        interrupt = Interrupt()
        for now in looks(fleet, interrupt, arguments.timeout):
            found = inventory(now.repo, now.snapshot.target).items.get(wanted)
            if is_so(found, arguments.wanted):
                out().line(f"{wanted}: {described(arguments.wanted)} after {time.monotonic() - start:.1f} s")
                return Exit.OK
        interrupt.obey()
    raise CommandError(
        f"{wanted} is not {described(arguments.wanted)} after {arguments.timeout} s: {told(found)}",
        f"`gitvirt describe {wanted.kind.value.lower()} {arguments.name}` tells more",
        Exit.TIMED_OUT,
    )


def looks(fleet: Fleet, interrupt: Interrupt, seconds: float) -> Iterator[Fleet]:
    yield fleet
    yield from moves(fleet, interrupt, seconds)


def is_so(item: Item | None, wanted: tuple[str, str]) -> bool:
    name, value = wanted
    if name == DELETED:
        return item is None
    if item is None:
        return False
    if name == "condition":
        return any(each.type == value and each.status == "True" for each in columns.conditions(item))
    return field(item, name) == value


def described(wanted: tuple[str, str]) -> str:
    name, value = wanted
    if name == DELETED:
        return DELETED
    return value if name in ("state", "condition") else f"{name}={value}"


def told(item: Item | None) -> str:
    if item is None:
        return "it is not on the target branch"
    why = columns.message(item) or columns.reason(item)
    return f"it is {columns.state(item)}" + (f" ({printable(why)})" if why else "")
