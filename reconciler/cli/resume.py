"""`gitvirt resume`: the end of a pause."""

from __future__ import annotations

import argparse

from reconciler.cli.mutate import change
from reconciler.cli.pause import PAUSED

EXAMPLES = """examples:
  gitvirt resume web-1
  gitvirt resume volume db-data"""

INTENT = change.Intent("resume", lambda _: {PAUSED: None}, "is resumed", "not paused")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    change.add_object(parser)
    change.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    return change.apply_change(arguments, change.object_key(arguments), INTENT)
