"""`gitvirt schedule`: a manifest scheduled by the controller API, for clients that reach the link and may not push to the repo.

Its reports are printed as they come. Without `--watch` the verb ends once the commit is made; with it, once every machine runs, or one failed for good.

| exit code | when |
|---|---|
| 0 | it is committed; with `--watch`: all machines run, or are off as declared |
| 1 | refused, or the link cannot be reached; with `--watch`: a machine failed for good |
| 3 | the manifest has problems: each is on a line of its own |
| 6 | `--timeout` is over; the commit stays |

Limits: it knows the API alone. Address and certificate of the link come from gitvirt.yaml where the fleet's repo is at hand, else from options.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.cli.api_client import add_client, call, open_channel, read_file, translate
from reconciler.cli.duration import parse_duration
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.fleet_repo import add_repo
from reconciler.cli.terminal import Terminal, err, out, printable

if TYPE_CHECKING:
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceStatus

EXAMPLES = """examples:
  gitvirt schedule -f job.yaml --watch --certificate ci.crt --key ci.key        in a checkout of the fleet
  gitvirt schedule -f job.yaml --watch --link link.example.org:7443 --link-certificate link.crt \\
    --certificate ci.crt --key ci.key                                           anywhere
  gitvirt schedule -f - --dry-run --certificate ci.crt --key ci.key             checks standard input

It calls the controller API (docs/controller-api.md) with a client's certificate, as `gitvirt client join` made it."""

FINAL = ("RUNNING", "STOPPED")
DEFAULT_TIMEOUT = "10m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", "--file", required=True, metavar="FILE", help="the manifest; - is standard input"
    )
    parser.add_argument("--watch", action="store_true", help="report until all machines run")
    parser.add_argument(
        "--timeout", type=parse_duration, default=DEFAULT_TIMEOUT, metavar="TIME", help="(default: 10m)"
    )
    parser.add_argument(
        "--path", default="", metavar="PATH", help="of the file in the repo (default: chosen)"
    )
    parser.add_argument("-m", "--message", default="", metavar="TEXT", help="subject of the commit")
    parser.add_argument(
        "--request-key", default="", metavar="KEY", help="a second call with it commits nothing"
    )
    parser.add_argument("--dry-run", action="store_true", help="check only")
    add_client(parser)
    add_repo(parser)


def run(arguments: argparse.Namespace) -> int:
    # Loaded here: the overview of verbs needs no gRPC.
    import grpc

    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import ScheduleRequest

    data = sys.stdin.buffer.read() if arguments.file == "-" else read_file(Path(arguments.file))
    request = ScheduleRequest(
        manifest=data,
        path=arguments.path,
        subject=arguments.message,
        request_key=arguments.request_key,
        dry_run=arguments.dry_run,
    )
    with open_channel(arguments) as channel:
        reports = call(channel, "Schedule")(request, timeout=arguments.timeout)
        try:
            last = show(reports, is_watched=arguments.watch)
        except grpc.RpcError as error:
            raise refusal(error) from None
        finally:
            reports.cancel()
    if arguments.dry_run:
        out().line("the manifest has no problems; nothing was committed")
    failed = [name for name, state in last.items() if state not in FINAL]
    if failed:
        raise CommandError(f"{', '.join(failed)} failed for good", "the line of it says why")
    return Exit.OK


def show(statuses: Iterator[InstanceStatus], *, is_watched: bool) -> dict[str, str]:
    """The last state of each machine, by its name. Without a watch the first report is enough: all are of the one commit."""
    from iri.proto.gitvirt.link.v1alpha1.controller_pb2 import InstanceState

    last: dict[str, str] = {}
    for status in statuses:
        if not is_watched:
            out().line(f"committed {printable(status.commit[:10])}")
            break
        name = printable(f"Machine/{status.instance.namespace}/{status.instance.name}")
        last[name] = InstanceState.Name(status.state).removeprefix("INSTANCE_STATE_")
        describe(out(), name, last[name], status)
    return last


def describe(terminal: Terminal, name: str, state: str, status: InstanceStatus) -> None:
    where = f" on {status.pool}" if status.pool else f" by {status.commit[:10]}"
    terminal.line(f"{name}  {state}{printable(where)}")
    for refusal in status.refusals:
        words = "; ".join(each.message or each.reason for each in refusal.reasons)
        terminal.line(printable(f"    {refusal.pool or 'the machine'}: {words}"))
    for reason in status.reasons if state != "ACCEPTED" and not status.refusals else ():
        terminal.line(printable(f"    {reason.reason}: {reason.message}"))


def refusal(error: Any) -> CommandError:
    import grpc

    match error.code():
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            cure = "the commit stays; `gitvirt get machines` shows its machines"
            return CommandError("the time of --timeout is over", cure, Exit.TIMED_OUT)
        case grpc.StatusCode.INVALID_ARGUMENT:
            for line in str(error.details()).splitlines():
                err().line(printable(line))
            return CommandError("the manifest was refused", "the lines above say why", Exit.PROBLEMS)
    return translate(error)
