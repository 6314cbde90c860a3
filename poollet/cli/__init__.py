"""`gitvirt poollet`: the agent of one host, or of several in one process; how a host joins a fleet, and renews its certificate.

This module only declares the arguments. The verbs are imported when they are called, so that `gitvirt
--help` loads no gRPC and no Git.

Limits: a verb reads settings, builds the process and words its errors. What a poollet does is not decided
here.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from reconciler.cli.listen_address import listening
from reconciler.cli.mutate.branch_name import parse_branch_name
from schemas.settings.link import is_address

CONFIG = Path("/etc/gitvirt/poollet.yaml")
EXAMPLES = f"""examples:
  gitvirt poollet                                   with {CONFIG}, until it is stopped
  gitvirt poollet --config rack-a1.yaml --once      one pass and one report
  gitvirt poollet --name host-1 --repo /srv/fleet.git --mirror /tmp/m --runtime simulated --socket /tmp/host-1.sock
  gitvirt poollet --leave                           report that this host leaves the fleet
  gitvirt poollet join                              create this host's key and print its entry for gitvirt.yaml
  gitvirt poollet join --token-file - --link link.example.org:7444    join with a token of `gitvirt token create`
  gitvirt poollet rotate --branch rotate-rack-a1    propose a new certificate for the link; once merged, the same call ends it

SIGTERM ends it and leaves guests running; the next poollet continues. See docs/poollet.md."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of both actions. One that repeats a setting of poollet.yaml takes precedence over the
    file."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("join", "rotate"),
        help="add this host to the fleet, or renew its certificate",
    )
    parser.add_argument(
        "--config",
        action="append",
        type=Path,
        metavar="FILE",
        help=f"settings of a poollet; several poollets of one repo may share a process (default: {CONFIG})",
    )
    parser.add_argument("--name", metavar="NAME", help="the poollet's name, instead of the one in the file")
    parser.add_argument("--repo", metavar="URL|DIR", help="the fleet's repo, instead of the one in the file")
    parser.add_argument(
        "--mirror", metavar="DIR", help="folder of its copy of the repo, instead of the one in the file"
    )
    parser.add_argument(
        "--runtime", metavar="KIND", choices=("libvirt", "simulated"), help="start this runtime"
    )
    parser.add_argument("--socket", metavar="PATH", help="socket of the runtime")
    parser.add_argument("--once", action="store_true", help="do one pass, report, and end")
    parser.add_argument("--leave", action="store_true", help="report that the host leaves, and end")
    parser.add_argument(
        "--end-runtimes", action="store_true", help="also stop the runtimes that it started, at the end"
    )
    parser.add_argument(
        "--listen",
        type=listening,
        metavar="ADDR",
        help="serve /metrics, /healthz and /livez, e.g. on 127.0.0.1:9101; without a host on this machine alone",
    )
    parser.add_argument("--log", choices=("text", "json"), default="text", help="format of the log")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info", metavar="LEVEL"
    )
    add_joining(parser.add_argument_group("join and rotate"))


def add_joining(joining: argparse._ArgumentGroup) -> None:
    joining.add_argument(
        "--key", type=Path, metavar="FILE", help="the host's ssh key (default: the file's repo.identity)"
    )
    joining.add_argument(
        "--branch",
        type=parse_branch_name,
        metavar="NAME",
        help="commit the entry to this branch instead of printing it",
    )
    joining.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="join with the token of `gitvirt token create` in this file; - for the standard input",
    )
    joining.add_argument(
        "--link",
        type=parse_address,
        metavar="HOST:PORT",
        help="where the server takes tokens: the address of `gitvirt run --join`",
    )
    joining.add_argument(
        "--dry-run", action="store_true", help="print the patch or the entry, and make no file and no commit"
    )
    joining.add_argument(
        "--force", action="store_true", help="rotate a certificate that is valid for more than 30 days"
    )


def parse_address(text: str) -> str:
    """The type of an argument that names a server of the link."""
    if is_address(text):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, as link.example.org:7444")


def run(arguments: argparse.Namespace) -> int:
    """Runs the poollet, or lets the host join or rotate. Returns the exit code; errors are CommandErrors."""
    # Read when gRPC is loaded: its handlers at a fork serve programs that go on in the child, and ours are git and runtimes.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    if arguments.action == "join":
        from poollet.cli import join

        return join.run(arguments)
    if arguments.action == "rotate":
        from poollet.cli import rotate

        return rotate.run(arguments)
    from poollet.cli import serve

    return serve.run(arguments)
