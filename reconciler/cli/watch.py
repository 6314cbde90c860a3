"""Verbs whose whole output is one look at the fleet: shown once, or with --watch after each change of the target branch."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from reconciler.cli.exits import Exit
from reconciler.cli.fleet_changes import follow_fleet
from reconciler.cli.fleet_repo import FleetRepo, named_fleet
from reconciler.cli.get import read_current
from reconciler.cli.interrupt import once_or_watching
from reconciler.cli.output import is_value
from reconciler.cli.terminal import out
from reconciler.gitstore.waker import Waker
from reconciler.query.inventory import FleetInventory

Show = Callable[[FleetInventory], None]


def run(arguments: argparse.Namespace, show: Show) -> int:
    return once_or_watching(arguments.watch, lambda waker: look(arguments, show, waker))


def look(arguments: argparse.Namespace, show: Show, waker: Waker | None) -> int:
    with named_fleet(arguments.repo) as fleet:
        show(read_current(fleet))
        if waker is not None:
            watch(fleet, arguments, show, waker)
    return Exit.OK


def watch(fleet: FleetRepo, arguments: argparse.Namespace, show: Show, waker: Waker) -> None:
    shown = fleet.snapshot.target
    out().stream.flush()
    for now in follow_fleet(fleet, waker):
        if now.snapshot.target == shown:
            continue
        shown = now.snapshot.target
        if not is_value(arguments.output):
            out().clear()
        show(read_current(now))
        out().stream.flush()
