"""`gitvirt demo`: a whole fleet on this machine, from the first commit to a host that fails, live in the terminal.

`folder` creates a temporary folder that `cleanup` removes, `processes` starts a bare repo, a reconciler and three
hosts, `hosts` has the two kinds of hosts, `scenario` is the play, `screen` and `console` show it. Exit codes: 0 at
the end, 1 if something is missing on this machine, 6 if a step takes too long (which is a bug), 130 on Ctrl-C.

Everything is real but the hosts: the same verbs run as on a fleet, as separate processes that talk only through Git
and sockets. With `--runtime libvirt` the guests are real too.

Must never happen: a process, a folder or a network device that remains, however the demo ends; the libvirt, the
network or the Git configuration of this machine is changed. The modules with those parts are imported in `run`, so
that the verb's help works where libvirt is not installed.
"""

from __future__ import annotations

import argparse
import shutil
import signal
from typing import TYPE_CHECKING

from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.terminal import err, out

if TYPE_CHECKING:
    from pathlib import Path

    from reconciler.cli.demo.hosts import Hosts

EXAMPLES = """examples:
  gitvirt demo                           three simulated hosts, half a minute
  gitvirt demo --keep                    leaves the fleet running at the end
  sudo gitvirt demo --runtime libvirt    real guests: each host has a libvirtd of its own

With libvirt it lists missing packages. It uses neither the libvirt nor the network of this machine, and removes everything at the end."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runtime",
        choices=("simulated", "libvirt"),
        default="simulated",
        help="kind of hosts (default: %(default)s); libvirt needs root, QEMU and libvirtd",
    )
    parser.add_argument(
        "--accelerator",
        choices=("auto", "kvm", "tcg"),
        default="auto",
        help="accelerator of real guests (default: kvm if it works here, else tcg)",
    )
    parser.add_argument("--keep", action="store_true", help="leave it running at the end, until Ctrl-C")


def run(arguments: argparse.Namespace) -> int:
    """Prepares, plays and cleans up. From the moment of the cleanup Ctrl-C is ignored: it would leave what the
    cleanup had not reached."""
    from reconciler.cli.demo.folder import open_folder
    from reconciler.cli.demo.processes import DemoProcesses
    from reconciler.cli.demo.scenario import run_scenario
    from reconciler.cli.demo.screen import DemoScreen
    from reconciler.cli.interrupt import Interrupt

    if shutil.which("git") is None:
        raise CommandError("git is not installed", "apt-get install git")
    interrupt = Interrupt()
    try:
        with open_folder() as (folder, held):
            processes = DemoProcesses(folder, held, interrupt, hosts_of(arguments, folder, held))
            try:
                run_scenario(DemoScreen(out()), processes, keep=arguments.keep)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)  # who is in a hurry still wants nothing left
                processes.close()
    finally:
        if interrupt.came:
            err().line("\nThe demo is stopped. Its processes and its folder are removed")
    return Exit.OK


def hosts_of(arguments: argparse.Namespace, folder: Path, held: int) -> Hosts:
    """The hosts of the chosen kind. Only those that are needed are imported."""
    if arguments.runtime == "libvirt":
        from reconciler.cli.demo.hosts.libvirt import LibvirtHosts

        return LibvirtHosts(folder, held, arguments.accelerator)
    from reconciler.cli.demo.hosts.simulated import SimulatedHosts

    return SimulatedHosts(folder)
