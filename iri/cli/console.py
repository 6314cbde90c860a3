"""`gitvirt console`: attaches to a machine's serial console, found by id, uid or name at a runtime of this host, or over the link.

    the machine is                               the command
    at the runtime of this host                  attaches to it
    elsewhere, and a client of the API is here   attaches to it over the link (link_ends.py); at once where an option names the link
    on another host, by the fleet's repository   names the command for that host: ssh -t HOST gitvirt console NAME
    deleted, and kept for an undo                fails, and names the ways to bring it back or to purge it
    unknown to both                              fails with the runtime's answer

The repository is read only for a better message, so any failure to read it leaves the runtime's answer as it is.
Must never happen: a value of the repository becomes an option or shell syntax in the command that people copy.
"""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import UUID

from iri.cli.iri import add_address
from iri.cli.iri.connection import command_error, connect_runtimes
from iri.cli.iri.exec import add_linger, attach_terminal, find_exit_code, open_keyboard
from iri.client import MACHINE, Client
from iri.errors import IRIError
from iri.exec.console_client import attach_line
from iri.identity import UID_LABELS
from iri.machine import RuntimeMachine
from reconciler.cli.api_client import add_client, is_at_hand, is_named, open_servers
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import add_repo, named_fleet
from reconciler.cli.interrupt import end_at_once
from reconciler.cli.kept_machine import find_error
from reconciler.cli.objects.nouns import ALIASES
from reconciler.cli.objects.selectors import find_item
from reconciler.cli.output import show_value
from reconciler.cli.terminal import out, printable
from reconciler.query.inventory import FleetInventory, read_inventory
from reconciler.query.pool_usage import pool_of
from schemas.kinds import Kind
from schemas.model import MachinePool

EXAMPLES = """examples:
  gitvirt console web-1
  gitvirt console production/web-1
  gitvirt console web-1 --client ann                 over the link, from anywhere
  gitvirt console --address /tmp/host-1.sock 3f2c9a1e-...

The machine is looked up at a runtime of this host: at --address, else where `gitvirt iri` looks. A machine on another host
is reached over the link, with a client of the API that has the right console (--client). Without one, the command prints what to
run on that host: ssh -t HOST gitvirt console web-1
If the runtime listens on a socket of its own, name it with --address, also on its own host.
Ctrl-] leaves the console; the machine goes on. `exec` is another name for `console`, because the runtime interface calls
a serial console so. To run a command inside of a guest: ssh GUEST COMMAND."""

# A host reports its own addresses, and people run the command: no option, and no character that a shell interprets.
HOST = re.compile(r"[0-9A-Za-z:][0-9A-Za-z:.%_-]*")
NAMESPACE_LABEL = "machinepoollet.ironcore.dev/machine-namespace"
NAME_LABEL = "machinepoollet.ironcore.dev/machine-name"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="[NAMESPACE/]NAME, uid, or id at the runtime")
    parser.add_argument("-n", "--namespace", metavar="NS", help="of the machine, where it is named by NAME")
    add_address(parser, default=None)
    add_linger(parser)
    parser.add_argument(
        "-o", "--output", choices=("json", "yaml"), help="show where the console is, without attaching"
    )
    add_client(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    """Attaches, or prints where the console is; errors of the runtime come first, then what the repository knows."""
    reference = normalize_reference(arguments.machine, arguments.namespace)
    with end_at_once(), ExitStack() as open:
        if is_named(arguments) and not arguments.output:
            return attach_over_link(arguments, reference)
        try:
            client = open.enter_context(connect_runtimes(arguments, MACHINE))
            found = find_machine_id(client, reference)
        except (CommandError, IRIError) as error:
            trouble = command_error(error) if isinstance(error, IRIError) else error
            refuse_deleted(arguments, reference)
            if may_use_link(arguments, reference, trouble):
                return attach_over_link(arguments, reference)
            return report_other_host(arguments, reference, trouble)
        if arguments.output:
            at = f"--address {arguments.address} " if arguments.address else ""
            here = ConsoleLocation(True, found, "", (), f"gitvirt console {at}{found}")
            show_value(out(), arguments.output, vars(here))
            return Exit.OK
        try:
            return attach_terminal(client, found, arguments.linger)
        except (CommandError, IRIError):
            refuse_deleted(arguments, reference)
            raise


def may_use_link(arguments: argparse.Namespace, reference: str, trouble: CommandError) -> bool:
    """Whether the link is asked for a machine that the runtime here does not have. It knows names alone."""
    is_here = arguments.address or arguments.output or trouble.exit_code is Exit.USAGE
    return not is_here and not is_uuid(reference) and is_at_hand(arguments)


def attach_over_link(arguments: argparse.Namespace, reference: str) -> int:
    """Until either side ends it, as at a runtime of this host."""
    from iri.cli.link_ends import LinkLine  # loads gRPC's messages

    with open_servers(arguments) as servers:
        line = servers.open(lambda channel: LinkLine(channel, reference))
        try:
            keyboard = open_keyboard(reference)
            outcome = attach_line(line, keyboard, sys.stdout.fileno(), arguments.linger)
        finally:
            line.close()
    return find_exit_code(outcome, keyboard, "call again")


@dataclass(frozen=True)
class ConsoleLocation:
    """Where a machine's console is. `id` is known only on the machine's host. The names are public: scripts read them."""

    here: bool
    id: str
    pool: str
    addresses: tuple[str, ...]
    command: str


def normalize_reference(machine: str, namespace: str | None) -> str:
    """What people name a machine by, as `find_machine_id` takes it: `machine/web-1` and `-n NS` are understood too."""
    if not machine:
        raise CommandError("invalid machine name ''", "write [NAMESPACE/]NAME, a uid or an id", Exit.USAGE)
    kind, _, name = machine.partition("/")
    if name and ALIASES.get(kind.lower()) is Kind.MACHINE:
        machine = name
    return f"{namespace}/{machine}" if namespace and "/" not in machine else machine


def refuse_deleted(arguments: argparse.Namespace, reference: str) -> None:
    """A CommandError for a machine that is deleted and kept for an undo: it is off, and its runtime does not know why."""
    if is_uuid(reference):
        return
    try:
        with named_fleet(arguments.repo) as fleet:
            live = read_inventory(fleet.repo, fleet.snapshot.target, Kind.MACHINE)
            error = find_error(fleet, find_item(live, Kind.MACHINE, reference, None).key, live)
    except CommandError:
        return  # without a repo, or without the machine in it, the runtime's answer counts
    if error is not None:
        raise error


def report_other_host(
    arguments: argparse.Namespace,
    reference: str,
    trouble: CommandError,
    verb: str = "console",
    ssh: str = "ssh -t",
) -> int:
    """Names the host of a machine that the runtime here does not have, and the command for that host, with the options of the `verb`; else
    raises the runtime's error."""
    if arguments.address or trouble.exit_code is Exit.USAGE:
        raise trouble
    fleet = read_fleet(arguments)
    if fleet is None or is_uuid(reference):
        raise trouble
    place = locate_machine(fleet, reference, verb, ssh)
    if arguments.output:
        show_value(out(), arguments.output, vars(place))
        return Exit.OK
    cause = f"{printable(reference)} is on {printable(place.pool)}, not at the runtime of this host"
    cure = f"{place.command}; if the runtime has a socket of its own, add --address SOCKET"
    if is_simulated(fleet, place.pool):
        cure = f"{place.command}, where `gitvirt runtime simulated` or its poollet has this SOCKET"
    raise CommandError(cause, printable(cure))


def read_fleet(arguments: argparse.Namespace) -> FleetInventory | None:
    """None without a repository, and when it cannot be read."""
    try:
        with named_fleet(arguments.repo) as fleet:
            return read_inventory(fleet.repo, fleet.snapshot.target)
    except CommandError:
        return None


def is_uuid(reference: str) -> bool:
    """Whether it is a uid or an id at a runtime, which the repository is not asked for."""
    try:
        UUID(reference)
    except ValueError:
        return False
    return True


def locate_machine(
    fleet: FleetInventory, reference: str, verb: str = "console", ssh: str = "ssh -t"
) -> ConsoleLocation:
    """From the repository: the machine's pool, the pool's addresses, and the command for that host."""
    item = find_item(fleet, Kind.MACHINE, reference, None)
    name = f"{item.key.namespace}/{item.key.name}"
    if not pool_of(item):
        raise CommandError(f"{name} has no pool", f"`gitvirt explain machine {name}` shows why")
    pool = fleet.get(Kind.MACHINE_POOL, "", pool_of(item))
    if is_simulated(fleet, pool_of(item)):
        return ConsoleLocation(False, "", pool_of(item), (), f"gitvirt {verb} --address SOCKET {name}")
    known = pool.object.status.addresses if pool and isinstance(pool.object, MachinePool) else ()
    addresses = tuple(each.address for each in known)
    host = next((each for each in addresses if HOST.fullmatch(each)), pool_of(item))
    return ConsoleLocation(False, "", pool_of(item), addresses, f"{ssh} {host} gitvirt {verb} {name}")


def is_simulated(fleet: FleetInventory, pool: str) -> bool:
    """Whether the host of the pool exists as numbers only: then there is no machine to log in to, but a socket."""
    found = fleet.get(Kind.MACHINE_POOL, "", pool)
    host = found.object if found is not None else None
    return isinstance(host, MachinePool) and host.status.node_info.get("hypervisor") == "simulated"


def find_machine_id(client: Client, reference: str) -> str:
    """The id of the only machine that matches: by id, then uid, then name. CommandError for none or several."""
    namespace, _, name = reference.rpartition("/")
    by_name = {NAME_LABEL: name} | ({NAMESPACE_LABEL: namespace} if namespace else {})
    found = dict(client.select(RuntimeMachine, reference)) if not namespace else {}
    for labels in () if found else ({UID_LABELS[RuntimeMachine]: reference}, by_name):
        found = found or dict(client.select(RuntimeMachine, "", labels))
    if not found:
        cure = "`gitvirt iri get machine` lists those of this host"
        raise CommandError(f"this runtime has no machine {printable(reference)}", cure)
    if len(found) > 1:
        names = ", ".join(sorted(printable(describe_machine(machine)) for machine in found.values()))
        raise CommandError(
            f"{printable(reference)} matches several machines: {names}",
            "write NAMESPACE/NAME or an id",
            Exit.USAGE,
        )
    return next(iter(found))


def describe_machine(machine: RuntimeMachine) -> str:
    """For messages: name and id."""
    namespace = machine.labels.get(NAMESPACE_LABEL, "")
    name = machine.labels.get(NAME_LABEL, "")
    return f"{namespace}/{name} ({machine.id})" if name else machine.id
