"""`gitvirt ssh`: logs in to a machine by the address that its host reports, with the `ssh` of this computer.

The verb becomes `ssh`, so its exit code is that of `ssh`. `--print` only prints the command. For networks that do not reach the machine, `--jump` goes
through its host with ssh, and `--over-link` through the link: there `gitvirt forward --stdio` is ssh's ProxyCommand.

Must never happen: a value of the repo becomes an option of `ssh`, or is taken by the shell that runs a ProxyCommand. An address is parsed as one, a
name has letters, digits and dashes, words of the command are quoted, and `--` ends the options.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys

from reconciler.cli.api_client import add_client, is_named, require_client
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
from schemas.kinds import Key, Kind
from schemas.model import MachinePool

EXAMPLES = """examples:
  gitvirt ssh web-1
  gitvirt ssh web-1 --user debian --jump
  gitvirt ssh web-1 --over-link --client ann     from anywhere, through the link
  gitvirt ssh web-1 --print
  gitvirt ssh web-1 -- uptime

The address is the first that the host reports: `gitvirt get machine web-1`. A machine without a network: `gitvirt console`.
--over-link needs a client of the API with the right forward, and a machine on a network that its host is on. The host key is
then known by NAME.NAMESPACE."""

PORT = 22
MACHINE = TakenKinds((Kind.MACHINE,), Kind.MACHINE)
# A host reports its own addresses, and this becomes an argument of a program: no option, and no character that a shell interprets.
HOST = re.compile(r"[0-9A-Za-z:][0-9A-Za-z:.%_-]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="NAME, NAMESPACE/NAME or machine/NAME")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="what to run there, after --")
    parser.add_argument("-n", "--namespace", metavar="NS", help="default: default")
    parser.add_argument("--user", metavar="NAME", help="login name on the machine")
    parser.add_argument("--jump", action="store_true", help="through the host that the machine runs on")
    parser.add_argument(
        "--over-link", action="store_true", help="through the link; also where an option below is given"
    )
    parser.add_argument("--port", type=int, default=PORT, metavar="PORT", help="of the machine (default: 22)")
    parser.add_argument("--print", action="store_true", help="print the command and do not run it")
    add_client(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    over_link = arguments.over_link or is_named(arguments)
    if over_link and arguments.jump:
        raise CommandError("--jump and --over-link are two ways", "give one of them", Exit.USAGE)
    key = parse_reference(arguments.machine, MACHINE, arguments)
    command = build_link_command(key, arguments) if over_link else find_command(key, arguments)
    if arguments.print:
        out().line(shlex.join(command))
        return Exit.OK
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise CommandError(f"cannot run ssh: {error.strerror}", "install an OpenSSH client") from None


def build_link_command(key: Key, arguments: argparse.Namespace) -> list[str]:
    """Of `%` ssh would make its own tokens."""
    files = require_client(arguments)
    words = [sys.executable, "-m", "reconciler", "forward", "--stdio", f"{key.namespace}/{key.name}"]
    words += [str(arguments.port), "--key", str(files.key.absolute())]
    words += ["--certificate", str(files.certificate.absolute())]
    for option in ("link", "link_certificate", "repo"):
        if (value := getattr(arguments, option)) is not None:
            words += [f"--{option.replace('_', '-')}", str(value)]
    proxy = shlex.join(words).replace("%", "%%")
    user = ["-l", arguments.user] if arguments.user else []
    target = f"{key.name}.{key.namespace}"
    return ["ssh", "-o", f"ProxyCommand={proxy}", *user, "--", target, *arguments.command]


def find_command(key: Key, arguments: argparse.Namespace) -> list[str]:
    """To the address that its host reports."""
    with named_fleet(arguments.repo) as fleet:
        inventory = read_current(fleet)
        item = find_by_key(inventory, key)
        refuse_kept(fleet, item.key, inventory)
    return build_command(inventory, item, arguments)


def build_command(inventory: FleetInventory, item: InventoryItem, arguments: argparse.Namespace) -> list[str]:
    reachable = find_reachable(item)
    if reachable is None:
        name = printable(str(item.key))
        cure = f"`gitvirt describe {name}` shows its state; `gitvirt console {name}` needs no address"
        raise CommandError(f"no host reports an address of {name}", cure)
    jump = ["-J", host_of(inventory, item)] if arguments.jump else []
    user = ["-l", arguments.user] if arguments.user else []
    port = ["-p", str(arguments.port)] if arguments.port != PORT else []
    return ["ssh", *jump, *port, *user, "--", reachable.address, *arguments.command]


def host_of(inventory: FleetInventory, item: InventoryItem) -> str:
    """The address of the host, by the pool that it serves; else the name of the pool."""
    pool = inventory.get(Kind.MACHINE_POOL, "", pool_of(item))
    known = pool.object.status.addresses if pool and isinstance(pool.object, MachinePool) else ()
    return next((each.address for each in known if HOST.fullmatch(each.address)), pool_of(item))
