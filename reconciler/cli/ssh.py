"""`gitvirt ssh`: logs in to a machine by the address that its host reports, with the `ssh` of this computer.

The verb becomes `ssh`, so its exit code is that of `ssh`. `--print` only prints the command. `--jump` goes through the host of the machine, for
networks that reach no further.

Must never happen: a value of the repo becomes an option of `ssh`. The address is parsed as one, and `--` ends the options.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import add_repo, named_fleet
from reconciler.cli.inventory import find_reachable
from reconciler.cli.kept_machine import refuse_kept
from reconciler.cli.objects.nouns import TakenKinds
from reconciler.cli.objects.references import parse_reference
from reconciler.cli.objects.selectors import find_by_key, read_current
from reconciler.cli.terminal import out, printable
from reconciler.query.inventory import FleetInventory, InventoryItem
from reconciler.query.pool_usage import pool_of
from schemas.kinds import Kind
from schemas.model import MachinePool

EXAMPLES = """examples:
  gitvirt ssh web-1
  gitvirt ssh web-1 --user debian --jump
  gitvirt ssh web-1 --print
  gitvirt ssh web-1 -- uptime

The address is the first that the host reports: `gitvirt get machine web-1`. A machine without a network: `gitvirt console`."""

MACHINE = TakenKinds((Kind.MACHINE,), Kind.MACHINE)
# A host reports its own addresses, and this becomes an argument of a program: no option, and no character that a shell interprets.
HOST = re.compile(r"[0-9A-Za-z:][0-9A-Za-z:.%_-]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="NAME, NAMESPACE/NAME or machine/NAME")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="what to run there, after --")
    parser.add_argument("-n", "--namespace", metavar="NS", help="default: default")
    parser.add_argument("--user", metavar="NAME", help="login name on the machine")
    parser.add_argument("--jump", action="store_true", help="through the host that the machine runs on")
    parser.add_argument("--print", action="store_true", help="print the command and do not run it")
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    with named_fleet(arguments.repo) as fleet:
        inventory = read_current(fleet)
        item = find_by_key(inventory, parse_reference(arguments.machine, MACHINE, arguments))
        refuse_kept(fleet, item.key, inventory)
    command = build_command(inventory, item, arguments)
    if arguments.print:
        out().line(shlex.join(command))
        return Exit.OK
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise CommandError(f"cannot run ssh: {error.strerror}", "install an OpenSSH client") from None


def build_command(inventory: FleetInventory, item: InventoryItem, arguments: argparse.Namespace) -> list[str]:
    reachable = find_reachable(item)
    if reachable is None:
        name = printable(str(item.key))
        cure = f"`gitvirt describe {name}` shows its state; `gitvirt console {name}` needs no address"
        raise CommandError(f"no host reports an address of {name}", cure)
    jump = ["-J", host_of(inventory, item)] if arguments.jump else []
    user = ["-l", arguments.user] if arguments.user else []
    return ["ssh", *jump, *user, "--", reachable.address, *arguments.command]


def host_of(inventory: FleetInventory, item: InventoryItem) -> str:
    """The address of the host, by the pool that it serves; else the name of the pool."""
    pool = inventory.get(Kind.MACHINE_POOL, "", pool_of(item))
    known = pool.object.status.addresses if pool and isinstance(pool.object, MachinePool) else ()
    return next((each.address for each in known if HOST.fullmatch(each.address)), pool_of(item))
