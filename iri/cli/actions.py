"""Verbs that have actions of their own: `gitvirt iri get`, `gitvirt runtime libvirt`. One module for each action.

A module of an action has EXAMPLES, `add_arguments` and `run`, as a module of a verb has.

The verb's module sets `run = run_action`. The namespace carries the chosen action twice: `action` is its name, for messages that point
to its --help, and `run_action` is its function. So no verb has a table of functions that could miss one.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence


def add_actions(
    parser: argparse.ArgumentParser,
    package: str,
    summaries: Mapping[str, str],
    metavar: str,
    parents: Sequence[argparse.ArgumentParser] = (),
) -> None:
    """Loads the modules of all actions: `--help` shows each with its examples. `parents` have arguments of every action."""
    actions = parser.add_subparsers(dest="action", required=True, metavar=metavar)
    for name, summary in summaries.items():
        module = importlib.import_module(f"{package}.{name}")
        action = actions.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            parents=parents,
        )
        module.add_arguments(action)
        action.set_defaults(run_action=module.run)


def run_action(arguments: argparse.Namespace) -> int:
    """Runs the action that the arguments name."""
    code: int = arguments.run_action(arguments)
    return code
