"""`gitvirt iri`: calls a runtime directly, as irictl does.

One module per action (get, create, ...). An action passes through these modules in this order:

    nouns          the words of a command line -> kinds, labels
    spec_files     a YAML or JSON file -> values; messages: values -> messages of the interface, strictly
    connection     the runtime's socket, and its errors as one line of cause and one of cure
    selection      objects with their details, oldest first
    output         a table, ids, YAML or JSON, with secrets hidden

It shows what the runtime has, without the fleet's repository: to debug a host, and to work with providers of IronCore.
"""

from __future__ import annotations

import argparse

from iri.cli.actions import add_actions, run_action

EXAMPLES = """examples:
  gitvirt iri get machine
  gitvirt iri create machine -f machine.yaml
  gitvirt iri update power --machine-id ID --power off
  gitvirt iri exec ID
  gitvirt iri --address /tmp/host-1.sock get status

The runtime is found at --address, else at IRI_MACHINE_RUNTIME_ENDPOINT or IRI_VOLUME_RUNTIME_ENDPOINT, else at the
first that exists of /var/run/iri-machinebroker.sock and /var/run/iri-machineprovider.sock (volume... alike)."""

ACTIONS = {
    "get": "show machines, volumes, volumesnapshots, status, events or version",
    "create": "create a machine, volume or volumesnapshot from a file",
    "delete": "delete machines, volumes or volumesnapshots",
    "attach": "attach a volume or networkinterface to a machine",
    "detach": "detach volumes or networkinterfaces from a machine",
    "update": "change the power or a volume of a machine",
    "expand": "give a volume a larger size",
    "exec": "attach this terminal to a machine's console",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_address(parser, default=None)
    after_action = argparse.ArgumentParser(add_help=False)
    add_address(after_action, default=argparse.SUPPRESS)  # it is accepted before the action and after it
    add_actions(parser, __name__, ACTIONS, "ACTION", [after_action])


def add_address(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--address", default=default, metavar="ADDR", help="the runtime: /path/to/socket or 127.0.0.1:PORT"
    )


run = run_action
