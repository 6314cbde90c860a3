"""`gitvirt pool`: states what became of the host of a pool, by a commit that changes a file.

It writes `.gitvirt/requests/<trailer>/<pool>=<hostID>.yaml` on the source branch, or on a new branch for a pull request. The file says the
same as the trailer `Pool-Destroyed: POOL=HOSTID` or `Pool-Host: POOL=HOSTID` of a commit, and survives each kind of merge.

Must never happen: a host is stated to be destroyed that the person did not name, or that has no grant of the pool.
"""

from __future__ import annotations

import argparse
import re

from reconciler.cli.exits import CommandError
from reconciler.cli.fleet_repo import FleetRepo
from reconciler.cli.mutate import change, output
from reconciler.cli.mutate.output import FileEdit
from reconciler.cli.mutate.statements import commit_statements, write_statement
from reconciler.cli.output import is_value, show_value
from reconciler.cli.terminal import TextStyle, out, printable
from reconciler.gitstore.approval import POOL_DESTROYED, POOL_HOST
from reconciler.query.inventory import read_inventory
from schemas import live_layout
from schemas.kinds import Kind
from schemas.model import MachinePool, VolumePool

EXAMPLES = """examples:
  gitvirt pool destroyed rack-a1 5f0c9d1e   host 5f0c9d1e burned down with all that it had: what was there is placed
                                            again, and its volumes are created again, EMPTY
  gitvirt pool host rack-a1 77b2a4c0        host 77b2a4c0 is the same machine, or has its disks: it gets the pool
  gitvirt pool destroyed --branch burned rack-a1 5f0c9d1e   to a new branch, for a pull request

The hostID of a pool is in `gitvirt get pools -o wide`, column HOST. Power a destroyed host off for sure before you state it."""

TRAILERS = {"destroyed": POOL_DESTROYED, "host": POOL_HOST}
PART = re.compile(r"[^\s=/]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=tuple(TRAILERS),
        help="destroyed: its host is gone with all that it had; host: another host has what it had",
    )
    parser.add_argument("pool", type=parse_part, metavar="POOL", help="the pool")
    parser.add_argument(
        "host", type=parse_part, metavar="HOSTID", help="the host that is destroyed, or that gets the pool"
    )
    change.add_arguments(parser)


def parse_part(text: str) -> str:
    """It becomes part of the name of a file."""
    if PART.fullmatch(text) and text.isprintable():
        return text
    raise argparse.ArgumentTypeError(f"{text!r} has a blank, '=' or '/'; use the trailer of a commit instead")


def run(arguments: argparse.Namespace) -> int:
    trailer = TRAILERS[arguments.action]
    path = live_layout.request_path(trailer, f"{arguments.pool}={arguments.host}")

    def write(fleet: FleetRepo) -> list[FileEdit]:
        check_host(fleet, arguments.action, arguments.pool, arguments.host)
        return [write_statement(fleet, path, f"{trailer}: {arguments.pool}={arguments.host}")]

    return commit_statements(arguments, write, message_of(arguments), show)


def message_of(arguments: argparse.Namespace) -> str:
    if arguments.action == "destroyed":
        return f"state that host {arguments.host} of pool {arguments.pool} is destroyed"
    return f"give pool {arguments.pool} to host {arguments.host}"


def check_host(fleet: FleetRepo, action: str, name: str, host: str) -> None:
    """Refuses what the reconciler would answer with a refusal: a pool that no host has, another host than the one that has it."""
    found = read_inventory(fleet.repo, fleet.snapshot.target)
    items = (found.get(kind, "", name) for kind in (Kind.MACHINE_POOL, Kind.VOLUME_POOL))
    granted = {
        item.object.status.host.id
        for item in items
        if item is not None
        and isinstance(item.object, MachinePool | VolumePool)
        and item.object.status.host is not None
    }
    look = "look at column HOST of `gitvirt get pools -o wide`"
    if not granted:
        raise CommandError(f"pool {printable(name)} is granted to no host", look)
    hosts = " and ".join(sorted(map(printable, granted)))
    if action == "destroyed" and host not in granted:
        raise CommandError(
            f"pool {printable(name)} is granted to host {hosts}, not to {printable(host)}", look
        )
    if action == "host" and granted == {host}:
        raise CommandError(f"pool {printable(name)} is granted to host {hosts} already", look)


def show(fleet: FleetRepo, edits: list[FileEdit], commit: str, arguments: argparse.Namespace) -> None:
    terminal, branch = out(), output.branch_of(fleet, arguments)
    request = f"{TRAILERS[arguments.action]}: {arguments.pool}={arguments.host}"
    if is_value(arguments.output):
        patch = "".join(f"{line}\n" for each in edits for line in output.patch(each))
        value = {"verb": "pool", "request": request, "branch": branch, "commit": commit}
        show_value(
            terminal, arguments.output, {**value, "files": [each.path for each in edits], "patch": patch}
        )
    elif arguments.output == "name":
        terminal.line(printable(request))
    elif not commit:
        for each in edits:
            output.show_patch(terminal, each)
    else:
        short = terminal.paint(commit[:10], TextStyle.YELLOW)
        terminal.line(f"stated {printable(request)}: {short} on {printable(branch)}")
        terminal.line(f"`gitvirt describe pool {printable(arguments.pool)}` says what becomes of it")
        if arguments.branch:
            terminal.line("open a pull request for it; nothing happens before it is merged")
