"""`gitvirt restart`: a machine is stopped and started once, where it is."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from reconciler.cli.mutate import change
from reconciler.cli.objects import nouns
from schemas import live_layout
from schemas.edit import Annotation
from schemas.kinds import Kind

EXAMPLES = """examples:
  gitvirt restart web-1
  gitvirt restart production/web-1 --branch restart-web-1
  gitvirt wait machine web-1 --for status.restart=TOKEN     TOKEN is what restart printed

It commits the annotation gitvirt.dev/restart with a new token. The host acknowledges it in status.restart."""

RESTART = Annotation(live_layout.RESTART)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="NAME or NAMESPACE/NAME")
    parser.add_argument("-n", "--namespace", metavar="NS", help="default: default")
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    token = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    intent = change.Mutation(
        "restart",
        lambda _: {RESTART: token},
        f"restarts (token {token})",
        "restarting",
        facts=(("token", token),),
    )
    key = nouns.parse_key(Kind.MACHINE, arguments.machine, arguments.namespace)
    return change.apply_change(arguments, key, intent)
