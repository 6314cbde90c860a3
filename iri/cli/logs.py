"""`gitvirt logs`: what a machine has written to its serial console, read from the runtime of its host.

    the machine is                               the command
    at the runtime of this host                  prints its log
    elsewhere, and a client of the API is here   prints its log over the link (link_ends.py); at once where an option names the link
    on another host, by the fleet's repository   names the command for that host: ssh HOST gitvirt logs NAME
    unknown to both                              fails with the runtime's answer

On a terminal, control bytes of the guest are made harmless (`log_text`), unless --raw is given. A file or a pipe gets the bytes as they are.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import ExitStack

from iri.cli.console import find_machine_id, may_use_link, normalize_reference, report_other_host
from iri.cli.iri import add_address
from iri.cli.iri.connection import command_error, connect_runtimes
from iri.cli.log_text import LogText
from iri.client import MACHINE
from iri.console_log import LogRequest
from iri.errors import IRIError, Unimplemented
from iri.runtime import ConsoleLog
from reconciler.cli.api_client import add_client, is_named, open_servers
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import add_repo
from reconciler.cli.interrupt import end_at_once

EXAMPLES = """examples:
  gitvirt logs web-1
  gitvirt logs -f --tail 20 production/web-1
  gitvirt logs --previous web-1        why did it stop?
  gitvirt logs -f web-1 --client ann   over the link, from anywhere

The log is what the guest wrote to its serial console since its last start; the machine may be off. The log of the start before
is kept too (--previous). A machine on another host is reached over the link, with a client of the API that has the right logs
(--client). Without one, the command prints what to run on that host: ssh HOST gitvirt logs web-1
On a terminal, colors and control bytes are left out or escaped; --raw prints them as they are. A guest that logs elsewhere
(journald, a file) shows there what it does; most images write boot messages to the serial console, with console=ttyS0."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help="[NAMESPACE/]NAME, uid, or id at the runtime")
    parser.add_argument("-n", "--namespace", metavar="NS", help="of the machine, where it is named by NAME")
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="go on with what it writes, also after a restart; Ctrl-C ends it",
    )
    parser.add_argument(
        "--tail", type=count_lines, default=None, metavar="N", help="only the last N lines (default: all)"
    )
    parser.add_argument(
        "-p", "--previous", action="store_true", help="the log of the start before the last one"
    )
    parser.add_argument("--raw", action="store_true", help="control bytes of the guest too, on a terminal")
    add_address(parser, default=None)
    add_client(parser)
    add_repo(parser)
    parser.set_defaults(output=None)


def count_lines(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Prints the log, or names the command for the machine's host."""
    if arguments.previous and arguments.follow:
        raise CommandError("a previous log grows no more", "leave out --follow, or --previous", Exit.USAGE)
    reference = normalize_reference(arguments.machine, arguments.namespace)
    with end_at_once(), ExitStack() as open:
        if is_named(arguments):
            return print_over_link(arguments, reference)
        try:
            client = open.enter_context(connect_runtimes(arguments, MACHINE))
            found = find_machine_id(client, reference)
        except (CommandError, IRIError) as error:
            trouble = command_error(error) if isinstance(error, IRIError) else error
            if may_use_link(arguments, reference, trouble):
                return print_over_link(arguments, reference)
            ssh = "ssh -t" if arguments.follow else "ssh"
            return report_other_host(arguments, reference, trouble, " ".join(list_words(arguments)), ssh)
        return print_log(client.console_log(found, build_request(arguments)), arguments)


def print_over_link(arguments: argparse.Namespace, reference: str) -> int:
    from iri.cli.link_ends import LinkLog  # loads gRPC's messages

    with open_servers(arguments) as servers:
        log = servers.open(lambda channel: LinkLog(channel, reference, build_request(arguments)))
        return print_log(log, arguments)


def build_request(arguments: argparse.Namespace) -> LogRequest:
    tail = 0 if arguments.tail is None else arguments.tail or -1
    return LogRequest(tail_lines=tail, follow=arguments.follow, previous=arguments.previous)


def list_words(arguments: argparse.Namespace) -> list[str]:
    """The verb and its options, as a shell on the other host takes them."""
    flags = (("-f", arguments.follow), ("--previous", arguments.previous), ("--raw", arguments.raw))
    tail = [] if arguments.tail is None else ["--tail", str(arguments.tail)]
    return [shlex.quote(word) for word in ("logs", *(flag for flag, is_set in flags if is_set), *tail)]


def print_log(log: ConsoleLog, arguments: argparse.Namespace) -> int:
    """Part by part, so that a log of any size takes little memory."""
    text = None if arguments.raw or not sys.stdout.isatty() else LogText()
    stream = sys.stdout.buffer
    try:
        while data := log.read():
            stream.write(text.add(data).encode() if text else data)
            stream.flush()
        if text:
            stream.write(text.add(b"", is_last=True).encode())
            stream.flush()
    except Unimplemented:
        cure = "`gitvirt console` shows what the guest writes from now on; gitvirt's own runtimes keep logs"
        raise CommandError("the runtime of this host keeps no console logs", cure) from None
    finally:
        log.close()
    return Exit.OK
