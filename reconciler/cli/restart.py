"""`gitvirt restart`: machines are stopped and started once, each on the host where it is.

Writes one commit on the source branch that sets the annotation gitvirt.dev/restart to a new token, the time in UTC.
The host restarts the machine when the token differs from the one in `status.restart`, and writes it there; so one
commit restarts once, however often it is read. A paused machine is refused, and all with it (exit code 1): its host would restart it
only after it is resumed, which may be days later and unexpected.

Limits: it does not wait for the restart; it prints the command that does.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from reconciler.cli.mutate import change
from reconciler.cli.mutate.paused import refuse_paused
from reconciler.cli.objects.references import MACHINES, add_objects
from schemas import live_layout
from schemas.edit import Annotation, Changes
from schemas.model import Object

EXAMPLES = """examples:
  gitvirt restart web-1
  gitvirt restart production/web-1 --branch restart-web-1
  gitvirt restart -l app=web,tier!=db
  gitvirt wait machine web-1 --for status.restart=TOKEN     TOKEN is what restart printed

It commits the annotation gitvirt.dev/restart with a new token. The host acknowledges it in status.restart."""

RESTART = Annotation(live_layout.RESTART)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, MACHINES, "MACHINE")
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    token = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def changes(found: Object | None) -> Changes:
        refuse_paused(found, "restart")
        return {RESTART: token}

    intent = change.Mutation(
        "restart",
        changes,
        f"restarts (token {token})",
        "restarting",
        facts=(("token", token),),
        waiting=f"--for status.restart={token}",
    )
    return change.apply_named(arguments, MACHINES, intent, "MACHINE")
