"""`gitvirt pause` and `gitvirt resume`: whether gitvirt may change an object.

Each writes one commit on the source branch that adds or removes the annotation gitvirt.dev/paused. From then on the
host leaves the object as it is, and the reconciler does not delete it. Of a pool that only its host announced,
`pause` creates the file.

Limits: it stops nothing that runs. A call that a host has already begun ends as usual.
"""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change
from reconciler.cli.objects.references import ANY, add_objects
from schemas import live_layout
from schemas.edit import Annotation

EXAMPLES = """examples:
  gitvirt pause web-1                 a machine
  gitvirt pause volume/db-data
  gitvirt pause machines -l 'tier in (db,queue)'
  gitvirt pause pool rack-a1
  gitvirt resume web-1

A paused object keeps running as it is: it is not moved, changed, restarted or deleted. A pool that only its
host announced gets a file for it."""

PAUSED = Annotation(live_layout.PAUSED)
INTENTS = {
    "pause": change.Mutation(
        "pause", lambda _: {PAUSED: "true"}, "is paused", "already paused", may_declare=True
    ),
    "resume": change.Mutation("resume", lambda _: {PAUSED: None}, "is resumed", "not paused"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_objects(parser, ANY)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return change.apply_named(arguments, ANY, INTENTS[arguments.verb], "OBJECT")
