"""`gitvirt start` and `gitvirt stop`: whether machines are on, as a commit of `spec.power` on the source branch.

A stopped machine keeps its place, its disks and its addresses. `restart` is the one that stops and starts at once. A paused machine is refused,
because its host would obey only after it is resumed.
"""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change
from reconciler.cli.mutate.paused import refuse_paused
from reconciler.cli.objects.references import MACHINES, add_objects
from schemas.edit import Changes, Field
from schemas.model import Machine, Object

EXAMPLES = """examples:
  gitvirt stop web-1
  gitvirt stop -l tier=test --branch stop-tests
  gitvirt start web-1 web-2

It commits spec.power to the source branch. A stopped machine keeps its place, disks and addresses."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, MACHINES, "MACHINE")
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    is_start = arguments.verb == "start"
    power = "On" if is_start else "Off"

    def changes(found: Object | None) -> Changes:
        assert isinstance(found, Machine)
        refuse_paused(found, arguments.verb)
        return {} if found.spec.power == power else {Field.POWER: power}

    intent = change.Mutation(
        arguments.verb,
        changes,
        "starts" if is_start else "stops",
        "already on" if is_start else "already off",
        waiting=f"--for state={'Running' if is_start else 'Shutdown'}",
    )
    return change.apply_named(arguments, MACHINES, intent, "MACHINE")
